// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FirstDivergence.h"

#include "Divergence.h"

#include "lib/Interpreter/FieldEvaluator.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;
using namespace tp::spmd;

namespace {

/// All values that the whole program computes.
class WholeValues {
public:
  void add(const TensorValue &value) {
    const DenseTensor &tensor = toDense(value);
    left -= tensor.size();
    if (isFull())
      return;
    RankedTensorType type = tensor.getType();
    byType[type].push_back(value);
    if (tensor.isFloat())
      for (int64_t i = 0; i < tensor.size(); ++i)
        elements.insert(tensor[i].residue);
  }

  /// Returns true if the values were too many to keep.
  bool isFull() const { return left < 0; }

  /// Returns true if all of `parts` are blocks of the same value.
  bool haveBlocks(ArrayRef<TensorValue> parts) const;
  /// Returns true if all elements of `parts` occur in the whole program.
  /// Integers and flags are ignored, since equal ones occur by chance.
  bool haveElements(ArrayRef<TensorValue> parts) const {
    return llvm::all_of(parts, [&](const TensorValue &part) {
      const DenseTensor &tensor = toDense(part);
      bool found = true;
      for (int64_t i = 0; tensor.isFloat() && i < tensor.size(); ++i)
        found &= tensor[i].residue == 0 || elements.contains(tensor[i].residue);
      return found;
    });
  }

private:
  static bool isBlock(const DenseTensor &part, const DenseTensor &whole);

  int64_t left = int64_t(1) << 24; ///< Elements that may still be kept.
  llvm::MapVector<RankedTensorType, std::vector<TensorValue>> byType;
  llvm::DenseSet<uint64_t> elements;
};

/// Says how a value on devices occurs in the whole program: as blocks of a
/// value (known), only as scattered elements (moved), or not at all (strange).
struct Standing {
  enum Kind { Strange, Moved, Known } kind = Strange;
  AxisList partial = {}; ///< Axes along which it must still be combined.
};

} // namespace

/// Returns true if `part` equals one of the blocks of its size in `whole`.
bool WholeValues::isBlock(const DenseTensor &part, const DenseTensor &whole) {
  ArrayRef<int64_t> sizes = part.getShape(), shape = whole.getShape();
  SmallVector<int64_t> strides = getStrides(shape), counts;
  int64_t blocks = 1;
  for (auto [size, extent] : llvm::zip_equal(sizes, shape))
    blocks *= counts.emplace_back(extent / size);
  DenseTensor block(part.getType());
  for (int64_t number = 0; number < blocks; ++number) {
    int64_t offset = 0, rest = number;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= counts[dim])
      offset += rest % counts[dim] * sizes[dim] * strides[dim];
    if (whole[offset].residue != part[0].residue)
      continue;
    copyStrided(sizes, whole.data() + offset, strides, block.data(),
                getStrides(sizes));
    bool same = true;
    for (int64_t i = 0; same && i < part.size(); ++i)
      same = block[i].residue == part[i].residue;
    if (same)
      return true;
  }
  return false;
}

bool WholeValues::haveBlocks(ArrayRef<TensorValue> parts) const {
  RankedTensorType part = parts.front()->getType();
  if (part.getNumElements() == 0)
    return true;
  for (const auto &[type, values] : byType) {
    if (type.getElementType() != part.getElementType() ||
        type.getRank() != part.getRank() ||
        !llvm::all_of(llvm::zip_equal(type.getShape(), part.getShape()),
                      [](auto sizes) {
                        auto [whole, own] = sizes;
                        return whole % own == 0;
                      }))
      continue;
    for (const TensorValue &whole : values)
      if (llvm::all_of(parts, [&, w = whole](const TensorValue &own) {
            return isBlock(toDense(own), toDense(w));
          }))
        return true;
  }
  return false;
}

namespace {
class PartingFinder {
public:
  PartingFinder(const ProgramPair &programs, const DataSet &data)
      : programs(programs), local(programs.local), whole(programs.whole),
        data(data), evaluator(data.seed), distributor(evaluator) {}

  bool run(unsigned index);

private:
  bool runBoth(unsigned index);
  const Standing &getStanding(Value value);
  Standing judge(ArrayRef<TensorValue> parts, const Mesh *mesh);
  void follow(Value value);
  void report(Operation *op);

  const ProgramPair &programs;
  const Program &local, &whole;
  const DataSet &data;
  FieldEvaluator evaluator;
  Distributor distributor;
  WholeValues known;
  /// The results of the local program's ops, for each execution.
  llvm::DenseMap<Value, std::vector<DeviceValues>> runs;
  llvm::DenseMap<Value, Standing> standings;
  /// Ops that the wrong result is computed from, and whose own results are not
  /// `Known`.
  llvm::SmallPtrSet<Operation *, 32> suspects;
};
} // namespace

/// Returns true if both programs ran and result `index` also differs when
/// computed in a prime field, which rules out rounding as the cause.
bool PartingFinder::runBoth(unsigned index) {
  // The errors have been reported already.
  ScopedDiagnosticHandler silence(local.getFunction().getContext(),
                                  [](Diagnostic &) { return success(); });
  SmallVector<TensorValue> arguments =
      drawArguments(evaluator, whole.getFunction(), data);
  for (const TensorValue &argument : arguments)
    known.add(argument);
  InterpreterOptions options;
  options.observer = [&](Operation *, ArrayRef<DeviceValues> results) {
    for (const DeviceValues &result : results)
      if (result.size() == 1)
        known.add(result.front());
  };
  Interpreter interpreter(evaluator, options);
  auto wanted = interpreter.run(whole, arguments);
  if (failed(wanted))
    return false;
  options.maxIterations = limitIterations(interpreter);
  int64_t left = int64_t(1) << 24;
  options.observer = [&](Operation *op, ArrayRef<DeviceValues> results) {
    for (auto [value, result] : llvm::zip_equal(op->getResults(), results)) {
      left -= toDense(result.front()).size() * int64_t(result.size());
      if (left >= 0)
        runs[value].push_back(result);
    }
  };
  // If the devices disagree at the end of the program, `made` is a failure, but
  // `runs` is complete.
  auto made =
      Interpreter(evaluator, options).run(local, programs.takeLocal(arguments));
  if (succeeded(made) && !findDifference(evaluator, (*made)[index],
                                         (*wanted)[index], /*tolerance=*/0))
    return false;
  return left >= 0 && !known.isFull();
}

/// Returns the standing of a value with the buffers `parts`, one for each
/// device. Tries the buffers as they are, and also the sums, maxima and minima
/// of the buffers along some axes of the mesh.
Standing PartingFinder::judge(ArrayRef<TensorValue> parts, const Mesh *mesh) {
  if (known.haveBlocks(parts))
    return {Standing::Known};
  Standing best;
  if (known.haveElements(parts))
    best = {Standing::Moved};
  constexpr unsigned kMaxAxes = 4;
  unsigned axes = mesh ? mesh->axes.size() : 0;
  if (axes > kMaxAxes || parts.size() == 1)
    return best;
  for (unsigned set = 1; set < 1u << axes; ++set) {
    AxisList along;
    for (unsigned axis = 0; axis < axes; ++axis)
      if (set >> axis & 1)
        along.push_back(AxisRef::full(*mesh, axis));
    if (getSize(along) == 1)
      continue;
    for (ReduceKind kind :
         {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min}) {
      DeviceValues sums = distributor.allReduce(parts, *mesh, along, kind);
      if (known.haveBlocks(sums))
        return {Standing::Known, along};
      if (best.kind == Standing::Strange && toDense(sums[0]).isFloat() &&
          known.haveElements(sums))
        best = {Standing::Moved, along};
    }
  }
  return best;
}

const Standing &PartingFinder::getStanding(Value value) {
  auto [entry, isNew] = standings.try_emplace(value);
  if (!isNew)
    return entry->second;
  // A region's argument counts as known; the values passed to it are judged.
  auto found = runs.find(value);
  if (found == runs.end())
    return standings[value] = {Standing::Known};
  std::optional<Mesh> mesh;
  if (auto manual = value.getDefiningOp()->getParentOfType<ManualOp>())
    mesh = lookupMesh(manual, getMeshName(manual)).toMesh();
  Standing worst{Standing::Known};
  for (const DeviceValues &parts : found->second) {
    Standing standing = judge(parts, mesh ? &*mesh : nullptr);
    if (standing.kind < worst.kind ||
        (standing.kind == worst.kind && worst.partial.empty()))
      worst = standing;
  }
  return standings[value] = worst;
}

/// Collects the ops with unknown results that `value` is computed from.
void PartingFinder::follow(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    Operation *op = next.getDefiningOp();
    if (!op || !suspects.insert(op).second)
      continue;
    auto add = [&](Value operand) {
      Standing standing = getStanding(operand);
      if (standing.kind != Standing::Known)
        worklist.push_back(operand);
    };
    // Result i of a manual region is its i-th yielded value. A result of a loop
    // may come from any yielded value.
    for (Region &region : op->getRegions())
      for (Block &block : region) {
        Operation *end = block.getTerminator();
        if (isa<ManualOp>(op))
          add(end->getOperand(cast<OpResult>(next).getResultNumber()));
        else
          llvm::for_each(end->getOperands(), add);
      }
    llvm::for_each(op->getOperands(), add);
  }
}

/// The file location of `op`, or that of its function if `op` has only a name.
static Location getPlace(Operation *op) {
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return place;
  return op->getParentOfType<func::FuncOp>().getLoc();
}

static std::string printAxes(ArrayRef<AxisRef> axes, const Mesh &mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(axes, os, [&](const AxisRef &axis) {
    os << '"' << mesh.axes[axis.axis].name << '"';
  });
  return text;
}

void PartingFinder::report(Operation *op) {
  bool gives = op->hasTrait<OpTrait::ReturnLike>();
  InFlightDiagnostic remark = emitRemark(getPlace(op))
                              << "the programs first differ at "
                              << op->getName();
  if (gives)
    remark << ": it returns values that differ from those of the whole program";
  else
    remark
        << ": its operands occur in the whole program, but its result does not";
  auto manual = op->getParentOfType<ManualOp>();
  for (auto [number, operand] : llvm::enumerate(op->getOperands())) {
    const Standing standing = getStanding(operand);
    Operation *maker = operand.getDefiningOp();
    if (!standing.partial.empty() && manual)
      remark.attachNote(maker ? getPlace(maker) : getPlace(op))
          << "operand #" << number << " is still a partial sum along "
          << printAxes(standing.partial,
                       lookupMesh(manual, getMeshName(manual)).toMesh());
    else if (maker && isa<CollectiveOpInterface, ShiftOp>(maker))
      remark.attachNote(getPlace(maker))
          << "operand #" << number
          << " is received from other devices by this op";
  }
}

bool PartingFinder::run(unsigned index) {
  if (local.isLocal() || !runBoth(index))
    return false;
  Value wrong =
      local.getFunction().getBody().front().getTerminator()->getOperand(index);
  follow(wrong);
  // Find the first op with a `Strange` result but no `Strange` operand, or else
  // the first op with a `Moved` result but only `Known` operands.
  Operation *strange = nullptr, *moved = nullptr;
  local.getFunction().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (!suspects.contains(op) || op->getNumRegions() > 0)
      return;
    auto worst = [&](ValueRange values) {
      int kind = Standing::Known;
      for (Value value : values)
        kind = std::min<int>(kind, getStanding(value).kind);
      return kind;
    };
    int takes = worst(op->getOperands()), gives = worst(op->getResults());
    if (!strange && gives == Standing::Strange && takes > gives)
      strange = op;
    if (!moved && gives == Standing::Moved && takes > gives)
      moved = op;
  });
  if (Operation *first = strange ? strange : moved) {
    report(first);
    return true;
  }
  // All values match the whole program, so only the result's layout is wrong.
  if (auto manual = wrong.getDefiningOp<ManualOp>()) {
    report(manual.getBody().front().getTerminator());
    return true;
  }
  return false;
}

bool tp::explainFirstDivergence(const ProgramPair &programs, unsigned index,
                                const DataSet &data) {
  return PartingFinder(programs, data).run(index);
}

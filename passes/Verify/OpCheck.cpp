// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OpCheck.h"

#include "Divergence.h"
#include "RandomData.h"
#include "ShrunkModule.h"

#include "lib/Support/Random.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

/// The largest number of elements, summed over tensors and devices, with which
/// a segment is run.
static constexpr double kMaxElements = 1 << 22;

/// A wrong identity in padding is detected only with suitable signs: zeros in
/// padding change a maximum only if all numbers are negative, and a minimum
/// only if all are positive.
static ArrayRef<Signs> getSigns(const Segment &segment) {
  static constexpr Signs all[] = {Signs::Any, Signs::Negative, Signs::Positive};
  bool pads = llvm::any_of(segment.local, llvm::IsaPred<MaskOp, ShiftOp>);
  return ArrayRef(all).take_front(pads ? 3 : 1);
}

static bool takesPart(const Segment &segment) {
  return isa<DynamicSliceOp, DynamicUpdateSliceOp>(segment.whole);
}

/// Returns how often a segment with this number of elements is run. Integers,
/// unlike residues in a prime field, may miss an error by chance. So may
/// cumulative maxima: large values in one block hide errors in another. A
/// dynamic slice or update should start at every position at least once.
static unsigned getNumTrials(const Segment &segment, func::FuncOp function,
                             double elements) {
  if (takesPart(segment) && elements < 1 << 13)
    return 128;
  auto cumulative = dyn_cast<CumulativeOp>(segment.whole);
  bool hides = cumulative && (cumulative.getKind() == ReductionKind::Max ||
                              cumulative.getKind() == ReductionKind::Min);
  return hides || llvm::any_of(function.getArgumentTypes(), isIntegerTensor)
             ? 8
             : 1;
}

namespace {

class SegmentRunner {
public:
  SegmentRunner(const Segment &segment, func::FuncOp whole, func::FuncOp local,
                uint64_t seed)
      : segment(segment), whole(whole), local(local), evaluator(seed),
        distributor(evaluator), salt(seed << 20) {}

  CheckResult run();

private:
  CheckResult runTrial(const Program &wholeProgram, const Program &localProgram,
                       uint64_t seed, unsigned trial, Signs signs);
  DeviceValues distribute(TensorValue value, RankedTensorType type,
                          const Mesh &mesh, Padding padding);
  TensorValue draw(RankedTensorType type);

  const Segment &segment;
  func::FuncOp whole, local;
  FieldEvaluator evaluator;
  Distributor distributor;
  uint64_t salt;
};

} // namespace

TensorValue SegmentRunner::draw(RankedTensorType type) {
  auto tensor = std::make_shared<DenseTensor>(type);
  auto integer = dyn_cast<IntegerType>(type.getElementType());
  for (int64_t i = 0; i < tensor->size(); ++i) {
    uint64_t number = scramble(salt++);
    (*tensor)[i] = integer ? makeInteger(wrapInteger(number, integer))
                           : evaluator.drawFloat(number);
  }
  return tensor;
}

/// Draws buffers that together represent `value`. Devices that should hold
/// copies get copies. Partial values are random, but combine to `value`.
DeviceValues SegmentRunner::distribute(TensorValue value, RankedTensorType type,
                                       const Mesh &mesh, Padding padding) {
  Layout layout = getLayout(type, mesh);
  AxisList unreduced = std::move(layout.sharding.unreduced);
  layout.sharding.unreduced.clear();
  DeviceValues parts = distributor.scatter(value, layout, type, padding);
  if (getSize(unreduced) == 1)
    return parts;
  // If several groups of devices hold the same block of the value, they use the
  // same addends.
  std::map<SmallVector<int64_t>, TensorValue> addends;
  AxisList held = layout.sharding.getDimAxes();
  for (ArrayRef<int64_t> group : getGroups(mesh, unreduced)) {
    TensorValue first = parts[group.front()];
    for (auto [place, device] : llvm::enumerate(group.drop_front())) {
      TensorValue &addend =
          addends[{getPosition(mesh, held, device), int64_t(place)}];
      if (!addend)
        addend = draw(type);
      TensorValue &part = parts[device];
      switch (layout.sharding.kind) {
      case ReduceKind::Sum:
        part = addend;
        first = evaluator.binary(BinaryKind::Sub, first, part, type);
        break;
      case ReduceKind::Max:
        part = evaluator.binary(BinaryKind::Min, part, addend, type);
        break;
      case ReduceKind::Min:
        part = evaluator.binary(BinaryKind::Max, part, addend, type);
        break;
      }
    }
    parts[group.front()] = first;
  }
  return parts;
}

CheckResult SegmentRunner::runTrial(const Program &wholeProgram,
                                    const Program &localProgram, uint64_t seed,
                                    unsigned trial, Signs signs) {
  SmallVector<TensorValue> arguments =
      drawArguments(evaluator, whole, DataSet{seed, trial, signs});
  SmallVector<DeviceValues> parts;
  const Mesh *mesh = localProgram.getMesh();
  for (auto [index, argument] : llvm::enumerate(arguments)) {
    auto type = cast<RankedTensorType>(local.getArgumentTypes()[index]);
    parts.push_back(distribute(argument, type, *mesh,
                               segment.zeroPadded[index] ? Padding::Zero
                                                         : Padding::Garbage));
  }
  std::string error;
  ScopedDiagnosticHandler collect(whole.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (error.empty())
                                      error = diagnostic.str();
                                    return success();
                                  });
  Interpreter interpreter(evaluator);
  auto wanted = interpreter.run(wholeProgram, arguments);
  if (failed(wanted))
    return {CheckResult::Contradictory, error, ""};
  auto made = interpreter.runOnDevices(localProgram, parts);
  if (failed(made))
    return {CheckResult::Different, error, ""};
  for (auto [index, value] : llvm::enumerate(*wanted)) {
    auto type = cast<RankedTensorType>(local.getResultTypes()[index]);
    auto gathered = distributor.gather((*made)[index], getLayout(type, *mesh),
                                       value->getType(), /*tolerance=*/0);
    if (auto *reason = std::get_if<std::string>(&gathered))
      return {CheckResult::Different, *reason, ""};
    if (auto difference = findDifference(
            evaluator, std::get<TensorValue>(gathered), value, 0))
      return {CheckResult::Different, *difference, ""};
  }
  return {CheckResult::Equal, "", ""};
}

/// The number of elements that a run touches if every device has its own
/// tensors.
static double countElements(func::FuncOp function, int64_t devices) {
  double elements = 0;
  auto add = [&](TypeRange types) {
    for (Type type : types)
      if (auto tensor = dyn_cast<RankedTensorType>(type))
        elements += getVolume(tensor.getShape());
  };
  add(function.getArgumentTypes());
  function.walk([&](Operation *op) { add(op->getResultTypes()); });
  return elements * devices;
}

CheckResult SegmentRunner::run() {
  std::string error;
  FailureOr<Program> wholeProgram, localProgram;
  {
    ScopedDiagnosticHandler collect(whole.getContext(),
                                    [&](Diagnostic &diagnostic) {
                                      error = diagnostic.str();
                                      return success();
                                    });
    wholeProgram = Program::analyze(whole);
    localProgram = Program::analyze(local);
  }
  if (failed(wholeProgram) || failed(localProgram))
    return {CheckResult::Different, error, ""};
  if (!localProgram->isLocal()) // it has no local types
    return {CheckResult::NotCovered, "its values do not have local types", ""};
  int64_t devices = localProgram->getNumDevices();
  if (devices > InterpreterOptions().maxDevices)
    return {CheckResult::NotCovered,
            (Twine(devices) + " devices are more than the interpreter supports")
                .str(),
            ""};
  double elements = countElements(whole, 1) + countElements(local, devices);
  if (elements > kMaxElements)
    return {CheckResult::NotCovered,
            "its tensors are too large for the interpreter", ""};
  for (Signs signs : getSigns(segment))
    for (unsigned trial = 0, e = getNumTrials(segment, whole, elements);
         trial < e; ++trial) {
      CheckResult result =
          runTrial(*wholeProgram, *localProgram, salt, trial, signs);
      if (result.kind != CheckResult::Equal)
        return result;
    }
  return {CheckResult::Equal, "", ""};
}

CheckResult tp::checkSegment(const Segment &segment, const Mesh &mesh,
                             uint64_t seed) {
  std::optional<CheckResult> small;
  CheckResult result;
  // Each row sets the flags mesh, extents, whole, offsets and parts.
  static const Sizes attempts[] = {
      {true, true, true, true, true},     {true, true, true, true, false},
      {true, true, false, true, false},   {true, true, false, false, false},
      {false, true, false, false, false}, {}};
  for (const Sizes &sizes : attempts) {
    // A local form that is wrong on small sizes may be right on the true sizes.
    // So the check on the true sizes decides.
    if (small && sizes.extents)
      continue;
    std::string reason;
    OwningOpRef<ModuleOp> scratch =
        buildShrunkModule(segment, mesh, sizes, reason);
    if (!scratch) {
      result = {CheckResult::NotCovered, reason, ""};
      continue;
    }
    result =
        SegmentRunner(segment, scratch->lookupSymbol<func::FuncOp>("whole"),
                      scratch->lookupSymbol<func::FuncOp>("local"), seed)
            .run();
    if (result.kind == CheckResult::Equal)
      return result;
    if (!result.isFailure())
      continue;
    result.reproducer = printReproducer(*scratch, segment);
    // For a dynamic slice or update, the small sizes are in the same order as
    // the true sizes, so a failure is final. The true sizes are run with random
    // starts, which might miss the error.
    if (sizes.parts && takesPart(segment))
      return result;
    small = result;
  }
  return result.kind == CheckResult::NotCovered && small ? *small : result;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-partition: replay the certificate of a partition.

#include "Digest.h"
#include "OpCheck.h"
#include "Stopwatch.h"

#include "dialects/TP/Interface.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Interfaces/CallInterfaces.h"

#include <unordered_map>

namespace tp {
#define GEN_PASS_DEF_VERIFYPARTITIONPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

namespace {

/// The results of checked segments, keyed by a 64-bit hash of everything that a
/// result depends on. With n different segments, the probability that any two
/// have the same key is about n^2 / 2^65.
using KnownSegments = std::unordered_map<uint64_t, CheckResult>;

class FunctionVerifier {
public:
  FunctionVerifier(func::FuncOp global, func::FuncOp local, const Mesh &mesh,
                   uint64_t seed, StringRef reproducer, KnownSegments &known,
                   bool &coversAll)
      : global(global), local(local), mesh(mesh), seed(seed),
        reproducer(reproducer), known(known), coversAll(coversAll) {}

  LogicalResult run();

private:
  LogicalResult verifyRegion(Region &whole, Region &part);
  LogicalResult verifySignature();
  SmallVector<Value> getResults(const Segment &segment, unsigned count);
  LogicalResult verifyStructure(Operation *whole, Operation *part);
  LogicalResult verifySegment(Segment &segment);
  LogicalResult verifyCombined(const Segment &segment);
  LogicalResult writeReproducer(Operation *op, const CheckResult &result);
  LogicalResult verifyReads(const Segment &segment);
  LogicalResult relate(Operation *at, Value whole, Value part);
  LogicalResult verifyOperands(Operation *whole, Operation *part);
  uint64_t getKey(const Segment &segment);
  bool isZeroPadded(Value part);

  /// Emits the error that the certificate does not match the program.
  InFlightDiagnostic emitMismatch(Operation *op) {
    return op->emitError() << prefix(ErrorCode::BadCertificate);
  }

  func::FuncOp global, local;
  const Mesh &mesh;
  uint64_t seed;
  StringRef reproducer;
  KnownSegments &known;
  bool &coversAll; ///< Becomes false if an op could not be run.
  llvm::DenseMap<Value, Value> related;  ///< Global values to local ones.
  llvm::DenseMap<Type, Type> wholeTypes; ///< By local type.
  int64_t numOps = 0;
};

} // namespace

/// Records that the local value `part` represents the global value `whole`.
/// Fails if `part` does not have the type of one device's part of `whole`.
LogicalResult FunctionVerifier::relate(Operation *at, Value whole, Value part) {
  // Compute this once per type: there are fewer types than values.
  Type &type = wholeTypes[part.getType()];
  if (!type && isSupportedTensor(part.getType()))
    type = Program::getWholeType(part.getType());
  if (type != whole.getType())
    return emitMismatch(at) << "a value of type " << part.getType()
                            << " is not one device's part of a value of type "
                            << whole.getType();
  related[whole] = part;
  return success();
}

/// Entry arguments arrive with zeros in their padding, except for donated ones,
/// whose buffers have been used before.
bool FunctionVerifier::isZeroPadded(Value part) {
  auto argument = dyn_cast<BlockArgument>(part);
  return argument && argument.getOwner() == &local.getBody().front() &&
         !local.getArgAttr(argument.getArgNumber(), kDonatedAttr);
}

LogicalResult FunctionVerifier::verifyOperands(Operation *whole,
                                               Operation *part) {
  if (whole->getNumOperands() != part->getNumOperands())
    return emitMismatch(part)
           << "this op has " << part->getNumOperands()
           << " operands, but the global op has " << whole->getNumOperands();
  for (auto [index, operands] : llvm::enumerate(
           llvm::zip_equal(whole->getOperands(), part->getOperands())))
    if (related.lookup(std::get<0>(operands)) != std::get<1>(operands))
      return emitMismatch(part) << "operand #" << index
                                << " is not one device's part of the "
                                   "corresponding operand of the global op";
  return success();
}

/// Verifies an op with regions, or a call. The local op must be the same as the
/// global op. The regions of the ops are verified separately.
LogicalResult FunctionVerifier::verifyStructure(Operation *whole,
                                                Operation *part) {
  if (whole->getName() != part->getName() ||
      whole->getNumRegions() != part->getNumRegions() ||
      whole->getNumResults() != part->getNumResults() ||
      whole->getPropertiesAsAttribute() != part->getPropertiesAsAttribute())
    return emitMismatch(part)
           << "this op does not match the global op, " << whole->getName();
  if (failed(verifyOperands(whole, part)))
    return failure();
  auto isPartial = [&](Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    auto encoding =
        type ? dyn_cast_or_null<LocalAttr>(type.getEncoding()) : LocalAttr();
    return encoding && !encoding.getSharding().getUnreduced().empty();
  };
  auto flow = dyn_cast<RegionFlowOpInterface>(part);
  if (OpOperand *decision = flow ? flow.getDecision() : nullptr;
      decision && isPartial(decision->get()))
    return part->emitError() << prefix(ErrorCode::DivergentDevices)
                             << "this op branches or loops on a partial value, "
                                "which differs between devices";
  for (auto [from, to] :
       llvm::zip_equal(whole->getRegions(), part->getRegions()))
    if (failed(verifyRegion(from, to)))
      return failure();
  return success();
}

/// Returns, for each result of the local op `part`, the number of the global
/// op's result that it represents, or -1. Returns null if `part` has no such
/// list.
static DenseI64ArrayAttr getPlaces(Operation *part) {
  return part->getAttrOfType<DenseI64ArrayAttr>(kGlobalOpAttr);
}

LogicalResult FunctionVerifier::verifyRegion(Region &whole, Region &part) {
  if (!whole.hasOneBlock() || !part.hasOneBlock() ||
      whole.getNumArguments() != part.getNumArguments())
    return emitMismatch(part.getParentOp())
           << "this op must have as many blocks and region arguments as the "
              "global op";
  for (auto [from, to] :
       llvm::zip_equal(whole.getArguments(), part.getArguments()))
    if (failed(relate(part.getParentOp(), from, to)))
      return failure();
  auto next = part.front().begin(), end = part.front().end();
  for (Operation &op : whole.front()) {
    int64_t number = numOps++;
    if (op.hasTrait<OpTrait::IsTerminator>())
      return verifyOperands(&op, part.front().getTerminator());
    Segment segment{&op, {}, {}, {}, {}};
    // How many results of the global op have been found in local ops.
    unsigned found = 0;
    for (bool isLast = false; !isLast; ++next) {
      if (next == end) {
        InFlightDiagnostic diag = emitMismatch(part.getParentOp())
                                  << "no local op corresponds to "
                                  << op.getName() << ", op " << number
                                  << " of the global program";
        diag.attachNote(op.getLoc()) << "this op";
        return diag;
      }
      segment.local.push_back(&*next);
      if (DenseI64ArrayAttr places = getPlaces(&*next))
        found += llvm::count_if(places.asArrayRef(),
                                [](int64_t place) { return place >= 0; });
      isLast = next->hasAttrOfType<UnitAttr>(kGlobalOpAttr) ||
               (found > 0 && found >= op.getNumResults());
    }
    Operation *last = segment.local.back();
    segment.results = getResults(segment, op.getNumResults());
    if (segment.results.size() != op.getNumResults() ||
        llvm::is_contained(segment.results, Value()))
      return emitMismatch(last)
             << "this op must have the " << op.getNumResults()
             << " results of the global op " << op.getName();
    bool isStructural = isa<CallOpInterface>(op) ||
                        (op.getNumRegions() > 0 && !isa<ManualOp>(op));
    if (isStructural ? failed(verifyStructure(&op, last))
                     : failed(verifySegment(segment)))
      return failure();
    for (auto [from, to] : llvm::zip_equal(op.getResults(), segment.results))
      if (failed(relate(last, from, to)))
        return failure();
  }
  return success();
}

/// The values that represent the global op's results: by default, the results
/// of the last op.
SmallVector<Value> FunctionVerifier::getResults(const Segment &segment,
                                                unsigned count) {
  Operation *last = segment.local.back();
  if (!getPlaces(last))
    return llvm::to_vector_of<Value>(last->getResults());
  SmallVector<Value> results(count);
  for (Operation *op : segment.local)
    if (DenseI64ArrayAttr places = getPlaces(op))
      for (auto [place, value] :
           llvm::zip(places.asArrayRef(), op->getResults()))
        if (place >= 0 && place < int64_t(count))
          results[place] = value;
  return results;
}

/// Checks that the local ops read only each other and the values that represent
/// the operands.
LogicalResult FunctionVerifier::verifyReads(const Segment &segment) {
  llvm::SmallPtrSet<Operation *, 8> inside(segment.local.begin(),
                                           segment.local.end());
  for (Operation *op : segment.local)
    for (auto [index, operand] : llvm::enumerate(op->getOperands()))
      if (!llvm::is_contained(segment.operands, operand) &&
          !inside.count(operand.getDefiningOp()))
        return emitMismatch(op)
               << "operand #" << index
               << " is not one device's part of an operand of the global op "
               << segment.whole->getName();
  return success();
}

uint64_t FunctionVerifier::getKey(const Segment &segment) {
  uint64_t key = digestOpAlone(segment.whole);
  llvm::SmallDenseMap<Value, uint64_t, 16> numbers;
  for (auto [operand, zero] :
       llvm::zip_equal(segment.operands, segment.zeroPadded)) {
    uint64_t number =
        numbers.try_emplace(operand, numbers.size() + 1).first->second;
    key = mixDigest(key, number * 2 + zero);
    key = mixDigest(key, reinterpret_cast<uintptr_t>(
                             operand.getType().getAsOpaquePointer()));
  }
  for (Operation *op : segment.local) {
    key = mixDigest(key, digestOpAlone(op));
    for (Value operand : op->getOperands())
      key = mixDigest(key, numbers.lookup(operand));
    for (Value result : op->getResults())
      numbers.try_emplace(result, numbers.size() + 1);
  }
  return key;
}

LogicalResult FunctionVerifier::writeReproducer(Operation *op,
                                                const CheckResult &result) {
  if (reproducer.empty())
    return success();
  if (llvm::Error error = writeFile(reproducer, result.reproducer))
    return op->emitError() << toMessage(std::move(error));
  return success();
}

/// Creates an op for one part of a combined collective, next to that
/// collective.
static CombinedOp takePart(CombinedOp op, unsigned part) {
  OpBuilder builder(op);
  llvm::BitVector parts(op->getNumOperands());
  parts.set(part);
  return op.take(builder, parts);
}

/// Verifies a combined collective part by part: there may be thousands of
/// parts, many of them equal.
LogicalResult FunctionVerifier::verifyCombined(const Segment &segment) {
  auto whole = cast<CombinedOp>(segment.whole);
  auto local = dyn_cast<CombinedOp>(segment.local.back());
  if (segment.local.size() != 1 || !local ||
      local.getKinds() != whole.getKinds() ||
      segment.results != llvm::to_vector_of<Value>(local->getResults()))
    return emitMismatch(segment.local.back())
           << "this op does not match the global op, " << whole->getName();
  if (failed(verifyOperands(whole, local)))
    return failure();
  LogicalResult result = success();
  for (unsigned i = 0; i < whole->getNumOperands() && succeeded(result); ++i) {
    CombinedOp wholePart = takePart(whole, i), localPart = takePart(local, i);
    Segment part{wholePart, {localPart}, {}, {localPart->getResult(0)}, {}};
    result = verifySegment(part);
    related.erase(wholePart->getResult(0));
    wholePart.erase();
    localPart.erase();
  }
  return result;
}

LogicalResult FunctionVerifier::verifySegment(Segment &segment) {
  if (isa<CombinedOp>(segment.whole) && segment.whole->getNumOperands() > 1)
    return verifyCombined(segment);
  for (Value operand : segment.whole->getOperands()) {
    Value part = related.lookup(operand);
    segment.operands.push_back(part);
    segment.zeroPadded.push_back(isZeroPadded(part));
  }
  Operation *last = segment.local.back();
  if (failed(verifyReads(segment)))
    return failure();
  for (auto [from, to] :
       llvm::zip_equal(segment.whole->getResults(), segment.results))
    if (failed(relate(last, from, to)))
      return failure();
  bool hasRegions = segment.whole->getNumRegions() > 0 ||
                    llvm::any_of(segment.local, [](Operation *op) {
                      return op->getNumRegions() > 0;
                    });
  CheckResult result;
  if (hasRegions) {
    result = checkSegment(segment, mesh, seed);
  } else {
    auto [entry, isNew] = known.try_emplace(getKey(segment));
    if (isNew)
      entry->second = checkSegment(segment, mesh, seed);
    result = entry->second;
    if (!isNew && !result.isFailure())
      return success();
  }
  switch (result.kind) {
  case CheckResult::Equal:
    return success();
  case CheckResult::NotCovered:
    coversAll = false;
    emitWarning(last->getLoc())
        << "the local form of " << segment.whole->getName()
        << " is not verified by computing it: " << result.message;
    return success();
  case CheckResult::Contradictory:
    return segment.whole->emitError() << result.message;
  case CheckResult::Different: {
    if (failed(writeReproducer(last, result)))
      return failure();
    InFlightDiagnostic diag =
        last->emitError() << prefix(ErrorCode::ProgramsDiffer) << "function '"
                          << local.getName() << "': the local form of "
                          << segment.whole->getName()
                          << " does not compute the same result: "
                          << result.message;
    for (auto [index, operand] : llvm::enumerate(segment.operands))
      diag.attachNote(operand.getLoc())
          << "operand #" << index << " is " << operand.getType();
    diag.attachNote(last->getLoc())
        << "the result is " << last->getResult(0).getType();
    return diag;
  }
  }
  llvm_unreachable("covered switch");
}

/// Checks that arguments and results have the layouts that the user asked for.
LogicalResult FunctionVerifier::verifySignature() {
  auto check = [&](Type type, ShardingAttr wanted,
                   const Twine &what) -> LogicalResult {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !wanted)
      return success();
    auto encoding = dyn_cast_or_null<LocalAttr>(tensor.getEncoding());
    if (encoding && encoding.getSharding() == wanted)
      return success();
    auto asked = wanted.resolve(mesh, tensor.getRank());
    if (encoding && std::holds_alternative<TensorSharding>(asked) &&
        std::get<TensorSharding>(
            encoding.getSharding().resolve(mesh, tensor.getRank()))
            .sameLayout(std::get<TensorSharding>(asked)))
      return success();
    return emitMismatch(local) << what << " is " << type
                               << ", but its annotation asks for " << wanted;
  };
  for (auto [index, type] : llvm::enumerate(local.getArgumentTypes()))
    if (failed(check(
            type, global.getArgAttrOfType<ShardingAttr>(index, kShardingAttr),
            "argument #" + Twine(index))))
      return failure();
  for (auto [index, type] : llvm::enumerate(local.getResultTypes()))
    if (failed(check(
            type,
            global.getResultAttrOfType<ShardingAttr>(index, kShardingAttr),
            "result #" + Twine(index))))
      return failure();
  return success();
}

LogicalResult FunctionVerifier::run() {
  if (global.getNumArguments() != local.getNumArguments() ||
      global.getNumResults() != local.getNumResults())
    return emitMismatch(local)
           << "the local function must have as many arguments and results as "
              "the global function";
  if (failed(verifySignature()))
    return failure();
  return verifyRegion(global.getBody(), local.getBody());
}

namespace {
struct VerifyPartition : tp::impl::VerifyPartitionPassBase<VerifyPartition> {
  using VerifyPartitionPassBase::VerifyPartitionPassBase;

  void runOnOperation() override {
    Stopwatch stopwatch;
    bool coversAll = true;
    if (failed(verifyModule(coversAll)))
      return signalPassFailure();
    if (!report)
      return;
    stopwatch.addTo(getOperation(),
                    coversAll ? Verified::Field : Verified::Static);
  }

private:
  LogicalResult verifyModule(bool &coversAll);
  void dropCertificate(func::FuncOp global, func::FuncOp local);
};
} // namespace

void VerifyPartition::dropCertificate(func::FuncOp global, func::FuncOp local) {
  global.erase();
  auto op = StringAttr::get(&getContext(), kGlobalOpAttr);
  local.walk([&](Operation *part) { part->removeAttr(op); });
}

LogicalResult VerifyPartition::verifyModule(bool &coversAll) {
  ModuleOp module = getOperation();
  KnownSegments known;
  unsigned functions = 0;
  llvm::DenseMap<StringAttr, func::FuncOp> byName;
  for (auto function : module.getOps<func::FuncOp>())
    byName[function.getNameAttr()] = function;
  for (auto global :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    auto name = global->getAttrOfType<FlatSymbolRefAttr>(kLocalFormAttr);
    if (!name)
      continue;
    func::FuncOp local = byName.lookup(name.getAttr());
    if (!local || local.isExternal() || global.isExternal())
      return global.emitError() << prefix(ErrorCode::BadCertificate)
                                << "the module has no function " << name;
    FailureOr<Program> program = Program::analyze(local);
    if (failed(program))
      return failure();
    ++functions;
    // A local program without local types must equal the global program.
    Mesh none;
    if (failed(FunctionVerifier(global, local,
                                program->isLocal() ? *program->getMesh() : none,
                                seed, reproducer, known, coversAll)
                   .run()))
      return failure();
    if (!keepCertificate)
      dropCertificate(global, local);
  }
  auto hasBody = [](func::FuncOp function) { return !function.isExternal(); };
  if (functions == 0 && llvm::none_of(module.getOps<func::FuncOp>(), hasBody))
    return module.emitError()
           << prefix(ErrorCode::UnknownEntry)
           << "the module has no function with a body, so there is nothing to "
              "shard: give the program as it was before it was compiled";
  if (functions == 0)
    return module.emitError() << prefix(ErrorCode::BadCertificate)
                              << "no function names its local form: run "
                                 "tp-localize with keep-global";
  return success();
}

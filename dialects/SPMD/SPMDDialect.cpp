// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `spmd` dialect: the places where shardings may occur, and their
// verification.

#include "ShardingResolver.h"
#include "dialects/OpError.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

#include "tpopt/Dialect/SPMD/SPMDDialect.cpp.inc"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.cpp.inc"

namespace {
/// Calls to private functions are inlined before any other pass.
struct SPMDInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void SPMDDialect::initialize() {
  registerAttributes();
  addInterfaces<SPMDInlinerInterface, ShardingResolver>();
  addOperations<
#define GET_OP_LIST
#include "tpopt/Dialect/SPMD/SPMDOps.cpp.inc"
      >();
}

MeshOp spmd::lookupMesh(Operation *from, FlatSymbolRefAttr name) {
  // Every verifier calls this, so it must be fast. SymbolTable would look up
  // the attribute's name among all strings for each op on the way.
  while (from && !isa<ModuleOp>(from))
    from = from->getParentOp();
  if (from)
    for (MeshOp mesh : cast<ModuleOp>(from).getOps<MeshOp>())
      if (mesh.getSymNameAttr() == name.getAttr())
        return mesh;
  return nullptr;
}

LogicalResult
spmd::verifySharding(Operation *op, ShardingAttr sharding, unsigned rank,
                     function_ref<InFlightDiagnostic()> emitError) {
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return emitError() << prefix(ErrorCode::UnknownMesh)
                       << "the module has no mesh " << sharding.getMesh()
                       << "; define one with `spmd.mesh " << sharding.getMesh()
                       << " <[\"model\"=4]>`";
  const ShardingResolver::Resolved &resolved =
      ShardingResolver::get(op->getContext()).resolve(sharding, mesh, rank);
  if (const auto *error = std::get_if<ShardingError>(&resolved))
    return emitError() << prefix(error->code) << error->message;
  return success();
}

LogicalResult
spmd::verifySharding(Operation *op, ShardingAttr sharding, Type type,
                     function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError() << prefix(ErrorCode::RankMismatch)
                       << "only a ranked tensor can have a sharding, got "
                       << type;
  return verifySharding(op, sharding, unsigned(tensor.getRank()), emitError);
}

LogicalResult spmd::verifyAxes(Operation *op, FlatSymbolRefAttr mesh,
                               ArrayRef<AxisRefAttr> axes,
                               function_ref<InFlightDiagnostic()> emitError) {
  // The axes of a list have the same constraints as the axes of one dimension,
  // so verify them as the sharding of a rank-1 tensor.
  MLIRContext *context = op->getContext();
  auto dim = DimShardingAttr::get(context, axes, /*open=*/false,
                                  /*priority=*/-1);
  return verifySharding(
      op, ShardingAttr::get(context, mesh, dim, {}, {}, ReduceKind::Sum),
      /*rank=*/1u, emitError);
}

static LogicalResult emitUnknown(Location at, StringAttr name) {
  bool isSingle = name.getValue().edit_distance(kShardingAttr) <=
                  name.getValue().edit_distance(kShardingsAttr);
  return mlir::emitError(at)
         << prefix(ErrorCode::UnknownAttribute) << "no attribute is called "
         << name << "; did you mean '"
         << (isSingle ? kShardingAttr : kShardingsAttr) << "'?";
}

LogicalResult SPMDDialect::verifyOperationAttribute(Operation *op,
                                                    NamedAttribute attribute) {
  if (attribute.getName() == kShardingAttr)
    return op->emitError() << prefix(ErrorCode::Misplaced)
                           << "`spmd.sharding` is only for function arguments "
                              "and results; write `spmd.shardings` on an op";
  if (attribute.getName() != kShardingsAttr)
    return emitUnknown(op->getLoc(), attribute.getName());
  auto shardings = dyn_cast<ArrayAttr>(attribute.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitError() << prefix(ErrorCode::BadAttribute)
                           << "`spmd.shardings` must be an array with one "
                              "sharding for each of the "
                           << op->getNumResults() << " results";
  for (auto [entry, result] : llvm::zip_equal(shardings, op->getResults())) {
    auto sharding = dyn_cast<ShardingAttr>(entry);
    if (!sharding)
      return op->emitError()
             << prefix(ErrorCode::BadAttribute)
             << "expects #spmd.sharding<..> in `spmd.shardings`, got " << entry;
    if (failed(verifySharding(op, sharding, result.getType(),
                              [&] { return op->emitError(); })))
      return failure();
  }
  return success();
}

/// Verifies the attribute of a function argument or result of type `type`.
/// Emits errors at `at`. If `at` is only the location of the function, a note
/// says that the error is about `what`.
static LogicalResult verifyFunctionAttribute(Operation *op, Location at,
                                             Type type,
                                             NamedAttribute attribute,
                                             const Twine &what) {
  if (attribute.getName() == kShardingsAttr)
    return mlir::emitError(at)
           << prefix(ErrorCode::Misplaced)
           << "`spmd.shardings` is only for operations; write `spmd.sharding` "
              "on an argument or a result";
  if (attribute.getName() != kShardingAttr)
    return emitUnknown(at, attribute.getName());
  auto begin = [&] { return emitError(at); };
  auto emitAt = [&] {
    InFlightDiagnostic error = begin();
    if (at == op->getLoc())
      error.attachNote() << "this is the sharding of " << what;
    return error;
  };
  auto sharding = dyn_cast<ShardingAttr>(attribute.getValue());
  if (!sharding)
    return emitAt()
           << prefix(ErrorCode::BadAttribute)
           << "the value of `spmd.sharding` must be a #spmd.sharding<..>";
  // After Localize, the type is the device's part, and its encoding gives the
  // sharding.
  return verifySharding(op, sharding, type, emitAt);
}

LogicalResult SPMDDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  Location at = getArgumentLoc(function, argIndex);
  if (auto sharding = dyn_cast<ShardingAttr>(attribute.getValue()))
    if (!sharding.getUnreduced().empty())
      return mlir::emitError(at)
             << prefix(ErrorCode::UnreducedArgument) << "argument #" << argIndex
             << " cannot be a partial sum: the caller does not know which "
                "device holds which addend; sum it before the call, or pass it "
                "sharded";
  return verifyFunctionAttribute(op, at, function.getArgumentTypes()[argIndex],
                                 attribute, "argument #" + Twine(argIndex));
}

LogicalResult
SPMDDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                         unsigned resultIndex,
                                         NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return success();
  return verifyFunctionAttribute(op, op->getLoc(),
                                 function.getResultTypes()[resultIndex],
                                 attribute, "result #" + Twine(resultIndex));
}

ShardingAttr spmd::getSharding(Value value) {
  // After Localize, the sharding is in the type.
  if (auto type = dyn_cast<RankedTensorType>(value.getType()))
    if (auto local = dyn_cast_if_present<LocalAttr>(type.getEncoding()))
      return local.getSharding();
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation *parent = arg.getOwner()->getParentOp();
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent))
      return function.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(),
                                                     kShardingAttr);
    if (auto manual = dyn_cast_or_null<ManualOp>(parent))
      return getFreePart(
          manual,
          cast<ShardingAttr>(manual.getInShardings()[arg.getArgNumber()]));
    std::optional<Channel> channel = getChannel(arg);
    return channel ? getSharding(channel->getOwner()) : ShardingAttr();
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  auto shardings =
      dyn_cast_if_present<ArrayAttr>(op->getDiscardableAttr(kShardingsAttr));
  // Look for the attribute first: only ops without it need the slower casts.
  if (!shardings) {
    if (auto collective = dyn_cast<CollectiveOpInterface>(op))
      return isAlongManualAxes(collective)
                 ? ShardingAttr() // describes the devices, not the value
                 : collective.getPartOutSharding(number);
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return reshard.getSharding();
    return {};
  }
  if (shardings.size() <= number)
    return {};
  return dyn_cast<ShardingAttr>(shardings[number]);
}

/// Gives argument `index` of a manual region the sharding `free`.
static void setFreePart(ManualOp op, unsigned index, ShardingAttr free) {
  SmallVector<Attribute> list(op.getInShardings().getValue());
  list[index] = withFreePart(op, cast<ShardingAttr>(list[index]), free);
  op.setInShardingsAttr(ArrayAttr::get(op.getContext(), list));
}

void spmd::setSharding(Value value, ShardingAttr sharding) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    Operation *parent = arg.getOwner()->getParentOp();
    if (auto function = dyn_cast_or_null<FunctionOpInterface>(parent))
      function.setArgAttr(arg.getArgNumber(), kShardingAttr, sharding);
    else if (auto manual = dyn_cast_or_null<ManualOp>(parent))
      setFreePart(manual, arg.getArgNumber(), sharding);
    else if (std::optional<Channel> channel = getChannel(arg))
      setSharding(channel->getOwner(), sharding);
    return;
  }
  auto result = cast<OpResult>(value);
  Operation *op = result.getOwner();
  SmallVector<Attribute> shardings(op->getNumResults());
  if (op->getNumResults() > 1)
    if (auto old = dyn_cast_if_present<ArrayAttr>(
            op->getDiscardableAttr(kShardingsAttr)))
      llvm::copy(old, shardings.begin());
  shardings[result.getResultNumber()] = sharding;
  // Results without a sharding get a placeholder, as an array cannot hold null.
  for (Attribute &entry : shardings)
    if (!entry)
      entry = UnitAttr::get(op->getContext());
  op->setDiscardableAttr(kShardingsAttr,
                         ArrayAttr::get(op->getContext(), shardings));
}

/// Returns a copy of the attribute dictionaries `old`, in which dictionary i
/// has the sharding `shardings[i]`. If `shardings[i]` is null, dictionary i is
/// the same as in `old`.
static SmallVector<DictionaryAttr>
withShardings(MLIRContext *context, ArrayAttr old, unsigned size,
              ArrayRef<ShardingAttr> shardings) {
  SmallVector<DictionaryAttr> all(size, DictionaryAttr::get(context));
  if (old)
    llvm::copy(old.getAsRange<DictionaryAttr>(), all.begin());
  for (auto [sharding, dictionary] : llvm::zip(shardings, all)) {
    if (!sharding)
      continue;
    NamedAttrList list(dictionary);
    list.set(kShardingAttr, sharding);
    dictionary = list.getDictionary(context);
  }
  return all;
}

void spmd::setSignature(FunctionOpInterface function,
                        ArrayRef<ShardingAttr> arguments,
                        ArrayRef<ShardingAttr> results) {
  MLIRContext *context = function->getContext();
  if (llvm::any_of(arguments, [](ShardingAttr a) { return bool(a); }))
    function.setAllArgAttrs(withShardings(context, function.getArgAttrsAttr(),
                                          function.getNumArguments(),
                                          arguments));
  if (llvm::any_of(results, [](ShardingAttr a) { return bool(a); }))
    function.setAllResultAttrs(
        withShardings(context, function.getResAttrsAttr(),
                      function.getNumResults(), results));
}

const ShardingRule *spmd::findShardingRule(Operation *op, StringRef equation,
                                           std::string &why) {
  const ShardingResolver::Rule &rule =
      ShardingResolver::get(op->getContext()).getRule(op, equation);
  if (const auto *error = std::get_if<std::string>(&rule))
    why = *error;
  return std::get_if<ShardingRule>(&rule);
}

ShardingRule spmd::parseShardingRule(Operation *op, StringRef equation) {
  std::string why;
  const ShardingRule *rule = findShardingRule(op, equation, why);
  if (!rule) {
    // This is only reached if an op's verifier misses a constraint: that is a
    // bug of the op, and continuing would give wrong shardings.
    llvm::report_fatal_error(llvm::Twine(op->getName().getStringRef()) + ": " +
                             why);
  }
  return *rule;
}

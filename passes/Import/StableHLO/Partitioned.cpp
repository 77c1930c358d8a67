// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Partitioned.h"

#include "GSPMD.h"
#include "Groups.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static constexpr StringLiteral kParameters = "mhlo.spmd_parameters_shardings";
static constexpr StringLiteral kOutput = "mhlo.spmd_output_sharding";

static bool isRegion(Operation *op) {
  if (op->getName().getStringRef() == "sdy.manual_computation")
    return true;
  StringRef target = getCallTarget(op);
  return target == "SPMDFullToShardShape" ||
         target == "xla.sdy.GlobalToLocalShape";
}

/// Returns true if the module was written by jax.pmap, up to JAX 0.7, for
/// several replicas. Only the module's name distinguishes it from a program
/// whose replicas all hold the same data.
static bool isMapped(ModuleOp module) {
  return module.getName().value_or("").starts_with("pmap_") &&
         Processes::read(module).replicas > 1;
}

bool stablehlo::isPartitioned(ModuleOp module) {
  bool exchanges = module->hasAttr(kParameters) || module->hasAttr(kOutput) ||
                   isMapped(module);
  bool hasRegions = false;
  module.walk([&](Operation *op) {
    exchanges |= isExchange(op);
    hasRegions |= isRegion(op);
  });
  return exchanges && !hasRegions;
}

int64_t stablehlo::countDevices(ModuleOp module) {
  int64_t devices = Processes::read(module).getNumDevices();
  if (devices > 1)
    return devices;
  module.walk([&](Operation *op) {
    if (auto mesh = dyn_cast<spmd::MeshOp>(op))
      devices = std::max(
          devices,
          getNumDevices(mesh.getMesh().getSizes()).value_or(kMaxDevices));
    for (StringRef name : {"replica_groups", "source_target_pairs"})
      if (auto list = op->getAttrOfType<DenseIntElementsAttr>(name);
          list && isExchange(op) &&
          getVolume(list.getType().getShape()) <= 2 * kMaxDevices)
        for (const APInt &number : list.getValues<APInt>())
          if (number.isNonNegative() && number.ult(kMaxDevices))
            devices = std::max<int64_t>(devices, number.getZExtValue() + 1);
  });
  return devices;
}

/// Returns true if all devices keep their data: groups have one member, or
/// devices send to themselves. Operations that cannot be read are refused
/// later, when they are imported.
static bool isIdle(Operation *op, int64_t devices) {
  ScopedDiagnosticHandler silence(op->getContext(),
                                  [](Diagnostic &) { return success(); });
  if (op->getName().getStringRef() == "stablehlo.collective_permute") {
    auto pairs = readPairs(op, devices);
    if (failed(pairs) || int64_t(pairs->size()) != 2 * devices)
      return false;
    for (size_t i = 0; i < pairs->size(); i += 2)
      if ((*pairs)[i] != (*pairs)[i + 1])
        return false;
    return true;
  }
  auto groups = readGroups(op, devices);
  return succeeded(groups) && groups->size == 1;
}

void stablehlo::dropIdleExchanges(ModuleOp module) {
  // A module that does not specify its number of devices may run on more
  // devices than its groups name.
  int64_t devices = Processes::read(module).getNumDevices();
  if (devices == 1)
    return;
  module.walk([&](Operation *op) {
    if (!isExchange(op) || op->getNumOperands() == 0 ||
        op->getOperandTypes() != op->getResultTypes() || !isIdle(op, devices))
      return;
    op->replaceAllUsesWith(op->getOperands());
    op->erase();
  });
}

//===----------------------------------------------------------------------===//
// Functions as regions
//===----------------------------------------------------------------------===//

namespace {
/// Turns an entry that takes and returns parts of tensors into an entry that
/// takes and returns whole tensors.
class EntryImporter {
public:
  EntryImporter(func::FuncOp function, const ForeignShardings &shardings)
      : function(function), shardings(shardings),
        module(function->getParentOfType<ModuleOp>()) {}

  LogicalResult run();

private:
  /// For each argument of the function, or for each of its results: the
  /// sharding, and the type of the whole tensor.
  struct Interface {
    SmallVector<Attribute> shardings;
    SmallVector<Type> types;
  };

  InFlightDiagnostic fail(ErrorCode code) {
    return function.emitError()
           << prefix(code) << "function '" << function.getName() << "', ";
  }
  FailureOr<Interface> readArguments();
  FailureOr<Interface> readResults();
  LogicalResult add(Interface &interface, DictionaryAttr attributes,
                    spmd::ShardingAttr otherwise, Type type, const Twine &what);
  spmd::ShardingAttr getMapped(Type type) const;
  void dropInnerShardings();

  func::FuncOp function;
  const ForeignShardings &shardings;
  ModuleOp module;
};
} // namespace

/// Returns the attributes of an argument or result with `sharding` in place of
/// all foreign shardings.
static DictionaryAttr withSharding(DictionaryAttr attributes,
                                   Attribute sharding) {
  NamedAttrList list(attributes);
  list.erase("mhlo.sharding");
  list.erase("sdy.sharding");
  list.erase("mhlo.frontend_attributes");
  list.set(spmd::kShardingAttr, sharding);
  return list.getDictionary(sharding.getContext());
}

/// Adds one argument or result, whose part on a device has type `type`.
LogicalResult EntryImporter::add(Interface &interface,
                                 DictionaryAttr attributes,
                                 spmd::ShardingAttr otherwise, Type type,
                                 const Twine &what) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape())
    return fail(ErrorCode::UnsupportedStableHLO)
           << what << ": " << type << " is not a tensor with static sizes";
  auto said = shardings.read(function, attributes, type);
  if (failed(said))
    return failure();
  Mesh mesh = shardings.getMesh().toMesh();
  spmd::ShardingAttr sharding = said->front() ? said->front() : otherwise;
  auto replication =
      attributes ? attributes.getAs<ArrayAttr>("mhlo.parameter_replication")
                 : ArrayAttr();
  bool differs = replication &&
                 llvm::is_contained(replication,
                                    BoolAttr::get(module.getContext(), false));
  if (!sharding && differs)
    return fail(ErrorCode::BadForeignSharding)
           << what
           << ": devices hold different values, but no sharding says how they "
              "make up one tensor";
  TensorSharding layout = TensorSharding::replicate(tensor.getRank());
  if (sharding) {
    auto resolved = sharding.resolve(mesh, tensor.getRank());
    if (auto *error = std::get_if<ShardingError>(&resolved))
      return fail(error->code) << what << ": " << error->message;
    layout = std::get<TensorSharding>(resolved).getLayout();
  }
  SmallVector<int64_t> shape(tensor.getShape());
  for (auto [size, dim] : llvm::zip_equal(shape, layout.dims))
    if (llvm::MulOverflow(size, getSize(dim.axes), size))
      return fail(ErrorCode::BadForeignSharding)
             << what << ": the whole tensor has a dimension larger than 2^63";
  interface.shardings.push_back(
      spmd::ShardingAttr::get(module.getContext(), mesh, layout));
  interface.types.push_back(
      RankedTensorType::get(shape, tensor.getElementType()));
  return success();
}

/// Returns the default sharding of jax.pmap: the first dimension is sharded
/// over all replicas, so that each has one element of it. Returns null if
/// `type`, the type on one replica, does not begin with a dimension of size 1.
spmd::ShardingAttr EntryImporter::getMapped(Type type) const {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || tensor.getRank() == 0 || tensor.getDimSize(0) != 1)
    return {};
  Mesh mesh = shardings.getMesh().toMesh();
  TensorSharding layout = TensorSharding::replicate(tensor.getRank());
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
    layout.dims[0].axes.push_back(AxisRef::full(mesh, axis));
  return spmd::ShardingAttr::get(type.getContext(), mesh, layout);
}

FailureOr<EntryImporter::Interface> EntryImporter::readArguments() {
  Interface interface;
  auto texts = module->getAttrOfType<ArrayAttr>(kParameters);
  if (texts && texts.size() != function.getNumArguments())
    texts = {};
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    Type type = function.getArgumentTypes()[i];
    spmd::ShardingAttr otherwise;
    if (texts) {
      auto read = shardings.read(
          function,
          DictionaryAttr::get(module.getContext(),
                              NamedAttribute("mhlo.sharding", texts[i])),
          type);
      if (failed(read))
        return failure();
      otherwise = read->front();
    }
    if (isMapped(module) &&
        !function.getArgAttr(i, "mhlo.is_same_data_across_replicas") &&
        !(otherwise = getMapped(type)))
      return fail(ErrorCode::BadForeignSharding)
             << "argument #" << i << ": devices hold different values, but "
             << type << " does not show along which dimension jax.pmap has cut "
             << "the tensor: map over the first dimension, or use "
                "jax.shard_map";
    if (failed(add(interface, function.getArgAttrDict(i), otherwise, type,
                   "argument #" + Twine(i))))
      return failure();
  }
  return interface;
}

FailureOr<EntryImporter::Interface> EntryImporter::readResults() {
  Interface interface;
  SmallVector<spmd::ShardingAttr> otherwise(function.getNumResults());
  if (Attribute text = module->getAttr(kOutput)) {
    auto read = shardings.read(
        function,
        DictionaryAttr::get(module.getContext(),
                            NamedAttribute("mhlo.sharding", text)),
        function.getResultTypes());
    if (failed(read))
      return failure();
    otherwise = *read;
  }
  if (isMapped(module))
    otherwise = llvm::map_to_vector(function.getResultTypes(),
                                    [&](Type type) { return getMapped(type); });
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (failed(add(interface, function.getResultAttrDict(i), otherwise[i],
                   function.getResultTypes()[i], "result #" + Twine(i))))
      return failure();
  return interface;
}

/// Drops shardings inside the function, where all axes are manual and shardings
/// have no meaning.
void EntryImporter::dropInnerShardings() {
  function.getBody().walk([](Operation *op) {
    op->removeAttr("mhlo.sharding");
    op->removeAttr("sdy.sharding");
  });
}

LogicalResult EntryImporter::run() {
  Block &body = function.getBody().front();
  if (!function.getBody().hasOneBlock() || body.empty() ||
      !isa<func::ReturnOp>(body.back()))
    return fail(ErrorCode::BadStableHLO)
           << "the body: expects one block that ends in a return";
  FailureOr<Interface> arguments = readArguments(), results;
  if (failed(arguments) || failed(results = readResults()))
    return failure();
  // Without arguments and results, there is nothing that could be sharded.
  if (arguments->types.empty() && results->types.empty())
    return success();
  dropInnerShardings();

  SmallVector<Location> places;
  for (BlockArgument argument : body.getArguments())
    places.push_back(argument.getLoc());
  OperationState state(function.getLoc(), "sdy.manual_computation");
  OpBuilder builder(function.getContext());
  state.addTypes(results->types);
  state.addAttribute("in_shardings",
                     builder.getArrayAttr(arguments->shardings));
  state.addAttribute("out_shardings", builder.getArrayAttr(results->shardings));
  spmd::MeshOp mesh = shardings.getMesh();
  state.addAttribute("manual_axes",
                     builder.getArrayAttr(SmallVector<Attribute>(
                         llvm::iterator_range(mesh.getMesh().getNames()))));
  state.addRegion()->takeBody(function.getBody());
  Block *entry = function.addEntryBlock();
  entry->eraseArguments(0, entry->getNumArguments());
  entry->addArguments(arguments->types, places);
  state.addOperands(entry->getArguments());
  builder.setInsertionPointToEnd(entry);
  Operation *region = builder.create(state);
  func::ReturnOp::create(builder, body.back().getLoc(), region->getResults());
  Operation *end = &body.back();
  builder.setInsertionPoint(end);
  OperationState yield(end->getLoc(), "sdy.return");
  yield.addOperands(end->getOperands());
  builder.create(yield);
  end->erase();

  function.setType(builder.getFunctionType(arguments->types, results->types));
  for (auto [i, sharding] : llvm::enumerate(arguments->shardings))
    function.setArgAttrs(i, withSharding(function.getArgAttrDict(i), sharding));
  for (auto [i, sharding] : llvm::enumerate(results->shardings))
    function.setResultAttrs(
        i, withSharding(function.getResultAttrDict(i), sharding));
  return success();
}

LogicalResult stablehlo::importPartitioned(ModuleOp module,
                                           const ForeignShardings &shardings) {
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic() && !function.isExternal() &&
        failed(EntryImporter(function, shardings).run()))
      return failure();
  return success();
}

void stablehlo::dropOtherMeshes(ModuleOp module,
                                const ForeignShardings &shardings) {
  for (auto mesh : llvm::make_early_inc_range(module.getOps<spmd::MeshOp>()))
    if (mesh != shardings.getMesh() &&
        SymbolTable::symbolKnownUseEmpty(mesh, module))
      mesh.erase();
}

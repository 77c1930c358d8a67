// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Shardings.h"

#include "Groups.h"
#include "Partitioned.h"

#include "tpopt/Dialect/Sdy/Sdy.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static InFlightDiagnostic fail(Operation *op) {
  return op->emitError() << prefix(ErrorCode::BadForeignSharding);
}

/// Emits the error that a GSPMD string cannot be read.
static InFlightDiagnostic failForm(Operation *op, StringAttr text) {
  return fail(op)
         << "the sharding \"" << text.getValue()
         << "\" cannot be read: expects the form {devices=[2,4]<=[8]}, or a "
            "list of devices in a regular order";
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

/// Exporters escape strings inside of strings once or twice.
static std::string unescape(StringRef text) {
  std::string plain;
  for (char c : text)
    if (c != '\\')
      plain += c;
  return plain;
}

StringRef stablehlo::getCallTarget(Operation *op) {
  auto target = op && op->getName().getStringRef() == "stablehlo.custom_call"
                    ? op->getAttrOfType<StringAttr>("call_target_name")
                    : StringAttr();
  return target ? target.getValue() : StringRef();
}

Attribute stablehlo::getFrontendAttribute(DictionaryAttr attributes,
                                          StringRef name) {
  auto frontend =
      attributes ? attributes.getAs<DictionaryAttr>("mhlo.frontend_attributes")
                 : DictionaryAttr();
  return frontend ? frontend.get(name) : Attribute();
}

Attribute stablehlo::readShardyString(Attribute string) {
  auto text = dyn_cast_or_null<StringAttr>(string);
  if (!text)
    return {};
  std::string plain = unescape(text);
  StringRef body = plain;
  if (!body.consume_front("#sdy"))
    return {};
  if (!body.consume_front(".") &&
      (!body.consume_front("<") || !body.consume_back(">")))
    return {};
  return sdy::readAttribute(string.getContext(), body);
}

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

/// Calls `apply` with every GSPMD string of the module and the operation that
/// has it.
static LogicalResult
forEachTileString(ModuleOp module,
                  function_ref<LogicalResult(Operation *, StringAttr)> apply) {
  auto visit = [&](Operation *op, DictionaryAttr attributes) {
    auto text = attributes ? attributes.getAs<StringAttr>("mhlo.sharding")
                           : StringAttr();
    return text ? apply(op, text) : success();
  };
  // When XLA partitions a module, it leaves these strings on the module.
  SmallVector<Attribute> left;
  if (auto list =
          module->getAttrOfType<ArrayAttr>("mhlo.spmd_parameters_shardings"))
    llvm::append_range(left, list);
  left.push_back(module->getAttr("mhlo.spmd_output_sharding"));
  for (Attribute entry : left)
    if (auto text = dyn_cast_or_null<StringAttr>(entry);
        text && failed(apply(module, text)))
      return failure();
  WalkResult result = module.walk([&](Operation *op) {
    if (failed(visit(op, op->getAttrDictionary())))
      return WalkResult::interrupt();
    if (auto function = dyn_cast<FunctionOpInterface>(op)) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (failed(visit(op, function.getArgAttrDict(i))))
          return WalkResult::interrupt();
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        if (failed(visit(op, function.getResultAttrDict(i))))
          return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static bool hasTileStrings(ModuleOp module) {
  return failed(forEachTileString(
      module, [](Operation *, StringAttr) { return failure(); }));
}

LogicalResult ForeignShardings::importMeshes(ModuleOp module) {
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  SmallVector<Operation *> foreign;
  for (Operation &op : *module.getBody()) {
    if (auto own = dyn_cast<spmd::MeshOp>(op); own && !mesh)
      mesh = own;
    if (op.getName().getStringRef() == "sdy.mesh")
      foreign.push_back(&op);
  }
  for (Operation *op : foreign) {
    auto name = op->getAttrOfType<StringAttr>("sym_name");
    Attribute grid = op->getAttr("mesh");
    auto attribute = dyn_cast_or_null<spmd::MeshAttr>(
        grid ? sdy::toBuiltin(grid) : Attribute());
    if (!name || !attribute)
      return fail(op) << "expects a mesh whose axes have names and sizes, as "
                         "in <[\"x\"=2, \"y\"=4]>";
    if (attribute.getNames().empty()) {
      emptyMeshes.push_back(name);
    } else {
      builder.setInsertionPoint(op);
      auto own = spmd::MeshOp::create(builder, op->getLoc(), name, attribute,
                                      ArrayAttr());
      if (!mesh)
        mesh = own;
    }
    op->erase();
  }
  // A mesh that only replica groups refer to does not determine the shardings
  // of arguments.
  bool isLocal = isPartitioned(module) && hasTileStrings(module);
  if (!mesh && failed(importStringMeshes(module)))
    return failure();
  return mesh && !isLocal ? success() : importTileMesh(module);
}

/// Reads `xla.sdy.meshes = "{mesh = #sdy.mesh<[..]>}"` of the module.
LogicalResult ForeignShardings::importStringMeshes(ModuleOp module) {
  auto text = dyn_cast_or_null<StringAttr>(
      getFrontendAttribute(module->getAttrDictionary(), "xla.sdy.meshes"));
  if (!text)
    return success();
  std::string own = unescape(text);
  for (size_t at; (at = own.find("#sdy.mesh")) != std::string::npos;)
    own.replace(at, 9, "#spmd.mesh");
  auto meshes = dyn_cast_or_null<DictionaryAttr>(
      parseAttribute(own, module.getContext()));
  if (!meshes)
    return fail(module) << "the meshes in xla.sdy.meshes cannot be read: "
                        << text;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  for (NamedAttribute entry : meshes) {
    auto attribute = dyn_cast<spmd::MeshAttr>(entry.getValue());
    if (!attribute)
      return fail(module) << "the meshes in xla.sdy.meshes cannot be read: "
                          << text;
    if (attribute.getNames().empty()) {
      emptyMeshes.push_back(entry.getName());
      continue;
    }
    auto op = spmd::MeshOp::create(builder, module.getLoc(), entry.getName(),
                                   attribute, ArrayAttr());
    if (!mesh)
      mesh = op;
  }
  return success();
}

/// For the groups of every exchange, adds to `factors` those digits of the
/// device number that differ between devices of one group.
static LogicalResult addGroups(ModuleOp module, int64_t devices,
                               AxisFactors &factors) {
  WalkResult result = module.walk([&](Operation *op) {
    if (!isExchange(op) || !op->hasAttr("replica_groups"))
      return WalkResult::advance();
    FailureOr<DeviceGroups> groups = readGroups(op, devices);
    if (failed(groups))
      return WalkResult::interrupt();
    // Irregular groups, which digits cannot describe, are rejected when their
    // operation is imported.
    if (auto digits =
            findDigits(groups->devices, {devices / groups->size, groups->size}))
      for (const Digit &digit : (*digits)[1])
        factors.add(digit);
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ForeignShardings::importTileMesh(ModuleOp module) {
  bool isLocal = isPartitioned(module), any = isLocal;
  AxisFactors factors;
  int64_t devices =
      isLocal ? countDevices(module) : Processes::read(module).partitions;
  if (failed(forEachTileString(
          module, [&](Operation *op, StringAttr text) -> LogicalResult {
            auto shardings = parseTileShardings(text);
            if (!shardings)
              return failForm(op, text);
            for (const TileSharding &sharding : *shardings) {
              any = true;
              for (const auto &digits : sharding.dims)
                for (const Digit &digit : digits)
                  factors.add(digit);
              devices = std::max(devices, sharding.numDevices);
            }
            return success();
          })))
    return failure();
  if (!any || (devices < 2 && !isLocal))
    return success();
  if (isLocal && failed(addGroups(module, devices, factors)))
    return failure();
  factors.add({devices, 1});
  std::optional<SmallVector<int64_t>> sizes = factors.getSizes();
  if (!sizes)
    return fail(module) << "the shardings cut the devices in ways that the "
                           "axes of one mesh cannot express";
  if (sizes->empty())
    sizes->push_back(1);
  SmallVector<StringAttr> names;
  for (size_t i = 0; i < sizes->size(); ++i)
    names.push_back(
        StringAttr::get(module.getContext(), "_axis_" + std::to_string(i)));
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto attribute = spmd::MeshAttr::get(module.getContext(), names, *sizes,
                                       ArrayRef<int64_t>());
  std::string name = "mesh";
  while (module.lookupSymbol(name))
    name += "_";
  mesh = spmd::MeshOp::create(builder, module.getLoc(), name, attribute,
                              ArrayAttr());
  return success();
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

/// Warns that a value that should be on a single device is placed on every
/// device.
static void warnOfOneDevice(Operation *op) {
  op->emitWarning()
      << "the sharding places the value on one device, but tp-opt gives it to "
         "every device of the mesh: write a replicated sharding";
}

spmd::ShardingAttr ForeignShardings::onMesh(Operation *op,
                                            spmd::ShardingAttr sharding,
                                            Type type) const {
  if (!llvm::is_contained(emptyMeshes, sharding.getMesh().getAttr()))
    return sharding;
  if (!mesh)
    return {};
  spmd::MeshOp own = mesh;
  // Shardy's sharding for one device has no dimensions.
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.getRank() > 0 && sharding.getDims().empty()) {
    warnOfOneDevice(op);
    return spmd::ShardingAttr::get(op->getContext(), own.toMesh(),
                                   TensorSharding::replicate(tensor.getRank()));
  }
  return spmd::ShardingAttr::get(
      sharding.getContext(), FlatSymbolRefAttr::get(own), sharding.getDims(),
      sharding.getReplicated(), sharding.getUnreduced(), sharding.getKind());
}

/// Returns the axes that correspond to a digit of device numbers. If the mesh
/// lists its devices, a device's number may differ from its position along the
/// axes.
static std::optional<AxisList> toAxesOfDevices(const Digit &digit,
                                               const Mesh &mesh) {
  if (mesh.deviceIds.empty())
    return toAxes(digit, mesh);
  int64_t devices = mesh.getNumDevices(), inner = digit.size * digit.stride;
  if (devices % inner)
    return std::nullopt;
  auto digits =
      findDigits(getPlaces(mesh), {devices / inner, digit.size, digit.stride});
  if (!digits)
    return std::nullopt;
  AxisList axes;
  for (const Digit &own : (*digits)[1]) {
    std::optional<AxisList> part = toAxes(own, mesh);
    if (!part)
      return std::nullopt;
    llvm::append_range(axes, *part);
  }
  return axes;
}

FailureOr<AxisList> ForeignShardings::readAxes(Operation *op,
                                               const TileSharding &sharding,
                                               unsigned dim) const {
  spmd::MeshOp known = mesh; // its accessors are not const
  Mesh own = known.toMesh();
  AxisList axes;
  for (const Digit &digit : sharding.dims[dim]) {
    std::optional<AxisList> part;
    if (sharding.numDevices == own.getNumDevices())
      part = toAxesOfDevices(digit, own);
    if (!part)
      return fail(op) << "a sharding in the form {devices=[..]} cuts the "
                         "devices in a way that the axes of mesh @"
                      << own.name << " cannot express";
    for (const AxisRef &axis : *part)
      appendMerged(axes, axis);
  }
  return axes;
}

FailureOr<spmd::ShardingAttr>
ForeignShardings::toAttr(Operation *op, const TileSharding &sharding,
                         int64_t rank, ArrayRef<int64_t> openDims) const {
  spmd::MeshOp known = mesh;
  Mesh own = known.toMesh();
  TensorSharding result = TensorSharding::replicate(rank);
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    bool isDim = int64_t(i) < rank;
    if (!isDim && sharding.subgroups[i - rank] != Subgroup::Unreduced)
      continue;
    FailureOr<AxisList> axes = readAxes(op, sharding, i);
    if (failed(axes))
      return failure();
    if (isDim)
      result.dims[i].axes = *axes;
    else
      llvm::append_range(result.unreduced, *axes);
  }
  for (int64_t dim : openDims)
    if (dim >= 0 && dim < rank)
      result.dims[dim].open = true;
  return spmd::ShardingAttr::get(op->getContext(), own, result);
}

/// Reads `unspecified_dims=[0,1]` in the backend_config of a @Sharding.
static SmallVector<int64_t> getOpenDims(Operation *op) {
  SmallVector<int64_t> dims;
  auto config = op->getAttrOfType<StringAttr>("backend_config");
  StringRef text = config ? config.getValue() : StringRef();
  if (!text.consume_front("unspecified_dims=["))
    return dims;
  SmallVector<StringRef> words;
  text.split(']').first.split(words, ',');
  for (StringRef word : words)
    if (int64_t dim; !word.trim().getAsInteger(10, dim))
      dims.push_back(dim);
  return dims;
}

FailureOr<SmallVector<spmd::ShardingAttr>>
ForeignShardings::read(Operation *op, DictionaryAttr attributes,
                       TypeRange types) const {
  SmallVector<spmd::ShardingAttr> shardings(types.size());
  if (!attributes)
    return shardings;
  Attribute native = attributes.get("sdy.sharding");
  if (native)
    native = sdy::toBuiltin(native);
  else if (Attribute string =
               getFrontendAttribute(attributes, "xla.sdy.sharding")) {
    native = readShardyString(string);
    if (!native)
      return fail(op) << "the sharding " << string << " cannot be read";
  }
  if (native) {
    auto list = dyn_cast<ArrayAttr>(native);
    auto one = dyn_cast<spmd::ShardingAttr>(native);
    if (one && types.size() == 1) {
      shardings[0] = onMesh(op, one, types[0]);
      return shardings;
    }
    if (!list || list.size() != types.size() ||
        !llvm::all_of(list, llvm::IsaPred<spmd::ShardingAttr>))
      return fail(op) << "expects a list with one sharding for each value, got "
                      << native;
    for (auto [sharding, attribute, type] :
         llvm::zip_equal(shardings, list, types))
      sharding = onMesh(op, cast<spmd::ShardingAttr>(attribute), type);
    return shardings;
  }
  auto text = attributes.getAs<StringAttr>("mhlo.sharding");
  if (!text || !mesh)
    return shardings;
  auto tiles = parseTileShardings(text);
  if (!tiles)
    return failForm(op, text);
  if (tiles->size() != types.size() && tiles->size() != 1)
    return fail(op) << "the sharding \"" << text.getValue()
                    << "\" must have one part for each value, or one for all";
  SmallVector<int64_t> open = getOpenDims(op);
  for (size_t i = 0; i < types.size(); ++i) {
    const TileSharding &tile = (*tiles)[tiles->size() == 1 ? 0 : i];
    auto tensor = dyn_cast<RankedTensorType>(types[i]);
    if (!tensor || tile.kind == TileSharding::Unknown ||
        tile.kind == TileSharding::Manual)
      continue;
    if (tile.kind == TileSharding::Maximal && tensor.getRank() > 0)
      warnOfOneDevice(op);
    if (tile.kind == TileSharding::Tiled &&
        int64_t(tile.dims.size() - tile.subgroups.size()) != tensor.getRank())
      return fail(op)
             << "the sharding \"" << text.getValue()
             << "\" must have one tile dimension for each dimension of "
             << tensor;
    auto own = toAttr(op, tile, tensor.getRank(), open);
    if (failed(own))
      return failure();
    shardings[i] = *own;
  }
  return shardings;
}

FailureOr<ArrayAttr> ForeignShardings::readManualAxes(Operation *op) const {
  auto text = op->getAttrOfType<StringAttr>("mhlo.sharding");
  auto tiles = text ? parseTileShardings(text) : std::nullopt;
  if (!mesh || !tiles || tiles->size() != 1)
    return fail(op) << "expects a manual sharding, such as {manual}, on the "
                       "part that one device holds";
  spmd::MeshOp known = mesh;
  ArrayRef<StringAttr> all = known.getMesh().getNames();
  const TileSharding &tile = tiles->front();
  SmallVector<Attribute> names;
  if (tile.kind == TileSharding::Manual)
    llvm::append_range(names, all);
  size_t rank = tile.dims.size() - tile.subgroups.size();
  for (auto [i, subgroup] : llvm::enumerate(tile.subgroups)) {
    if (subgroup != Subgroup::Manual)
      continue;
    auto axes = readAxes(op, tile, rank + i);
    if (failed(axes))
      return failure();
    for (const AxisRef &axis : *axes) {
      if (!axis.isFull(known.toMesh()))
        return fail(op) << "a part of axis " << all[axis.axis]
                        << " is manual: only whole axes can be manual; make "
                           "that part an axis of its own";
      names.push_back(all[axis.axis]);
    }
  }
  return ArrayAttr::get(op->getContext(), names);
}

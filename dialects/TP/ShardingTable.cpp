// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "dialects/TP/ShardingTable.h"

#include "dialects/TP/TensorTypes.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// The mesh that is named by the shardings of a function.
static FailureOr<MeshOp> findMesh(FunctionOpInterface function) {
  llvm::SetVector<StringAttr> names;
  llvm::DenseSet<Attribute> seen; // walks are slow, and few differ
  auto collect = [&](Attribute attribute) {
    if (attribute && seen.insert(attribute).second)
      attribute.walk(
          [&](ShardingAttr s) { names.insert(s.getMesh().getAttr()); });
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    collect(function.getArgAttr(i, kShardingAttr));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    collect(function.getResultAttr(i, kShardingAttr));
  function->walk([&](Operation *op) {
    DictionaryAttr attributes = op->getRawDictionaryAttrs();
    if (seen.insert(attributes).second)
      collect(attributes.get(kShardingsAttr));
    if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
      collect(collective.getInSharding());
      collect(collective.getOutSharding());
    } else if (isa_and_present<SPMDDialect>(op->getDialect())) {
      collect(op->getAttrDictionary());
    }
  });
  if (names.empty()) // a local program may have its mesh only in types
    collect(TypeAttr::get(function.getFunctionType()));
  if (names.size() > 1) {
    function->emitError()
        << prefix(ErrorCode::SeveralMeshes)
        << "the shardings of one function name several meshes, " << names[0]
        << " and " << names[1] << "; define one mesh with all the axes";
    return failure();
  }
  if (names.size() == 1) {
    if (MeshOp mesh = lookupMesh(function, FlatSymbolRefAttr::get(names[0])))
      return mesh;
    function->emitError() << prefix(ErrorCode::UnknownMesh)
                          << "the module has no mesh " << names[0];
    return failure();
  }
  auto meshes =
      function->getParentOfType<ModuleOp>().getBody()->getOps<MeshOp>();
  if (meshes.empty() || std::next(meshes.begin()) != meshes.end()) {
    function->emitError() << prefix(ErrorCode::UnknownMesh) << "the module has "
                          << (meshes.empty() ? "no mesh" : "several meshes")
                          << " and no sharding names the mesh to use; give "
                             "--tp-shard=\"mesh=..\" or annotate an argument";
    return failure();
  }
  return *meshes.begin();
}

FailureOr<MeshOp> tp::getMesh(FunctionOpInterface function) {
  FailureOr<MeshOp> mesh = findMesh(function);
  if (succeeded(mesh) &&
      failed(verifyTensorTypes(collectTensorTypes(function), mesh->toMesh())))
    return failure();
  return mesh;
}

const TensorSharding *ShardingTable::lookup(Value value) {
  static const TensorSharding scalar;
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return nullptr;
  if (ShardingAttr attribute = getSharding(value))
    return &resolve(attribute, type.getRank());
  return type.getRank() == 0 ? &scalar : nullptr;
}

const TensorSharding &ShardingTable::resolve(ShardingAttr attribute,
                                             unsigned rank) {
  auto [it, isNew] = resolved.try_emplace(attribute);
  if (isNew) {
    auto result = attribute.resolve(mesh, rank);
    if (auto *sharding = std::get_if<TensorSharding>(&result))
      it->second = std::make_unique<TensorSharding>(std::move(*sharding));
    else // not on verified IR; an empty sharding would hide the error
      llvm::report_fatal_error(
          llvm::Twine(std::get<ShardingError>(result).message));
  }
  return *it->second;
}

ShardingAttr ShardingTable::toAttr(const TensorSharding &sharding) {
  ShardingAttr &attribute = attributes[sharding];
  if (!attribute)
    attribute = ShardingAttr::get(context, mesh, sharding);
  return attribute;
}

int64_t tp::getElementBytes(Type tensor) {
  return llvm::divideCeil(
      cast<RankedTensorType>(tensor).getElementTypeBitWidth(), 8);
}

std::string tp::getName(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value)) {
    auto function =
        dyn_cast_or_null<FunctionOpInterface>(arg.getOwner()->getParentOp());
    if (function)
      if (auto name = function.getArgAttrOfType<StringAttr>(arg.getArgNumber(),
                                                            kNameAttr))
        return name.str();
  }
  std::string found;
  value.getLoc()->walk([&](Location loc) {
    if (auto name = dyn_cast<NameLoc>(loc)) {
      found = name.getName().str();
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (!found.empty())
    return found;
  if (auto arg = dyn_cast<BlockArgument>(value))
    return "%arg" + std::to_string(arg.getArgNumber());
  // The user does not know the number that the printer gives the value, so use
  // the op and its line.
  Operation *op = value.getDefiningOp();
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName();
  if (auto file = op->getLoc()->findInstanceOf<FileLineColLoc>())
    os << " at line " << file.getLine();
  return text;
}

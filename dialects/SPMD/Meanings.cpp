// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Meanings.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// What `map` has for `key`, made by `make` if it is not there yet. Two threads
/// may make it at once; the first one's stays.
template <typename Map, typename Key, typename Make>
static auto findOrMake(llvm::sys::RWMutex &mutex, Map &map, const Key &key,
                       Make make) {
  {
    llvm::sys::ScopedReader lock(mutex);
    auto it = map.find(key);
    if (it != map.end())
      return &*it->second;
  }
  auto made = make();
  llvm::sys::ScopedWriter lock(mutex);
  return &*map.try_emplace(key, std::move(made)).first->second;
}

const Meanings &Meanings::get(MLIRContext *context) {
  return *context->getOrLoadDialect<SPMDDialect>()
              ->getRegisteredInterface<Meanings>();
}

Meanings::Entry &Meanings::getEntry(MeshOp op) const {
  std::pair<Attribute, std::pair<Attribute, Attribute>> key{
      op.getSymNameAttr(), {op.getMesh(), op.getLinksAttr()}};
  return *findOrMake(mutex, entries, key, [&] {
    auto entry = std::make_unique<Entry>();
    entry->mesh = op.toMesh();
    return entry;
  });
}

const Meanings::Resolved &Meanings::resolve(ShardingAttr sharding, MeshOp mesh,
                                            unsigned rank) const {
  Entry &entry = getEntry(mesh);
  std::pair<Attribute, unsigned> key{sharding, rank};
  return *findOrMake(mutex, entry.shardings, key, [&] {
    return std::make_unique<Resolved>(sharding.resolve(entry.mesh, rank));
  });
}

RankedTensorType Meanings::getLocalType(RankedTensorType global,
                                        ShardingAttr sharding,
                                        MeshOp mesh) const {
  Entry &entry = getEntry(mesh);
  std::pair<Type, Attribute> key{global, sharding};
  {
    llvm::sys::ScopedReader lock(mutex);
    if (RankedTensorType known = entry.localTypes.lookup(key))
      return known;
  }
  RankedTensorType type = spmd::getLocalType(global, sharding, entry.mesh);
  llvm::sys::ScopedWriter lock(mutex);
  return entry.localTypes.try_emplace(key, type).first->second;
}

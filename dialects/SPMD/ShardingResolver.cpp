// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShardingResolver.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// Returns the value of `key` in `map`. If there is none, inserts the value
/// that `make` returns. If two threads make a value at the same time, the map
/// keeps the value that is inserted first.
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

const ShardingResolver &ShardingResolver::get(MLIRContext *context) {
  return *context->getOrLoadDialect<SPMDDialect>()
              ->getRegisteredInterface<ShardingResolver>();
}

ShardingResolver::Entry &ShardingResolver::getEntry(MeshOp op) const {
  std::pair<Attribute, std::pair<Attribute, Attribute>> key{
      op.getSymNameAttr(), {op.getMesh(), op.getLinksAttr()}};
  return *findOrMake(mutex, entries, key, [&] {
    auto entry = std::make_unique<Entry>();
    entry->mesh = op.toMesh();
    return entry;
  });
}

const ShardingResolver::Resolved &
ShardingResolver::resolve(ShardingAttr sharding, MeshOp mesh,
                          unsigned rank) const {
  Entry &entry = getEntry(mesh);
  std::pair<Attribute, unsigned> key{sharding, rank};
  return *findOrMake(mutex, entry.shardings, key, [&] {
    return std::make_unique<Resolved>(sharding.resolve(entry.mesh, rank));
  });
}

RankedTensorType ShardingResolver::getLocalType(RankedTensorType global,
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

const ShardingResolver::Step &ShardingResolver::getStep(CollectiveKind kind,
                                                        ShardingAttr in,
                                                        ShardingAttr out,
                                                        RankedTensorType global,
                                                        MeshOp mesh) const {
  Entry &entry = getEntry(mesh);
  std::tuple<unsigned, Attribute, Attribute, Type> key{unsigned(kind), in, out,
                                                       global};
  return *findOrMake(mutex, entry.steps, key, [&] {
    auto resolve = [&](ShardingAttr sharding) {
      return std::get<TensorSharding>(
          sharding.resolve(entry.mesh, global.getRank()));
    };
    llvm::Expected<ReshardStep> step = makeStep(
        entry.mesh, kind, resolve(in), resolve(out), global.getShape());
    return std::make_unique<Step>(
        step ? Step(std::move(*step)) : Step(llvm::toString(step.takeError())));
  });
}

const ShardingResolver::Rule &
ShardingResolver::getRule(Operation *op, StringRef equation) const {
  Signature signature{equation.str(), {}, op->getNumOperands()};
  llvm::append_range(signature.types, op->getOperandTypes());
  llvm::append_range(signature.types, op->getResultTypes());
  return *findOrMake(mutex, rules, signature, [&] {
    auto shapes = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type type) {
        return cast<RankedTensorType>(type).getShape();
      });
    };
    llvm::Expected<ShardingRule> rule = ShardingRule::parse(
        equation, shapes(op->getOperandTypes()), shapes(op->getResultTypes()));
    return std::make_unique<Rule>(
        rule ? Rule(std::move(*rule)) : Rule(llvm::toString(rule.takeError())));
  });
}

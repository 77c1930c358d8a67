// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Atoms.h"

#include "dialects/SPMD/Structure.h"
#include "tpopt/Sharding/Projection.h"

#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::spmd;

/// Returns tensor `i`, numbered as in a sharding rule: operands first, then
/// results.
static Value getTensor(Operation *op, unsigned i) {
  return i < op->getNumOperands() ? op->getOperand(i)
                                  : op->getResult(i - op->getNumOperands());
}

/// For each tensor of `op` that has a sharding, the axes that shard each factor
/// of the tensor.
static SmallVector<AxisList> projectTensors(ShardingRuleOpInterface op,
                                            ShardingTable &table) {
  SmallVector<AxisList> factors;
  ShardingRule rule = op.getShardingRule();
  for (unsigned t = 0; t < rule.getNumTensors(); ++t)
    if (const TensorSharding *sharding = table.lookup(getTensor(op, t)))
      for (FactorSharding &factor : project(rule, t, *sharding))
        factors.push_back(std::move(factor.axes));
  return factors;
}

SmallVector<AxisRef>
tp::plan::collectAtoms(Operation *root, ShardingTable &table, bool allAxes) {
  const Mesh &mesh = table.getMesh();
  std::vector<std::set<int64_t>> cuts(mesh.axes.size());
  auto addAxes = [&](ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes) {
      cuts[axis.axis].insert(axis.pre);
      cuts[axis.axis].insert(axis.end());
    }
  };
  auto addAttribute = [&](Attribute attribute) {
    attribute.walk([&](AxisRefAttr ref) { addAxes(resolveAxes(ref, mesh)); });
  };
  addAttribute(root->getAttrDictionary());
  // Layers repeat, so most ops equal an earlier op and add nothing new.
  llvm::DenseMap<Operation *, uintptr_t, StructureInfo> structures;
  std::set<std::vector<const void *>> seen;
  root->walk([&](Operation *op) {
    uintptr_t structure =
        structures.try_emplace(op, structures.size()).first->second;
    std::vector<const void *> key{
        reinterpret_cast<const void *>(structure),
        op->getDiscardableAttrDictionary().getAsOpaquePointer()};
    for (Value operand : op->getOperands())
      key.push_back(table.lookup(operand));
    if (!seen.insert(std::move(key)).second)
      return;
    addAttribute(op->getAttrDictionary());
    if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op))
      for (const AxisList &factor : projectTensors(ruled, table))
        addAxes(factor);
  });

  auto manual = dyn_cast<ManualOp>(root);
  AxisList free = manual ? getFreeAxes(manual, mesh) : AxisList();
  SmallVector<AxisRef> atoms;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    if ((cuts[axis].empty() && !allAxes) ||
        (manual && !overlap(AxisRef::full(mesh, axis), free)))
      continue;
    cuts[axis].insert(1);
    cuts[axis].insert(mesh.axes[axis].size);
    int64_t last = 1;
    for (int64_t cut : cuts[axis]) {
      // Skip a cut that is not a multiple of the axis's previous cut, because
      // no tensor can be sharded at both cuts.
      if (cut == last || cut % last != 0)
        continue;
      atoms.push_back({axis, last, cut / last});
      last = cut;
    }
  }
  return atoms;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/KernelTable.h"

#include "lib/Codegen/Kernels.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// Hashes only what is cheap to hash. Only the comparison looks at the values
/// that ops use.
static size_t hashKernel(Operation *op) {
  auto hashOp = [](Operation *op) -> size_t {
    return OperationEquivalence::computeHash(
        op, OperationEquivalence::ignoreHashValue,
        OperationEquivalence::ignoreHashValue,
        OperationEquivalence::Flags::IgnoreLocations);
  };
  llvm::hash_code hash = hashOp(op);
  for (Type type : op->getOperandTypes())
    hash = llvm::hash_combine(hash, type);
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      hash = llvm::hash_combine(hash, hashOp(&nested));
  return hash;
}

/// Returns true if the kernel reads an operand that it may also write.
static bool isUpdated(step::KernelOpInterface op, unsigned i) {
  auto effects = dyn_cast<MemoryEffectOpInterface>(op.getOperation());
  if (!effects || i < op.getFirstWritten())
    return false;
  SmallVector<MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  return llvm::any_of(all, [&](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Read>(effect.getEffect()) &&
           effect.getEffectValue<OpOperand *>() == &op->getOpOperand(i);
  });
}

bool tp::codegen::isReadAndWritten(step::KernelOpInterface op, unsigned i) {
  if (isUpdated(op, i))
    return true;
  Value root = step::getRoot(op->getOperand(i));
  OperandRange all = op->getOperands();
  auto isRoot = [&](Value other) { return step::getRoot(other) == root; };
  return llvm::any_of(all.take_front(op.getFirstWritten()), isRoot) &&
         llvm::any_of(all.drop_front(op.getFirstWritten()), isRoot);
}

static bool areEqual(step::KernelOpInterface a, step::KernelOpInterface b) {
  auto overlapsAlike = [&](unsigned i) {
    return isReadAndWritten(a, i) == isReadAndWritten(b, i);
  };
  return a->getName() == b->getName() &&
         a->getOperandTypes() == b->getOperandTypes() &&
         a->getAttrDictionary() == b->getAttrDictionary() &&
         llvm::all_of(llvm::seq(a->getNumOperands()), overlapsAlike) &&
         llvm::equal(
             a->getRegions(), b->getRegions(), [](Region &one, Region &other) {
               return OperationEquivalence::isRegionEquivalentTo(
                   &one, &other, OperationEquivalence::Flags::IgnoreLocations);
             });
}

void KernelTable::addForGpu(Operation *module) {
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<GpuKernelOpInterface>(op))
      add(cast<step::KernelOpInterface>(op));
    return isa<step::TogetherOp>(op) ? WalkResult::skip()
                                     : WalkResult::advance();
  });
}

unsigned KernelTable::add(step::KernelOpInterface op) {
  SmallVector<unsigned, 1> &candidates = byHash[hashKernel(op)];
  for (unsigned index : candidates)
    if (areEqual(kernels[index].op, op))
      return index;
  unsigned index = kernels.size();
  candidates.push_back(index);
  kernels.push_back({op, (op->getName().stripDialect() + Twine(index)).str()});
  return index;
}

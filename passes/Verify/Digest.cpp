// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Digest.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Interpreter/PrimeField.h"
#include "tpopt/Program/ShardingTable.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

/// An op's meaning in simpler ones, over block arguments for its operands.
struct ProgramDigest::Decomposition {
  Block block;
  Operation *copy = nullptr; ///< The op itself, not a part of its meaning.
  SmallVector<Value> results;
};

ProgramDigest::ProgramDigest() = default;
ProgramDigest::~ProgramDigest() = default;

/// Combines numbers, in order.
static uint64_t mix(uint64_t a, uint64_t b) {
  return field::scramble(a ^ field::scramble(b));
}
static uint64_t mix(uint64_t a, const void *b) {
  return mix(a, reinterpret_cast<uintptr_t>(b));
}

/// What an op is, without its operands: attributes that say where and why are
/// left out.
uint64_t ProgramDigest::digestSelf(Operation *op) {
  uint64_t digest = mix(1, op->getName().getAsOpaquePointer());
  digest = mix(digest, uint64_t(op->hashProperties()));
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name == kShardingsAttr || name == kReasonAttr || name == kRequestedAttr)
      continue;
    digest = mix(digest, attribute.getName().getAsOpaquePointer());
    digest = mix(digest, attribute.getValue().getAsOpaquePointer());
  }
  for (Type type : op->getResultTypes())
    digest = mix(digest, type.getAsOpaquePointer());
  return digest;
}

/// The parts of an op that decomposes, once for all equal ops.
ProgramDigest::Decomposition *ProgramDigest::decompose(Operation *op) {
  std::vector<const void *> key{
      op->getName().getAsOpaquePointer(),
      op->getPropertiesAsAttribute().getAsOpaquePointer()};
  for (Type type : op->getOperandTypes())
    key.push_back(type.getAsOpaquePointer());
  for (Type type : op->getResultTypes())
    key.push_back(type.getAsOpaquePointer());
  std::unique_ptr<Decomposition> &body = decompositions[key];
  if (body)
    return body.get();
  body = std::make_unique<Decomposition>();
  SmallVector<Value> arguments;
  for (Value operand : op->getOperands())
    arguments.push_back(
        body->block.addArgument(operand.getType(), operand.getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&body->block);
  body->copy = builder.clone(*op);
  body->copy->setOperands(arguments);
  body->results = cast<DecomposeOpInterface>(body->copy).decompose(builder);
  return body.get();
}

void ProgramDigest::digestOp(Operation *op, Digests &digests, uint64_t place,
                             Visitor visit) {
  if (isa<CollectiveOpInterface, ReshardOp, ConstraintOp, BarrierOp>(op)) {
    digests[op->getResult(0)] = digests.lookup(op->getOperand(0));
    return;
  }
  if (op->getNumResults() == 0)
    return;
  if (isa<DecomposeOpInterface>(op) && op->getNumRegions() == 0) {
    Decomposition *body = decompose(op);
    Digests inner;
    for (auto [argument, operand] :
         llvm::zip_equal(body->block.getArguments(), op->getOperands()))
      inner[argument] = digests.lookup(operand);
    for (Operation &part : body->block)
      if (&part != body->copy)
        digestOp(&part, inner, place, visit);
    for (auto [result, value] :
         llvm::zip_equal(op->getResults(), body->results))
      digests[result] = inner.lookup(value);
    visit(op, digests.lookup(op->getResult(0)));
    return;
  }
  uint64_t digest = digestSelf(op);
  for (Value operand : op->getOperands())
    digest = mix(digest, digests.lookup(operand));
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (uint64_t yielded : digestBlock(
               block, digests, mix(place, region.getRegionNumber()), visit))
        digest = mix(digest, yielded);
  for (OpResult result : op->getResults())
    digests[result] = mix(digest, result.getResultNumber());
  visit(op, digest);
}

SmallVector<uint64_t> ProgramDigest::digestBlock(Block &block, Digests &digests,
                                                 uint64_t place,
                                                 Visitor visit) {
  // An argument is known by how deep it stands and which it is.
  for (BlockArgument argument : block.getArguments())
    digests[argument] = mix(place + 2, argument.getArgNumber());
  SmallVector<uint64_t> yielded;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      for (Value operand : op.getOperands())
        yielded.push_back(digests.lookup(operand));
    digestOp(&op, digests, place, visit);
  }
  return yielded;
}

void ProgramDigest::compute(FunctionOpInterface function, Visitor visit) {
  Digests digests;
  results = digestBlock(function.getFunctionBody().front(), digests,
                        /*place=*/0, visit);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Products.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static bool isKnownAtCompileTime(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return isKnownAtCompileTime(broadcast.getInput());
  return value.getDefiningOp<ConstantOp>() || value.getDefiningOp<IotaOp>();
}

bool tp::sumsProducts(EinsumOp op) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  return llvm::any_of(terms.lhs, [&](char letter) {
    return terms.rhs.contains(letter) && !terms.result.contains(letter);
  });
}

bool tp::isMatmul(EinsumOp op, const Target &target) {
  Type element = typeOf(op.getLhs()).getElementType();
  return sumsProducts(op) && isa<FloatType>(element) &&
         target.getFactorType(element, getProductSize(op)).type == element &&
         target.writes(element, op.getType().getElementType());
}

char tp::getColumnLetter(EinsumOp op) {
  StringRef letters = EinsumTerms::split(op.getEquation()).result;
  ArrayRef<int64_t> shape = op.getType().getShape();
  while (!letters.empty() && shape[letters.size() - 1] == 1)
    letters = letters.drop_back();
  return letters.empty() ? 0 : letters.back();
}

bool tp::takesColumnsFromLeft(EinsumOp op) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  char column = getColumnLetter(op);
  return column && terms.lhs.contains(column) && !terms.rhs.contains(column);
}

ProductSize tp::getProductSize(EinsumOp op) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  ProductSize size{1, 1, 1};
  for (auto [letter, extent] :
       llvm::zip_equal(terms.lhs, typeOf(op.getLhs()).getShape())) {
    bool isShared = terms.rhs.contains(letter);
    if (isShared != terms.result.contains(letter))
      (isShared ? size.k : size.m) *= extent;
  }
  for (auto [letter, extent] :
       llvm::zip_equal(terms.rhs, typeOf(op.getRhs()).getShape()))
    if (terms.result.contains(letter) && !terms.lhs.contains(letter))
      size.n *= extent;
  if (takesColumnsFromLeft(op))
    std::swap(size.m, size.n);
  return size;
}

Value tp::getOther(Operation *op, Value value) {
  return op->getOperand(op->getOperand(0) == value ? 1 : 0);
}

/// Classifies `other`, which has the shape of the contraction's result, by the
/// dimensions that it is broadcast along.
static PostOpPattern::Operand classify(EinsumOp op, Value other) {
  auto broadcast = other.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return PostOpPattern::Operand::Full;
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  StringRef columns =
      terms.rhs.contains(getColumnLetter(op)) ? terms.rhs : terms.lhs;
  bool hasRows = llvm::any_of(broadcast.getDims(), [&](int64_t dim) {
    return op.getType().getDimSize(dim) != 1 &&
           !columns.contains(terms.result[dim]);
  });
  return hasRows ? PostOpPattern::Operand::Other : PostOpPattern::Operand::Row;
}

PostOpPattern tp::getPost(EinsumOp op, Value value, Operation *next) {
  if (isa<AddOp, MulOp>(next))
    return {isa<AddOp>(next) ? step::PostOp::Add : step::PostOp::Multiply,
            classify(op, getOther(next, value))};
  if (auto gelu = dyn_cast<GeluOp>(next))
    return {gelu.getTanh() ? step::PostOp::GeluTanh : step::PostOp::GeluErf};
  return {isa<SiluOp>(next) ? step::PostOp::Silu : step::PostOp::Relu};
}

SmallVector<unsigned> tp::orderPosts(ArrayRef<PostOpPattern> posts,
                                     const Target &target) {
  SmallVector<unsigned> order;
  size_t numSums = 0;
  if (target.hasFixedEpilogue())
    while (numSums < posts.size() && posts[numSums].kind == step::PostOp::Add)
      ++numSums;
  for (bool takesFull : {true, false})
    for (size_t i = 0; i < numSums; ++i)
      if ((posts[i].operand == PostOpPattern::Operand::Full) == takesFull)
        order.push_back(i);
  for (size_t i = numSums; i < posts.size(); ++i)
    order.push_back(i);
  return order;
}

SmallVector<Operation *> tp::getEpilogue(EinsumOp op, const Target &target) {
  SmallVector<Operation *> chain;
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  // For batches, the matrix library is faster without an epilogue.
  bool isBatched = llvm::any_of(terms.result, [&](char letter) {
    return terms.lhs.contains(letter) && terms.rhs.contains(letter);
  });
  if (!isMatmul(op, target) || isBatched)
    return chain;
  Value value = op.getResult();
  Type factor = typeOf(op.getLhs()).getElementType(),
       result = op.getType().getElementType();
  SmallVector<PostOpPattern> posts;
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != op->getBlock())
      break; // it is in a loop, and computed in every iteration
    if (!isa<AddOp, MulOp, ReluOp, GeluOp, SiluOp>(user))
      break;
    // Leave constant operands to a row program, which keeps them in registers;
    // an epilogue would read them from memory.
    if (isa<AddOp, MulOp>(user) && isKnownAtCompileTime(getOther(user, value)))
      break;
    posts.push_back(getPost(op, value, user));
    SmallVector<PostOpPattern> ordered;
    for (unsigned index : orderPosts(posts, target))
      ordered.push_back(posts[index]);
    if (!target.canFollow(factor, result, ordered))
      break;
    chain.push_back(user);
    value = user->getResult(0);
  }
  return chain;
}

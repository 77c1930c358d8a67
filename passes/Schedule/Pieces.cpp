// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Pieces.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

step::CollectiveDoneOp schedule::getDone(step::CollectiveStartOp start) {
  return cast<step::CollectiveDoneOp>(*start.getToken().user_begin());
}

int64_t schedule::getPieceSize(int64_t elements, int64_t pieces, Type element) {
  int64_t aligned = step::kArenaAlignment / step::getElementBytes(element);
  return llvm::alignTo(llvm::divideCeil(elements, pieces), aligned);
}

Value schedule::createView(OpBuilder &builder, Location loc, Value buffer,
                           ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides,
                           int64_t offset) {
  MemRefType whole = step::bufferTypeOf(buffer);
  return step::ViewOp::create(
      builder, loc,
      step::getBufferType(sizes, whole.getElementType(), strides,
                          step::Strides(whole).offset + offset),
      step::getRoot(buffer));
}

void schedule::createPiece(OpBuilder &builder, step::CollectiveStartOp start,
                           Value source, Value destination) {
  auto own = step::CollectiveStartOp::create(
      builder, start.getLoc(), start.getToken().getType(), start.getKind(),
      start.getReductionAttr(), start.getAxesAttr(), source, destination,
      start.getPermutationAttr());
  own->setDiscardableAttrs(start->getDiscardableAttrDictionary());
  step::CollectiveDoneOp::create(builder, start.getLoc(), own.getToken());
}

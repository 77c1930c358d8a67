// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SplitGathers.h"

#include "Pieces.h"

#include "lib/Cost/StepCost.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::schedule;

static bool canSplit(step::CollectiveStartOp start) {
  return start.isAlone() &&
         start.getKind() == step::CollectiveKind::AllGather &&
         step::isDense(start.getSource()) &&
         step::isDense(start.getDestination());
}

static void split(step::CollectiveStartOp start, int64_t pieces) {
  OpBuilder builder(start);
  Location loc = start.getLoc();
  auto from = cast<MemRefType>(start.getSource().getType()),
       to = cast<MemRefType>(start.getDestination().getType());
  Type element = from.getElementType();
  int64_t part = from.getNumElements(), places = to.getNumElements() / part;
  int64_t size = getPieceSize(part, pieces, element);
  step::CollectiveDoneOp done = getDone(start);
  OpBuilder behind(done->getContext());
  behind.setInsertionPointAfter(done);
  for (int64_t first = 0; first < part; first += size) {
    int64_t count = std::min(size, part - first);
    Value source =
        createView(builder, loc, start.getSource(), {count}, {1}, first);
    Value received = step::AllocOp::create(
        builder, loc, MemRefType::get({places, count}, element), nullptr);
    createPiece(builder, start, source, received);
    Value place = createView(behind, loc, start.getDestination(),
                             {places, count}, {part, 1}, first);
    step::CopyOp::create(behind, loc, received, place);
  }
  done->erase();
  start->erase();
}

double schedule::getLongestGather(Block &block, const Mesh &mesh) {
  double longest = 0;
  for (auto start : block.getOps<step::CollectiveStartOp>())
    if (canSplit(start))
      longest = std::max(longest, cost::getStepTime(start, mesh));
  return longest;
}

int64_t schedule::splitGathers(Block &block, const Mesh &mesh, double seconds) {
  int64_t bytes = 0;
  for (auto start :
       llvm::make_early_inc_range(block.getOps<step::CollectiveStartOp>())) {
    double own = canSplit(start) ? cost::getStepTime(start, mesh) : 0;
    if (own <= seconds)
      continue;
    bytes +=
        step::getEndByte(cast<MemRefType>(start.getDestination().getType()));
    split(start, int64_t(std::ceil(own / seconds)));
  }
  return bytes;
}

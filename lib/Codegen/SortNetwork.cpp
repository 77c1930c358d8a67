// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "SortNetwork.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static constexpr int64_t kStages = 3; ///< Stages per round: log2 of a group.

SortNetwork::SortNetwork(OpBuilder &builder, gpu::GPUFuncOp function,
                         const SortTile &tile, int64_t run)
    : builder(builder), loc(function.getLoc()), tile(tile), run(run),
      word(builder.getIntegerType(tile.width)) {
  std::string name = (function.getName() + "_tile").str();
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(function);
    LLVM::GlobalOp::create(builder, loc,
                           LLVM::LLVMArrayType::get(word, tile.words),
                           /*isConstant=*/false, LLVM::Linkage::Internal, name,
                           Attribute(), kAccessBytes, kSharedSpace);
  }
  shared = LLVM::AddressOfOp::create(
      builder, loc,
      LLVM::LLVMPointerType::get(builder.getContext(), kSharedSpace), name);
  thread = arith::IndexCastUIOp::create(
      builder, loc, builder.getI32Type(),
      gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x));
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

Value SortNetwork::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI32IntegerAttr(value));
}
Value SortNetwork::mask(Value value, int64_t bits) {
  return arith::AndIOp::create(builder, loc, value, number(bits));
}
Value SortNetwork::shift(Value value, int64_t by) {
  return arith::ShRUIOp::create(builder, loc, value, number(by));
}

/// The same as `permuteSlot`, computed on the device.
Value SortNetwork::permute(Value slot) {
  Value above = mask(slot, tile.getPermutedBits());
  slot = arith::XOrIOp::create(builder, loc, slot, shift(above, 3));
  return arith::XOrIOp::create(builder, loc, slot, shift(above, 6));
}

Value SortNetwork::locate(Value permuted, int64_t bits) {
  Value slot = arith::XOrIOp::create(builder, loc, permuted,
                                     number(permuteSlot(tile, bits)));
  return LLVM::GEPOp::create(
      builder, loc, shared.getType(), word, shared,
      ArrayRef<LLVM::GEPArg>(Value(
          arith::ExtUIOp::create(builder, loc, builder.getI64Type(), slot))));
}

Value SortNetwork::getFirst(Value group, int64_t stride) {
  Value low = mask(group, stride - 1);
  Value high = arith::SubIOp::create(builder, loc, group, low);
  return arith::AddIOp::create(
      builder, loc, low,
      arith::MulIOp::create(builder, loc, high, number(kSortGroup)));
}

SortNetwork::Words SortNetwork::loadWords(Value permuted, int64_t stride,
                                          int64_t bits) {
  Words words;
  for (int64_t i = 0; i < kSortGroup; ++i)
    words.push_back(LLVM::LoadOp::create(builder, loc, word,
                                         locate(permuted, i * stride | bits),
                                         tile.width / 8));
  return words;
}

void SortNetwork::storeWords(ValueRange words, Value permuted, int64_t stride) {
  for (auto [i, value] : llvm::enumerate(words))
    LLVM::StoreOp::create(builder, loc, value, locate(permuted, i * stride),
                          tile.width / 8);
}

SortNetwork::Words
SortNetwork::emitForGroups(int64_t groups, llvm::function_ref<Words()> emit) {
  if (groups == tile.getThreads())
    return emit();
  Value hasGroup = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, thread, number(groups));
  auto branch = scf::IfOp::create(
      builder, loc, hasGroup,
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, emit());
      },
      [&](OpBuilder &, Location) {
        scf::YieldOp::create(builder, loc, Words(kSortGroup, getLast()));
      });
  return Words(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

Value SortNetwork::getThread() {
  return arith::ExtUIOp::create(builder, loc, builder.getI64Type(), thread);
}

Value SortNetwork::getLast() {
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(word, llvm::APInt::getAllOnes(tile.width)));
}

SmallVector<Value> SortNetwork::loadGroup() {
  return loadWords(permute(getFirst(thread, 1)), 1);
}

void SortNetwork::storeGroup(ValueRange words, Value condition) {
  emitForGroups(tile.getGroups(), [&] {
    OpBuilder::InsertionGuard guard(builder);
    if (condition) {
      auto branch = scf::IfOp::create(builder, loc, condition);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    storeWords(words, permute(getFirst(thread, 1)), 1);
    return Words(words);
  });
}

Value SortNetwork::load(Value slot) {
  slot = arith::TruncIOp::create(builder, loc, builder.getI32Type(), slot);
  return LLVM::LoadOp::create(builder, loc, word, locate(permute(slot), 0),
                              tile.width / 8);
}

/// Addresses are computed where they are used. The addresses of all rounds
/// together do not fit into registers, so the compiler must not hoist them out
/// of the loop.
scf::ForOp SortNetwork::createTileLoop(Value begin, Value end, Value step) {
  auto loop = scf::ForOp::create(builder, loc, begin, end, step);
  MLIRContext *context = builder.getContext();
  auto licm =
      LLVM::LoopLICMAttr::get(context, builder.getBoolAttr(true), BoolAttr());
  loop->setAttr("loop_annotation", LLVM::LoopAnnotationAttr::get(
                                       context, {}, {}, {}, {}, {}, licm, {},
                                       {}, {}, {}, {}, {}, {}, {}, {}));
  return loop;
}

void SortNetwork::wait() { gpu::BarrierOp::create(builder, loc); }

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

void SortNetwork::exchange(Value &a, Value &b, bool isDown, Value flips) {
  Value isWrong = arith::CmpIOp::create(
      builder, loc,
      isDown ? arith::CmpIPredicate::ult : arith::CmpIPredicate::ugt, a, b);
  if (flips)
    isWrong = arith::XOrIOp::create(builder, loc, isWrong, flips);
  Value first = arith::SelectOp::create(builder, loc, isWrong, b, a);
  b = arith::SelectOp::create(builder, loc, isWrong, a, b);
  a = first;
}

SmallVector<Value> SortNetwork::sortGroup(ValueRange values) {
  Words words(values);
  Value isOdd =
      arith::TruncIOp::create(builder, loc, builder.getI1Type(), thread);
  for (int64_t size = 2; size <= kSortGroup; size *= 2)
    for (int64_t distance = size / 2; distance > 0; distance /= 2)
      for (int64_t i = 0; i < kSortGroup; ++i)
        if (!(i & distance))
          exchange(words[i], words[i + distance], (i & size) != 0,
                   size == kSortGroup ? isOdd : Value());
  return words;
}

void SortNetwork::merge(int64_t phase, int64_t slots, bool halves) {
  int64_t groups = slots / kSortGroup, size = int64_t(1) << phase;
  Value isDown;
  if (size < slots)
    isDown = arith::TruncIOp::create(builder, loc, builder.getI1Type(),
                                     shift(thread, phase - kStages));
  // If the number of stages is not a multiple of three, the first round has
  // fewer stages.
  int64_t stages = (phase - 1) % kStages + 1;
  for (int64_t left = phase; left > 0; left -= stages, stages = kStages) {
    int64_t stride = int64_t(1) << std::max(left - kStages, int64_t(0));
    Value first = getFirst(thread, stride), permuted = permute(first);
    Words words;
    if (halves && left == phase) {
      // The runs to reduce are twice as far apart as the resulting runs.
      Value from = permute(arith::AddIOp::create(builder, loc, first,
                                                 mask(first, slots - size)));
      words = emitForGroups(groups, [&] {
        Words lesser = loadWords(from, stride);
        for (auto [word, other] :
             llvm::zip_equal(lesser, loadWords(from, stride, size)))
          word = arith::MinUIOp::create(builder, loc, word, other);
        return lesser;
      });
      wait();
    }
    emitForGroups(groups, [&] {
      Words group = words.empty() ? loadWords(permuted, stride) : words;
      for (int64_t stage = 0; stage < stages; ++stage)
        for (int64_t i = 0, distance = kSortGroup / 2 >> stage; i < kSortGroup;
             ++i)
          if (!(i & distance))
            exchange(group[i], group[i + distance], /*isDown=*/false, isDown);
      storeWords(group, permuted, stride);
      return group;
    });
    wait();
  }
}

void SortNetwork::sortRuns() {
  for (int64_t phase = kStages + 1; int64_t(1) << phase <= run; ++phase)
    merge(phase, tile.words, /*halves=*/false);
}

void SortNetwork::reduceRuns() {
  for (int64_t slots = tile.words / 2; slots >= run; slots /= 2)
    merge(llvm::Log2_64(run), slots, /*halves=*/true);
}

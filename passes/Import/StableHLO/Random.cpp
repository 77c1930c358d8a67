// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random bits by Philox 4x32-10 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", SC 2011): four words of 32 bits are a function of a key and
// a counter of 128 bits, so that every element can be computed independently,
// on any device. Counters and words are numbered as in XLA on CPUs and GPUs.

#include "Conversion.h"

#include "llvm/Support/MathExtras.h"

#include <array>

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

/// All numbers are ui64. The words that draw() returns are below 2^32.
class Philox {
public:
  Philox(Emitter &emit, Value state)
      : emit(emit), element(typeOf(state).getElementType()) {
    for (int64_t i = 0, e = typeOf(state).getDimSize(0); i < e; ++i)
      words.push_back(emit.reshape(emit.slice(state, {i}, {1}), {}));
  }

  /// Returns words 0 to 3 of `count` counters, beginning with the state's
  /// counter. Result i holds word i of all counters.
  std::array<Value, 4> draw(int64_t count);
  /// Returns the state with `count` added to its counter.
  Value advance(int64_t count);

  Value join(Value low, Value high) {
    return emit.binary<OrOp>(
        low, emit.binary<ShiftLeftOp>(high, emit.constant(32, high)));
  }

private:
  using Counter = std::pair<Value, Value>; ///< The low and the high half.

  Value getLow(Value x) {
    return emit.binary<AndOp>(x, emit.constant(0xFFFFFFFF, x));
  }
  Value getHigh(Value x) {
    return emit.binary<ShiftRightLogicalOp>(x, emit.constant(32, x));
  }
  Value exclusiveOr(Value a, Value b) { return emit.binary<XorOp>(a, b); }
  /// If the state has only two words, the key is also the high half of the
  /// counter.
  Counter getCounter() {
    return {words[1], words.size() == 3 ? words[2] : words[0]};
  }
  Counter add(Counter counter, Value distance) {
    Value low = emit.binary<AddOp>(counter.first, distance);
    Value carry = emit.convert(
        emit.compare(ComparePredicate::LT, low, distance), element);
    return {low, emit.binary<AddOp>(counter.second, carry)};
  }

  Emitter &emit;
  Type element;
  SmallVector<Value> words; ///< Scalars: the key and the counter.
};

} // namespace

std::array<Value, 4> Philox::draw(int64_t count) {
  auto repeat = [&](Value x) { return emit.splat(x, {count}); };
  Counter start = getCounter();
  auto [low, high] = add({repeat(start.first), repeat(start.second)},
                         emit.iota(0, {count}, element));
  std::array<Value, 4> x = {getLow(low), getHigh(low), getLow(high),
                            getHigh(high)};
  std::array<Value, 2> key = {getLow(words[0]), getHigh(words[0])};
  auto raise = [&](Value half, double step) {
    return getLow(emit.binary<AddOp>(half, emit.constant(step, half)));
  };
  for (unsigned round = 0; round < 10; ++round) {
    if (round > 0)
      key = {raise(key[0], 0x9E3779B9), raise(key[1], 0xBB67AE85)};
    Value a = emit.binary<MulOp>(x[0], emit.constant(0xD2511F53, x[0]));
    Value b = emit.binary<MulOp>(x[2], emit.constant(0xCD9E8D57, x[2]));
    x = {exclusiveOr(exclusiveOr(getHigh(b), x[1]), repeat(key[0])), getLow(b),
         exclusiveOr(exclusiveOr(getHigh(a), x[3]), repeat(key[1])), getLow(a)};
  }
  return x;
}

Value Philox::advance(int64_t count) {
  auto [low, high] = add(getCounter(), emit.constant(count, words[1]));
  SmallVector<Value> next = {words[0], low, high};
  next.resize(words.size());
  for (Value &word : next)
    word = emit.reshape(word, {1});
  return emit.concat(next, 0);
}

/// (state) -> (next state, bits)
static Results convertBitGenerator(Conversion &c) {
  StringRef algorithm = c.getWord("rng_algorithm");
  if (algorithm != "DEFAULT" && algorithm != "PHILOX")
    return c.unsupported()
           << " with " << algorithm
           << " is not supported: use PHILOX, which is also the DEFAULT";
  auto words = dyn_cast<IntegerType>(c.inType().getElementType());
  if (c.inType() != c.outType(0) || c.inType().getRank() != 1 || !words ||
      !words.isUnsigned() || words.getWidth() != 64 || c.inShape()[0] < 2 ||
      c.inShape()[0] > 3)
    return c.invalid()
           << " with PHILOX expects a state of two or three ui64 values";
  auto type = dyn_cast<IntegerType>(c.outElement(1));
  if (!type || type.getWidth() < 8)
    return c.unsupported()
           << " of " << c.outElement(1)
           << " is not supported: expects integers of 8 bits or more";
  int64_t count = c.outType(1).getNumElements();
  if (count == 0)
    return SmallVector<Value>{c.in(), c.emit.constant(0, c.outType(1))};
  Philox philox(c.emit, c.in());
  bool isWide = type.getWidth() == 64;
  int64_t counters = llvm::divideCeil(count, isWide ? 2 : 4);
  std::array<Value, 4> bits = philox.draw(counters);
  SmallVector<Value> columns(bits.begin(), bits.end());
  if (isWide)
    columns = {philox.join(bits[0], bits[1]), philox.join(bits[2], bits[3])};
  int64_t width = columns.size();
  for (Value &column : columns)
    column = c.emit.reshape(column, {counters, 1});
  Value all = c.emit.reshape(c.emit.concat(columns, 1), {counters * width});
  Value drawn = c.emit.reshape(c.emit.slice(all, {0}, {count}), c.outShape(1));
  return SmallVector<Value>{philox.advance(counters),
                            c.emit.convert(drawn, type)};
}

static constexpr Row kRandomRows[] = {
    {"stablehlo.rng_bit_generator", 1, 2, 0, convertBitGenerator},
};

ArrayRef<Row> tp::stablehlo::getRandomRows() { return kRandomRows; }

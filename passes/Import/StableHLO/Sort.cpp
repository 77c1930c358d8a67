// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sorting by the comparators that exporters write.

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {

/// A key for comparing rows: an operand, ascending or descending.
struct Key {
  unsigned operand;
  bool isDescending;
};

/// Reads a comparator, a region on the pairs (a0, b0, a1, b1, ..) that returns
/// whether row a comes before row b. The known forms are
///
///     a0 < b0
///     a0 < b0 or (a0 == b0 and <a comparison of further keys>)
///
/// possibly with `>` instead of `<`, and with floats changed so that all zeros
/// and all NaNs are equal, as `tp.sort` treats them.
class ComparatorReader {
public:
  explicit ComparatorReader(Region &region) : region(region) {}

  /// Returns the keys, the most significant one first; empty if the comparator
  /// has a different form.
  SmallVector<Key> read() {
    Operation *end = getReturn(region);
    SmallVector<Key> keys;
    if (!end || end->getNumOperands() != 1 ||
        !readBefore(end->getOperand(0), keys))
      keys.clear();
    return keys;
  }

private:
  static Operation *getOp(Value value, StringRef name) {
    Operation *op = value.getDefiningOp();
    return op && op->getName().getStringRef() == name ? op : nullptr;
  }

  /// Returns true if both are the same value or equal constants.
  static bool isSame(Value a, Value b) {
    Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
    Attribute value = first ? first->getAttr("value") : Attribute();
    return a == b || (value && second && second->getAttr("value") == value);
  }

  /// Returns the argument from which a value is computed by making zeros and
  /// NaNs equal.
  static Value strip(Value value) {
    while (Operation *select = getOp(value, "stablehlo.select")) {
      if (select->getNumOperands() != 3)
        break;
      Operation *compare = getOp(select->getOperand(0), "stablehlo.compare");
      if (!compare || compare->getNumOperands() != 2)
        break;
      StringRef direction = Fields(compare).getWord("comparison_direction");
      Value x = compare->getOperand(0);
      // Looks through `x != x ? NaN : ..` and `x == 0 ? 0 : ..`.
      bool isNaN = direction == "NE" && compare->getOperand(1) == x;
      bool isZero = direction == "EQ" &&
                    isSame(compare->getOperand(1), select->getOperand(1));
      if ((!isNaN && !isZero) || !isa<BlockArgument>(x))
        break;
      value = select->getOperand(2);
    }
    return value;
  }

  /// Reads a comparison of one operand's elements in rows a and b.
  bool readCompare(Value value, StringRef &direction, Key &key) {
    Operation *compare = getOp(value, "stablehlo.compare");
    if (!compare || compare->getNumOperands() != 2)
      return false;
    direction = Fields(compare).getWord("comparison_direction");
    auto a = dyn_cast<BlockArgument>(strip(compare->getOperand(0)));
    auto b = dyn_cast<BlockArgument>(strip(compare->getOperand(1)));
    if (!a || !b || a.getOwner() != &region.front() ||
        b.getOwner() != &region.front() ||
        a.getArgNumber() / 2 != b.getArgNumber() / 2 ||
        a.getArgNumber() == b.getArgNumber())
      return false;
    bool isSwapped = a.getArgNumber() % 2;
    key = {a.getArgNumber() / 2, (direction == "GT") != isSwapped};
    return direction == "LT" || direction == "GT" || direction == "EQ";
  }

  bool readBefore(Value value, SmallVectorImpl<Key> &keys) {
    StringRef direction;
    Key key;
    if (readCompare(value, direction, key) && direction != "EQ") {
      keys.push_back(key);
      return true;
    }
    Operation *either = getOp(value, "stablehlo.or");
    if (!either || either->getNumOperands() != 2 || !getReturn(region))
      return false;
    Operation *both = getOp(either->getOperand(1), "stablehlo.and");
    Key equal;
    if (!both || both->getNumOperands() != 2 ||
        !readCompare(either->getOperand(0), direction, key) ||
        direction == "EQ" ||
        !readCompare(both->getOperand(0), direction, equal) ||
        direction != "EQ" || equal.operand != key.operand)
      return false;
    keys.push_back(key);
    return readBefore(both->getOperand(1), keys);
  }

  Region &region;
};

} // namespace

/// Returns `x` with its last dimension reordered: element i comes from position
/// `places[i]`.
static Value emitOrdered(Emitter &emit, Value x, Value places) {
  int64_t last = typeOf(x).getRank() - 1;
  return emit.gather(x, places, last, last);
}

static Results convertSort(Conversion &c) {
  size_t n = c.op->getNumOperands();
  if (n == 0 || c.op->getNumResults() != n)
    return c.invalid() << " expects at least one tensor, and a result for each";
  int64_t rank = c.inType().getRank();
  FailureOr<int64_t> dim = c.getInteger("dimension", rank - 1);
  if (failed(dim))
    return failure();
  if (*dim < 0)
    *dim += rank;
  if (*dim < 0 || *dim >= rank)
    return c.invalid()
           << " expects `dimension` to be a dimension of its operands";
  for (size_t i = 0; i < n; ++i)
    if (c.inShape(i) != c.inShape())
      return c.invalid() << " expects tensors of the same shape";
  SmallVector<Key> keys = ComparatorReader(c.op->getRegion(0)).read();
  if (keys.empty() ||
      llvm::any_of(keys, [&](Key key) { return key.operand >= n; }))
    return c.unsupported()
           << " is only supported with a comparator that compares pairs of its "
              "arguments by < or >, one pair after the other";
  // Sorts along the last dimension. The operands are then reordered by a
  // gather, whose batch dimensions must come first.
  SmallVector<int64_t> order, back(rank);
  for (int64_t i = 0; i < rank; ++i)
    if (i != *dim)
      order.push_back(i);
  order.push_back(*dim);
  for (auto [to, from] : llvm::enumerate(order))
    back[from] = to;
  bool isLast = *dim == rank - 1;
  auto forth = [&](Value x) { return isLast ? x : c.emit.transpose(x, order); };
  auto home = [&](Value x) { return isLast ? x : c.emit.transpose(x, back); };
  auto sort = [&](Value x, int64_t along, bool isDescending) {
    Type element = typeOf(x).getElementType();
    bool isBool = element.isInteger(1);
    if (isBool) // a boolean is not a number
      x = c.emit.convert(x, c.builder.getIntegerType(8));
    auto indices =
        RankedTensorType::get(typeOf(x).getShape(), c.builder.getI32Type());
    auto sorted = SortOp::create(c.builder, c.op->getLoc(), x.getType(),
                                 indices, x, along, isDescending);
    Value values = sorted.getValues();
    return std::pair<Value, Value>(
        isBool ? c.emit.convert(values, element) : values, sorted.getIndices());
  };
  if (n == 1) {
    Value values = sort(c.in(), *dim, keys[0].isDescending).first;
    return c.one(values);
  }
  // Sorts by one key after the other, the least significant first. Sorts are
  // stable.
  Value places;
  for (Key key : llvm::reverse(keys)) {
    Value x = forth(c.in(key.operand));
    if (places)
      x = emitOrdered(c.emit, x, places);
    Value next = sort(x, rank - 1, key.isDescending).second;
    places = places ? emitOrdered(c.emit, places, next) : next;
  }
  SmallVector<Value> results;
  for (Value x : c.op->getOperands()) {
    auto iota = x.getDefiningOp<IotaOp>();
    Type element = typeOf(x).getElementType();
    // If x counts along the sorted dimension, x in the new order is `places`.
    if (iota && int64_t(iota.getDim()) == *dim && isa<IntegerType>(element))
      results.push_back(home(c.emit.convert(places, element)));
    else
      results.push_back(home(emitOrdered(c.emit, forth(x), places)));
  }
  return results;
}

/// Returns the k greatest elements of the last dimension and their indices.
static Results convertTopK(Conversion &c) {
  if (auto largest = dyn_cast_or_null<BoolAttr>(c.get("largest"));
      largest && !largest.getValue())
    return c.unsupported()
           << " of the smallest elements is not supported: "
              "negate the operand, and negate the resulting values";
  return SmallVector<Value>(TopKOp::create(c.builder, c.op->getLoc(),
                                           c.outType(0), c.outType(1), c.in())
                                .getResults());
}

static constexpr Row kSortRows[] = {
    {"chlo.top_k", 1, 2, 0, convertTopK},
    {"mhlo.topk", 1, 2, 0, convertTopK},
    {"stablehlo.sort", -1, -1, 1, convertSort, Regions::Never},
};

ArrayRef<Row> tp::stablehlo::getSortRows() { return kSortRows; }

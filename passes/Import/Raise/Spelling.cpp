// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rewrites equal programs into one spelling, so that the way a program is
// written does not change the cost of its plan. A product absorbs transposes of
// its operands and of its result, and its right operand has the result's last
// dimension:
//
//     %t = tp.transpose %w [1, 0] : 48x32 -> 32x48
//     %y = tp.einsum "io,bsi->obs" %t, %x : 32x48, 2x7x32 -> 48x2x7
//     %z = tp.transpose %y [1, 2, 0] : 48x2x7 -> 2x7x48
//
// becomes
//
//     %z = tp.einsum "bsi,oi->bso" %x, %w : 2x7x32, 48x32 -> 2x7x48
//
// Nested reductions of one kind become one reduction. A broadcast that only
// adds dimensions of size 1 becomes a reshape. A dynamic slice with constant
// start indices becomes a static slice. Additions of zeros are removed, as XLA
// does (-0.0 then stays -0.0).

#include "Patterns.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tp;
using namespace tp::raise;

namespace {

/// The equation and the operands of an einsum, while they are rewritten.
struct Spelling {
  std::string letters[2], result;
  Value operands[2];

  static Spelling of(EinsumOp einsum);
  /// Merges transposes of the operands into the equation.
  void absorbTransposes();
  /// Puts the operand that has the result's last dimension on the right.
  void order();
  std::string getEquation() const {
    return letters[0] + "," + letters[1] + "->" + result;
  }
};

} // namespace

Spelling Spelling::of(EinsumOp einsum) {
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  return {{terms.lhs.str(), terms.rhs.str()},
          terms.result.str(),
          {einsum.getLhs(), einsum.getRhs()}};
}

void Spelling::absorbTransposes() {
  for (auto [own, operand] : llvm::zip_equal(letters, operands))
    while (auto transpose = operand.getDefiningOp<TransposeOp>()) {
      std::string before(own.size(), ' ');
      for (auto [letter, dim] :
           llvm::zip_equal(own, transpose.getPermutation()))
        before[dim] = letter;
      own = before;
      operand = transpose.getInput();
    }
}

void Spelling::order() {
  for (char letter : llvm::reverse(result)) {
    bool isLeft = StringRef(letters[0]).contains(letter),
         isRight = StringRef(letters[1]).contains(letter);
    if (isLeft == isRight)
      continue;
    if (isLeft) {
      std::swap(letters[0], letters[1]);
      std::swap(operands[0], operands[1]);
    }
    return;
  }
}

std::optional<Match> tp::raise::matchContraction(Operation *root) {
  // Collects the transposes of the result, last first.
  SmallVector<ArrayRef<int64_t>> permutations;
  Value value = root->getResult(0);
  while (auto transpose = value.getDefiningOp<TransposeOp>()) {
    permutations.push_back(transpose.getPermutation());
    value = transpose.getInput();
  }
  auto einsum = value.getDefiningOp<EinsumOp>();
  if (!einsum)
    return std::nullopt;
  Spelling product = Spelling::of(einsum);
  for (ArrayRef<int64_t> permutation : llvm::reverse(permutations)) {
    std::string before = std::exchange(product.result, "");
    for (int64_t dim : permutation)
      product.result += before[dim];
  }
  product.absorbTransposes();
  product.order();
  if (root == einsum && product.getEquation() == einsum.getEquation() &&
      product.operands[0] == einsum.getLhs() &&
      product.operands[1] == einsum.getRhs())
    return std::nullopt;
  Match match{"", root, {product.operands[0], product.operands[1]}, {}};
  match.build = [product, type = typeOf(root->getResult(0))](
                    OpBuilder &builder, Location loc) -> Value {
    return EinsumOp::create(builder, loc, type, product.getEquation(),
                            product.operands[0], product.operands[1]);
  };
  return match;
}

std::optional<Match> tp::raise::matchNestedReduction(Operation *root) {
  auto outer = dyn_cast<ReduceOp>(root);
  auto inner = outer ? outer.getInput().getDefiningOp<ReduceOp>() : ReduceOp();
  if (!inner || inner.getKind() != outer.getKind())
    return std::nullopt;
  // In narrow types, the result of an inner sum or product is rounded, so
  // merging would change the final result.
  bool isExact = outer.getKind() == ReductionKind::Max ||
                 outer.getKind() == ReductionKind::Min;
  Type element = elementOf(root->getResult(0));
  if (!isExact && isa<FloatType>(element) && !isWide(element))
    return std::nullopt;
  SmallVector<int64_t> dims(inner.getDims()), kept;
  for (int64_t dim = 0, e = typeOf(inner.getInput()).getRank(); dim < e; ++dim)
    if (!llvm::is_contained(inner.getDims(), dim))
      kept.push_back(dim);
  for (int64_t dim : outer.getDims())
    dims.push_back(kept[dim]);
  llvm::sort(dims);
  Match match{"", root, {inner.getInput()}, {}};
  match.build = [=, kind = outer.getKind(),
                 input = inner.getInput()](OpBuilder &builder, Location loc) {
    return Emitter(builder, loc).reduce(kind, input, dims);
  };
  return match;
}

/// Returns true if all elements are constant zeros, possibly after data
/// movement.
static bool isZero(Value value, unsigned depth = 0) {
  constexpr unsigned kDeepest =
      6; // without a limit, using a value twice at each level is exponential
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<BroadcastOp, ReshapeOp, TransposeOp, SliceOp, PadOp,
                      ConcatOp, SpliceOp>(op))
    return depth < kDeepest &&
           llvm::all_of(
               op->getOperands(),
               [&](Value input) { return isZero(input, depth + 1); });
  return matchPattern(value, m_AnyZeroFloat()) || matchPattern(value, m_Zero());
}

std::optional<Match> tp::raise::matchZeroAdded(Operation *root) {
  auto add = dyn_cast<AddOp>(root);
  if (!add)
    return std::nullopt;
  for (auto [value, other] : {std::pair(add.getLhs(), add.getRhs()),
                              std::pair(add.getRhs(), add.getLhs())})
    if (isZero(other)) {
      Match match{"", root, {value, other}, {}};
      match.build = [value = value](OpBuilder &, Location) { return value; };
      return match;
    }
  return std::nullopt;
}

std::optional<Match> tp::raise::matchBroadcast(Operation *root) {
  auto broadcast = dyn_cast<BroadcastOp>(root);
  if (!broadcast)
    return std::nullopt;
  RankedTensorType from = typeOf(broadcast.getInput()),
                   to = typeOf(root->getResult(0));
  if (from.getNumElements() != to.getNumElements() || to.getNumElements() == 0)
    return std::nullopt;
  Match match{"", root, {broadcast.getInput()}, {}};
  match.build = [=, input = broadcast.getInput()](OpBuilder &builder,
                                                  Location loc) -> Value {
    return ReshapeOp::create(builder, loc, to, input);
  };
  return match;
}

std::optional<Match> tp::raise::matchSlice(Operation *root) {
  auto slice = dyn_cast<DynamicSliceOp>(root);
  if (!slice)
    return std::nullopt;
  ArrayRef<int64_t> sizes = slice.getType().getShape();
  SmallVector<int64_t> starts;
  for (auto [start, whole, size] : llvm::zip_equal(
           slice.getStarts(), typeOf(slice.getInput()).getShape(), sizes)) {
    APInt number;
    if (!matchPattern(start, m_ConstantInt(&number)))
      return std::nullopt;
    // Start indices are clamped, so that the slice is always inside the input.
    unsigned bits = std::max(64u, number.getBitWidth());
    number = elementOf(start).isUnsignedInteger() ? number.zext(bits + 1)
                                                  : number.sext(bits + 1);
    number = llvm::APIntOps::smax(number, APInt(bits + 1, 0));
    number = llvm::APIntOps::smin(number, APInt(bits + 1, whole - size));
    starts.push_back(number.getSExtValue());
  }
  Match match{"", root, {slice.getInput()}, {}};
  match.build = [=, input = slice.getInput(),
                 sizes = SmallVector<int64_t>(sizes)](OpBuilder &builder,
                                                      Location loc) {
    return Emitter(builder, loc).slice(input, starts, sizes);
  };
  return match;
}

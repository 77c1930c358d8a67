// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions: each becomes a `tp.einsum`.

#include "Conversion.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

namespace {
/// Hands out letters; an equation can have 52.
class Letters {
public:
  char next() {
    return count < 26 ? char('a' + count++) : char('A' + count++ - 26);
  }
  bool areEnough() const { return count <= 52; }

private:
  unsigned count = 0;
};
} // namespace

Results tp::stablehlo::emitEinsum(Conversion &c, Value lhs, Value rhs,
                                  const std::string &equation, Sizes shape) {
  Type element = c.outElement();
  auto widthOf = [](Type type) { return type.getIntOrFloatBitWidth(); };
  bool isBool = element.isInteger(1);
  // Products of booleans are "and", their sums "or".
  Type compute = isBool ? Type(c.builder.getI32Type()) : element;
  Type left = typeOf(lhs).getElementType(),
       right = typeOf(rhs).getElementType();
  bool isWider =
      left == right && isa<FloatType>(left) == isa<FloatType>(compute);
  if (isWider && widthOf(left) > widthOf(compute))
    compute = left;
  if (!isWider || left.isInteger(1)) {
    lhs = c.emit.convert(lhs, compute);
    rhs = c.emit.convert(rhs, compute);
  }
  Value sum = EinsumOp::create(c.builder, c.op->getLoc(),
                               RankedTensorType::get(shape, compute), equation,
                               lhs, rhs);
  return c.one(c.emit.convert(sum, element));
}

static Results convertDotGeneral(Conversion &c) {
  FailureOr<Fields> numbers = c.getStructure("dot_dimension_numbers");
  if (failed(numbers))
    return failure();
  int64_t lhsRank = c.inType(0).getRank(), rhsRank = c.inType(1).getRank();
  auto lhsBatch = numbers->getDims("lhs_batching_dimensions", lhsRank),
       rhsBatch = numbers->getDims("rhs_batching_dimensions", rhsRank),
       lhsSum = numbers->getDims("lhs_contracting_dimensions", lhsRank),
       rhsSum = numbers->getDims("rhs_contracting_dimensions", rhsRank);
  if (failed(lhsBatch) || failed(rhsBatch) || failed(lhsSum) || failed(rhsSum))
    return failure();
  if (lhsBatch->size() != rhsBatch->size() || lhsSum->size() != rhsSum->size())
    return c.invalid()
           << " expects both operands to have the same number of batching "
              "dimensions and the same number of contracting dimensions";
  Letters letters;
  std::string lhs(lhsRank, ' '), rhs(rhsRank, ' '), result;
  SmallVector<int64_t> shape;
  for (auto [l, r] : llvm::zip_equal(*lhsBatch, *rhsBatch)) {
    lhs[l] = rhs[r] = letters.next();
    result += lhs[l];
    shape.push_back(c.inShape(0)[l]);
  }
  for (auto [l, r] : llvm::zip_equal(*lhsSum, *rhsSum)) {
    if (lhs[l] != ' ' || rhs[r] != ' ')
      return c.invalid() << " expects no dimension to be both a batching and a "
                            "contracting dimension";
    lhs[l] = rhs[r] = letters.next();
  }
  auto addFree = [&](std::string &term, Sizes sizes) {
    for (auto [dim, letter] : llvm::enumerate(term))
      if (letter == ' ') {
        letter = letters.next();
        result += letter;
        shape.push_back(sizes[dim]);
      }
  };
  addFree(lhs, c.inShape(0));
  addFree(rhs, c.inShape(1));
  if (!letters.areEnough())
    return c.unsupported()
           << " with more than 52 different dimensions is not supported";
  return emitEinsum(c, c.in(0), c.in(1), lhs + "," + rhs + "->" + result,
                    shape);
}

/// Contracts the last dimension of the left operand with the first dimension of
/// the right.
static Results convertDot(Conversion &c) {
  int64_t lhsRank = c.inType(0).getRank(), rhsRank = c.inType(1).getRank();
  if (lhsRank < 1 || lhsRank > 2 || rhsRank < 1 || rhsRank > 2)
    return c.invalid() << " expects operands that are vectors or matrices";
  std::string lhs = lhsRank == 1 ? "k" : "ik", rhs = rhsRank == 1 ? "k" : "kj";
  std::string result;
  SmallVector<int64_t> shape;
  if (lhsRank == 2) {
    result += 'i';
    shape.push_back(c.inShape(0)[0]);
  }
  if (rhsRank == 2) {
    result += 'j';
    shape.push_back(c.inShape(1)[1]);
  }
  return emitEinsum(c, c.in(0), c.in(1), lhs + "," + rhs + "->" + result,
                    shape);
}

/// Converts an einsum of two operands, whose attribute is the equation.
static Results convertEinsum(Conversion &c) {
  StringRef equation = c.getWord("einsum_config");
  if (equation.contains('.') || equation.contains(' '))
    return c.unsupported() << " with the equation \"" << equation
                           << "\" is not supported: write one letter for each "
                              "dimension, without dots or blanks";
  return emitEinsum(c, c.in(0), c.in(1), equation.str(), c.outShape());
}

static constexpr Row kContractionRows[] = {
    {"stablehlo.dot", 2, 1, 0, convertDot},
    {"stablehlo.dot_general", 2, 1, 0, convertDotGeneral},
    {"stablehlo.einsum", 2, 1, 0, convertEinsum},
};

ArrayRef<Row> tp::stablehlo::getContractionRows() { return kContractionRows; }

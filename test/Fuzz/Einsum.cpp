// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions and reductions.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

static void addEinsum(Author &author) {
  // Letters of the left operand, then what the right one has besides.
  Value lhs = author.pick(Elements::Number);
  std::string terms[3];
  Shape rightShape, resultShape;
  auto drawLetter = [&](char letter, int64_t size, bool inLeft, bool inRight) {
    if (inLeft)
      terms[0] += letter;
    if (inRight)
      rightShape.push_back(size);
    if (author.random.percent(60)) {
      terms[2] += letter;
      resultShape.push_back(size);
    }
    if (inRight)
      terms[1] += letter;
  };
  char letter = 'a';
  for (int64_t size : Author::shapeOf(lhs))
    drawLetter(letter++, size, true, author.random.percent(55));
  for (int64_t i = author.random.draw(0, 2); i > 0; --i)
    drawLetter(letter++, author.random.draw(1, 6), false, true);
  // Neither the right operand nor the result keeps the order.
  auto shuffle = [&](std::string &term, Shape &shape) {
    std::string oldTerm = term;
    Shape oldShape = shape;
    for (auto [to, from] :
         llvm::enumerate(author.random.permutation(shape.size()))) {
      term[to] = oldTerm[from];
      shape[to] = oldShape[from];
    }
  };
  shuffle(terms[1], rightShape);
  shuffle(terms[2], resultShape);
  if (ShapedType::getNumElements(resultShape) > 4096)
    return;
  Value rhs = author.get(rightShape, Author::elementOf(lhs));
  author.add(EinsumOp::create(author.builder, author.loc,
                              author.type(resultShape, Author::elementOf(lhs)),
                              terms[0] + "," + terms[1] + "->" + terms[2], lhs,
                              rhs));
}

/// `shape`, broadcast along some of its dimensions: an operand without strides
/// of its own.
static Value getBroadcast(Author &author, ArrayRef<int64_t> shape,
                          Type element) {
  Shape dims, given;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (author.random.percent(60)) {
      dims.push_back(dim);
      given.push_back(size);
    }
  Value x = author.get(given, element);
  Value result = BroadcastOp::create(author.builder, author.loc,
                                     author.type(shape, element), x, dims);
  if (author.isInexact(x))
    author.markInexact(result);
  return result;
}

/// Cuts the two dimensions that a product sums over along one axis each, so
/// that what it leaves is a partial sum over two axes.
static Value cutSums(Author &author, Value x, StringRef term) {
  TensorSharding sharding = TensorSharding::replicate(term.size());
  for (auto [dim, letter] : llvm::enumerate(term))
    if (letter == 'k' || letter == 'l')
      sharding.dims[dim].axes = {AxisRef::full(author.mesh, letter - 'k')};
  Value result = spmd::ConstraintOp::create(
      author.builder, author.loc, x.getType(), x, author.toAttr(sharding));
  if (author.isInexact(x))
    author.markInexact(result);
  return result;
}

/// Products of the sizes that libraries multiply, of operands that lie in any
/// order, or are broadcast.
static void addProduct(Author &author) {
  auto size = [&](int64_t most) { return author.random.draw(1, most); };
  bool sumsTwice = author.random.percent(30);
  int64_t sizes[] = {size(3), size(24), size(24), size(sumsTwice ? 6 : 1),
                     size(24)};
  StringRef letters = "bmkln";
  // In any order, with and without a batch.
  auto draw = [&](StringRef kept) {
    std::string term;
    for (int64_t i : author.random.permutation(kept.size()))
      term += kept[i];
    return term;
  };
  bool hasBatch = author.random.percent(40);
  std::string sums = sumsTwice ? "kl" : "k", batch = hasBatch ? "b" : "";
  std::string left = draw("m" + sums + batch), right = draw("n" + sums + batch),
              result = draw("mn" + batch);
  auto shapeOf = [&](StringRef term) {
    return llvm::map_to_vector(
        term, [&](char letter) { return sizes[letters.find(letter)]; });
  };
  Type element = author.element(Elements::Float);
  auto draws = [&](StringRef term) {
    Value x = author.random.percent(30)
                  ? getBroadcast(author, shapeOf(term), element)
                  : author.get(shapeOf(term), element);
    bool cuts = sumsTwice && author.mesh.axes.size() > 1 &&
                !author.isIsolated() && author.random.percent(60);
    return cuts ? cutSums(author, x, term) : x;
  };
  Value lhs = draws(left), rhs = draws(right);
  author.add(EinsumOp::create(author.builder, author.loc,
                              author.type(shapeOf(result), element),
                              left + "," + right + "->" + result, lhs, rhs));
}

/// Products whose rows are gathered, of one or two factors, or scattered.
static void addChunked(Author &author, bool scatters) {
  auto size = [&](int64_t most) { return author.random.draw(1, most); };
  int64_t batch = size(3), rows = 2 * size(8), summed = size(12),
          pieces = size(2);
  Type element = author.element(Elements::Float);
  Value x = author.get({batch, rows, summed}, element);
  auto getFactor = [&] { return author.get({summed, size(12)}, element); };
  auto getResult = [&](Value factor) {
    return author.type({batch, rows, Author::shapeOf(factor)[1]}, element);
  };
  if (scatters) {
    Value factor = getFactor();
    bool isRight = author.random.percent(50);
    author.add(EinsumScatterOp::create(
        author.builder, author.loc, getResult(factor),
        isRight ? "kn,bmk->bmn" : "bmk,kn->bmn", isRight ? factor : x,
        isRight ? x : factor, /*dim=*/1, pieces));
    return;
  }
  SmallVector<Value> factors;
  SmallVector<Type> results;
  SmallVector<StringRef> equations;
  SmallVector<int64_t> sides;
  for (int64_t i = size(2); i > 0; --i) {
    factors.push_back(getFactor());
    results.push_back(getResult(factors.back()));
    sides.push_back(author.random.draw(0, 1));
    equations.push_back(sides.back() ? "kn,bmk->bmn" : "bmk,kn->bmn");
  }
  if (author.random.percent(50))
    results.push_back(x.getType());
  author.add(GatherEinsumOp::create(
      author.builder, author.loc, results, x, factors,
      author.builder.getStrArrayAttr(equations), sides, /*dim=*/1, pieces));
}

static void addReduce(Author &author) {
  Value x = author.pick(Elements::Number);
  Shape dims, kept;
  for (auto [dim, size] : llvm::enumerate(Author::shapeOf(x)))
    if (author.random.percent(50))
      dims.push_back(dim);
    else
      kept.push_back(size);
  // Products grow out of the integers that doubles hold.
  auto kind = author.random.pick({ReductionKind::Sum, ReductionKind::Sum,
                                  ReductionKind::Max, ReductionKind::Min});
  if (isa<IntegerType>(Author::elementOf(x)) && author.random.percent(30))
    kind = ReductionKind::Prod;
  author.add(ReduceOp::create(author.builder, author.loc,
                              author.type(kept, Author::elementOf(x)), kind, x,
                              dims));
}

static void addCumulative(Author &author) {
  Value x = author.pick(Elements::Number, /*minRank=*/1);
  auto kind = author.random.pick({ReductionKind::Sum, ReductionKind::Sum,
                                  ReductionKind::Max, ReductionKind::Min});
  if (isa<IntegerType>(Author::elementOf(x)) && author.random.percent(30))
    kind = ReductionKind::Prod;
  author.add(
      CumulativeOp::create(author.builder, author.loc, x.getType(), kind, x,
                           author.random.draw(0, Author::shapeOf(x).size() - 1),
                           author.random.percent(50)));
}

void tp::fuzz::addEinsums(Generators &generators) {
  generators["tp.einsum"] = addEinsum;
  generators["tp.einsum, matrices"] = addProduct;
  generators["tp.gather_einsum"] = [](Author &author) {
    addChunked(author, /*scatters=*/false);
  };
  generators["tp.einsum_scatter"] = [](Author &author) {
    addChunked(author, /*scatters=*/true);
  };
  generators["tp.reduce"] = addReduce;
  generators["tp.cumulative"] = addCumulative;
}

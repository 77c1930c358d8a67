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

void tp::fuzz::addEinsums(Generators &generators) {
  generators["tp.einsum"] = addEinsum;
  generators["tp.reduce"] = addReduce;
}

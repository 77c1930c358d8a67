// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and conditionals.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

constexpr unsigned kMaxDepth = 2;

SmallVector<Value> pickInits(Author &author) {
  SmallVector<Value> inits;
  for (int64_t i = author.random.draw(1, 2); i > 0; --i)
    inits.push_back(author.pick(Elements::Any));
  return inits;
}

/// A value of each type that the body has, exact where what is carried is. Data
/// that a loop multiplies would grow, so that it is held down.
SmallVector<Value> makeYields(Author &author, ValueRange carried) {
  SmallVector<Value> yields;
  for (Value value : carried) {
    Value next = author.get(Author::typeOf(value), !author.isInexact(value));
    if (isa<FloatType>(Author::elementOf(next))) {
      RankedTensorType type = Author::typeOf(next);
      next = author.create("tp.min", {next, author.splat(type, 9)}, type)
                 ->getResult(0);
      next = author.create("tp.max", {next, author.splat(type, -9)}, type)
                 ->getResult(0);
    }
    yields.push_back(next);
  }
  return yields;
}

/// Carried values may always get inexact ones if they are it from the start.
void markCarried(Author &author, ValueRange inits, ValueRange carried,
                 ValueRange results) {
  for (auto [init, argument, result] : llvm::zip_equal(inits, carried, results))
    if (author.isInexact(init)) {
      author.markInexact(argument);
      author.markInexact(result);
    }
}

void offerResults(Author &author, Operation *op) {
  for (Value result : op->getResults())
    author.offer(result);
}

void addFor(Author &author) {
  if (author.depth() > kMaxDepth)
    return;
  SmallVector<Value> inits = pickInits(author);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto loop = ForOp::create(author.builder, author.loc, types,
                            author.random.draw(0, 3), inits);
  Block *body = new Block();
  loop.getBody().push_back(body);
  body->addArgument(author.type({}, author.builder.getI32Type()), author.loc);
  for (Type type : types)
    body->addArgument(type, author.loc);
  ValueRange carried = body->getArguments().drop_front();
  markCarried(author, inits, carried, loop.getResults());
  author.inScope(body, [&] {
    author.writeOps(author.random.draw(1, 3));
    YieldOp::create(author.builder, author.loc, makeYields(author, carried));
  });
  offerResults(author, loop);
}

void addWhile(Author &author) {
  if (author.depth() > kMaxDepth)
    return;
  OpBuilder &builder = author.builder;
  auto counterType = author.type({}, builder.getI32Type());
  SmallVector<Value> inits = pickInits(author);
  Value begin = author.splat(counterType, 0);
  // One that begins far below would count on and on.
  if (!author.random.percent(50))
    begin =
        author
            .create("tp.max",
                    {author.get(counterType), author.splat(counterType, -4)},
                    counterType)
            ->getResult(0);
  inits.insert(inits.begin(), begin);
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto loop = WhileOp::create(builder, author.loc, types, inits);
  Block *cond = new Block(), *body = new Block();
  loop.getCond().push_back(cond);
  loop.getBody().push_back(body);
  for (Type type : types) {
    cond->addArgument(type, author.loc);
    body->addArgument(type, author.loc);
  }
  markCarried(author, inits, body->getArguments(), loop.getResults());
  markCarried(author, inits, cond->getArguments(), loop.getResults());
  author.inScope(cond, [&] {
    Value end = author.splat(counterType, author.random.draw(0, 3));
    Value more = CompareOp::create(
        builder, author.loc, author.type({}, builder.getI1Type()),
        ComparePredicate::LT, cond->getArgument(0), end);
    YieldOp::create(builder, author.loc, more);
  });
  author.inScope(body, [&] {
    author.writeOps(author.random.draw(1, 3));
    Value next =
        author
            .create("tp.add",
                    {body->getArgument(0), author.splat(counterType, 1)},
                    counterType)
            ->getResult(0);
    SmallVector<Value> yields =
        makeYields(author, body->getArguments().drop_front());
    yields.insert(yields.begin(), next);
    YieldOp::create(builder, author.loc, yields);
  });
  offerResults(author, loop);
}

void addCase(Author &author) {
  if (author.depth() > kMaxDepth)
    return;
  Value index = author.get({}, author.element(author.random.percent(50)
                                                  ? Elements::Index
                                                  : Elements::Bool));
  SmallVector<Value> like = pickInits(author);
  unsigned branches = author.random.draw(1, 3);
  auto op = CaseOp::create(author.builder, author.loc,
                           ValueRange(like).getTypes(), index, branches);
  for (unsigned i = 0; i < branches; ++i) {
    Block *block = new Block();
    op.getBranches()[i].push_back(block);
    author.inScope(block, [&] {
      author.writeOps(author.random.draw(0, 3));
      SmallVector<Value> yields;
      for (auto [value, result] : llvm::zip_equal(like, op.getResults())) {
        yields.push_back(author.get(Author::typeOf(value)));
        if (author.isInexact(yields.back()))
          author.markInexact(result);
      }
      YieldOp::create(author.builder, author.loc, yields);
    });
  }
  offerResults(author, op);
}

} // namespace

void tp::fuzz::addControlFlow(Generators &generators) {
  generators["tp.for"] = addFor;
  generators["tp.while"] = addWhile;
  generators["tp.case"] = addCase;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that address elements by value.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

/// tp.gather, or tp.scatter with updates shaped like what gather gives.
void addGather(Author &author, bool isScatter) {
  Value x = author.pick(Elements::Any, /*minRank=*/1);
  ArrayRef<int64_t> shape = Author::shapeOf(x);
  int64_t axis = author.random.draw(0, shape.size() - 1);
  int64_t batch = author.random.draw(0, axis);
  Shape indices(shape.take_front(batch));
  for (int64_t i = author.random.draw(0, 2); i > 0; --i)
    indices.push_back(author.random.draw(1, 7));
  Shape gathered(shape.take_front(axis));
  llvm::append_range(gathered, ArrayRef(indices).drop_front(batch));
  llvm::append_range(gathered, shape.drop_front(axis + 1));
  if (ShapedType::getNumElements(gathered) > 4096)
    return;
  Type element = Author::elementOf(x);
  Value where = author.get(indices, author.element(Elements::Index));
  if (!isScatter) {
    author.add(GatherOp::create(author.builder, author.loc,
                                author.type(gathered, element), x, where, axis,
                                batch));
    return;
  }
  Value updates = author.get(gathered, element);
  auto kind = element.isInteger(1) ? ScatterKind::Set
                                   : ScatterKind(author.random.draw(0, 3));
  author.add(ScatterOp::create(author.builder, author.loc, x.getType(), kind, x,
                               where, updates, axis, batch));
}

/// Updates at places of two indices, each of which may miss its dimension, as
/// importers write them: over both dimensions as one.
void addScatterByTwo(Author &author) {
  Value x = author.pick(Elements::Any, /*minRank=*/2);
  Shape flat(Author::shapeOf(x).drop_front());
  int64_t rows = Author::shapeOf(x)[0], columns = flat[0];
  flat[0] *= rows;
  Shape updates = flat;
  updates[0] = author.random.draw(1, 7);
  Type element = Author::elementOf(x);
  RankedTensorType places =
      author.type(updates[0], author.builder.getI32Type());
  Value row = author.get(places), column = author.get(places);
  auto create = [&](StringRef name, ValueRange operands) {
    return author.create(name, operands, places)->getResult(0);
  };
  Value place =
      create("tp.add",
             {create("tp.mul", {row, author.splat(places, columns)}), column});
  for (auto [predicate, bound] :
       {std::pair(ComparePredicate::LT, columns), {ComparePredicate::GE, 0}}) {
    Value fits =
        CompareOp::create(author.builder, author.loc,
                          author.type(updates[0], author.builder.getI1Type()),
                          predicate, column, author.splat(places, bound));
    place = SelectOp::create(author.builder, author.loc, places, fits, place,
                             author.splat(places, -1));
  }
  Value wide = ReshapeOp::create(author.builder, author.loc,
                                 author.type(flat, element), x);
  Value added = author.get(updates, element);
  auto kind = author.random.pick({ScatterKind::Set, ScatterKind::Add});
  if (element.isInteger(1))
    kind = ScatterKind::Set;
  Value scattered =
      ScatterOp::create(author.builder, author.loc, wide.getType(), kind, wide,
                        place, added, /*axis=*/0, /*batch=*/0);
  if (author.isInexact(x) || author.isInexact(added))
    author.markInexact(scattered);
  author.add(
      ReshapeOp::create(author.builder, author.loc, x.getType(), scattered));
}

void addDynamicSlice(Author &author, bool isUpdate) {
  Value x = author.pick(Elements::Any);
  Shape part;
  SmallVector<Value> starts;
  for (int64_t size : Author::shapeOf(x)) {
    part.push_back(author.random.percent(40)
                       ? size
                       : author.random.draw(std::min<int64_t>(size, 1), size));
    starts.push_back(author.get({}, author.element(Elements::Index)));
  }
  Type element = Author::elementOf(x);
  if (isUpdate)
    author.add(DynamicUpdateSliceOp::create(author.builder, author.loc,
                                            x.getType(), x,
                                            author.get(part, element), starts));
  else
    author.add(DynamicSliceOp::create(author.builder, author.loc,
                                      author.type(part, element), x, starts));
}

Value pickSortable(Author &author) {
  return author.pick(author.random.percent(60) ? Elements::ExactFloat
                                               : Elements::Index,
                     /*minRank=*/1);
}

void addSort(Author &author) {
  Value x = pickSortable(author);
  ArrayRef<int64_t> shape = Author::shapeOf(x);
  author.add(SortOp::create(author.builder, author.loc, x.getType(),
                            author.type(shape, author.builder.getI32Type()), x,
                            author.random.draw(0, shape.size() - 1),
                            author.random.percent(50)));
}

void addTopK(Author &author) {
  Value x = pickSortable(author);
  Shape shape(Author::shapeOf(x));
  shape.back() =
      author.random.draw(std::min<int64_t>(shape.back(), 1), shape.back());
  author.add(TopKOp::create(
      author.builder, author.loc, author.type(shape, Author::elementOf(x)),
      author.type(shape, author.builder.getI32Type()), x));
}

} // namespace

void tp::fuzz::addIndexing(Generators &generators) {
  generators["tp.gather"] = [](Author &author) { addGather(author, false); };
  generators["tp.scatter"] = [](Author &author) { addGather(author, true); };
  generators["tp.scatter, two indices"] = addScatterByTwo;
  generators["tp.dynamic_slice"] = [](Author &author) {
    addDynamicSlice(author, false);
  };
  generators["tp.dynamic_update_slice"] = [](Author &author) {
    addDynamicSlice(author, true);
  };
  generators["tp.sort"] = addSort;
  generators["tp.top_k"] = addTopK;
}

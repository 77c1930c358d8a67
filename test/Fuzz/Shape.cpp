// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants, and ops that move data about.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

void addConstant(Author &author) {
  author.constant(
      author.type(author.shape(0, 3), author.element(Elements::Any)));
}

void addIota(Author &author) {
  Shape shape = author.shape(1, 3);
  author.add(
      IotaOp::create(author.builder, author.loc,
                     author.type(shape, author.element(Elements::Number)),
                     author.random.draw(0, shape.size() - 1)));
}

void addBroadcast(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape dims, result;
  auto widen = [&] {
    while (result.size() < 5 && author.random.percent(35))
      result.push_back(author.random.draw(1, 6));
  };
  for (int64_t size : Author::shapeOf(x)) {
    widen();
    dims.push_back(result.size());
    result.push_back(size);
  }
  widen();
  if (ShapedType::getNumElements(result) > 4096)
    return;
  author.add(BroadcastOp::create(author.builder, author.loc,
                                 author.type(result, Author::elementOf(x)), x,
                                 dims));
}

void addTranspose(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape order = author.random.permutation(Author::shapeOf(x).size()), result;
  for (int64_t dim : order)
    result.push_back(Author::shapeOf(x)[dim]);
  author.add(TransposeOp::create(author.builder, author.loc,
                                 author.type(result, Author::elementOf(x)), x,
                                 order));
}

void addReshape(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape result{1};
  if (author.random.percent(40)) {
    // Merge neighbours, split some.
    for (int64_t size : Author::shapeOf(x)) {
      if (author.random.percent(50))
        result.push_back(1);
      SmallVector<int64_t> divisors;
      for (int64_t d = 1; d <= size; ++d)
        if (size % d == 0)
          divisors.push_back(d);
      int64_t d = divisors.empty() || author.random.percent(60)
                      ? size
                      : author.random.pick(ArrayRef(divisors));
      result.back() *= d;
      if (d != size)
        result.push_back(size / d);
    }
  } else {
    // Another grouping of the prime factors.
    int64_t rest = ShapedType::getNumElements(Author::shapeOf(x));
    if (rest == 0)
      result.back() = 0;
    for (int64_t prime = 2; rest > 1;) {
      if (rest % prime != 0) {
        ++prime;
        continue;
      }
      rest /= prime;
      if (author.random.percent(40) && result.size() < 5)
        result.push_back(1);
      result.back() *= prime;
    }
  }
  if (ShapedType::getNumElements(result) !=
      ShapedType::getNumElements(Author::shapeOf(x)))
    return;
  if (result == Shape{1} && author.random.percent(50))
    result.clear();
  author.add(ReshapeOp::create(author.builder, author.loc,
                               author.type(result, Author::elementOf(x)), x));
}

void addSlice(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape starts, strides, result;
  for (int64_t size : Author::shapeOf(x)) {
    bool whole = size == 0 || author.random.percent(40);
    int64_t start = whole ? 0 : author.random.draw(0, size - 1);
    int64_t stride =
        !whole && author.random.percent(30) ? author.random.draw(2, 3) : 1;
    int64_t most = whole ? size : (size - 1 - start) / stride + 1;
    starts.push_back(start);
    strides.push_back(stride);
    result.push_back(whole ? size : author.random.draw(1, most));
  }
  author.add(SliceOp::create(author.builder, author.loc,
                             author.type(result, Author::elementOf(x)), x,
                             starts, strides));
}

void addConcat(Author &author) {
  Value first = author.pick(Elements::Any, /*minRank=*/1);
  Shape result(Author::shapeOf(first));
  int64_t dim = author.random.draw(0, result.size() - 1);
  SmallVector<Value> parts{first};
  for (int64_t i = author.random.draw(0, 2); i > 0; --i) {
    Shape part = result;
    part[dim] = author.random.percent(40) ? Author::shapeOf(first)[dim]
                                          : author.random.draw(1, 5);
    parts.push_back(author.get(part, Author::elementOf(first)));
    // The result's length is not a part's.
  }
  result[dim] = 0;
  for (Value part : parts)
    result[dim] += Author::shapeOf(part)[dim];
  author.add(ConcatOp::create(author.builder, author.loc,
                              author.type(result, Author::elementOf(first)),
                              parts, dim));
}

/// Pieces of values that agree in all dimensions but one, and of scalars.
void addSplice(Author &author) {
  Value first = author.pick(Elements::Any, /*minRank=*/1);
  Shape result(Author::shapeOf(first));
  int64_t dim = author.random.draw(0, result.size() - 1);
  if (llvm::is_contained(result, 0))
    return;
  SmallVector<Value> inputs;
  Shape starts, sizes, strides;
  auto addPiece = [&](Value input) {
    ArrayRef<int64_t> shape = Author::shapeOf(input);
    bool isScalar = shape.empty();
    inputs.push_back(input);
    int64_t start = isScalar ? 0 : author.random.draw(0, shape[dim] - 1);
    int64_t stride =
        isScalar || author.random.percent(50) ? 1 : author.random.draw(1, 3);
    int64_t room = isScalar ? 2 : (shape[dim] - 1 - start) / stride;
    if (!isScalar && author.random.percent(30)) {
      room = start / stride;
      stride = -stride;
    }
    starts.push_back(start);
    strides.push_back(stride);
    sizes.push_back(author.random.draw(1, room + 1));
  };
  if (author.random.percent(30))
    addPiece(author.get({}, Author::elementOf(first)));
  addPiece(first);
  for (int64_t i = author.random.draw(0, 2); i > 0; --i) {
    Shape part = result;
    part[dim] = author.random.draw(1, 12);
    addPiece(author.random.percent(50)
                 ? first
                 : author.get(part, Author::elementOf(first)));
  }
  if (author.random.percent(30))
    addPiece(author.get({}, Author::elementOf(first)));
  result[dim] = 0;
  for (int64_t size : sizes)
    result[dim] += size;
  bool hasStrides = llvm::any_of(strides, [](int64_t s) { return s != 1; });
  author.add(SpliceOp::create(
      author.builder, author.loc, author.type(result, Author::elementOf(first)),
      inputs, dim, starts, sizes,
      hasStrides ? author.builder.getDenseI64ArrayAttr(strides)
                 : DenseI64ArrayAttr()));
}

void addWindow(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape dims, low, strides, dilations, result;
  bool readsOutside = false;
  for (auto [dim, size] : llvm::enumerate(Author::shapeOf(x))) {
    if (size == 0 || result.size() > 5 || author.random.percent(40)) {
      result.push_back(size);
      continue;
    }
    int64_t stride = author.random.draw(1, 3),
            dilation = author.random.draw(1, 3),
            taps = author.random.draw(1, 4);
    int64_t before = author.random.percent(50) ? 0 : author.random.draw(-1, 3);
    // About as many windows as the dimension has room for.
    int64_t room = size + before - (taps - 1) * dilation - 1;
    int64_t windows = std::max<int64_t>(
        1, room / stride + 1 +
               (author.random.percent(50) ? 0 : author.random.draw(-2, 2)));
    int64_t last = (windows - 1) * stride + (taps - 1) * dilation - before;
    readsOutside |= before > 0 || -before >= size || last >= size;
    dims.push_back(dim);
    low.push_back(before);
    strides.push_back(stride);
    dilations.push_back(dilation);
    result.append({windows, taps});
  }
  if (dims.empty() || ShapedType::getNumElements(result) > 4096)
    return;
  Value fill = readsOutside || author.random.percent(10)
                   ? author.get({}, Author::elementOf(x))
                   : Value();
  author.add(WindowOp::create(author.builder, author.loc,
                              author.type(result, Author::elementOf(x)), x,
                              fill, dims, low, strides, dilations));
}

void addDilate(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape result(Author::shapeOf(x));
  if (result.empty() || ShapedType::getNumElements(result) == 0)
    return;
  int64_t dim = author.random.draw(0, result.size() - 1), size = result[dim];
  int64_t spacing = author.random.draw(1, 4),
          low = author.random.percent(50) ? 0 : author.random.draw(-3, 4);
  int64_t last = low + (size - 1) * spacing;
  result[dim] = std::max<int64_t>(1, last + 1 + author.random.draw(-3, 4));
  int64_t first = low < 0 ? (-low + spacing - 1) / spacing : 0;
  if (first >= size || low + first * spacing >= result[dim] ||
      ShapedType::getNumElements(result) > 4096)
    return;
  Value fill = author.get({}, Author::elementOf(x));
  author.add(DilateOp::create(author.builder, author.loc,
                              author.type(result, Author::elementOf(x)), x,
                              fill, dim, low, spacing));
}

void addPad(Author &author) {
  Value x = author.pick(Elements::Any);
  Shape low, result;
  for (int64_t size : Author::shapeOf(x)) {
    bool whole = author.random.percent(40);
    low.push_back(whole ? 0 : author.random.draw(0, 3));
    result.push_back(size + low.back() +
                     (whole ? 0 : author.random.draw(0, 3)));
  }
  Value value = author.get({}, Author::elementOf(x));
  author.add(PadOp::create(author.builder, author.loc,
                           author.type(result, Author::elementOf(x)), x, value,
                           low));
}

} // namespace

void tp::fuzz::addMovements(Generators &generators) {
  generators["tp.constant"] = addConstant;
  generators["tp.iota"] = addIota;
  generators["tp.broadcast"] = addBroadcast;
  generators["tp.transpose"] = addTranspose;
  generators["tp.reshape"] = addReshape;
  generators["tp.slice"] = addSlice;
  generators["tp.concat"] = addConcat;
  generators["tp.splice"] = addSplice;
  generators["tp.window"] = addWindow;
  generators["tp.dilate"] = addDilate;
  generators["tp.pad"] = addPad;
}

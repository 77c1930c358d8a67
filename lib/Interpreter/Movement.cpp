// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The kernels that only move elements.

#include "lib/Interpreter/DenseEvaluator.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

using Sizes = ArrayRef<int64_t>;

SmallVector<int64_t> tp::interp::getStrides(Sizes shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0; stride *= shape[i])
    strides[i] = stride;
  return strides;
}

std::string tp::interp::printIndex(int64_t offset, Sizes shape) {
  std::string text = "[";
  for (auto [dim, stride] : llvm::enumerate(getStrides(shape)))
    text += (dim ? ", " : "") + std::to_string(offset / stride % shape[dim]);
  return text + "]";
}

void tp::interp::copyStrided(Sizes sizes, const Element *from,
                             Sizes fromStrides, Element *to, Sizes toStrides) {
  if (llvm::is_contained(sizes, 0))
    return; // empty tensors may have null pointers
  if (sizes.empty()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i) {
    if (sizes.size() == 1)
      to[i * toStrides[0]] = from[i * fromStrides[0]];
    else
      copyStrided(sizes.drop_front(), from + i * fromStrides[0],
                  fromStrides.drop_front(), to + i * toStrides[0],
                  toStrides.drop_front());
  }
}

static std::shared_ptr<DenseTensor> allocate(RankedTensorType type) {
  return std::make_shared<DenseTensor>(type);
}

/// The offset of the element at `index`.
static int64_t getOffset(Sizes index, Sizes strides) {
  return std::inner_product(index.begin(), index.end(), strides.begin(),
                            int64_t(0));
}

static int64_t getProduct(Sizes sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<int64_t>());
}

TensorValue DenseEvaluator::select(TensorValue condition, TensorValue a,
                                   TensorValue b, Type type) {
  auto result = allocate(type);
  for (int64_t i = 0; i < result->size(); ++i)
    (*result)[i] = toDense(toDense(condition)[i].integer ? a : b)[i];
  return result;
}

TensorValue DenseEvaluator::broadcast(TensorValue x, Sizes dims, Type type) {
  auto result = allocate(type);
  SmallVector<int64_t> from(type.getRank(), 0);
  for (auto [dim, stride] : llvm::zip_equal(dims, getStrides(x->getShape())))
    from[dim] = stride;
  copyStrided(type.getShape(), toDense(x).data(), from, result->data(),
              getStrides(type.getShape()));
  return result;
}

TensorValue DenseEvaluator::transpose(TensorValue x, Sizes permutation,
                                      Type type) {
  auto result = allocate(type);
  SmallVector<int64_t> strides = getStrides(x->getShape()), from;
  for (int64_t dim : permutation)
    from.push_back(strides[dim]);
  copyStrided(type.getShape(), toDense(x).data(), from, result->data(),
              getStrides(type.getShape()));
  return result;
}

TensorValue DenseEvaluator::reshape(TensorValue x, Type type) {
  auto result = allocate(type);
  std::copy_n(toDense(x).data(), result->size(), result->data());
  return result;
}

TensorValue DenseEvaluator::slice(TensorValue x, Sizes starts, Sizes strides,
                                  Type type) {
  auto result = allocate(type);
  if (result->size() == 0)
    return result; // empty tensors may have null pointers
  SmallVector<int64_t> from = getStrides(x->getShape());
  const Element *first = toDense(x).data() + getOffset(starts, from);
  for (auto [stride, step] : llvm::zip_equal(from, strides))
    stride *= step;
  copyStrided(type.getShape(), first, from, result->data(),
              getStrides(type.getShape()));
  return result;
}

TensorValue DenseEvaluator::concat(ArrayRef<TensorValue> parts, unsigned dim,
                                   Type type) {
  auto result = allocate(type);
  if (result->size() == 0)
    return result; // as above
  SmallVector<int64_t> strides = getStrides(type.getShape());
  int64_t begin = 0;
  for (const TensorValue &part : parts) {
    copyStrided(part->getShape(), toDense(part).data(),
                getStrides(part->getShape()),
                result->data() + begin * strides[dim], strides);
    begin += part->getShape()[dim];
  }
  return result;
}

/// Overwrites the part of `whole` at `starts`.
static void paste(DenseTensor &whole, const DenseTensor &part, Sizes starts) {
  SmallVector<int64_t> strides = getStrides(whole.getShape());
  if (part.size() > 0)
    copyStrided(part.getShape(), part.data(), getStrides(part.getShape()),
                whole.data() + getOffset(starts, strides), strides);
}

TensorValue DenseEvaluator::pad(TensorValue x, TensorValue value, Sizes low,
                                Type type) {
  auto result = allocate(type);
  std::fill_n(result->data(), result->size(), toDense(value)[0]);
  paste(*result, toDense(x), low);
  return result;
}

TensorValue DenseEvaluator::window(TensorValue x, Sizes dims, Sizes starts,
                                   Sizes strides, Sizes dilations, Type type) {
  auto result = allocate(type);
  if (result->size() == 0)
    return result; // empty tensors may have null pointers
  SmallVector<int64_t> from = getStrides(x->getShape()), steps;
  int64_t first = 0;
  size_t i = 0;
  for (auto [dim, stride] : llvm::enumerate(from)) {
    if (i == dims.size() || dims[i] != int64_t(dim)) {
      steps.push_back(stride);
      continue;
    }
    first += starts[i] * stride;
    steps.push_back(strides[i] * stride);
    steps.push_back(dilations[i] * stride);
    ++i;
  }
  copyStrided(type.getShape(), toDense(x).data() + first, steps, result->data(),
              getStrides(type.getShape()));
  return result;
}

//===----------------------------------------------------------------------===//
// Positions that depend on values
//===----------------------------------------------------------------------===//

/// The dimensions of a gather: x is [batch, outer, axis, inner], the indices
/// are [batch, count], and the result is [batch, outer, count, inner].
namespace {
struct GatherShape {
  int64_t batch, outer, axis, inner, count;

  GatherShape(Sizes x, Sizes indices, unsigned axisDim, unsigned batchDims)
      : batch(getProduct(x.take_front(batchDims))),
        outer(getProduct(x.slice(batchDims, axisDim - batchDims))),
        axis(x[axisDim]), inner(getProduct(x.drop_front(axisDim + 1))),
        count(getProduct(indices.drop_front(batchDims))) {}

  /// Calls `apply(xOffset, gatheredOffset)` for rows of `inner` elements, in
  /// row-major order of the indices; xOffset is -1 for an out-of-range index.
  template <typename Fn> void forEachRow(const DenseTensor &indices, Fn apply) {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t i = 0; i < count; ++i) {
        int64_t index = indices[b * count + i].integer;
        // A ui64 above 2^63 is negative here, and thus out of range as it
        // should be.
        bool inside = index >= 0 && index < axis;
        for (int64_t o = 0; o < outer; ++o)
          apply(inside ? ((b * outer + o) * axis + index) * inner : -1,
                ((b * outer + o) * count + i) * inner);
      }
  }
};
} // namespace

TensorValue DenseEvaluator::gather(TensorValue x, TensorValue indices,
                                   unsigned axis, unsigned batchDims,
                                   Type type) {
  auto result = allocate(type);
  // The bits of a number system's zero need not all be 0.
  Element zero = getIdentity(ReduceKind::Sum, type.getElementType());
  GatherShape shape(x->getShape(), indices->getShape(), axis, batchDims);
  shape.forEachRow(toDense(indices), [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < shape.inner; ++i)
      (*result)[to + i] = from < 0 ? zero : toDense(x)[from + i];
  });
  return result;
}

static std::optional<BinaryKind> toBinary(ScatterKind kind) {
  switch (kind) {
  case ScatterKind::Set:
    return std::nullopt;
  case ScatterKind::Add:
    return BinaryKind::Add;
  case ScatterKind::Max:
    return BinaryKind::Max;
  case ScatterKind::Min:
    return BinaryKind::Min;
  case ScatterKind::Mul:
    return BinaryKind::Mul;
  }
  llvm_unreachable("covered switch");
}

TensorValue DenseEvaluator::scatter(ScatterKind kind, TensorValue x,
                                    TensorValue indices, TensorValue updates,
                                    unsigned axis, unsigned batchDims,
                                    Type type) {
  auto result = allocate(type);
  std::copy_n(toDense(x).data(), result->size(), result->data());
  std::optional<BinaryKind> binary = toBinary(kind);
  mlir::Type element = type.getElementType();
  GatherShape shape(x->getShape(), indices->getShape(), axis, batchDims);
  shape.forEachRow(toDense(indices), [&](int64_t to, int64_t from) {
    for (int64_t i = 0; to >= 0 && i < shape.inner; ++i) {
      Element update = toDense(updates)[from + i];
      Element &target = (*result)[to + i];
      target = binary ? combine(*binary, target, update, element) : update;
    }
  });
  finish(result->getElements(), element);
  return result;
}

/// Clamps start indices so that a part of shape `part` is inside `whole`.
static SmallVector<int64_t> clampStarts(ArrayRef<TensorValue> starts,
                                        Sizes whole, Sizes part) {
  SmallVector<int64_t> clamped;
  for (auto [dim, start] : llvm::enumerate(starts)) {
    int64_t value = toDense(start)[0].integer, last = whole[dim] - part[dim];
    // A ui64 start of 2^63 or more is negative here, but it is past the end.
    bool huge =
        value < 0 && start->getType().getElementType().isUnsignedInteger();
    clamped.push_back(huge ? last : std::clamp<int64_t>(value, 0, last));
  }
  return clamped;
}

TensorValue DenseEvaluator::dynamicSlice(TensorValue x,
                                         ArrayRef<TensorValue> starts,
                                         Type type) {
  SmallVector<int64_t> ones(starts.size(), 1);
  return slice(x, clampStarts(starts, x->getShape(), type.getShape()), ones,
               type);
}

TensorValue DenseEvaluator::dynamicUpdateSlice(TensorValue x,
                                               TensorValue update,
                                               ArrayRef<TensorValue> starts,
                                               Type type) {
  auto result = allocate(type);
  std::copy_n(toDense(x).data(), result->size(), result->data());
  paste(*result, toDense(update),
        clampStarts(starts, x->getShape(), update->getShape()));
  return result;
}

std::pair<TensorValue, TensorValue>
DenseEvaluator::sort(TensorValue x, unsigned dim, bool descending, Type values,
                     Type indices) {
  auto sorted = allocate(values), places = allocate(indices);
  mlir::Type element = values.getElementType();
  Sizes shape = x->getShape();
  int64_t length = shape[dim], inner = getProduct(shape.drop_front(dim + 1));
  SmallVector<int64_t> line(length);
  for (int64_t outer = 0; outer < getProduct(shape.take_front(dim)); ++outer)
    for (int64_t i = 0; i < inner; ++i) {
      int64_t first = outer * length * inner + i;
      auto at = [&](int64_t place) {
        return toDense(x)[first + place * inner];
      };
      // NaN is ordered above all numbers.
      auto isLess = [&](Element a, Element b) {
        if (std::optional<int> order = orderOf(a, b, element))
          return *order < 0;
        return orderOf(a, a, element).has_value();
      };
      std::iota(line.begin(), line.end(), 0);
      llvm::sort(line, [&](int64_t a, int64_t b) {
        Element first = at(descending ? b : a), second = at(descending ? a : b);
        if (isLess(first, second))
          return true;
        return !isLess(second, first) && a < b;
      });
      for (auto [place, from] : llvm::enumerate(line)) {
        (*sorted)[first + place * inner] = at(from);
        (*places)[first + place * inner] = makeInteger(from);
      }
    }
  return {sorted, places};
}

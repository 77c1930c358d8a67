// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Computes a program together with its derivative along a direction, by
/// forward-mode differentiation (Wengert, "A simple automatic derivative
/// evaluation program", 1964): each tensor has a tensor of tangents.
///
///     DualEvaluator evaluator;
///     evaluator.setTangent(x, v);          // x + e v
///     auto y = Interpreter(evaluator).run(f, {x});
///     evaluator.getTangent(y[0]);          // coefficient of e in f(x + e v)
///
/// It shares no code with the generation of gradients
/// (dialects/TP/ReverseMode.h), so that it can check them: the tangent of a
/// loss is the inner product of its gradient with the direction. At points
/// without a derivative both use the same conventions, and the result of
/// tp.stop_gradient has no tangent.

#ifndef TPOPT_INTERPRETER_DUALEVALUATOR_H
#define TPOPT_INTERPRETER_DUALEVALUATOR_H

#include "lib/Interpreter/DenseEvaluator.h"

#include "llvm/ADT/DenseMap.h"

namespace tp::interp {

/// Computes floats of every element type as doubles, without rounding.
class DualEvaluator : public DoubleEvaluator {
public:
  /// The tangent of a float tensor, which has the same type; null means zero.
  TensorValue getTangent(const TensorValue &x) const;
  void setTangent(const TensorValue &x, TensorValue tangent);

  TensorValue unary(UnaryKind kind, TensorValue x, Type type) override;
  TensorValue binary(BinaryKind kind, TensorValue a, TensorValue b,
                     Type type) override;
  TensorValue select(TensorValue condition, TensorValue a, TensorValue b,
                     Type type) override;
  TensorValue convert(TensorValue x, Type type) override;
  TensorValue contract(llvm::StringRef equation, TensorValue a, TensorValue b,
                       Type type) override;
  TensorValue reduce(ReductionKind kind, TensorValue x,
                     llvm::ArrayRef<int64_t> dims, Type type) override;
  TensorValue broadcast(TensorValue x, llvm::ArrayRef<int64_t> dims,
                        Type type) override;
  TensorValue transpose(TensorValue x, llvm::ArrayRef<int64_t> permutation,
                        Type type) override;
  TensorValue reshape(TensorValue x, Type type) override;
  TensorValue slice(TensorValue x, llvm::ArrayRef<int64_t> starts,
                    llvm::ArrayRef<int64_t> strides, Type type) override;
  TensorValue concat(llvm::ArrayRef<TensorValue> parts, unsigned dim,
                     Type type) override;
  TensorValue pad(TensorValue x, TensorValue value, llvm::ArrayRef<int64_t> low,
                  Type type) override;
  TensorValue window(TensorValue x, llvm::ArrayRef<int64_t> dims,
                     llvm::ArrayRef<int64_t> starts,
                     llvm::ArrayRef<int64_t> strides,
                     llvm::ArrayRef<int64_t> dilations, Type type) override;
  TensorValue gather(TensorValue x, TensorValue indices, unsigned axis,
                     unsigned batchDims, Type type) override;
  TensorValue scatter(ScatterKind kind, TensorValue x, TensorValue indices,
                      TensorValue updates, unsigned axis, unsigned batchDims,
                      Type type) override;
  TensorValue dynamicSlice(TensorValue x, llvm::ArrayRef<TensorValue> starts,
                           Type type) override;
  TensorValue dynamicUpdateSlice(TensorValue x, TensorValue update,
                                 llvm::ArrayRef<TensorValue> starts,
                                 Type type) override;
  std::pair<TensorValue, TensorValue> sort(TensorValue x, unsigned dim,
                                           bool descending, Type values,
                                           Type indices) override;

private:
  /// Returns `value`, with `tangent` as its tangent unless `tangent` is null.
  TensorValue with(TensorValue value, TensorValue tangent);
  /// The tangent of `x`, or zeros if `x` has none.
  TensorValue getOrZero(const TensorValue &x) const;
  bool hasTangent(const TensorValue &x) const {
    return getTangent(x) != nullptr;
  }
  /// Applies `function`, a kernel that is linear in `x`, to `x` and to its
  /// tangent. No other operand of the kernel may have a tangent.
  template <typename Function>
  TensorValue move(const TensorValue &x, Function function);

  /// An evaluator that knows no tangents. It computes the values, and it
  /// computes the tangents in the same way, as separate tensors.
  DoubleEvaluator plain;
  /// Tensors with their tangents, by the tensor's address. The tensor is kept
  /// alive so that its address is not reused.
  llvm::DenseMap<const TensorData *, std::pair<TensorValue, TensorValue>>
      tangents;
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_DUALEVALUATOR_H

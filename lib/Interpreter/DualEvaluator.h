// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Computes a program and its derivative along a direction at once:
/// differentiation in forward mode (Wengert, "A simple automatic derivative
/// evaluation program", 1964), with a tensor of tangents beside each tensor.
///
///     DualEvaluator evaluator;
///     evaluator.setTangent(x, v);          // x + e v
///     auto y = Interpreter(evaluator).run(f, {x});
///     evaluator.getTangent(y[0]);          // e of f(x + e v)
///
/// It shares nothing with what builds gradients (dialects/TP/ReverseMode.h), so
/// that it can tell whether they are right: the tangent of a loss is the inner
/// product of its gradient with the direction. Corners are as there.

#ifndef TPOPT_INTERPRETER_DUALEVALUATOR_H
#define TPOPT_INTERPRETER_DUALEVALUATOR_H

#include "lib/Interpreter/DenseEvaluator.h"

#include "llvm/ADT/DenseMap.h"

namespace tp::interp {

/// Floats are doubles, in every element type: nothing is rounded to it.
class DualEvaluator : public DoubleEvaluator {
public:
  /// The tangent of a float tensor, of its type; null is zero.
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
  /// `value` with a tangent, if it is not null.
  TensorValue with(TensorValue value, TensorValue tangent);
  /// The tangent of `x`, zeros if there is none.
  TensorValue getOrZero(const TensorValue &x) const;
  bool hasTangent(const TensorValue &x) const {
    return getTangent(x) != nullptr;
  }
  /// For what is linear in `x` and takes nothing else that has a tangent.
  template <typename Function>
  TensorValue move(const TensorValue &x, Function function);

  /// Computes values and tangents, each by itself.
  DoubleEvaluator plain;
  /// By the tensor; it is held, so that no other one takes its address.
  llvm::DenseMap<const TensorData *, std::pair<TensorValue, TensorValue>>
      tangents;
};

} // namespace tp::interp

#endif // TPOPT_INTERPRETER_DUALEVALUATOR_H

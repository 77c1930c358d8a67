// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The interfaces through which a `tp` op describes its properties, except for
// those about sharding.

#ifndef TPOPT_DIALECT_TP_TPINTERFACES
#define TPOPT_DIALECT_TP_TPINTERFACES

include "mlir/IR/OpBase.td"

def DecomposeOpInterface : OpInterface<"DecomposeOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    An op with an exact meaning in terms of simpler ones. Partition decomposes an
    op whose `!` factor is better left sharded, the interpreter evaluates
    transformer ops this way, and back ends fall back to it.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the op's meaning at the insertion point of `builder` and returns
        values for its results. The op itself stays. Sizes that the meaning
        depends on, such as the count of a mean, are those of the op's types, so
        decompose before cutting.
      }], "::llvm::SmallVector<::mlir::Value>", "decompose",
      (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def CostOpInterface : OpInterface<"CostOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    What an op costs, over its factors: a sharded op costs what its factors
    cost at their local sizes. Bytes follow from the types.
  }];
  let methods = [
    InterfaceMethod<[{
        Floating point operations, with `sizes[i]` for factor i of the op's
        sharding rule. A multiply-add counts as two.
      }], "double", "getFlops", (ins "::llvm::ArrayRef<int64_t>":$sizes)>,
  ];
}

def EvaluateOpInterface : OpInterface<"EvaluateOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    What an op computes, in terms of the tensor kernels of an `Evaluator`:
    doubles for reference results, prime fields for proofs.
  }];
  let methods = [
    InterfaceMethod<[{
        The op's results on `operands`. Fails, with a reason emitted at the op,
        only where values are to blame, such as a branch index out of range.
      }], "::mlir::FailureOr<::llvm::SmallVector<::tp::TensorValue>>",
      "evaluate", (ins "::tp::Evaluator &":$evaluator,
                       "::llvm::ArrayRef<::tp::TensorValue>":$operands)>,
  ];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    Attention and its gradients: ops in which queries [b,s,k,g,d] weigh keys
    [b,t,k,d] and values [b,t,k,e], some of which are hidden, as `tp.attention`
    says.
  }];
  let methods = [
    InterfaceMethod<"[b,s,k,g,d].",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getQuery">,
    InterfaceMethod<"[b,t,k,d].",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getKey">,
    InterfaceMethod<"[b,t,k,e].",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getValue">,
    InterfaceMethod<"The position of the first query; null if it is 0.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getOffset">,
    InterfaceMethod<"How many keys there are; null if it is all.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getLengths">,
    InterfaceMethod<"Which keys are visible; null if it is all.",
      "::mlir::TypedValue<::mlir::RankedTensorType>", "getMask">,
    InterfaceMethod<"The same, to be changed.",
      "::mlir::MutableOperandRange", "getOffsetMutable">,
    InterfaceMethod<"The same, to be changed.",
      "::mlir::MutableOperandRange", "getLengthsMutable">,
    InterfaceMethod<"What scores are multiplied by.",
      "::llvm::APFloat", "getScale">,
    InterfaceMethod<"Whether keys behind a query are hidden.",
      "bool", "getCausal">,
    InterfaceMethod<"How many of the last keys are visible, if not all.",
      "std::optional<uint64_t>", "getWindow">,
  ];
}

def GradientOpInterface : OpInterface<"GradientOpInterface"> {
  let cppNamespace = "::tp";
  let description = [{
    How the gradient of a scalar goes back over an op: from its results to its
    operands, which is the op's vector-Jacobian product. An op that is linear in
    an operand adds its transpose. Where a function has a corner, the gradient is
    the one that JAX takes. Ops that decompose need not implement this: their
    decomposition is differentiated.
  }];
  let methods = [
    InterfaceMethod<[{
        Adds to the gradients of operands what the op contributes. `reverse` has
        the gradients of the results (at least one is not zero), says which
        operands' gradients are wanted, and has the builder. Ops may use the
        operands and results of the op itself. Fails with an error emitted at the
        op if it has no gradient.
      }], "::llvm::LogicalResult", "addGradients",
      (ins "::tp::ReverseMode &":$reverse)>,
  ];
}

#endif // TPOPT_DIALECT_TP_TPINTERFACES

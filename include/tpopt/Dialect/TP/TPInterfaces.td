// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What an op of the `tp` dialect can say about itself beside its sharding.

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

#endif // TPOPT_DIALECT_TP_TPINTERFACES

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that adds the gradients of a loss to a program.

#ifndef TPOPT_PASSES_DIFFERENTIATE_PASSES
#define TPOPT_PASSES_DIFFERENTIATE_PASSES

include "mlir/Pass/PassBase.td"

def DifferentiatePass : Pass<"tp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add the gradients of a loss to the results";
  let description = [{
    The entry gets a result for each trained argument: the gradient of the loss with
    respect to it, of its type, with the name `NAME.grad` and the role `gradient`.
    Gradients are computed in reverse mode on the whole program, before it is sharded:
    their communication follows from the sharding rules of their ops, as in the rest of
    the program.

    An op that adds to a gradient has the location of the forward op that it
    serves, as `loc("grad(layers.0.mlp)")`.

    Where a function is not differentiable, its gradient is the one that JAX uses:
    `relu` and `abs` have 0 at 0, and elements that are equally large share the gradient
    of their maximum. Integers and comparisons have no gradient.

    **Requires:** `tp` ops without calls (`tp-import-stablehlo`,
    `tp-inline-calls`).

    **Guarantees:** the other results and all arguments stay as they are.

    **Example:** `test/Differentiate/mlp.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"loss", "loss", "std::string", "\"loss\"",
           "The name of the result that is the loss, a scalar">,
    ListOption<"train", "train", "std::string",
               "Patterns of the names of the arguments to train; by default all "
               "arguments with the role parameter">,
    Option<"entry", "entry", "std::string", "\"\"",
           "The function to differentiate, if the module has several">
  ];
}

#endif // TPOPT_PASSES_DIFFERENTIATE_PASSES

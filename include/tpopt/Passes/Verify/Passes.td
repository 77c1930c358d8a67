// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Passes that prove programs right, or find where they are wrong.

#ifndef TPOPT_PASSES_VERIFY_PASSES
#define TPOPT_PASSES_VERIFY_PASSES

include "mlir/Pass/PassBase.td"

def VerifyAgainstPass : Pass<"tp-verify-against", "::mlir::ModuleOp"> {
  let summary = "Compare what a program computes with the whole program";
  let description = [{
    Runs every public function of the module, and the function of the same name
    in the file `whole`, on the same random data, and compares the results. The
    module may be of any stage, or come from elsewhere: a function on
    `#spmd.local` types is run on all devices of its mesh in lockstep, any other
    as it stands. Arguments go together by `tp.name`, or else by position.

    Data is small integers, so that sums are exact in every order. If every
    number of the whole run is an integer below 2^53, results must be equal;
    otherwise they may differ by `tolerance`, relative to the larger magnitude or
    to 1. Integer arguments that address a dimension hit all of it, given enough
    elements or trials, and now and then what is outside of it. Padding holds
    garbage wherever a device has not written it.

    Where results differ, an error says which and by how much, and a remark
    points at the first op at which the programs part. For that, values carry
    names in both: `loc("name")`, kept in text by `--mlir-print-debuginfo`.

    **Requires:** a program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Execute/column-row.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"",
           "The file with the whole program">,
    Option<"seed", "seed", "uint64_t", "1", "Picks the random data">,
    Option<"trials", "trials", "unsigned", "2",
           "How often to run every function, on new data each time">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "How much inexact results may differ">,
  ];
}

#endif // TPOPT_PASSES_VERIFY_PASSES

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

def InterpretEntryPass : Pass<"tp-interpret-entry", "::mlir::ModuleOp"> {
  let summary = "Run an entry on given inputs and write its outputs";
  let description = [{
    Reads a tensor for every argument from a safetensors file, runs the function
    as `tp-verify-against` does, a local program on all devices of its mesh in
    lockstep, and writes the results to another. All tensors are whole. Each goes
    by the `tp.name` of its argument or result, or by `arg0`, `result0` and so
    on. Every result of a kernel is rounded once to its element type, as in
    compiled code.

    **Requires:** a program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged. Nothing is written if there is an
    error.

    **Example:** `test/Execute/interpret.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"", "The function to run">,
    Option<"inputs", "inputs", "std::string", "\"\"",
           "The safetensors file with a value for every argument">,
    Option<"outputs", "outputs", "std::string", "\"\"",
           "The safetensors file to write">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "How much copies of a value may differ between devices">,
  ];
}

#endif // TPOPT_PASSES_VERIFY_PASSES

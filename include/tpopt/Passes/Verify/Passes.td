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
    function as it is. Arguments are matched by `tp.name`, or else by position.

    The data sets are of different kinds: small integers, whose sums are exact in every
    order; numbers from 2^-16 to 2^16, all negative or of alternating signs, so that
    padding wins a maximum or a minimum and an exponential that is not shifted by the
    maximum overflows; small numbers, on which no activation saturates; moderate ones;
    large ones; rows whose elements all have one sign, except possibly one, so that the
    results of `any`, `all` and a minimum depend on one element. Small programs are run
    on up to 128 data sets. Results count as equal if errors of `tolerance` in every op
    of both programs can explain their difference: so the order of a summation does not
    matter, and a result without rounding has to be equal. Where large numbers leave the
    range of doubles in the whole program, nothing is compared.

    Integer arguments that address a dimension reach all of it, given enough elements or
    trials, and sometimes places outside of it. For every op that addresses by an
    argument, including `case` and `while`, the pass records which places were reached,
    inside and outside, also where the index is computed from several arguments. For
    places that were not reached, up to 24 more data sets are tried, in which some
    arguments address less. A warning names the places that none of them reached.

    Entry arguments arrive with zeros in their padding, as the runtime binds them,
    and a program may rely on that. All other memory that a device has not written holds
    garbage: huge or tiny numbers of both signs, or NaN. The padding of an argument with
    `tp.donated`, whose buffer has been used before, holds garbage, too.

    With `field` the programs are run in a prime field, too, where floats are
    residues modulo 2^61 - 1 and every non-linearity is a random function, see
    `lib/Interpreter/FieldEvaluator.h`: results must be equal whatever the
    program computes, and no activation can hide a missing sum. Rewrites by rules that
    do not hold in fields count as errors there, except exp(a + b) = exp(a) exp(b).

    Where results differ, an error says which and by how much, and a remark points at
    the first op where the programs differ. For this, values need the same names in both
    programs: `loc("name")`, kept in text by `--mlir-print-debuginfo`. In manual regions
    no names are needed: both programs are run in a prime field, where the numbers show
    which values also occur in the whole program, and which are still partial sums.

    Either program may be StableHLO, and the module may have been partitioned by another
    tool, with replica groups; it is not changed. Where results differ from those of the
    whole program as it is written, the program is compared with what
    `--tp-shard=stop-after=import` makes of it, too, if that pipeline is registered:
    `tp-raise` may have found transformer ops there.

    **Requires:** a program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Execute/column-row.mlir`,
    `test/Verify/against-partitioned.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"", "The file with the whole program">,
    Option<"seed", "seed", "uint64_t", "1", "Seed of the random data">,
    Option<"trials", "trials", "unsigned", "4",
           "How many data sets every function is run on, at least">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "Relative error that the result of an op may have">,
    Option<"field", "field", "bool", "false", "Also compute in a prime field">,
  ];
}

def KeepDigestPass : Pass<"tp-keep-digest", "::mlir::ModuleOp"> {
  let summary = "Record what the whole program computes, for tp-verify-structure";
  let description = [{
    Hashes every value of every function: the name, attributes and operands of an op, or
    its decomposition if it has one. The hashes are stored in attributes of the
    functions; they are only valid within one process.

    **Guarantees:** the program is unchanged.

    **Example:** `test/Verify/digest.test`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Record in the module how long verification took, for tp-report">,
  ];
}

def VerifyShardingsPass : Pass<"tp-verify-shardings", "::mlir::ModuleOp"> {
  let summary = "Verify every op's shardings against its rule";
  let description = [{
    For every op with a sharding rule: each factor is cut in one way in all
    tensors that it is a dimension of, a factor that the op needs whole is not cut,
    results are partial along the axes that cut a reduced factor, and partial operands
    pass only through linear ops. So no partial sum is ever dropped.

    **Requires:** every value has a sharding (`tp-partition`).

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/shardings.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Record in the module how long verification took, for tp-report">,
  ];
}

def VerifyStructurePass : Pass<"tp-verify-structure", "::mlir::ModuleOp"> {
  let summary = "Verify that the global program still computes the same";
  let description = [{
    After Partition and Collectives the program has ops that move data between
    devices, and decompositions in place of ops. Without the movement, and with
    all ops decomposed, it must be the program that `tp-keep-digest` saw. An
    error names the first op that computes something new. `tp-verify-partition` checks
    that the movement is right.

    Functions without a digest are not checked.

    **Guarantees:** the digests are removed; otherwise the module is unchanged.

    **Example:** `test/Verify/digest.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Record in the module how long verification took, for tp-report">,
  ];
}

def VerifyLocalPass : Pass<"tp-verify-local", "::mlir::ModuleOp"> {
  let summary = "Verify a local program by itself";
  let description = [{
    Checks a local program of any origin, without the program that it was made from.
    Every type must be the part of the whole tensor that its `#spmd.local` encoding
    describes. Every op on local values must follow its sharding rule, so that no
    partial sum is dropped or used by an op that does not allow it. Where a loop or a
    branch contains collectives, its condition must not depend on the device's number or
    on a partial value, so that all devices issue the same sequence. Collectives are
    checked by their own verifiers. Values without a local type, such as offsets, may
    differ between devices. `tp-verify-against` and `tp-verify-partition` check what the
    program computes.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/local.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Record in the module how long verification took, for tp-report">,
  ];
}

def VerifyOriginPass : Pass<"tp-verify-origin", "::mlir::ModuleOp"> {
  let summary = "Verify that a certificate is about the whole program";
  let description = [{
    The first part of `--tp-verify-certificate`, which checks a partition from another
    source against the whole program. The module, made by
    `--tp-shard="certificate=true"`, carries its certificate, which
    `tp-verify-partition` explains. For every entry of `whole` there must be a
    certificate whose global function has the same structure, apart from collectives,
    and with ops replaced by their decompositions. Annotations of the whole program are
    ignored. The whole program is compared as it is written; the pipeline prepares it in
    the same way as a program that it partitions.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/certificate.test`
  }];
  let constructor = "::tp::createVerifyOriginPass()";
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"", "The file of the whole program">,
  ];
}

def VerifyPartitionPass : Pass<"tp-verify-partition", "::mlir::ModuleOp"> {
  let summary = "Verify the local program against the global one";
  let description = [{
    Every value of a local program corresponds to one of the global program: its
    `#spmd.local` type says how the devices' buffers relate to the whole tensor, as
    blocks of it or as addends. Two functions and marks on the local ops are the
    certificate of a partition: the global function has `tp.local_form`, the name of the
    local one, whose ops are in the order of the global ones, and the last of the local
    ops for each global op has `tp.global_op`. Certificates are not trusted: they only
    determine what is checked.

    For every global op, the local ops that compute it are run on all devices of
    the mesh in lockstep, on random buffers that relate to random whole tensors,
    in the field of integers modulo 2^61 - 1: see `tpopt/Interpreter/
    FieldEvaluator.h`. Partial values are split at random, padding is garbage.
    Their results must relate to the result of the global op in the same way, bit by
    bit. By induction over the program, this holds for its results. Loops and branches
    are verified inside, and their conditions must be equal on all devices, so that all
    issue the same collectives.

    Equal ops on equal types are run once. Sizes are shrunk, see
    `lib/Sharding/Algebra/Shrink.h`, where the ops are valid on the new sizes; if
    results differ there, the ops are run on their true sizes, unless these are too
    large. Ops that cannot be run are named in warnings.

    An error names the first op whose local form computes another result, and
    `reproducer` writes that op alone, as a module for this pass.

    **Requires:** `tp-localize{keep-global=true}`.

    **Guarantees:** the certificate is removed, unless `keep-certificate` is set;
    otherwise the module is unchanged.

    **Example:** `test/Verify/partition.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "1", "Seed of the random data">,
    Option<"keepCertificate", "keep-certificate", "bool", "false",
           "Keep the global functions and the numbers of the ops">,
    Option<"reproducer", "reproducer", "std::string", "\"\"",
           "The file to write a failing op to">,
    Option<"report", "report", "bool", "false",
           "Record in the module how long verification took, for tp-report">,
  ];
}

def VerifyGradientPass : Pass<"tp-verify-gradient", "::mlir::ModuleOp"> {
  let summary = "Verify gradients against the derivative of the loss";
  let description = [{
    The results that `tp-differentiate` added are verified at random points. The
    derivative of the loss along a random direction, computed forward beside the values
    (`lib/Interpreter/DualEvaluator.h`), is the inner product of the gradients with the
    direction. Both are computed in doubles, so that they differ only by rounding; a
    gradient that is wrong anywhere gives another number. The verification of the
    partition then shows that the devices compute what this program does.

    The program is made small first: dimensions that no attribute fixes get size 3,
    together with all dimensions that the ops' rules tie to them. If the gradients
    differ there, they are computed on the program's own sizes before they are called
    wrong.

    **Requires:** the whole program, before it is sharded, which when made small fits
    into the interpreter.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Differentiate/verify.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"loss", "loss", "std::string", "\"loss\"",
           "The name of the result that is the loss">,
    Option<"seed", "seed", "uint64_t", "1", "Seed of the points and directions">,
    Option<"tolerance", "tolerance", "double", "1e-8",
           "How far the two may differ, relative to the sum of absolute products">,
    Option<"full", "full", "bool", "false", "Verify on the program's own sizes">,
  ];
}

def InterpretEntryPass : Pass<"tp-interpret-entry", "::mlir::ModuleOp"> {
  let summary = "Run an entry on given inputs and write its outputs";
  let description = [{
    Reads a tensor for every argument from a safetensors file, runs the function
    as `tp-verify-against` does, a local program on all devices of its mesh in
    lockstep, and writes the results to another. All tensors are whole. The name of each
    is the `tp.name` of its argument or result, or `arg0`, `result0` and so on. Every
    result of a kernel is rounded once to its element type, as in compiled code.

    With a `rounding-seed`, results are rounded up or down at random, and sums
    are moved by what another order of their terms may change. The changes of the
    outputs between seeds show the effect of rounding, which `tp-run --check` uses to
    judge differences.

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
    Option<"roundingSeed", "rounding-seed", "uint64_t", "0",
           "Seed of random rounding errors; 0: round to the nearest">,
  ];
}

def MoveArgumentsPass : Pass<"tp-move-arguments", "::mlir::ModuleOp"> {
  let summary = "Change the arguments of the entries by an ulp";
  let description = [{
    Multiplies each element of each float argument by 1 plus or minus an ulp of
    the narrowest float type that the module computes with. Each seed draws other
    signs. Whole numbers are not changed, because they may be counts or masks.

    The changes of the outputs between seeds show how well the inputs determine them.
    `tp-run --check` uses this to judge differences if a program is too large for
    `tp-interpret-entry{rounding-seed=N}`.

    **Requires:** whole programs of the `tp` dialect.

    **Guarantees:** the interface of the entries is unchanged.

    **Example:** `test/Verify/move-arguments.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "1", "Seed of the signs">,
  ];
}

def WriteTrialPass : Pass<"tp-write-trial", "::mlir::ModuleOp"> {
  let summary = "Write a data set, and the results of the whole program on it";
  let description = [{
    Draws the arguments of an entry as `tp-verify-against` does for its data set
    `number`, runs the function, a whole program, and writes three safetensors
    files: the arguments, the results, and the allowed difference of each element of the
    results, as f64. The allowed difference is the effect of a few rounding errors of
    the element type in every op, or infinity where it is unknown. Tensors have the
    names of `tp-interpret-entry`. `tp-run --verify` runs the compiled program on them.

    **Requires:** a whole program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/trial.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"", "The function to run">,
    Option<"seed", "seed", "uint64_t", "1", "Seed of the random data">,
    Option<"number", "number", "unsigned", "0", "Number of the data set">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "Relative error that the result of an op may always have">,
    Option<"inputs", "inputs", "std::string", "\"\"",
           "The safetensors file to write the arguments to">,
    Option<"outputs", "outputs", "std::string", "\"\"",
           "The safetensors file to write the results to">,
    Option<"spreads", "spreads", "std::string", "\"\"",
           "The safetensors file to write the allowed differences to">,
  ];
}

#endif // TPOPT_PASSES_VERIFY_PASSES

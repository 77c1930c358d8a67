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

    Every data set is of another kind: small integers, which add up exactly in
    every order; numbers from 2^-16 to 2^16, all negative or of alternating signs, so that
    padding wins a maximum or a minimum and an exponential that is not shifted by
    the maximum overflows; small numbers, on which no activation saturates; moderate
    ones; large ones; lines of elements that are
    all on one side of zero, or all but one, so that what `any`, `all` and a minimum
    tell hangs on one element. Small programs are run on up to 128 data sets. Results are equal if errors of
    `tolerance` in every op, of both programs, move them by as much as they
    differ: so no order of summation is an error, and a result that nothing moves
    has to be equal. Where wide numbers leave the range of doubles in the whole
    program, nothing is compared.

    Integer arguments that address a dimension hit all of it, given enough
    elements or trials, and now and then what is outside of it. Of every op that
    addresses by an argument, `case` and `while` included, it is counted what was
    reached, inside and outside, also where the index is computed from several
    arguments. Up to 24 more data sets, in which some arguments address less, are
    tried for what was not. A warning names what none of them reached.

    Entry arguments arrive with zeros in their padding, as the runtime binds them,
    and a program may count on that. All else that a device has not written holds
    garbage: huge, tiny, of both signs, or NaN. So does the padding of an argument
    with `tp.donated`, whose buffer has been used before.

    With `field` the programs are run in a prime field, too, where floats are
    residues modulo 2^61 - 1 and every non-linearity is a random function, see
    `lib/Interpreter/FieldEvaluator.h`: results must be equal whatever the
    program computes, and no activation can hide a missing sum. Rewrites by rules
    that are not those of fields are taken for errors there, but for exp(a + b) =
    exp(a) exp(b).

    Where results differ, an error says which and by how much, and a remark
    points at the first op at which the programs part. For that, values carry
    names in both: `loc("name")`, kept in text by `--mlir-print-debuginfo`. In
    regions for one device nothing need be named: both programs are run in a
    prime field, where the numbers tell which values the whole program has, and
    which are sums that have yet to be taken.

    Either program may be StableHLO, and the module one that somebody else has
    partitioned, with replica groups; what it holds stays as it is. Where results
    differ from those of the whole program as it is written, the program is
    compared with what `--tp-shard=stop-after=import` makes of it, too, if that
    pipeline is registered: `tp-raise` may have found transformer ops there.

    **Requires:** a program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Execute/column-row.mlir`,
    `test/Verify/against-partitioned.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"whole", "whole", "std::string", "\"\"",
           "The file with the whole program">,
    Option<"seed", "seed", "uint64_t", "1", "Picks the random data">,
    Option<"trials", "trials", "unsigned", "4",
           "How many data sets every function is run on, at least">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "The error that the result of an op may have, relative to it">,
    Option<"field", "field", "bool", "false",
           "Compute in a prime field, too">,
  ];
}

def KeepDigestPass : Pass<"tp-keep-digest", "::mlir::ModuleOp"> {
  let summary = "Keep what the whole program computes, for tp-verify-structure";
  let description = [{
    Hashes every value of every function: an op's name, attributes and operands,
    of an op that decomposes its decomposition. The hashes stand in attributes of
    the functions; they hold within one process.

    **Guarantees:** the program is unchanged.

    **Example:** `test/Verify/digest.test`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Note on the module what verification took, for tp-report">,
  ];
}

def VerifyShardingsPass : Pass<"tp-verify-shardings", "::mlir::ModuleOp"> {
  let summary = "Verify every op's shardings against its rule";
  let description = [{
    For every op with a sharding rule: each factor is cut in one way in all
    tensors that it is a dimension of, a factor that the op wants whole is not
    cut, results are partial along what cuts a reduced factor, and partial
    operands pass through linear ops only. Nothing partial is ever dropped.

    **Requires:** every value has a sharding (`tp-partition`).

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/shardings.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Note on the module what verification took, for tp-report">,
  ];
}

def VerifyStructurePass : Pass<"tp-verify-structure", "::mlir::ModuleOp"> {
  let summary = "Verify that the global program still computes the same";
  let description = [{
    After Partition and Collectives the program has ops that move data between
    devices, and decompositions in place of ops. Without the movement, and with
    all ops decomposed, it must be the program that `tp-keep-digest` saw. An
    error names the first op that computes something new. Whether the movement
    is right is for `tp-verify-partition` to say.

    Functions without a digest are left alone.

    **Guarantees:** the digests are gone; else the module is unchanged.

    **Example:** `test/Verify/digest.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Note on the module what verification took, for tp-report">,
  ];
}

def VerifyLocalPass : Pass<"tp-verify-local", "::mlir::ModuleOp"> {
  let summary = "Verify a local program by itself";
  let description = [{
    For anyone's local program, without what it was made from: every type is what
    its `#spmd.local` encoding makes of the whole tensor; every op on local values
    keeps its sharding rule, so that nothing partial is dropped or put through an
    op that does not commute with it; and where a loop or a branch has collectives
    inside, no device decides by its own number or by a partial value, so that all
    issue the same sequence. What a collective makes, its own verifier says.

    Values without a local type, such as offsets, are the device's own. Whether
    the program computes what it should is for `tp-verify-against` and
    `tp-verify-partition`.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/local.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"report", "report", "bool", "false",
           "Note on the module what verification took, for tp-report">,
  ];
}

def VerifyOriginPass : Pass<"tp-verify-origin", "::mlir::ModuleOp"> {
  let summary = "Verify that a certificate is about the whole program";
  let description = [{
    The first part of `--tp-verify-certificate`, for whoever has a partition that
    somebody else made, and the whole program. The module, made by
    `--tp-shard="certificate=true"`, carries its certificate, which
    `tp-verify-partition` explains. For every entry of `whole` there must be a
    certificate whose global function computes the same, by structure:
    collectives aside, and ops that decompose as their decompositions.

    Annotations of the whole program are no part of what it computes. It is taken
    as it is written; the pipeline prepares it as it does what it partitions.

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
    Every value of a local program stands for one of the global program: its
    `#spmd.local` type says how the devices' buffers relate to the whole tensor,
    as blocks of it or as addends. Two functions and marks on the local ops are the
    certificate of a partition: the global function has `tp.local_form`, the name
    of the local one, whose ops stand in the order of the global ones, and the
    last op of those that stand for a global one has `tp.global_op`. Certificates
    are not trusted: they only say what to check.

    For every global op, the local ops that compute it are run on all devices of
    the mesh in lockstep, on random buffers that relate to random whole tensors,
    in the field of integers modulo 2^61 - 1: see `tpopt/Interpreter/
    FieldEvaluator.h`. Partial values are split at random, padding is garbage.
    What they compute must relate to what the global op computes, bit by bit. By
    induction over the program, so do the results. Loops and branches are
    verified inside, and decide by values that are equal on all devices, so all
    issue the same collectives.

    Equal ops on equal types are run once. Sizes are shrunk, see
    `lib/Sharding/Algebra/Shrink.h`, where the ops verify on the new ones; what differs
    there is run on true sizes, if these are not too large. Ops that cannot be
    run are named in warnings.

    An error names the first op whose local form does not compute it, and
    `reproducer` writes that op alone, as a module for this pass.

    **Requires:** `tp-localize{keep-global=true}`.

    **Guarantees:** the certificate is gone, unless it is to be kept; else the
    module is unchanged.

    **Example:** `test/Verify/partition.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "1", "Picks the random data">,
    Option<"keepCertificate", "keep-certificate", "bool", "false",
           "Leave the global functions and the numbers">,
    Option<"reproducer", "reproducer", "std::string", "\"\"",
           "The file to write a failing op to">,
    Option<"report", "report", "bool", "false",
           "Note on the module what verification took, for tp-report">,
  ];
}

def VerifyGradientPass : Pass<"tp-verify-gradient", "::mlir::ModuleOp"> {
  let summary = "Hold gradients against the derivative of the loss";
  let description = [{
    The results that `tp-differentiate` added are proved at random points. The
    derivative of the loss along a random direction, computed forward beside the
    values (`lib/Interpreter/DualEvaluator.h`), is the inner product of the
    gradients with the direction. Both are computed in doubles, so that they
    differ by rounding alone; a gradient that is wrong anywhere gives another
    number, whatever it is that is wrong. The proof of the partition takes over
    from there: it says that devices compute what this program does.

    The program is made small before: dimensions that no attribute fixes become 3
    long, together with all that the ops' rules tie to them. What differs there is
    computed on the program's own sizes before it is called wrong.

    **Requires:** the whole program, before it is sharded, small enough then for
    the interpreter.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Differentiate/verify.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"loss", "loss", "std::string", "\"loss\"",
           "The name of the result that is the loss">,
    Option<"seed", "seed", "uint64_t", "1", "Picks points and directions">,
    Option<"tolerance", "tolerance", "double", "1e-8",
           "How far the two may differ, of the inner product without signs">,
    Option<"full", "full", "bool", "false", "On the sizes that the program has">,
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

    With a `rounding-seed`, results are rounded up or down at random, and sums
    are moved by what another order of their terms may change. How far the
    outputs move from seed to seed says what rounding does to them:
    `tp-run --check` judges by that.

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
           "Picks random rounding errors; 0: rounds to the nearest">,
  ];
}

def MoveArgumentsPass : Pass<"tp-move-arguments", "::mlir::ModuleOp"> {
  let summary = "Move the arguments of the entries by an ulp";
  let description = [{
    Multiplies each element of each float argument by 1 plus or minus an ulp of
    the narrowest float type that the module computes with. Each seed draws other
    signs. Whole numbers stay: counts and masks mean what they are.

    How far the outputs of the program move from seed to seed says how well the
    inputs determine them. `tp-run --check` judges by that where a program is too
    large for `tp-interpret-entry{rounding-seed=N}`.

    **Requires:** whole programs of the `tp` dialect.

    **Guarantees:** the interface of the entries is unchanged.

    **Example:** `test/Verify/move-arguments.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"seed", "seed", "uint64_t", "1", "Draws the signs">,
  ];
}

def WriteTrialPass : Pass<"tp-write-trial", "::mlir::ModuleOp"> {
  let summary = "Write a data set, and what the whole program makes of it";
  let description = [{
    Draws the arguments of an entry as `tp-verify-against` does for its data set
    `number`, runs the function, a whole program, and writes three safetensors
    files: the arguments, the results, and how far each element of these may be
    from what it is, as f64. That is how far errors of a few roundings of its
    element type in every op move it; infinity where nothing can be said.
    Tensors go by the names of `tp-interpret-entry`. `tp-run --verify` runs what
    was compiled on them.

    **Requires:** a whole program on static tensors that the interpreter can hold.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Verify/trial.test`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
  let options = [
    Option<"entry", "entry", "std::string", "\"main\"", "The function to run">,
    Option<"seed", "seed", "uint64_t", "1", "Picks the random data">,
    Option<"number", "number", "unsigned", "0", "Of the data set">,
    Option<"tolerance", "tolerance", "double", "1e-9",
           "The error that the result of an op may have at least">,
    Option<"inputs", "inputs", "std::string", "\"\"",
           "The safetensors file to write the arguments to">,
    Option<"outputs", "outputs", "std::string", "\"\"",
           "The safetensors file to write the results to">,
    Option<"spreads", "spreads", "std::string", "\"\"",
           "The safetensors file to write the allowed differences to">,
  ];
}

#endif // TPOPT_PASSES_VERIFY_PASSES

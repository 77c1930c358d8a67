// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes from the per-device program to steps.

#ifndef TPOPT_PASSES_LOWER_PASSES
#define TPOPT_PASSES_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def LowerToStepPass : Pass<"tp-lower-to-step", "::mlir::ModuleOp"> {
  let summary = "Turn the per-device program into steps";
  let description = [{
    Every function becomes a `step.program`. Transformer ops without a step of
    their own are decomposed; chains of element-wise ops and row reductions
    become row programs, contractions become matmuls with their epilogues,
    collectives get packed chunks, and movements of data become views where
    strides can say them and copies where not. Loops and branches become steps
    with bodies of steps; what a loop carries has one buffer, and a slice that
    moves evenly from turn to turn is a view that moves.
    Attention is a step where the target has kernels for it; of few queries, it
    is in parts that a row program puts together. A remark says why one that is
    not is decomposed.
    With `fp8`, contractions of f8E4M3FN, and of f32 that was widened from it, are
    products of f8E4M3FN. A remark says why one is not: it stays what it is
    without.

    The module's plan remembers `target` and `fp8`, so that `tp-write-artifact`
    need not be told.

    **Requires:** the program is local (`tp-localize`); a target in its plan is the
    one given.

    **Guarantees:** no function is left. Ops that have no lowering are errors.

    **Example:** `test/Lower/mlp.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::tp::step::StepDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "What the steps are for: cpu or cuda; if empty, what the module's plan "
           "says, else cpu">,
    Option<"fp8", "fp8", "bool", "false",
           "Multiply f8E4M3FN as such, on GPUs from sm_89 on">
  ];
}

def AssignBuffersPass : Pass<"tp-assign-buffers", "::tp::step::ProgramOp"> {
  let summary = "Give every buffer its place in the arena";
  let description = [{
    Buffers that are in use at the same time lie apart; others may share memory.
    Large ones choose first, each the tightest gap that holds it.

    **Requires:** nothing.

    **Guarantees:** every `step.alloc` has a place, and the program the arena's
    size.

    **Example:** `test/Lower/assign-buffers.mlir`
  }];
}

def MeasureMemoryPass : Pass<"tp-measure-memory", "::mlir::ModuleOp"> {
  let summary = "Record how much memory the compiled program will allocate";
  let description = [{
    Lowers a copy of the module as `tp-lower-to-step`, `tp-schedule` and
    `tp-assign-buffers` would,
    and leaves `tp.allocated` on each function: the bytes that a device allocates
    for a call, besides the storage of the arguments. These are the arena, the
    results that overwrite no argument, and the workspace of the target's matrix
    library. `tp-report` uses them instead of the plan's estimate, which does not
    know what is fused and where buffers lie. Where a machine is known,
    `tp.overlap` says what the scheduled program is predicted to take.

    **Requires:** as `tp-lower-to-step`.

    **Guarantees:** the module is unchanged but for these attributes.

    **Example:** `test/Report/compiled.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::tp::step::StepDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"", "As of tp-lower-to-step">,
    Option<"fp8", "fp8", "bool", "false", "As of tp-lower-to-step">,
    Option<"overlap", "overlap", "bool", "true", "Whether tp-schedule runs">,
    Option<"inFlight", "in-flight", "std::string", "\"\"", "As of tp-schedule">
  ];
}

def NameInputsPass : Pass<"tp-name-inputs", "::mlir::ModuleOp"> {
  let summary = "Give inputs the names that the text gave them";
  let description = [{
    An argument of an entry that has no `tp.name`, and that the text which tp-opt
    has read calls `%up`, is the input `up` of the artifact. Numbers, `%0` and
    `%arg0`, are no names. What two entries call alike stays two values: it has no
    name.

    **Requires:** nothing.

    **Guarantees:** the module is unchanged but for `tp.name` of arguments.

    **Example:** `test/Lower/name-inputs.mlir`
  }];
}

def KeepProgramPass : Pass<"tp-keep-program", "::mlir::ModuleOp"> {
  let summary = "Keep the module as it is now for the artifact";
  let description = [{
    Attaches the module to itself, as bytecode without places in files: it is
    `whole`, or with `local` `local`, in `tp.programs`. `tp-write-artifact`
    puts these into the artifact, from which `tp-run --check` takes what a
    sharded program should compute.

    **Requires:** nothing.

    **Guarantees:** the module is unchanged but for that attribute.

    **Example:** `test/Lower/programs.test`
  }];
  let options = [
    Option<"isLocal", "local", "bool", "false",
           "This is the program of one device">
  ];
}

def WriteArtifactPass : Pass<"tp-write-artifact", "::mlir::ModuleOp"> {
  let summary = "Compile the kernels and write the artifact";
  let description = [{
    Compiles kernels to native code and writes the `.tpx` that `tp-run`
    executes, with the programs in it that `tp-keep-program` has kept. But for
    these the module stays as it is.

    For CUDA there is code for every chip of `chips`: a cubin, if there is a
    ptxas to assemble it, and PTX for the lowest chip of each major version. Those
    are sm_80, sm_90a and sm_100 if none is named; with `fp8`, sm_89 comes first.
    sm_90a is for devices of compute capability 9.0 alone, so its PTX is there only
    if there is no ptxas, and code for it is taken before all other there.

    **Requires:** steps whose buffers have places (`tp-assign-buffers`), for the
    target of the module's plan.

    **Guarantees:** the same module and CPU give the same bytes. Nothing is
    written if there is an error.

    **Example:** `test/Unit/Execute/ExecuteTest.cpp`
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "The file to write">,
    Option<"target", "target", "std::string", "\"\"",
           "What the kernels are for: cpu or cuda; if empty, what the module's "
           "plan says, else cpu">,
    Option<"fp8", "fp8", "bool", "false",
           "The steps multiply f8E4M3FN, which takes chips from sm_89 on">,
    ListOption<"chips", "chips", "std::string",
               "The GPUs to compile for, such as sm_90">,
    Option<"ptxas", "ptxas", "std::string", "\"\"",
           "NVIDIA's assembler: a path, none for PTX alone; else it is looked for">
  ];
}

def WriteInterfacePass : Pass<"tp-write-interface", "::mlir::ModuleOp"> {
  let summary = "Write what tp-run needs to know of a program it interprets";
  let description = [{
    Writes an artifact without steps: entries, inputs and outputs as whole
    tensors, and the module itself as bytecode. `tp-run --backend=interpreter`
    binds inputs by it and hands the module to `tp-interpret-entry`.

    **Requires:** public functions on static tensors, whole or local.

    **Guarantees:** the module is unchanged. Nothing is written if there is an
    error.

    **Example:** `test/Lower/programs.test`
  }];
  let dependentDialects = ["::tp::step::StepDialect"];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "The file to write">
  ];
}

def EmitPtxPass : Pass<"tp-emit-ptx", "::mlir::ModuleOp"> {
  let summary = "Write the GPU kernels as PTX";
  let description = [{
    Compiles every distinct step that is a kernel on a GPU, and writes them as
    one PTX module. Neither a GPU nor a CUDA toolkit is needed. A comment before
    the code says for each how it is launched. The module stays as it is; without
    kernels, nothing is written.

    **Requires:** steps (`tp-lower-to-step`).

    **Guarantees:** the same module and chip give the same text. Nothing is
    written if there is an error.

    **Example:** `test/Lower/ptx.mlir`
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_90\"",
           "The chip to compile for, sm_80 or later">,
    Option<"file", "file", "std::string", "\"-\"", "The file to write">
  ];
}

#endif // TPOPT_PASSES_LOWER_PASSES

// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that lower the per-device program to steps.

#ifndef TPOPT_PASSES_LOWER_PASSES
#define TPOPT_PASSES_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def LowerToStepPass : Pass<"tp-lower-to-step", "::mlir::ModuleOp"> {
  let summary = "Turn the per-device program into steps";
  let description = [{
    Every function becomes a `step.program`. Transformer ops without a step of
    their own are decomposed; chains of element-wise ops and row reductions
    become row programs, contractions become matmuls with their epilogues,
    collectives get packed chunks, and movements of data become views where strides can
    express them, otherwise copies. Loops and branches become steps with bodies of
    steps; a value that a loop carries has one buffer, and a slice that moves by the
    same distance in every iteration becomes a view that moves. Attention becomes a step
    if the target has kernels for it; attention of few queries is computed in parts,
    which a row program combines. If an attention is decomposed instead, a remark gives
    the reason. With `fp8`, contractions of f8E4M3FN, and of f32 that was widened from
    it, are products of f8E4M3FN. If a contraction cannot be, it stays as it is without
    `fp8`, and a remark gives the reason.

    The module's plan remembers `target` and `fp8`, so that `tp-write-artifact`
    does not need these options.

    **Requires:** the program is local (`tp-localize`); if its plan has a target, it is
    the given one.

    **Guarantees:** no function is left. Ops that have no lowering are errors.

    **Example:** `test/Lower/mlp.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::tp::step::StepDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"",
           "Target of the steps: cpu or cuda; if empty, that of the module's plan, else "
           "cpu">,
    Option<"fp8", "fp8", "bool", "false",
           "Multiply f8E4M3FN without conversion, on GPUs from sm_89 on">
  ];
}

def AssignBuffersPass : Pass<"tp-assign-buffers", "::tp::step::ProgramOp"> {
  let summary = "Give every buffer its place in the arena";
  let description = [{
    Buffers that are in use at the same time lie apart; others may share memory.
    Buffers are placed from large to small, each in the smallest gap that fits.

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
    library. `tp-report` uses them instead of the plan's estimate, which does not know
    which ops are fused and where buffers lie. If a machine is known, `tp.overlap` is
    the predicted time of the scheduled program.

    **Requires:** as `tp-lower-to-step`.

    **Guarantees:** the module is unchanged but for these attributes.

    **Example:** `test/Report/compiled.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::tp::step::StepDialect"];
  let options = [
    Option<"target", "target", "std::string", "\"\"", "As in tp-lower-to-step">,
    Option<"fp8", "fp8", "bool", "false", "As in tp-lower-to-step">,
    Option<"overlap", "overlap", "bool", "true", "Whether tp-schedule runs">,
    Option<"inFlight", "in-flight", "std::string", "\"\"", "As in tp-schedule">
  ];
}

def NameInputsPass : Pass<"tp-name-inputs", "::mlir::ModuleOp"> {
  let summary = "Give inputs the names of the text";
  let description = [{
    An argument of an entry without `tp.name` that is called `%up` in the text which
    tp-opt has read becomes the input `up` of the artifact. Numbers, `%0` and `%arg0`,
    do not count as names. If arguments of two entries have the same name, they stay two
    inputs and get no name.

    **Requires:** nothing.

    **Guarantees:** the module is unchanged but for `tp.name` of arguments.

    **Example:** `test/Lower/name-inputs.mlir`
  }];
}

def KeepProgramPass : Pass<"tp-keep-program", "::mlir::ModuleOp"> {
  let summary = "Keep the module as it is now for the artifact";
  let description = [{
    Attaches the module to itself, as bytecode without locations, as `whole` in
    `tp.programs`, or with the option `local` as `local`. `tp-write-artifact` stores
    these programs in the artifact, and `tp-run --check` compares a sharded program with
    them.

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
    executes, together with the programs that `tp-keep-program` has attached. Apart from
    these the module stays as it is.

    For CUDA there is code for every chip of `chips`: a cubin, if there is a
    ptxas to assemble it, and PTX for the lowest chip of each major version. Those
    are sm_80, sm_90a and sm_100 if none is named; with `fp8`, sm_89 comes first.
    sm_90a is only for devices of compute capability 9.0, so its PTX is only stored if
    there is no ptxas; such devices use code for sm_90a before any other.

    **Requires:** steps whose buffers have places (`tp-assign-buffers`), for the
    target of the module's plan.

    **Guarantees:** the same module and CPU give the same bytes. Nothing is
    written if there is an error.

    **Example:** `test/Unit/Execute/ExecuteTest.cpp`
  }];
  let options = [
    Option<"file", "file", "std::string", "\"\"", "The file to write">,
    Option<"target", "target", "std::string", "\"\"",
           "Target of the kernels: cpu or cuda; if empty, that of the module's plan, "
           "else cpu">,
    Option<"fp8", "fp8", "bool", "false",
           "The steps multiply f8E4M3FN, which needs chips from sm_89 on">,
    ListOption<"chips", "chips", "std::string",
               "The GPUs to compile for, such as sm_90">,
    Option<"ptxas", "ptxas", "std::string", "\"\"",
           "Path of NVIDIA's assembler, or none to store only PTX; by default tp-opt searches for ptxas">
  ];
}

def WriteInterfacePass : Pass<"tp-write-interface", "::mlir::ModuleOp"> {
  let summary = "Write the interface of a program that tp-run interprets";
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
    one PTX module. Neither a GPU nor a CUDA toolkit is needed. A comment before the
    code of each kernel gives its launch. The module stays as it is; without kernels,
    nothing is written.

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

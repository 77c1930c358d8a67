// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `step` dialect: what one device does, in order.

#ifndef TPOPT_DIALECT_STEP_STEPDIALECT
#define TPOPT_DIALECT_STEP_STEPDIALECT

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Step_Dialect : Dialect {
  let name = "step";
  let cppNamespace = "::tp::step";
  let summary = "The steps of one device, in order";
  let description = [{
    A `step.program` is an entry of the artifact: a list of steps, executed one
    after the other on every device. Each op that is not a buffer or a view is
    one row of the runtime's step table.

    Buffers are memrefs with static sizes and strides; a stride of 0 repeats a
    dimension. The program's block arguments are its inputs, then the outputs that
    have storage of their own; `step.alloc` is a place in the arena, `step.view`
    reads a buffer with other sizes and strides and costs nothing. i1 takes one
    byte.

    All computing other than matrix products, attention, scatters, sorts and
    communication is in row programs: `step.rows`, whose body computes one element and
    does not depend on the target.

    Loops and branches are steps with bodies of steps. The values that a loop carries
    from one iteration to the next are in buffers from outside; buffers that a body
    allocates end with it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::tp::spmd::SPMDDialect", "::tp::TPDialect"];
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
}

def Step_Token : TypeDef<Step_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "A running collective";
}

class Step_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tp::step";
}

// The artifact format has other numbers for these enums:
// lib/Codegen/ArtifactSteps.cpp converts them.
def Step_Reduction : Step_Enum<"Reduction", "how to combine", [
    I32EnumAttrCase<"Sum", 1, "sum">, I32EnumAttrCase<"Max", 2, "max">,
    I32EnumAttrCase<"Min", 3, "min">, I32EnumAttrCase<"Prod", 4, "prod">,
    I32EnumAttrCase<"UMax", 5, "umax">, I32EnumAttrCase<"UMin", 6, "umin">]>;
def Step_CollectiveKind : Step_Enum<"CollectiveKind", "what a collective does", [
    I32EnumAttrCase<"AllReduce", 0, "all_reduce">,
    I32EnumAttrCase<"AllGather", 1, "all_gather">,
    I32EnumAttrCase<"ReduceScatter", 2, "reduce_scatter">,
    I32EnumAttrCase<"AllToAll", 3, "all_to_all">,
    I32EnumAttrCase<"CollectivePermute", 4, "collective_permute">]>;
def Step_ScatterKind : Step_Enum<"ScatterKind", "what an update does to an element", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Mul", 4, "mul">]>;
def Step_PostOp : I32Enum<"PostOp", "what follows a matrix product", [
    I32EnumCase<"Add", 0, "add">, I32EnumCase<"Multiply", 1, "multiply">,
    I32EnumCase<"Relu", 3, "relu">, I32EnumCase<"GeluErf", 4, "gelu_erf">,
    I32EnumCase<"GeluTanh", 5, "gelu_tanh">, I32EnumCase<"Silu", 6, "silu">]> {
  let cppNamespace = "::tp::step";
}
def Step_PostOpAttr : EnumAttr<Step_Dialect, Step_PostOp, "post">;
def Step_PostOps : TypedArrayAttrBase<Step_PostOpAttr, "a list of post-ops">;

def Step_InputAttr : AttrDef<Step_Dialect, "Input"> {
  let mnemonic = "input";
  let summary = "An input of a program";
  let description = [{
    Its name and role (of `tp.role`), and its type with the `#spmd.local` encoding that
    describes which part of which tensor a device holds; without an encoding, a device
    holds the whole tensor. `source` is where a weight is stored.

    Example: `#step.input<"w", parameter, tensor<4x8xf32, #spmd.local<@mesh, [{}, {"x"} ], global=[4, 16]>>>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name,
      "::tp::Role":$role, "::mlir::RankedTensorType":$type,
      OptionalParameter<"::mlir::Attribute">:$source);
  let assemblyFormat = "`<` $name `,` $role `,` $type (`,` `source` `=` $source^)? `>`";
}

def Step_OutputAttr : AttrDef<Step_Dialect, "Output"> {
  let mnemonic = "output";
  let summary = "An output of a program";
  let description = [{
    Like an input. An output with an `alias` uses the storage of that input, which the
    program overwrites. `source` names the tensor that the output is a part of: the
    parts are outputs that follow each other, and reading the tensor returns all of
    them.

    Example: `#step.output<"cache", tensor<64x16xf32>, alias = 2>`
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "::mlir::RankedTensorType":$type,
      DefaultValuedParameter<"int64_t", "-1">:$alias,
      OptionalParameter<"::mlir::Attribute">:$source);
  let assemblyFormat = "`<` $name `,` $type (`,` `alias` `=` $alias^)? (`,` `source` `=` $source^)? `>`";
}

def Step_OverlapAttr : AttrDef<Step_Dialect, "Overlap"> {
  let mnemonic = "overlap";
  let summary = "The predicted times of a program, in nanoseconds";
  let description = [{
    `written`: as the program was before it was scheduled, waiting for each collective at
    once; `scheduled`: as it is; `bound`: a lower bound over all orders of starts and waits,
    for the orders of steps and the forms of loops that were tried; `exposed`: the time in
    which the device only waits for collectives.

    Example: `#step.overlap<written = 9000, scheduled = 6000, bound = 6000, exposed = 0>`
  }];
  let parameters = (ins "int64_t":$written, "int64_t":$scheduled, "int64_t":$bound,
      "int64_t":$exposed);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif // TPOPT_DIALECT_STEP_STEPDIALECT

// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `tp` dialect: what a program computes, as if for a single device.

#ifndef TPOPT_DIALECT_TP_TPBASE
#define TPOPT_DIALECT_TP_TPBASE

include "tpopt/Dialect/SPMD/ShardingInterfaces.td"
include "tpopt/Dialect/TP/TPInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/LoopLikeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TP_Dialect : Dialect {
  let name = "tp";
  let cppNamespace = "::tp";
  // The `spmd` dialect caches the sharding rules of tp ops.
  let dependentDialects = ["::tp::spmd::SPMDDialect"];
  let summary = "The graph of a transformer";
  let description = [{
    Ops on ranked tensors of static sizes, written as for one device. Every op has a
    **sharding rule**, an equation over factors (see `tpopt/Sharding/Rule.h`);
    propagation, partitioning, cost and the table in the reference follow from it.
    Nothing is broadcast implicitly.

    Element types: f64, f32, bf16, f16, f8E4M3FN, f8E5M2, signless and unsigned
    integers of 4 to 64 bits, and i1. Contractions and sums accumulate in f32
    (f64 for f64) and round once.

    Function arguments and results carry `tp.name`. A weight also has `tp.source`: which
    part of which stored tensor it is (`#tp.source`), or which parts it is joined from
    (`#tp.join`). A result with `tp.source` is a slice of that tensor along one
    dimension: the parts of a tensor are results that follow each other, and reading the
    tensor returns all of them. `tp.donated = K` lets result K overwrite the argument.

    `tp.role` says what an argument or result is for: `"input"`, `"parameter"`,
    `"state"`, `"kv_cache"`, `"gradient"` or `"optimizer_state"`. Without it, an
    argument with `tp.source` is a parameter, another one that is donated is
    state, and others are inputs; a result that overwrites an argument has the
    argument's role. A result cannot have the role `"input"`.

    The caller gives an input. A parameter is loaded or given, and only a call to which
    it is donated overwrites it. An argument of another role keeps its value between
    calls if it is donated: it is zero at first and after a reset, and then has the
    value that the last call wrote. If it is not donated to any entry, the caller gives
    it like an input.

    The first dimension of an input counts samples. An input with `tp.micro_batches` is
    a stack of such inputs, one for each micro-batch of a step.

    Passes leave records for each other:

    | attribute | on | meaning |
    | --- | --- | --- |
    | `tp.why` | ops | `#tp.why<..>`: why there is a reshard or a collective |
    | `tp.explanations` | functions | an array of `#tp.explanation<..>`, for `tp-explain` |
    | `tp.prices` | functions | `#tp.prices<..>`: what the plan costs, and what later stages change of that |
    | `tp.allocated` | functions | the bytes that the compiled form allocates for a call, on each device |
    | `tp.overlap` | functions | nanoseconds that the compiled form is predicted to take: as it was lowered, as it is scheduled, the bound of all schedules, and of the second those that wait for collectives |
    | `tp.digests` | functions | `#tp.digests<..>`, between two passes of verification |
    | `tp.plan` | modules | `#tp.plan<..>`: machine, target, how far it is verified |
    | `tp.programs` | modules | the `whole` and the `local` program as bytecode, for the artifact |
    | `tp.idle_entries` | modules | patterns of the plan that changed nothing, for `tp-strict` |
    | `tp.counted` | ops | the batch dimensions of a gather or scatter whose index is only counted: a plan may leave them whole |
    | `tp.gradient` | ops | a name for each result: the parameter whose gradient it is in a step of training, or nothing |
    | `tp.motion` | ops | how far a slice moves per iteration, within one pass |

    `tp.local_form` and `tp.global_op` are the certificate of a partition. A global
    function names its local form. The ops of that are in the order of the global
    ones: a `tp.global_op` marks the last op of those that stand for one global
    op, if it has its results. Where several ops have them, each has
    `tp.global_op = array<i64: ..>`, which says which of the global op's results
    its own are, -1 for none.
  }];
  let useDefaultAttributePrinterParser = 1;

  // dialects/TP/Annotations.cpp says where each of these attributes is allowed,
  // and which values it may have.
  let discardableAttrs = (ins
    // Arguments and results.
    "::mlir::StringAttr":$name,
    "::mlir::StringAttr":$role,
    "::mlir::Attribute":$source,
    "::mlir::IntegerAttr":$donated,
    "::mlir::UnitAttr":$micro_batches,
    // Ops.
    "::tp::WhyAttr":$why,
    "::mlir::Attribute":$global_op,
    "::mlir::DenseI64ArrayAttr":$counted,
    "::mlir::ArrayAttr":$gradient,
    "::mlir::DenseI64ArrayAttr":$motion,
    // Functions.
    "::mlir::FlatSymbolRefAttr":$local_form,
    "::mlir::ArrayAttr":$explanations,
    "::tp::DigestsAttr":$digests,
    "::tp::PricesAttr":$prices,
    "::mlir::IntegerAttr":$allocated,
    "::mlir::DenseI64ArrayAttr":$overlap,
    // Modules.
    "::tp::PlanAttr":$plan,
    "::mlir::DictionaryAttr":$programs,
    "::mlir::ArrayAttr":$idle_entries);
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

def TP_Role : I32Enum<"Role", "what an argument or a result is for", [
    I32EnumCase<"Input", 0, "input">, I32EnumCase<"Parameter", 1, "parameter">,
    I32EnumCase<"State", 2, "state">, I32EnumCase<"KVCache", 3, "kv_cache">,
    I32EnumCase<"Gradient", 4, "gradient">,
    I32EnumCase<"OptimizerState", 5, "optimizer_state">]> {
  let cppNamespace = "::tp";
}

def TP_SourceAttr : AttrDef<TP_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "Which part of which stored tensor a weight is";
  let description = [{
    The weight is the slice of the stored tensor `tensor` (of shape `stored`) that
    begins at `start` and has sizes `size`, reshaped to `view`, with dimensions
    permuted: dimension i of the weight is dimension `permutation[i]` of the view. A
    rank derives its byte ranges from this.

    **Constraints:** the slice is inside the stored tensor; the view has as many
    elements as the slice; the permuted view has the argument's shape.

    Example, the query weight of 3 key-value heads with 3 queries each, stored
    [out, in] and wanted [hidden, kv, group, head]:

    ```mlir
    #tp.source<"q_proj.weight", stored=[576, 576], start=[0, 0], size=[576, 576], view=[3, 3, 64, 576], permutation=[3, 0, 1, 2]>
    ```
  }];
  let extraClassDeclaration = [{
    /// Sizes of the permuted view: the shape of the weight.
    ::llvm::SmallVector<int64_t> getShape() const;
  }];
  let parameters = (ins "::mlir::StringAttr":$tensor,
      OptionalArrayRefParameter<"int64_t">:$stored,
      OptionalArrayRefParameter<"int64_t">:$start,
      OptionalArrayRefParameter<"int64_t">:$size,
      OptionalArrayRefParameter<"int64_t">:$view,
      OptionalArrayRefParameter<"int64_t">:$permutation);
  let hasCustomAssemblyFormat = 1;
}

def TP_JoinAttr : AttrDef<TP_Dialect, "Join"> {
  let mnemonic = "join";
  let summary = "Which parts of stored tensors a weight is joined from";
  let description = [{
    The weight is its parts, each a `#tp.source`, one after the other along
    dimension `dim`. Parts may be of one tensor or of several; if the weight is cut, a
    device reads only its own elements of each.

    **Constraints:** there are at least two parts; `dim` is a dimension of the weight;
    each part is a source with the weight's shape except along `dim`; their sizes along
    `dim` add up to the weight's.

    Example, the gate and up weights of an MLP, stored apart as [out, in], as one
    of shape [hidden, 2 * intermediate]:

    ```mlir
    #tp.join<dim = 1, [#tp.source<"gate_proj.weight", stored=[1536, 576], start=[0, 0], size=[1536, 576], view=[1536, 576], permutation=[1, 0]>, #tp.source<"up_proj.weight", stored=[1536, 576], start=[0, 0], size=[1536, 576], view=[1536, 576], permutation=[1, 0]>]>
    ```

    Parts in another order are expressed by views. With q, k and v viewed as [kv, group,
    head, hidden], [kv, 1, head, hidden] and [kv, 1, head, hidden] and joined in
    dimension 1, the queries of each key-value head stand before its key and its value.
    The other way round, the queries of such a packed tensor are joined in dimension 0,
    from one slice for each key-value head.
  }];
  let parameters = (ins "int64_t":$dim,
      ArrayRefParameter<"::tp::SourceAttr">:$parts);
  let hasCustomAssemblyFormat = 1;
}

def IsTensor : CPred<"::tp::isSupportedTensor($_self)">;
def IsFloatTensor : CPred<"::tp::isFloatTensor($_self)">;
def IsIntegerTensor : CPred<"::tp::isIntegerTensor($_self)">;
def IsBoolTensor : CPred<"::tp::isBoolTensor($_self)">;

class TP_TensorType<list<CPred> more, string summary>
    : Type<And<!listconcat([IsTensor], more)>, summary, "::mlir::RankedTensorType">;

def TP_Tensor : TP_TensorType<[],
    "static tensor of floats, integers or i1 (no complex, no dynamic sizes)">;
def TP_FloatTensor : TP_TensorType<[IsFloatTensor], "static tensor of floats">;
def TP_IntegerTensor : TP_TensorType<[IsIntegerTensor],
    "static tensor of integers">;
def TP_BoolTensor : TP_TensorType<[IsBoolTensor], "static tensor of i1">;
def TP_NumberTensor : Type<And<[IsTensor, Neg<IsBoolTensor>]>,
    "static tensor of floats or integers", "::mlir::RankedTensorType">;

/// Operands and results have at most 2^60 elements. This is a structural trait,
/// so MLIR verifies it before other traits, whose verifiers may then multiply
/// sizes without overflow.
def TP_BoundedTensors : NativeOpTrait<"BoundedTensors">, StructuralOpTrait {
  let cppNamespace = "::tp";
}

/// An op of the dialect. `rule` is its sharding equation; empty for ops that
/// build their rule from attributes, and for control flow, which has data-flow
/// edges instead.
class TP_Op<string mnemonic, string rule, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, !listconcat([TP_BoundedTensors], traits)> {
  // The sections of `description`, in order.
  string meaning = "";
  string constraints = "";
  string example = "";
  // The sharding rule as text for the reference documentation.
  string ruleText = !if(!empty(rule), "", "`" # rule # "`");
  let description = !strconcat(
      "**Meaning:** ", meaning, "\n\n",
      !if(!empty(constraints), "", "**Constraints**\n" # constraints # "\n\n"),
      !if(!empty(ruleText), "", "**Sharding:** " # ruleText # "\n\n"),
      "**Example:**\n\n```mlir\n", example, "\n```\n");
  string equationMethod = !if(!empty(rule), "",
      "std::string getShardingEquation() { return \"" # rule # "\"; }\n");
  let extraClassDeclaration = equationMethod;
}

/// The usual interfaces of an op with a fixed equation.
defvar fixedRule = [Pure, DeclareOpInterfaceMethods<CostOpInterface>,
                    ShardingRuleOpInterface];
/// The usual interfaces of an op that builds its rule from attributes.
defvar builtRule = [Pure, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>];
defvar linear = [DeclareOpInterfaceMethods<LinearOpInterface>];
defvar evaluated = [DeclareOpInterfaceMethods<EvaluateOpInterface>];
defvar decomposed = [DeclareOpInterfaceMethods<DecomposeOpInterface>];
defvar differentiable = [DeclareOpInterfaceMethods<GradientOpInterface>];
defvar localized = [DeclareOpInterfaceMethods<LocalizeOpInterface>];

#endif // TPOPT_DIALECT_TP_TPBASE

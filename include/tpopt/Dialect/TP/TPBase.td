// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `tp` dialect: what is computed, written for one big device.

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
  // It remembers the rules of ops.
  let dependentDialects = ["::tp::spmd::SPMDDialect"];
  let summary = "The transformer graph: what is computed";
  let description = [{
    Ops on ranked static tensors, written as for one device. Every op states its
    **sharding rule** as an equation over factors (see `tpopt/Sharding/Rule.h`):
    from that line come propagation, partitioning, cost and the table in the
    reference. Nothing is broadcast implicitly.

    Element types: f64, f32, bf16, f16, f8E4M3FN, f8E5M2, signless and unsigned
    integers of 4 to 64 bits, and i1. Contractions and sums accumulate in f32
    (f64 for f64) and round once.

    Function arguments and results carry `tp.name`. A weight also has
    `tp.source`: which part of which stored tensor it is. `tp.donated = K` lets
    result K overwrite the argument. An argument with `tp.source` is a parameter,
    which is loaded, and which a step of training may overwrite; another one that
    is donated is state, such as a KV cache: zero at first and after a reset.
  }];
  let useDefaultAttributePrinterParser = 1;

  // All attributes of ours on ops, functions and modules, but for the shardings
  // (SPMDDialect.td). `tp.` and another name is an error: see
  // dialects/TP/Annotations.cpp, which knows where each may be.
  let discardableAttrs = (ins
    // Arguments and results.
    "::mlir::StringAttr":$name,
    "::mlir::Attribute":$source,     // arguments: #tp.source<..>
    "::mlir::IntegerAttr":$donated,  // arguments: the result that overwrites it
    // Reshards and collectives: why they exist, in words, and whether an
    // annotation asks for what is done.
    "::mlir::StringAttr":$reason,
    "::mlir::UnitAttr":$requested,
    // The certificate of a partition. A global function names its local form.
    // The ops of that are in the order of the global ones, and the last of those
    // that stand for one global op is marked. It has the results; where several
    // ops have them, each says which of the global op's results its own are, -1
    // for none.
    "::mlir::FlatSymbolRefAttr":$local_form,
    "::mlir::UnitAttr":$global_op,
    "::mlir::DenseI64ArrayAttr":$global_results,
    // Functions: the record of propagation for tp-explain, and digests between
    // two passes of the verifier: of results in order, of all values ascending.
    "::mlir::ArrayAttr":$explanations,
    "::mlir::DenseI64ArrayAttr":$result_digests,
    "::mlir::DenseI64ArrayAttr":$digests,
    // Modules: the machine that is planned for, how far the program has been
    // verified and the microseconds that took, and the programs as bytecode.
    "::mlir::StringAttr":$machine,
    "::mlir::StringAttr":$verified,
    "::mlir::IntegerAttr":$verify_us,
    "::mlir::StringAttr":$whole_program,
    "::mlir::StringAttr":$local_program,
    // Ops in a loop, within one pass: how far a slice moves per iteration.
    "::mlir::DenseI64ArrayAttr":$motion
  );
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
  }];
}

def TP_SourceAttr : AttrDef<TP_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "Which part of which stored tensor a weight is";
  let description = [{
    The weight is the box of the stored tensor `tensor` (of shape `stored`) that
    begins at `start` and has sizes `size`, read as `view`, with dimensions
    permuted: dimension i of the weight is dimension `permutation[i]` of the view.
    A rank derives its byte ranges from this.

    **Constraints:** the box lies inside; the view has as many elements; the
    permuted view is the argument's shape.

    Example, the query weight of 3 key-value heads with 3 queries each, stored
    [out, in] and wanted [hidden, kv, group, head]:

    ```mlir
    #tp.source<"q_proj.weight", stored=[576, 576], start=[0, 0], size=[576, 576], view=[3, 3, 64, 576], permutation=[3, 0, 1, 2]>
    ```
  }];
  let parameters = (ins "::mlir::StringAttr":$tensor,
      OptionalArrayRefParameter<"int64_t">:$stored,
      OptionalArrayRefParameter<"int64_t">:$start,
      OptionalArrayRefParameter<"int64_t">:$size,
      OptionalArrayRefParameter<"int64_t">:$view,
      OptionalArrayRefParameter<"int64_t">:$permutation);
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

/// Operands and results have at most 2^60 elements. It is structural, so that it
/// is verified first: all other checks may multiply sizes.
def TP_BoundedTensors : NativeOpTrait<"BoundedTensors">, StructuralOpTrait {
  let cppNamespace = "::tp";
}

/// An op of the dialect. `rule` is its sharding equation; empty for ops that
/// build their rule from attributes, and for control flow, which has data-flow
/// edges instead.
class TP_Op<string mnemonic, string rule, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, !listconcat([TP_BoundedTensors], traits)> {
  // The parts of the description, always in this order.
  string meaning = "";
  string constraints = "";
  string example = "";
  // How the reference shows the rule.
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
defvar localized = [DeclareOpInterfaceMethods<LocalizeOpInterface>];

#endif // TPOPT_DIALECT_TP_TPBASE

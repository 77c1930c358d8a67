// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Meshes, constraints, manual regions, resharding and collectives.

#ifndef TPOPT_DIALECT_SPMD_SPMDOPS
#define TPOPT_DIALECT_SPMD_SPMDOPS

include "tpopt/Dialect/SPMD/SPMDDialect.td"
include "tpopt/Dialect/SPMD/RegionFlow.td"
include "tpopt/Dialect/SPMD/ShardingInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class SPMD_Op<string mnemonic, list<Trait> traits = []>
    : Op<SPMD_Dialect, mnemonic, traits>;

def SPMD_DimAxes : TypedArrayAttrBase<SPMD_AxisListAttr,
    "one list of axes per dimension">;

//===----------------------------------------------------------------------===//
// Meshes and annotations
//===----------------------------------------------------------------------===//

def SPMD_MeshOp : SPMD_Op<"mesh", [Symbol]> {
  let summary = "Name a grid of devices";
  let description = [{
    **Meaning:** the devices that a program runs on; shardings refer to it.

    **Constraints**
    1. `links`, if given, has one `#spmd.link<..>` per axis.

    Example:

    ```mlir
    spmd.mesh @mesh <["data"=2, "model"=4]>
    spmd.mesh @pod <["node"=2, "gpu"=8]> {links = [#spmd.link<us=5.0, gbps=50.0>, #spmd.link<us=2.0, gbps=370.0>]}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, SPMD_MeshAttr:$mesh,
                       OptionalAttr<ArrayAttr>:$links);
  let assemblyFormat = "$sym_name $mesh attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Converts the mesh to the type that tpopt/Sharding uses.
    ::tp::Mesh toMesh();
  }];
}

class SPMD_IdentityOp<string mnemonic, list<Trait> traits = []>
    : SPMD_Op<mnemonic, traits # [
        Pure, SameOperandsAndResultType,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule", "getPropagationClass"]>,
        DeclareOpInterfaceMethods<LinearOpInterface>]>;

def SPMD_ConstraintOp : SPMD_IdentityOp<"constraint"> {
  let summary = "Request a sharding of a value";
  let description = [{
    **Meaning:** the input unchanged, with the sharding `sharding`. Closed dimensions
    have exactly these axes; open ones may get further axes.

    **Constraints**
    1. The sharding fits the tensor and its mesh (see `#spmd.sharding`).

    Example:

    ```mlir
    %1 = spmd.constraint %0 <@mesh, [{"data"}, {?} ]> : tensor<8x512xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, SPMD_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SPMD_ReshardOp : SPMD_IdentityOp<"reshard"> {
  let summary = "Change the sharding of a value";
  let description = [{
    **Meaning:** the input unchanged, moved from the sharding of its producer to
    `sharding`. `tp-partition` inserts these ops; `tp-plan-collectives` replaces each by
    the cheapest sequence of collectives.

    **Constraints**
    1. The sharding fits the tensor and its mesh (see `#spmd.sharding`).

    Example:

    ```mlir
    %1 = spmd.reshard %0 <@mesh, [{}, {} ]> : tensor<8x512xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, SPMD_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SPMD_BarrierOp : SPMD_IdentityOp<"barrier"> {
  let summary = "Keep shardings from propagating past a point";
  let description = [{
    **Meaning:** the input unchanged. Shardings propagate through it only in the allowed
    direction: `forward` is from operand to result, `backward` from result to operand,
    `none` neither, `both` each. The words are those of Shardy's
    `sdy.propagation_barrier`.

    An older form, `spmd.barrier %0 "forward"`, names the directions that are stopped
    instead, `"forward"`, `"backward"` or `"both"`. It is read with a warning, and
    printed in the new form.

    **Constraints**
    1. `allowed_direction` is `forward`, `backward`, `none` or `both`.

    Example:

    ```mlir
    %1 = spmd.barrier %0 allowed_direction = forward : tensor<8x512xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, StrAttr:$allowed_direction);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input custom<AllowedDirection>($allowed_direction) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SPMD_GroupOp : SPMD_Op<"group", []> {
  let summary = "Give several values the same sharding";
  let description = [{
    **Meaning:** all values that `spmd.group` ops with the same `id` name get one
    sharding in propagation.

    **Constraints**
    1. All values of a group have the same shape.

    Example:

    ```mlir
    spmd.group %a 1 : tensor<8x512xf32>
    spmd.group %b 1 : tensor<8x512xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$id);
  let assemblyFormat = "$input $id attr-dict `:` type($input)";
  let hasVerifier = 1;
}

// This op implements RegionFlowOpInterface, and its `isBorder` returns true:
// types and shardings inside of the region differ from those outside. Analyses
// of types or shardings check `isBorder`. Analyses that follow a value, for
// example an index, need not.
def SPMD_ManualOp : SPMD_Op<"manual", [IsolatedFromAbove,
    SingleBlock, DeclareOpInterfaceMethods<RegionFlowOpInterface, ["isBorder"]>]> {
  let summary = "A region written for one device";
  let description = [{
    **Meaning:** along the manual axes, the body computes on one device's part: its
    arguments are the parts of the operands by `in_shardings`, and the results are
    assembled from its returned values by `out_shardings`. Inside, `spmd.axis_index`,
    `spmd.shift` and collectives over the manual axes are allowed. Axes of the mesh
    without a manual part are free: along these the body is like other code; shardings
    propagate into it, and it is partitioned, but only into even blocks. A body for
    which all axes are manual is not changed; `tp-localize` turns every region into such
    a one. A region inside another one is manual along further axes: its operands and
    results are already cut by the outer region, and its body computes at one place
    along the axes of both. `tp-localize` inlines it into the outer region.

    **Constraints**
    1. There is at least one operand or result. There is one in-sharding and region
       argument per operand, and one out-sharding and returned value per result.
    2. Every sharding fits its tensor and mesh, and all name the same mesh.
    3. `axes` are axes of the mesh, each once.
    4. An axis of a sharding must be manual as a whole or not at all, and in every
       dimension manual axes come before all others. If a part of an axis is manual, no
       other part of it may cut anything.
    5. Region arguments have the operands' types, cut by the manual axes.
    6. Returned values have the results' types, cut by the manual axes.
    7. Inside another manual region, it names the mesh of that region and none of the
       axes that are manual there.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {} ]>] out [<@mesh, [{"x"}, {} ]>] axes {"x"} {
    ^bb0(%a: tensor<2x512xf32>):
      %b = spmd.shift %a along @mesh {"x"} by 1 wrap : tensor<2x512xf32>
      spmd.return %b : tensor<2x512xf32>
    } : (tensor<8x512xf32>) -> tensor<8x512xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs,
                       TypedArrayAttrBase<SPMD_ShardingAttr, "shardings">:$in_shardings,
                       TypedArrayAttrBase<SPMD_ShardingAttr, "shardings">:$out_shardings,
                       SPMD_AxisListAttr:$axes);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` `in` custom<Shardings>($in_shardings)
    `out` custom<Shardings>($out_shardings) `axes` custom<AxisNames>($axes)
    $body attr-dict `:` functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

def SPMD_ReturnOp : SPMD_Op<"return", [Pure, Terminator, ReturnLike,
    ParentOneOf<["ManualOp"]>]> {
  let summary = "End a manual region";
  let description = [{
    **Meaning:** the values that `spmd.manual` assembles its results from.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{} ]>] out [<@mesh, [{} ]>] axes {"x"} {
    ^bb0(%a: tensor<512xf32>):
      spmd.return %a : tensor<512xf32>
    } : (tensor<512xf32>) -> tensor<512xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def CollectiveOpInterface : OpInterface<"CollectiveOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    A change of layout in one launch, from one sharding to another. Part i moves operand
    i to result i; only `spmd.combined` has several parts.
  }];
  let methods = [
    InterfaceMethod<"The sharding of the first input.",
      "::tp::spmd::ShardingAttr", "getInSharding">,
    InterfaceMethod<"The sharding of the first result.",
      "::tp::spmd::ShardingAttr", "getOutSharding">,
    InterfaceMethod<"The sharding of an input.",
      "::tp::spmd::ShardingAttr", "getPartInSharding", (ins "unsigned":$part),
      [{}], [{ return $_op.getInSharding(); }]>,
    InterfaceMethod<"The sharding of a result.",
      "::tp::spmd::ShardingAttr", "getPartOutSharding", (ins "unsigned":$part),
      [{}], [{ return $_op.getOutSharding(); }]>,
  ];
}

// The sharding rule of a collective applies inside a manual region. It says
// which dimensions the free axes of the region may shard.
class SPMD_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : SPMD_Op<mnemonic, traits # [
        Pure, CollectiveOpInterface,
        DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>]> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

defvar inOutFormat = [{
  `in` $in_sharding `out` $out_sharding
  attr-dict `:` type($input) `->` type($result)
}];

defvar collectiveConstraints = [{

    **Constraints**
    1. Input and result have the same global type, or are both local parts of it: after
       `tp-localize` with the encodings of `in` and `out`, in `spmd.manual` cut evenly
       by the manual axes of `in` and `out`.
    2. `in` and `out` fit the tensor and their mesh.
    3. `out` is the sharding that the op produces from `in`.
}];

def SPMD_AllReduceOp : SPMD_CollectiveOp<"all_reduce"> {
  let summary = "Combine partial values on every device";
  let description = !strconcat([{
    **Meaning:** along `axes`, every device gets the combination (sum, max or min,
    as `in` says) of what the devices hold.

    ```
      x=0  x=1         x=0  x=1
      [1]  [4]   ->    [5]  [5]
    ```
  }], collectiveConstraints, [{
    **Cost:** 2(g-1)/g times the tensor on a ring of g devices.

    Example:

    ```mlir
    %1 = spmd.all_reduce %0 {"x"} in <@mesh, [{} ], unreduced={"x"}> out <@mesh, [{} ]> : tensor<8xf32> -> tensor<8xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_AxisListAttr:$axes,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<AxisNames>($axes) ", inOutFormat);
}

def SPMD_ReduceScatterOp : SPMD_CollectiveOp<"reduce_scatter"> {
  let summary = "Combine partial values, each device keeping its part";
  let description = !strconcat([{
    **Meaning:** along the axes in `dim_axes`, partial values are combined and the
    result is cut: each dimension gets the axes listed for it, minor-most.

    ```
      x=0    x=1         x=0  x=1
      [1 2]  [4 6]  ->   [5]  [8]
    ```
  }], collectiveConstraints, [{
    **Cost:** (g-1)/g times the input.

    Example:

    ```mlir
    %1 = spmd.reduce_scatter %0 [{"x"} ] in <@mesh, [{} ], unreduced={"x"}> out <@mesh, [{"x"} ]> : tensor<8xf32> -> tensor<8xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_DimAxes:$dim_axes,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<DimAxes>($dim_axes) ", inOutFormat);
}

def SPMD_AllGatherOp : SPMD_CollectiveOp<"all_gather"> {
  let summary = "Assemble the whole tensor on every device";
  let description = !strconcat([{
    **Meaning:** each dimension loses the axes listed for it, its minor-most ones:
    the blocks along them are concatenated.

    ```
      x=0  x=1         x=0    x=1
      [5]  [8]   ->    [5 8]  [5 8]
    ```
  }], collectiveConstraints, [{
    **Cost:** (g-1)/g times the result.

    Example:

    ```mlir
    %1 = spmd.all_gather %0 [{"x"} ] in <@mesh, [{"x"} ]> out <@mesh, [{} ]> : tensor<8xf32> -> tensor<8xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_DimAxes:$dim_axes,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<DimAxes>($dim_axes) ", inOutFormat);
}

def SPMD_AllSliceOp : SPMD_CollectiveOp<"all_slice"> {
  let summary = "Keep only the device's own part";
  let description = !strconcat([{
    **Meaning:** each dimension gets the axes listed for it, minor-most. Nothing is
    sent.

    ```
      x=0    x=1         x=0  x=1
      [5 8]  [5 8]  ->   [5]  [8]
    ```
  }], collectiveConstraints, [{
    **Cost:** none.

    Example:

    ```mlir
    %1 = spmd.all_slice %0 [{"x"} ] in <@mesh, [{} ]> out <@mesh, [{"x"} ]> : tensor<8xf32> -> tensor<8xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_DimAxes:$dim_axes,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<DimAxes>($dim_axes) ", inOutFormat);
}

def SPMD_AllToAllOp : SPMD_CollectiveOp<"all_to_all"> {
  let summary = "Move axes from some dimensions to others";
  let description = !strconcat([{
    **Meaning:** each axis in `moves` is removed from one dimension, where it must be
    among the minor-most axes, and becomes the minor-most axis of another dimension, in
    the order written. Every device splits its buffer along the new dimensions into one
    piece for each device of the group, and concatenates the received pieces along the
    old dimensions.

    ```
      x=0        x=1              x=0      x=1
      [1 2]      [5 6]            [1]      [2]
      [3 4]      [7 8]     ->     [3]      [4]
                                  [5]      [6]
                                  [7]      [8]
    ```
  }], collectiveConstraints, [{
    **Cost:** (g-1)/g times the buffer of a device.

    Example:

    ```mlir
    %1 = spmd.all_to_all %0 ["x": 0 -> 1] in <@mesh, [{"x"}, {} ]> out <@mesh, [{}, {"x"} ]> : tensor<4x2xf32> -> tensor<4x2xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_AxisListAttr:$axes,
                       DenseI64ArrayAttr:$from_dims, DenseI64ArrayAttr:$to_dims,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<Moves>($axes, $from_dims, $to_dims) ", inOutFormat);
}

def SPMD_CollectivePermuteOp : SPMD_CollectiveOp<"collective_permute"> {
  let summary = "Move every block to another device";
  let description = !strconcat([{
    **Meaning:** blocks keep their size and number and move between devices, so that the
    value has the sharding `out`.

    ```
      [{"x","y"} ]               [{"y","x"} ]
           y=0  y=1                  y=0  y=1
      x=0  [1]  [2]       ->    x=0  [1]  [3]
      x=1  [3]  [4]             x=1  [2]  [4]
    ```
  }], collectiveConstraints, [{
    **Cost:** the buffer of a device.

    Example:

    ```mlir
    %1 = spmd.collective_permute %0 in <@mesh, [{"x", "y"} ]> out <@mesh, [{"y", "x"} ]> : tensor<4xf32> -> tensor<4xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input ", inOutFormat);
}

def SPMD_ToPartialOp : SPMD_CollectiveOp<"to_partial"> {
  let summary = "Make a whole value partial, without sending anything";
  let description = !strconcat([{
    **Meaning:** along `axes`, the first device keeps its value and the others hold
    the identity of the combination (0 for a sum). A bias added to a partial sum
    is added once.

    ```
      x=0  x=1         x=0  x=1
      [5]  [5]   ->    [5]  [0]
    ```
  }], collectiveConstraints, [{
    **Cost:** none.

    Example:

    ```mlir
    %1 = spmd.to_partial %0 {"x"} in <@mesh, [{} ]> out <@mesh, [{} ], unreduced={"x"}> : tensor<8xf32> -> tensor<8xf32>
    ```
  }]);
  let arguments = (ins AnyRankedTensor:$input, SPMD_AxisListAttr:$axes,
                       SPMD_ShardingAttr:$in_sharding, SPMD_ShardingAttr:$out_sharding);
  let assemblyFormat = !strconcat("$input custom<AxisNames>($axes) ", inOutFormat);
}

def SPMD_CombinedOp : SPMD_Op<"combined", [Pure,
    DeclareOpInterfaceMethods<CollectiveOpInterface,
        ["getPartInSharding", "getPartOutSharding"]>]> {
  let summary = "Several collectives as one launch";
  let description = [{
    **Meaning:** result i is the result of the i-th collective of `kinds` on input i,
    from the i-th sharding of `in` to the i-th of `out`. All parts are sent in one launch,
    whose payload is the sum of theirs. One word stands for parts that are all of that
    kind. `tp-combine-collectives` inserts these ops.

    **Constraints**
    1. Each kind is a collective that sends data: all_reduce, all_gather, reduce_scatter,
       all_to_all or collective_permute.
    2. There is at least one input, and for each input one kind, one result, one `in`
       sharding and one `out` sharding.
    3. Each part fulfils the constraints of its collective.
    4. All parts have one mesh, and the same axes in the same order.

    **Cost:** that of the parts, with one start.

    Example:

    ```mlir
    %1:2 = spmd.combined all_reduce %0, %0 in [<@mesh, [{} ], unreduced={"x"}>, <@mesh, [{} ], unreduced={"x"}>] out [<@mesh, [{} ]>, <@mesh, [{} ]>] : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
    %2:2 = spmd.combined [all_reduce, all_gather] %0, %i in [<@mesh, [{} ], unreduced={"x"}>, <@mesh, [{"x"} ]>] out [<@mesh, [{} ]>, <@mesh, [{} ]>] : (tensor<8xf32>, tensor<4xi32>) -> (tensor<8xf32>, tensor<4xi32>)
    ```
  }];
  let arguments = (ins StrArrayAttr:$kinds, Variadic<AnyRankedTensor>:$inputs,
                       TypedArrayAttrBase<SPMD_ShardingAttr, "shardings">:$in_shardings,
                       TypedArrayAttrBase<SPMD_ShardingAttr, "shardings">:$out_shardings);
  let results = (outs Variadic<AnyRankedTensor>:$outputs);
  let assemblyFormat = [{
    custom<Parts>($kinds, $inputs) `in` custom<Shardings>($in_shardings)
    `out` custom<Shardings>($out_shardings)
    attr-dict `:` functional-type($inputs, $outputs)
  }];
  let extraClassDeclaration = [{
    ::tp::CollectiveKind getPartKind(unsigned part);
    /// Creates an op of some of the parts.
    CombinedOp take(::mlir::OpBuilder &builder, const ::llvm::BitVector &parts);
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// The device's own place
//===----------------------------------------------------------------------===//

def SPMD_AxisIndexOp : SPMD_Op<"axis_index", [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>]> {
  let summary = "The device's place along axes";
  let description = [{
    **Meaning:** the position of the device along `axes`, first axis most
    significant, from 0. Allowed in `spmd.manual` and after Localize.

    **Constraints**
    1. It is inside `spmd.manual` over these axes (axes of size 1 do not count), or in a
       function after `tp-localize`, which has a `#spmd.local` type in its signature.
    2. The mesh exists and has the axes.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{"x"} ]>] out [<@mesh, [{"x"} ]>] axes {"x"} {
    ^bb0(%a: tensor<1xi32>):
      %i = spmd.axis_index @mesh {"x"} : tensor<i32>
      %b = tp.reshape %i : tensor<i32> -> tensor<1xi32>
      spmd.return %b : tensor<1xi32>
    } : (tensor<4xi32>) -> tensor<4xi32>
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, SPMD_AxisListAttr:$axes);
  let results = (outs 0DTensorOf<[I32]>:$result);
  let assemblyFormat = "$mesh custom<AxisNames>($axes) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SPMD_ShiftOp : SPMD_Op<"shift", [Pure, SameOperandsAndResultType,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface,
        ["getShardingRule", "getPropagationClass"]>]> {
  let summary = "Pass buffers to a neighbour along an axis";
  let description = [{
    **Meaning:** the device at place i along `axes`, first axis most significant,
    gets the buffer of place i - by. With `wrap` the places are a ring; with
    `fill` devices without a sender get zeros; with `mirror` the places are a
    ring whose senders are counted from its end, so that the buffer is that of
    place k - 1 - (i - by) of k. Reported as a collective_permute.

    ```
      x=0  x=1  x=2   by 1 wrap    x=0  x=1  x=2
      [a]  [b]  [c]      ->        [c]  [a]  [b]
                      by 0 mirror
                         ->        [c]  [b]  [a]
    ```

    **Constraints**
    1. `mode` is `wrap`, `fill` or `mirror`.
    2. It is inside `spmd.manual` over these axes (axes of size 1 do not count), or in a
       function after `tp-localize`.
    3. The mesh exists and has the axes.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{"x"} ]>] out [<@mesh, [{"x"} ]>] axes {"x"} {
    ^bb0(%a: tensor<4xf32>):
      %b = spmd.shift %a along @mesh {"x"} by 1 wrap : tensor<4xf32>
      spmd.return %b : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$mesh,
                       SPMD_AxisListAttr:$axes, I64Attr:$by, StrAttr:$mode);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `along` $mesh custom<AxisNames>($axes) `by` custom<Plain>($by) custom<Word>($mode)
    attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{
    /// The place from which the device at `place` receives a buffer, on a line
    /// or ring of `places` devices. None if the device receives no buffer.
    static std::optional<int64_t> getSender(::llvm::StringRef mode, int64_t by,
                                            int64_t place, int64_t places);
    std::optional<int64_t> getSender(int64_t place, int64_t places) {
      return getSender(getMode(), getBy(), place, places);
    }
  }];
  let hasVerifier = 1;
}

class SPMD_PlacedOp<string mnemonic> : SPMD_Op<mnemonic, [Pure,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getShardingRule"]>]> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def SPMD_BlockOp : SPMD_PlacedOp<"block"> {
  let summary = "Take the block at the device's place";
  let description = [{
    **Meaning:** `dim` is cut into as many blocks as there are places along
    `axes`, first axis most significant. The device at place i gets block
    i + `plus`; after the last block comes the first. Nothing is sent.

    ```
      x=0    x=1    plus 0   x=0  x=1    plus 1   x=0  x=1
      [5 8]  [6 9]    ->     [5]  [9]      ->     [8]  [6]
    ```

    **Constraints**
    1. `dim` is a dimension of the input, and its blocks have one size.
    2. The result has the shape of one block and the input's element type.
    3. `plus` is at least 0 and below the number of places.
    4. It is inside `spmd.manual` over these axes (axes of size 1 do not count), or in a
       function after `tp-localize`.
    5. The mesh exists and has the axes.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{} ]>] out [<@mesh, [{"x"} ]>] axes {"x"} {
    ^bb0(%a: tensor<16xf32>):
      %b = spmd.block %a dim 0 along @mesh {"x"} plus 1 : tensor<16xf32> -> tensor<4xf32>
      spmd.return %b : tensor<4xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$dim, FlatSymbolRefAttr:$mesh,
                       SPMD_AxisListAttr:$axes, I64Attr:$plus);
  let assemblyFormat = [{
    $input `dim` custom<Plain>($dim) `along` $mesh custom<AxisNames>($axes)
    `plus` custom<Plain>($plus) attr-dict `:` type($input) `->` type($result)
  }];
}

def SPMD_AssembleOp : SPMD_PlacedOp<"assemble"> {
  let summary = "Concatenate blocks, starting at the device's place";
  let description = [{
    **Meaning:** on the device at place i along `axes`, first axis most
    significant, input j is block i + j of the result; after the last block
    comes the first. `spmd.block` with `plus` j gives input j back.

    ```
      x=0      x=1           x=0    x=1
      [5] [8]  [6] [9]  ->   [5 8]  [9 6]
    ```

    **Constraints**
    1. There are as many inputs as places along `axes`, all of one type.
    2. `dim` is a dimension of the result, which has the shape of all inputs along
       it and their element type.
    3. It is inside `spmd.manual` over these axes (axes of size 1 do not count), or in a
       function after `tp-localize`.
    4. The mesh exists and has the axes.

    Example:

    ```mlir
    %1 = spmd.manual (%0) in [<@mesh, [{"x"} ]>] out [<@mesh, [{"x"} ]>] axes {"x"} {
    ^bb0(%a: tensor<4xf32>):
      %b = spmd.assemble %a, %a, %a, %a dim 0 along @mesh {"x"} : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<16xf32>
      spmd.return %b : tensor<16xf32>
    } : (tensor<16xf32>) -> tensor<64xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$inputs, I64Attr:$dim,
                       FlatSymbolRefAttr:$mesh, SPMD_AxisListAttr:$axes);
  let assemblyFormat = [{
    $inputs `dim` custom<Plain>($dim) `along` $mesh custom<AxisNames>($axes)
    attr-dict `:` functional-type($inputs, $result)
  }];
}

def SPMD_MaskOp : SPMD_Op<"mask", [Pure, SameOperandsAndResultType]> {
  let summary = "Overwrite padding";
  let description = [{
    **Meaning:** elements of the device's buffer that lie beyond the global tensor in
    a dimension listed in `dims` become `value`, usually the identity of the consumer's
    reduction: 0 before a sum, -inf before a max.

    **Constraints**
    1. The type has a `#spmd.local` encoding.
    2. Every entry of `dims` is a dimension of the tensor.
    3. `value` has the tensor's element type.

    Example:

    ```mlir
    %1 = spmd.mask %0 [0] value(0.0 : f32) : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {} ], global=[14, 6]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, DenseI64ArrayAttr:$dims,
                       TypedAttrInterface:$value);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $dims `value` `(` $value `)` attr-dict `:` type($result)";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_SPMD_SPMDOPS

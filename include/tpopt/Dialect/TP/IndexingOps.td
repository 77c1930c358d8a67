// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ops that address elements by value: gather, scatter, dynamic slices, sorting.

#ifndef TPOPT_DIALECT_TP_INDEXINGOPS
#define TPOPT_DIALECT_TP_INDEXINGOPS

include "tpopt/Dialect/TP/TPBase.td"

def TP_GatherOp : TP_Op<"gather", "", builtRule # linear # evaluated # localized # differentiable> {
  let summary = "Look elements up along a dimension";
  let meaning = [{result[b.., o.., i.., r..] = input[b.., o.., indices[b.., i..],
    r..]: `axis` of the input is replaced by the dimensions of `indices`, whose first
    `batch_dims` correspond to those of the input. An index outside the axis gives
    zeros, so that a lookup in a part of the input equals the masked lookup in the whole
    input.}];
  let constraints = [{
    1. `axis` is a dimension of the input.
    2. `batch_dims` is at most the rank of `indices` and at most `axis`, and
       these dimensions agree in size.
    3. The result has the shape above and the input's element type.}];
  let ruleText = "`axis` is reduced (each device looks up its own part); all other dimensions pass through";
  let example = "%y = tp.gather %x, %i axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>";
  let arguments = (ins TP_Tensor:$input, TP_IntegerTensor:$indices, I64Attr:$axis, I64Attr:$batch_dims);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `,` $indices `axis` `=` custom<Plain>($axis) `batch` `=` custom<Plain>($batch_dims) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_ScatterKind : I32EnumAttr<"ScatterKind", "how updates combine", [
    I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">,
    I32EnumAttrCase<"Max", 2, "max">, I32EnumAttrCase<"Min", 3, "min">,
    I32EnumAttrCase<"Mul", 4, "mul">]> {
  let cppNamespace = "::tp";
}

def TP_ScatterOp : TP_Op<"scatter", "", builtRule # evaluated # localized # differentiable> {
  let summary = "Update elements along a dimension";
  let meaning = [{the input, with updates[b.., o.., i.., r..] combined into
    input[b.., o.., indices[b.., i..], r..], in row-major order of the indices.
    Updates with an index outside the axis are dropped. The inverse of tp.gather.}];
  let constraints = [{
    1. `axis` is a dimension of the input.
    2. `batch_dims` is at most the rank of `indices` and at most `axis`, and
       these dimensions agree in size.
    3. `updates` has the shape of the result of a gather; all have one element type.
    4. The result has the input's type.}];
  let ruleText = "`axis` passes from input to result (each device applies the updates of its own part); index dimensions are reduction dimensions of sums (one device adds to the input, the others to zeros), and must be whole otherwise";
  let example = "%y = tp.scatter add %x, %i, %u axis = 0 batch = 0 : (tensor<512x32xf32>, tensor<8xi32>, tensor<8x32xf32>) -> tensor<512x32xf32>";
  let arguments = (ins TP_ScatterKind:$kind, TP_Tensor:$input, TP_IntegerTensor:$indices,
                       TP_Tensor:$updates, I64Attr:$axis, I64Attr:$batch_dims);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$kind $input `,` $indices `,` $updates `axis` `=` custom<Plain>($axis) `batch` `=` custom<Plain>($batch_dims) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

defvar dynamicSliced = [Pure, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface,
                              ["getShardingRule", "getPropagationClass"]>];

def TP_DynamicSliceOp : TP_Op<"dynamic_slice", "", dynamicSliced # linear # evaluated # localized # differentiable> {
  let summary = "Take a part that starts at a computed place";
  let meaning = [{the part of the input at `starts`, one scalar per dimension, of
    the result's size. Starts are clamped so that the part is inside the input.}];
  let constraints = [{
    1. There is one scalar integer start per dimension.
    2. The result is no longer than the input in any dimension; the element type
       stays.}];
  let ruleText = "dimensions taken whole pass through; the others are reduction dimensions: each device takes the rows that it holds";
  let example = "%y = tp.dynamic_slice %x [%i, %zero] : (tensor<64x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>";
  let arguments = (ins TP_Tensor:$input, Variadic<TP_IntegerTensor>:$starts);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `[` $starts `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_DynamicUpdateSliceOp : TP_Op<"dynamic_update_slice", "", dynamicSliced # linear # evaluated # localized # differentiable> {
  let summary = "Overwrite a part that starts at a computed place";
  let meaning = [{the input with the part at `starts` replaced by `update`. Starts are
    clamped so that the part is inside the input. A KV cache is written so.}];
  let constraints = [{
    1. There is one scalar integer start per dimension.
    2. The update is no longer than the input in any dimension; one element type.
    3. The result has the input's type.}];
  let ruleText = "dimensions pass from input to result (each device writes its own part); the update must be whole where it is shorter";
  let example = "%y = tp.dynamic_update_slice %cache, %k [%p, %zero] : (tensor<64x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<64x16xf32>";
  let arguments = (ins TP_Tensor:$input, TP_Tensor:$update, Variadic<TP_IntegerTensor>:$starts);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `,` $update `[` $starts `]` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_SortOp : TP_Op<"sort", "", builtRule # evaluated # differentiable> {
  let summary = "Sort along a dimension";
  let meaning = "the values in ascending order along `dim`, by a stable sort, and the original index of each.";
  let constraints = [{
    1. `dim` is a dimension of the input.
    2. `values` has the input's type, `indices` its shape with i32.}];
  let ruleText = "`dim` must be whole; the others pass through";
  let example = "%v, %i = tp.sort %x dim = 1 descending : tensor<4x16xf32> -> tensor<4x16xf32>, tensor<4x16xi32>";
  let arguments = (ins TP_NumberTensor:$input, I64Attr:$dim, UnitAttr:$descending);
  let results = (outs TP_NumberTensor:$values, TP_IntegerTensor:$indices);
  let assemblyFormat = "$input `dim` `=` custom<Plain>($dim) (`descending` $descending^)? attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

def TP_TopKOp : TP_Op<"top_k", "", builtRule # decomposed # localized # differentiable
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "The largest elements of every row";
  let meaning = [{the k largest elements along the last dimension, largest first, and
    their indices; of equal elements the first ones. k is the size of the result's last
    dimension.}];
  let constraints = [{
    1. The input has at least one dimension.
    2. `values` and `indices` have the input's shape except the last dimension, whose
       size is at most the input's; `values` has the input's element type, `indices`
       i32.}];
  let ruleText = "`...d~->...k!,...k!`: where `d` is cut, devices exchange the k largest of each block";
  let example = "%v, %i = tp.top_k %x : tensor<4x16xf32> -> tensor<4x2xf32>, tensor<4x2xi32>";
  let arguments = (ins TP_NumberTensor:$input);
  let results = (outs TP_NumberTensor:$values, TP_IntegerTensor:$indices);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($values) `,` type($indices)";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_TP_INDEXINGOPS

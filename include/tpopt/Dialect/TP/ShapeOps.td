// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Constants, and ops that move data about without computing.

#ifndef TPOPT_DIALECT_TP_SHAPEOPS
#define TPOPT_DIALECT_TP_SHAPEOPS

include "tpopt/Dialect/TP/TPBase.td"

defvar movement = [Pure, DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface,
                              ["getShardingRule", "getPropagationClass"]>];

def TP_ConstantOp : TP_Op<"constant", "", builtRule # evaluated # localized # [ConstantLike]> {
  let summary = "A tensor known at compile time";
  let meaning = "the given value.";
  let constraints = "1. The value has the result's shape and element type.";
  let ruleText = "`->...`";
  let example = "%c = tp.constant dense<1.0> : tensor<4x16xf32>";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs TP_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def TP_IotaOp : TP_Op<"iota", "", builtRule # evaluated # localized> {
  let summary = "Count along a dimension";
  let meaning = "every element is its index in dimension `dim`.";
  let constraints = "1. `dim` is a dimension of the result.";
  let ruleText = "`->...`";
  let example = "%i = tp.iota dim = 1 : tensor<4x16xi32>";
  let arguments = (ins I64Attr:$dim);
  let results = (outs TP_NumberTensor:$result);
  let assemblyFormat = "`dim` `=` custom<Plain>($dim) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TP_BroadcastOp : TP_Op<"broadcast", "", movement # linear # evaluated # differentiable> {
  let summary = "Repeat a tensor along new dimensions";
  let meaning = [{dimension i of the input becomes dimension `dims[i]` of the
    result; the others are new, and the input is repeated along them.}];
  let constraints = [{
    1. `dims` has one entry per input dimension, ascending, within the result.
    2. A dimension keeps its size.
    3. The element type stays.}];
  let ruleText = "input dimensions map to those of the result; new ones are factors of the result only";
  let example = "%y = tp.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>";
  let arguments = (ins TP_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TP_TransposeOp : TP_Op<"transpose", "", movement # linear # evaluated # differentiable> {
  let summary = "Reorder dimensions";
  let meaning = "dimension i of the result is dimension `permutation[i]` of the input.";
  let constraints = [{
    1. `permutation` names every dimension of the input once.
    2. The result has the permuted shape and the input's element type.}];
  let ruleText = "each dimension its own factor";
  let example = "%y = tp.transpose %x [1, 0] : tensor<4x16xf32> -> tensor<16x4xf32>";
  let arguments = (ins TP_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input $permutation attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TP_ReshapeOp : TP_Op<"reshape", "", movement # linear # evaluated # differentiable # localized
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Change the dimensions of a tensor";
  let meaning = "the same elements in row-major order.";
  let constraints = "1. Input and result have the same number of elements and one element type.";
  let ruleText = "split and merged dimensions share factors: `a(bc)->abc`; where the blocks of the two sides differ, the op sends only the elements that differ";
  let example = "%y = tp.reshape %x : tensor<4x64xf32> -> tensor<4x8x8xf32>";
  let arguments = (ins TP_Tensor:$input);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TP_SliceOp : TP_Op<"slice", "", movement # linear # evaluated # differentiable> {
  let summary = "Take a part of a tensor";
  let meaning = [{element i of a dimension is element `starts + i * strides` of the
    input's; the result's type gives the sizes.}];
  let constraints = [{
    1. There is one start and one stride per dimension; starts are at least 0, strides at least 1.
    2. The last element taken is inside the input.
    3. The element type stays.}];
  let ruleText = "dimensions taken whole pass through; sliced ones must be whole";
  let example = "%y = tp.slice %x starts = [0, 8] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>";
  let arguments = (ins TP_Tensor:$input, DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$strides);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `starts` `=` $starts `strides` `=` $strides attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TP_ConcatOp : TP_Op<"concat", "", movement # linear # evaluated # differentiable> {
  let summary = "Concatenate tensors";
  let meaning = "the inputs along `dim`, in order.";
  let constraints = [{
    1. There is at least one input; all inputs have one rank and element type.
    2. `dim` is a dimension of the result; the other dimensions have equal sizes.
    3. Along `dim` the size of the result is the sum of those of the inputs.}];
  let ruleText = "`dim` must be whole; the others pass through";
  let example = "%y = tp.concat %a, %b dim = 1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>";
  let arguments = (ins Variadic<TP_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` custom<Plain>($dim) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_SpliceOp : TP_Op<"splice", "", builtRule # linear # localized # decomposed
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Concatenate slices of tensors";
  let meaning = [{along `dim`, `sizes[i]` elements of input i from `starts[i]` on, for
    all inputs in order. They are `strides[i]` apart; a negative stride reads
    backwards, and strides that are all 1 are left out. An input that is a scalar
    is repeated. Slices, pads, concatenations and reversals along one dimension
    are splices; `tp-partition` converts them where the dimension is cut, so that
    devices exchange only the elements that move from block to block. The example below
    is `concat(x[1:], x[:1])`.}];
  let constraints = [{
    1. There is at least one input, and for each one start, one size of at least 1 and
       one stride other than 0.
    2. `dim` is a dimension of the result; inputs have the result's rank or are scalars,
       and one element type; the other dimensions have equal sizes.
    3. A piece is inside its input; the start of a scalar is 0, its stride 1.
    4. Along `dim` the size of the result is the sum of the sizes of the pieces.}];
  let ruleText = "`dim` is exchanged: where it is cut, the op sends elements between devices; inputs less than a quarter as long as the result must be whole along it; the others pass through";
  let example = "%y = tp.splice %x, %x dim = 1 starts = [1, 0] sizes = [15, 1] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>";
  let arguments = (ins Variadic<TP_Tensor>:$inputs, I64Attr:$dim,
                       DenseI64ArrayAttr:$starts, DenseI64ArrayAttr:$sizes,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$inputs `dim` `=` custom<Plain>($dim) `starts` `=` $starts `sizes` `=` $sizes (`strides` `=` $strides^)? attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    int64_t getStride(unsigned input) {
      return getStrides() ? (*getStrides())[input] : 1;
    }
  }];
  let hasVerifier = 1;
}

def TP_DilateOp : TP_Op<"dilate", "", builtRule # linear # localized # decomposed
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Insert spacing between the elements of a dimension";
  let meaning = [{element i along `dim` becomes element `low + i * spacing`; all
    others are `fill`. Elements outside of the result are dropped. Used for interior
    padding and for the gradient of a slice with a stride.}];
  let constraints = [{
    1. `dim` is a dimension of the input.
    2. `spacing` is 1 to 2^31 - 1, `low` between -2^31 + 1 and 2^31 - 1.
    3. The result has the input's sizes except along `dim`.
    4. `fill` is a scalar; all have one element type.
    5. At least one element of the input is in the result.}];
  let ruleText = "`dim` is exchanged: where it is cut, devices fetch the elements that their blocks lack; other dimensions pass through";
  let example = "%y = tp.dilate %x, %zero dim = 1 low = 1 spacing = 3 : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x18xf32>";
  let arguments = (ins TP_Tensor:$input, TP_Tensor:$fill, I64Attr:$dim,
                       I64Attr:$low, I64Attr:$spacing);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `,` $fill `dim` `=` custom<Plain>($dim) `low` `=` custom<Plain>($low) `spacing` `=` custom<Plain>($spacing) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_WindowOp : TP_Op<"window", "", builtRule # linear # evaluated # differentiable # localized
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "View a tensor as sliding windows";
  let meaning = [{each of `dims` becomes two, one of windows and one of the
    elements of a window: element [i, k] is the input's element `i * strides +
    k * dilations - low`, or `fill` where the input has no such element. A convolution
    is an einsum over the windows of its input, a pool a reduction. Without `fill`
    nothing is copied: the result is a view in which elements repeat.}];
  let constraints = [{
    1. `dims` has at least one entry, dimensions of the input in ascending order;
       `low`, `strides` and `dilations` have one entry for each, the latter two
       at least 1.
    2. For each of `dims`, which have a size of at least 1, the result has two
       dimensions of size 1 or more; the other dimensions have equal sizes.
    3. Elements are at most 2^31 - 1 away from the input's first one; without `fill` all
       are inside the input.
    4. `fill` is a scalar; all have one element type.}];
  let ruleText = "a dimension of windows is exchanged with the input's: where it is cut, devices fetch the elements of their windows that are on other devices, once for all windows; the elements of windows must be whole; other dimensions pass through";
  let example = "%y = tp.window %x, %zero dims = [1] low = [1] strides = [1] dilations = [1] : (tensor<4x16xf32>, tensor<f32>) -> tensor<4x16x3xf32>";
  let arguments = (ins TP_Tensor:$input, Optional<TP_Tensor>:$fill,
                       DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$low,
                       DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$dilations);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input (`,` $fill^)? `dims` `=` $dims `low` `=` $low `strides` `=` $strides `dilations` `=` $dilations attr-dict `:` functional-type(operands, results)";
  let extraClassDeclaration = [{
    /// The dimension of the result that has one element for each window along
    /// `dims[i]`. The dimension after it has one for each element of a window.
    int64_t getWindowDim(unsigned i) { return getDims()[i] + i; }
    /// The range [first, second) of positions in the input that windows along
    /// `dims[i]` read. It may extend beyond both ends of the input.
    std::pair<int64_t, int64_t> getReach(unsigned i);
  }];
  let hasVerifier = 1;
}

def TP_PadOp : TP_Op<"pad", "", movement # evaluated # differentiable> {
  let summary = "Pad a tensor with a value";
  let meaning = [{`low` elements of `value` before the input in every dimension, and as
    many after it as the result's type requires.}];
  let constraints = [{
    1. `low` has one entry per dimension, each at least 0.
    2. In every dimension the size of the result is at least `low` plus that of the input.
    3. `value` is a scalar; all have one element type.}];
  let ruleText = "dimensions without padding pass through; padded ones must be whole";
  let example = "%y = tp.pad %x, %zero low = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x10xf32>";
  let arguments = (ins TP_Tensor:$input, TP_Tensor:$value, DenseI64ArrayAttr:$low);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input `,` $value `low` `=` $low attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_TP_SHAPEOPS

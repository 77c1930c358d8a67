// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions and reductions.

#ifndef TPOPT_DIALECT_TP_EINSUMOPS
#define TPOPT_DIALECT_TP_EINSUMOPS

include "tpopt/Dialect/TP/TPBase.td"

def TP_EinsumOp : TP_Op<"einsum", "", builtRule # linear # evaluated # differentiable> {
  let summary = "Contract two tensors";
  let meaning = [{multiplies the operands and sums over every letter that the result
    does not have. All contractions are einsums. Products are accumulated in f32 (f64
    for f64, the integer type for integers) and rounded once to the result's element
    type, which may be wider than the operands'.}];
  let constraints = [{
    1. The equation names two operands and one result, `a,b->c`, in letters.
    2. A letter has one size everywhere, and appears once in a tensor.
    3. Every letter of the result appears in an operand.
    4. The operands have one element type; the result has the same or a wider
       one.}];
  let ruleText = "the op's own equation";
  let example = [{%y = tp.einsum "bsi,io->bso" %x, %w : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>}];
  let arguments = (ins StrAttr:$equation, TP_NumberTensor:$lhs, TP_NumberTensor:$rhs);
  let results = (outs TP_NumberTensor:$result);
  let assemblyFormat = "$equation $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_GatherEinsumOp : TP_Op<"gather_einsum", "", builtRule # decomposed # localized
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Multiply a tensor while gathering its blocks";
  let meaning = [{result i is `tp.einsum` by `equations[i]` of `input` and `others[i]`;
    `sides[i]` is 0 if the input is the left operand, and 1 if it is the right one. If
    there is one more result, the last one is `input` itself.

    If axes cut `dim` of `input` but not of the results, each device multiplies its own
    block while it receives those of the others, and then each of these as it arrives. A
    block is sent in `pieces` parts. So the all-gather overlaps with the products (Wang
    et al., Overlap Communication with Dependent Computation via Decomposition, ASPLOS
    2023). `tp-chunk-products` inserts these ops.}];
  let constraints = [{
    1. There is at least one of `others`, and for each an equation, a side, 0 or 1, and
       a result. One more result, if there is one, has the type of the input.
    2. Each equation satisfies the constraints of `tp.einsum` for its tensors.
    3. `dim` is a dimension of the input, whose letter is in each result and in
       none of `others`.
    4. `pieces` is at least 1.}];
  let ruleText = "`dim` is exchanged; the rest is the equations'";
  let example = [{%y = tp.gather_einsum %x, %w by ["bsi,io->bso"] sides [0] dim 1 pieces 1 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>}];
  let arguments = (ins TP_NumberTensor:$input, Variadic<TP_NumberTensor>:$others,
      StrArrayAttr:$equations, DenseI64ArrayAttr:$sides, I64Attr:$dim, I64Attr:$pieces);
  let results = (outs Variadic<TP_NumberTensor>:$results);
  let assemblyFormat = [{
    $input `,` $others `by` $equations `sides` $sides `dim` custom<Plain>($dim)
    `pieces` custom<Plain>($pieces) attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The letters that equation `i` gives the dimensions of the input, and of
    /// the other operand.
    ::llvm::StringRef getInputTerm(unsigned i);
    ::llvm::StringRef getOtherTerm(unsigned i);
    /// The dimension of result `i` that has the letter of the input's `dim`.
    int64_t getGatheredDim(unsigned i);
  }];
}

def TP_EinsumScatterOp : TP_Op<"einsum_scatter", "", builtRule # decomposed # localized
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Multiply two tensors while reduce-scattering the product";
  let meaning = [{`tp.einsum` of the operands by the equation.

    If the same axes cut summed letters and the result's `dim`, each device first
    multiplies the blocks that the others need. Each block is sent while the next is
    multiplied; the device's own comes last. Each device then adds the addends of its
    block in the order of the devices' places. So the reduce-scatter overlaps with the
    product (see `tp.gather_einsum`). `tp-chunk-products` inserts these ops.}];
  let constraints = [{
    1. The equation satisfies the constraints of `tp.einsum`.
    2. `dim` is a dimension of the result, whose letter is in one operand and not
       in the other.
    3. `pieces` is at least 1.}];
  let ruleText = "the result's `dim` is exchanged; the rest is the equation's, and nothing is partial";
  let example = [{%y = tp.einsum_scatter "bsi,io->bso" %x, %w dim 1 pieces 1 : (tensor<4x16x64xf32>, tensor<64x256xf32>) -> tensor<4x16x256xf32>}];
  let arguments = (ins StrAttr:$equation, TP_NumberTensor:$lhs, TP_NumberTensor:$rhs,
      I64Attr:$dim, I64Attr:$pieces);
  let results = (outs TP_NumberTensor:$result);
  let assemblyFormat = [{
    $equation $lhs `,` $rhs `dim` custom<Plain>($dim) `pieces` custom<Plain>($pieces)
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of the operand whose rows are scattered, 0 or 1.
    unsigned getRowsOperand();
    /// The dimension of operand number getRowsOperand() that becomes the
    /// result's `dim`.
    int64_t getScatteredDim();
  }];
}

def TP_ReductionKind : I32EnumAttr<"ReductionKind", "how to reduce", [
    I32EnumAttrCase<"Sum", 0, "sum">, I32EnumAttrCase<"Max", 1, "max">,
    I32EnumAttrCase<"Min", 2, "min">, I32EnumAttrCase<"Prod", 3, "prod">]> {
  let cppNamespace = "::tp";
}

def TP_ReduceOp : TP_Op<"reduce", "", builtRule # linear # evaluated # differentiable> {
  let summary = "Combine the elements along dimensions";
  let meaning = [{the sum, maximum, minimum or product over `dims`, which are removed
    from the result. Sums accumulate in f32 and round once.}];
  let constraints = [{
    1. `dims` are distinct dimensions of the input, in ascending order.
    2. The result has the other dimensions and the input's element type.}];
  let ruleText = "input dimensions in order; those in `dims` are reduced";
  let example = [{%s = tp.reduce sum %x dims = [1] : tensor<4x16xf32> -> tensor<4xf32>}];
  let arguments = (ins TP_ReductionKind:$kind, TP_NumberTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs TP_NumberTensor:$result);
  let assemblyFormat = "$kind $input `dims` `=` $dims attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def TP_CumulativeOp : TP_Op<"cumulative", "", builtRule # decomposed # differentiable # localized
    # [DeclareOpInterfaceMethods<ExchangeOpInterface>]> {
  let summary = "Cumulative sum, maximum, minimum or product";
  let meaning = [{element i along `dim` becomes the sum, maximum, minimum or product of
    elements 0 to i; with `reverse`, of elements i to the last.}];
  let constraints = [{
    1. `dim` is a dimension of the input.
    2. The result has the input's shape and element type.}];
  let ruleText = "`dim` is exchanged: where it is cut, devices exchange the totals of their blocks; the others pass through";
  let example = "%y = tp.cumulative sum %x dim = 1 : tensor<4x16xf32> -> tensor<4x16xf32>";
  let arguments = (ins TP_ReductionKind:$kind, TP_NumberTensor:$input, I64Attr:$dim, UnitAttr:$reverse);
  let results = (outs TP_NumberTensor:$result);
  let assemblyFormat = "$kind $input `dim` `=` custom<Plain>($dim) (`reverse` $reverse^)? attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_TP_EINSUMOPS

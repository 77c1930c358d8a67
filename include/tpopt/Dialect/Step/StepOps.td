// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Programs, buffers, steps, and the ops in the body of step.rows.

#ifndef TPOPT_DIALECT_STEP_STEPOPS
#define TPOPT_DIALECT_STEP_STEPOPS

include "tpopt/Dialect/SPMD/SPMDDialect.td"
include "tpopt/Dialect/Step/StepDialect.td"
include "tpopt/Dialect/Step/StepInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def IsBuffer : CPred<"::tp::step::isBuffer($_self)">;
def Step_Buffer : Type<And<[IsBuffer]>,
    "memref with static sizes, strides of at least 0 and a static offset",
    "::mlir::MemRefType">;
// Buffer operands and their memory effects, which passes that reorder steps
// use.
def Step_Read : Arg<Step_Buffer, "", [MemRead]>;
def Step_Written : Arg<Step_Buffer, "", [MemWrite]>;
def Step_Updated : Arg<Step_Buffer, "", [MemRead, MemWrite]>;
def Step_OptionalRead : Arg<Optional<Step_Buffer>, "", [MemRead]>;
def Step_OptionalWritten : Arg<Optional<Step_Buffer>, "", [MemWrite]>;
def Step_OptionalUpdated : Arg<Optional<Step_Buffer>, "", [MemRead, MemWrite]>;
def Step_AllRead : Arg<Variadic<Step_Buffer>, "", [MemRead]>;
def Step_AllWritten : Arg<Variadic<Step_Buffer>, "", [MemWrite]>;
def Step_Scalar : AnyTypeOf<[AnyFloat, AnySignlessInteger]>;

class Step_Op<string mnemonic, list<Trait> traits = []>
    : Op<Step_Dialect, mnemonic, traits> {
  // The sections of `description`, in order.
  string meaning = "";
  string constraints = "";
  string example = "";
  let description = !strconcat(
      "**Meaning:** ", meaning, "\n\n",
      !if(!empty(constraints), "", "**Constraints**\n" # constraints # "\n\n"),
      "**Example:**\n\n```mlir\n", example, "\n```\n");
}

//===----------------------------------------------------------------------===//
// Programs and buffers
//===----------------------------------------------------------------------===//

def Step_ProgramOp : Step_Op<"program", [Symbol, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "An entry: its inputs, outputs and steps";
  let meaning = [{the steps of the body, in order, on every device of the mesh. Block
    arguments are the inputs' local buffers, then those of the outputs without
    an alias. `positions` is the number of entries in the caches that the program writes
    a part of. `arena` is the size in bytes of the memory of all `step.alloc`s, once
    they have a place. `overlap` holds the times that `tp-schedule` predicts.}];
  let constraints = [{
    1. The body has one block, with a dense buffer of the local type for every
       input and for every output without an alias.
    2. An alias names an input with the output's type.
    3. Names of inputs are distinct, and so are names of outputs.}];
  let example = [{step.program @main on @mesh inputs [#step.input<"x", input, tensor<4x8xf32>>]
      outputs [#step.output<"y", tensor<4x8xf32>>] {
  ^bb0(%x: memref<4x8xf32>, %y: memref<4x8xf32>):
    step.copy %x to %y : memref<4x8xf32> to memref<4x8xf32>
  }
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<FlatSymbolRefAttr>:$mesh,
      TypedArrayAttrBase<Step_InputAttr, "inputs">:$inputs,
      TypedArrayAttrBase<Step_OutputAttr, "outputs">:$outputs,
      OptionalAttr<I64Attr>:$positions, OptionalAttr<I64Attr>:$arena,
      OptionalAttr<Step_OverlapAttr>:$overlap);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`on` $mesh^)? `inputs` $inputs `outputs` $outputs
    (`positions` $positions^)? (`arena` $arena^)? (`overlap` $overlap^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Step_AllocOp : Step_Op<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "A buffer in the arena";
  let meaning = [{temporary memory of the device. `at` is its offset in bytes in the
    arena, once it is assigned; two buffers may have the same place at different
    times.}];
  let constraints = "1. The buffer is dense, and `at` a multiple of 64.";
  let example = "%0 = step.alloc at 128 : memref<4x8xf32>";
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs Step_Buffer:$buffer);
  let assemblyFormat = "(`at` $offset^)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Step_ConstantOp : Step_Op<"constant", [Pure]> {
  let summary = "A buffer known at compile time";
  let meaning = "read-only memory with the given value.";
  let constraints = "1. The buffer is dense and has the value's shape and element type.";
  let example = "%0 = step.constant dense<[1.0, 2.0]> : tensor<2xf32> as memref<2xf32>";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Step_Buffer:$buffer);
  let assemblyFormat = "$value attr-dict `as` type($buffer)";
  let hasVerifier = 1;
}

def Step_BundleOp : Step_Op<"bundle", [Pure]> {
  let summary = "Inputs side by side in memory";
  let meaning = [{one read-only buffer for several weights, so that one product can read
    them all. Each member is split into `rows` rows, and row r of the bundle is the
    concatenation of row r of every member. Matrices [in, out] have `in` rows, so
    their columns are concatenated; matrices [out, in] have one row and follow each
    other. The runtime stores the value of an input directly in the bundle, and no
    step copies it.}];
  let constraints = [{
    1. The members are two or more inputs of the program that no output overwrites
       and no other op uses.
    2. The buffer is dense and has the members' element type and number of elements;
       `rows` is at least 1 and divides the elements of each member.}];
  let example = [{%w = step.bundle %q, %k rows 8 : memref<8x4xf32>, memref<8x2xf32> as memref<8x6xf32>}];
  let arguments = (ins Variadic<Step_Buffer>:$members, I64Attr:$rows);
  let results = (outs Step_Buffer:$buffer);
  let assemblyFormat = "$members `rows` $rows attr-dict `:` type($members) `as` type($buffer)";
  let hasVerifier = 1;
}

def Step_ViewOp : Step_Op<"view", [Pure]> {
  let summary = "A buffer read with other sizes and strides";
  let meaning = [{the same memory; nothing is executed. With `by`, the view moves by so
    many elements, backwards if it is negative, with every iteration of the enclosing
    `step.loop` number `loop`, where 0 is the innermost: layer by layer through
    stacked weights.

    With `axes`, it lies i + `plus` times `by` elements further on, where i is the
    device's place along these axes, first axis most significant, and after the
    last place comes the first: the device's own block, or a neighbor's, of a tensor
    that the device holds whole.}];
  let constraints = [{
    1. The source is dense: an argument, an alloc, a constant or a bundle.
    2. The view stays inside the source in every iteration and at every place, and has
       its element type.
    3. With `loop`, a loop of that number is around the view. With `axes`, the program
       has a mesh with these axes, and `plus` is at least 0 and less than the number of
       places.
    4. It moves by a multiple of 64 bytes.}];
  let example = [{%1 = step.view %0 : memref<4x8xf32> as memref<8x4xf32, strided<[1, 8]>>
  %2 = step.view %0 by 16 of place <{"x"}> plus 1 : memref<4x8xf32> as memref<2x8xf32>}];
  let arguments = (ins Step_Buffer:$source, OptionalAttr<I64Attr>:$by,
      DefaultValuedAttr<I64Attr, "0">:$loop, OptionalAttr<SPMD_AxisListAttr>:$axes,
      DefaultValuedAttr<I64Attr, "0">:$plus);
  let results = (outs Step_Buffer:$view);
  let assemblyFormat = [{
    $source `` custom<Motion>($by, $loop, $axes, $plus) attr-dict `:` type($source) `as` type($view)
  }];
  let builders = [OpBuilder<(ins "::mlir::Type":$view, "::mlir::Value":$source), [{
    build($_builder, $_state, view, source, /*by=*/nullptr, /*loop=*/0,
          /*axes=*/nullptr, /*plus=*/0);
  }]>];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

def Step_CopyOp : Step_Op<"copy"> {
  let summary = "Copy a strided view";
  let meaning = "every element of the source to the same index of the destination.";
  let constraints = [{
    1. Both have one shape and element type, of at most 8 dimensions.
    2. They do not overlap.}];
  let example = "step.copy %x to %y : memref<4x8xf32> to memref<4x8xf32>";
  let arguments = (ins Step_Read:$source, Step_Written:$destination);
  let assemblyFormat = "$source `to` $destination attr-dict `:` type($source) `to` type($destination)";
  let hasVerifier = 1;
}

def Step_FillOp : Step_Op<"fill"> {
  let summary = "Set all elements of a view";
  let meaning = "every element of the destination becomes the value.";
  let constraints = "1. The value has the destination's element type; at most 8 dimensions.";
  let example = "step.fill %y with 0.0 : f32 in memref<4x8xf32>";
  let arguments = (ins Step_Written:$destination, TypedAttrInterface:$value);
  let assemblyFormat = "$destination `with` $value `in` type($destination) attr-dict";
  let hasVerifier = 1;
}

def Step_MatmulOp : Step_Op<"matmul"> {
  let summary = "A batch of matrix products with an epilogue";
  let meaning = [{C[batch, m, n] = post-ops(sum_k A[batch, m, k] B[batch, k, n]), where
    all operands have three batch dimensions, and strides of 0 repeat a matrix.
    Products are accumulated in f32 and rounded once, after the post-ops. `add`
    and `multiply` take an operand [batch, m, n] each: a bias has row stride 0.
    `constant_b`: B is the same in all runs and may be repacked once.}];
  let constraints = [{
    1. A, B, C and the post-ops' operands have five dimensions that agree.
    2. A and B have one element type, f32, bf16, f16 or f8E4M3FN. C has f32 or that
       type; if A and B are f8E4M3FN, C has f32, bf16 or f16. The operands of post-ops
       are f32, bf16 or f16. Not every target supports f16 and f8E4M3FN.
    3. A and B have stride 1 along their rows or their columns, C along its columns.
    4. There is one operand for each `add` and `multiply`.}];
  let example = [{step.matmul %a, %b into %c : memref<1x1x1x4x8xf32>, memref<1x1x1x8x16xf32> into memref<1x1x1x4x16xf32>}];
  let arguments = (ins Step_Read:$a, Step_Read:$b, Step_Written:$c,
      Step_AllRead:$post_operands,
      DefaultValuedAttr<Step_PostOps, "{}">:$post_ops, UnitAttr:$constant_b);
  let assemblyFormat = [{
    $a `,` $b `into` $c (`then` $post_ops^)? (`with` `(` $post_operands^ `:` type($post_operands) `)`)?
    (`constant_b` $constant_b^)? attr-dict `:` type($a) `,` type($b) `into` type($c)
  }];
  let hasVerifier = 1;
}

def Step_SkinnyMatmulOp : Step_Op<"skinny_matmul", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "A matrix product of few rows, as a kernel";
  let meaning = [{the product of `step.matmul`, by a generated kernel that reads B once, in
    its own layout: the time of a product of few rows is the time to read B. The order
    of each sum depends on sizes and strides only.}];
  let constraints = [{
    1. Operands are as in `step.matmul`, of f32, bf16 or f16, with one batch entry and
       at most 8 rows.
    2. Post-ops are `add`, `relu` and `gelu_tanh`.}];
  let example = [{step.skinny_matmul %a, %b into %c : memref<1x1x1x4x8xf32>, memref<1x1x1x8x16xf32> into memref<1x1x1x4x16xf32>}];
  let arguments = (ins Step_Read:$a, Step_Read:$b, Step_AllRead:$post_operands,
      Step_Written:$c, DefaultValuedAttr<Step_PostOps, "{}">:$post_ops);
  let assemblyFormat = [{
    $a `,` $b `into` $c (`then` $post_ops^)? (`with` `(` $post_operands^ `:` type($post_operands) `)`)?
    attr-dict `:` type($a) `,` type($b) `into` type($c)
  }];
  let hasVerifier = 1;
}

def Step_ScatterOp : Step_Op<"scatter", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "Update elements along a dimension";
  let meaning = [{updates[b, o, i, r] is combined into destination[b, o, indices[b, i],
    r], for one b, o and r in ascending order of i. An index outside the
    destination drops its updates.}];
  let constraints = [{
    1. Updates are [b, o, i, r], indices [b, i], the destination [b, o, axis, r].
    2. Indices are i64. Updates and destination have one element type, an integer,
       f32 or f64; `set` takes any.}];
  let example = [{step.scatter add %u at %i into %y : memref<1x1x6x4xf32>, memref<1x6xi64> into memref<1x1x9x4xf32>}];
  let arguments = (ins Step_ScatterKind:$kind, Step_Read:$updates, Step_Read:$indices,
      Step_Updated:$destination);
  let assemblyFormat = [{
    $kind $updates `at` $indices `into` $destination attr-dict
    `:` type($updates) `,` type($indices) `into` type($destination)
  }];
  let hasVerifier = 1;
}

def Step_SortOp : Step_Op<"sort", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "The first elements of every row in sorted order";
  let meaning = [{the elements of a row in ascending or descending order, equal elements
    in the order of the row, and the index of each in the row; as many as the results
    have columns. NaN counts as larger than all numbers.}];
  let constraints = [{
    1. Source, values and indices are [rows, columns]; values and indices have
       equal shapes, with at most the source's columns.
    2. Values have the source's element type, indices i32.}];
  let example = [{step.sort descending %x into %v, %i : memref<4x16xf32> into memref<4x2xf32>, memref<4x2xi32>}];
  let arguments = (ins Step_Read:$source, Step_Written:$values, Step_Written:$indices,
      UnitAttr:$descending);
  let assemblyFormat = [{
    (`descending` $descending^)? $source `into` $values `,` $indices attr-dict
    `:` type($source) `into` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Step_SortPartsOp : Step_Op<"sort_parts", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "The first elements of every part of every row in sorted order";
  let meaning = [{a row is split into parts of `part` elements; the last one may be
    shorter. For each part the results hold the result of `step.sort`, `kept` elements
    or all if the part has fewer, part after part; the indices are those in the whole
    row. `step.merge` merges them.}];
  let constraints = [{
    1. Source, values and indices are [rows, columns]; values and indices have
       equal shapes.
    2. Values have the source's element type, indices i32.
    3. `kept` is at least 1 and at most `part`, and the results have one column for each
       element that is kept.}];
  let example = [{step.sort_parts descending %x parts 8 keep 2 into %v, %i : memref<4x20xf32> into memref<4x6xf32>, memref<4x6xi32>}];
  let arguments = (ins Step_Read:$source, Step_Written:$values, Step_Written:$indices,
      I64Attr:$part, I64Attr:$kept, UnitAttr:$descending);
  let assemblyFormat = [{
    (`descending` $descending^)? $source `parts` $part `keep` $kept
    `into` $values `,` $indices attr-dict
    `:` type($source) `into` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

def Step_MergeOp : Step_Op<"merge", [DeclareOpInterfaceMethods<KernelOpInterface>]> {
  let summary = "Merge sorted runs";
  let meaning = [{a row of elements and of their indices consists of runs of `run`
    elements, each in the order of `step.sort`; the last one may be shorter. Every
    `ways` consecutive runs are merged into one, equal elements of the earlier run
    first. If a row becomes one run, as many elements are kept as the results have
    columns.}];
  let constraints = [{
    1. Elements, places, values and indices are [rows, columns]; elements and places
       have equal shapes, and so have values and indices.
    2. Values have the type of the elements; places and indices are i32.
    3. `run` is at least 1 and `ways` at least 2. The results have as many columns as
       the elements, or fewer if a row becomes one run.}];
  let example = [{step.merge descending %x, %p runs 2 ways 3 into %v, %i
      : memref<4x6xf32>, memref<4x6xi32> into memref<4x2xf32>, memref<4x2xi32>}];
  let arguments = (ins Step_Read:$elements, Step_Read:$places, Step_Written:$values,
      Step_Written:$indices, I64Attr:$run, I64Attr:$ways, UnitAttr:$descending);
  let assemblyFormat = [{
    (`descending` $descending^)? $elements `,` $places `runs` $run `ways` $ways
    `into` $values `,` $indices attr-dict
    `:` type($elements) `,` type($places) `into` type($values) `,` type($indices)
  }];
  let hasVerifier = 1;
}

// The operands that hide keys from queries, and the attributes of attention.
defvar hidingBuffers = (ins Step_OptionalRead:$offset, Step_OptionalRead:$lengths,
                            Step_OptionalRead:$mask);
defvar attentionOptions = (ins F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window);
defvar attentionTraits = [AttrSizedOperandSegments, AttentionOpInterface,
                          DeclareOpInterfaceMethods<KernelOpInterface>];

def Step_AttentionOp : Step_Op<"attention", attentionTraits> {
  let summary = "Weigh values by the softmax of query-key products";
  let meaning = [{what `tp.attention` computes, of views: query [b,s,k,g,d], key
    [b,t,k,d] and value [b,t,k,e] into output [b,s,k,g,e], with `offset`,
    `lengths`, `mask`, `causal` and `window` hiding keys as they do there.
    Products of 16-bit floats are summed in f32, and weights rounded to 16 bits
    before they are divided by their sum. `logsumexp` [b,s,k,g] receives the
    second result.

    With `parts` the visible keys fall into p parts, which different blocks of a GPU
    read, and the block that ends last combines them in their order. The three buffers
    are memory for this step: `partial` [p,b,s,k,g,e] receives each part's sum of values,
    not yet divided. `statistics` [p,b,s,k,g,2] receives the part's maximum of score *
    log2(e) and its sum of weights, where a weight is 2^(score * log2(e) - maximum). If
    the row sees no key of the part, they are minus infinity and 0, and the sum of values
    is 0. The `counters` [b,s,k,g] count the blocks that have ended. They must be 0
    before the step, and are 0 again after it.

    With `two_warps`, two warps of a GPU have the same rows, and each has half of the keys
    of every tile.}];
  let constraints = [{
    1. Query, key and value have these shapes, and one element type, f32, f16 or
       bf16.
    2. The output has this shape and their type.
    3. `offset` is i32 [] or [b], `lengths` i32 [b], `mask` i1 [b,s,t].
    4. Rows of d and e elements have at most 512 bytes. Features have stride 1; the
       sizes of these rows, other strides and the offsets of views are multiples of 16
       bytes.
    5. `scale` is positive and finite. `window`, if given, is at least 1 and needs
       `causal`.
    6. There are fewer than 2^31 output rows, elements of the key and elements of the value.
    7. `parts` has a dense buffer of each kind: f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and
       i32 [b,s,k,g], with fewer than 2^31 rows in all parts.
    8. `logsumexp` is f32 [b,s,k,g], and cannot be used with `parts`.
    9. `two_warps` is for 16-bit floats and at most 16 rows s * g.}];
  let example = [{step.attention %q, %k, %v into %y {causal, scale = 0.125 : f64}
      : memref<1x16x2x4x64xbf16>, memref<1x32x2x64xbf16>, memref<1x32x2x64xbf16> into memref<1x16x2x4x64xbf16>}];
  // To other steps the counters are only read: they are left as they were.
  let arguments = !con((ins Step_Read:$query, Step_Read:$key, Step_Read:$value),
      hidingBuffers, (ins Step_Written:$output, Step_OptionalUpdated:$partial,
                          Step_OptionalUpdated:$statistics, Step_OptionalRead:$counters,
                          Step_OptionalWritten:$logsumexp),
      attentionOptions, (ins UnitAttr:$two_warps));
  let assemblyFormat = [{
    $query `,` $key `,` $value
    (`offset` `(` $offset^ `:` type($offset) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)? `into` $output
    (`parts` `(` $partial^ `,` $statistics `,` $counters
     `:` type($partial) `,` type($statistics) `,` type($counters) `)`)?
    (`logsumexp` `(` $logsumexp^ `:` type($logsumexp) `)`)? attr-dict
    `:` type($query) `,` type($key) `,` type($value) `into` type($output)
  }];
  let hasVerifier = 1;
}

/// An op that computes gradients of attention with respect to query, key or
/// value, and writes these gradients to the buffers `outputs`.
class Step_AttentionGradientOp<string mnemonic, dag outputs> : Step_Op<mnemonic, attentionTraits> {
  let constraints = [{
    1. Query, key and value are as in `step.attention`, in f32, f16 or bf16; the
       gradient is [b,s,k,g,e] in their type.
    2. `logsumexp` and `delta` are f32 [b,s,k,g].
    3. Each written gradient has the shape and the type of its operand.
    4. `offset`, `lengths`, `mask`, `scale`, `window`, features, strides, offsets of
       views and numbers of elements are as in `step.attention`.}];
  let arguments = !con((ins Step_Read:$query, Step_Read:$key, Step_Read:$value,
                            Step_Read:$gradient, Step_Read:$logsumexp, Step_Read:$delta),
                       hidingBuffers, outputs, attentionOptions);
  string operandsFormat = [{
    $query `,` $key `,` $value `,` $gradient `,` $logsumexp `,` $delta
    (`offset` `(` $offset^ `:` type($offset) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)? `into` }];
  string typesFormat = [{ attr-dict `:` type($query) `,` type($key) `,` type($value) `,`
    type($gradient) `,` type($logsumexp) `,` type($delta) `into` }];
  let hasVerifier = 1;
}

def Step_AttentionQueryGradientOp : Step_AttentionGradientOp<"attention_query_gradient",
    (ins Step_Written:$queryGradient)> {
  let summary = "The gradient of attention with respect to its query";
  let meaning = [{what `tp.attention_query_gradient` computes, of views, in f32.}];
  let example = [{step.attention_query_gradient %q, %k, %v, %dy, %l, %d into %dq {causal, scale = 0.5 : f64}
      : memref<1x8x1x2x4xf32>, memref<1x8x1x4xf32>, memref<1x8x1x4xf32>, memref<1x8x1x2x4xf32>,
        memref<1x8x1x2xf32>, memref<1x8x1x2xf32> into memref<1x8x1x2x4xf32>}];
  let assemblyFormat = operandsFormat # "$queryGradient" # typesFormat # "type($queryGradient)";
}

def Step_AttentionKeyValueGradientOp : Step_AttentionGradientOp<"attention_key_value_gradient",
    (ins Step_Written:$keyGradient, Step_Written:$valueGradient)> {
  let summary = "The gradients of attention with respect to its key and its value";
  let meaning = [{what `tp.attention_key_value_gradient` computes, of views, in f32.}];
  let example = [{step.attention_key_value_gradient %q, %k, %v, %dy, %l, %d into %dk, %dv {causal, scale = 0.5 : f64}
      : memref<1x8x1x2x4xf32>, memref<1x8x1x4xf32>, memref<1x8x1x4xf32>, memref<1x8x1x2x4xf32>,
        memref<1x8x1x2xf32>, memref<1x8x1x2xf32> into memref<1x8x1x4xf32>, memref<1x8x1x4xf32>}];
  let assemblyFormat = operandsFormat # "$keyGradient `,` $valueGradient" # typesFormat #
                       "type($keyGradient) `,` type($valueGradient)";
}

def Step_CollectiveStartOp : Step_Op<"collective_start"> {
  let summary = "Begin a collective";
  let meaning = [{an exchange among the devices that differ only along `axes`, numbered
    by their place along them, first axis most significant. Buffers consist of chunks,
    one for each device of the group where the kind requires it; see
    `tprt::CollectiveKind`. Source and destination must not be used until the collective
    is done. A permutation gives, for each place, the one that it receives from, or -1
    for zeros. A `joined` collective is sent in one launch with the one before it.}];
  let constraints = [{
    1. Source and destination are dense and have one element type. The destination of an
       all_gather has as many elements as the sources of the whole group, the source of
       a reduce_scatter as many as the destinations of the whole group; other kinds
       receive as many elements as they send.
    2. all_reduce and reduce_scatter have a reduction (sum, max or min), others
       none.
    3. A collective_permute has a permutation with one entry per device of
       the group, others none.
    4. The program has a mesh with these axes.
    5. The step before a joined collective is another `step.collective_start`, along the
       same axes.}];
  let example = [{%t = step.collective_start all_reduce sum <{"x"}> %a to %b : memref<4x8xf32> to memref<4x8xf32>
    %u = step.collective_start all_reduce max <{"x"}> %c to %c joined : memref<2xi32> to memref<2xi32>}];
  let arguments = (ins Step_CollectiveKind:$kind, OptionalAttr<Step_Reduction>:$reduction,
      SPMD_AxisListAttr:$axes, Step_Read:$source, Step_Written:$destination,
      OptionalAttr<DenseI64ArrayAttr>:$permutation, UnitAttr:$joined);
  let results = (outs Step_Token:$token);
  let assemblyFormat = [{
    $kind ($reduction^)? $axes $source `to` $destination
    (`from` $permutation^)? (`joined` $joined^)? attr-dict `:` type($source) `to` type($destination)
  }];
  let extraClassDeclaration = [{
    /// The collectives of the launch that this one begins: itself, and those
    /// joined to it. Empty if this one is joined.
    ::llvm::SmallVector<CollectiveStartOp, 1> getLaunch();
    /// Returns true if no other collective is in the launch.
    bool isAlone() { return getLaunch().size() == 1; }
    CollectiveDoneOp getDone();
  }];
  let hasVerifier = 1;
}

def Step_CollectiveDoneOp : Step_Op<"collective_done", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "Wait for a collective";
  let meaning = "after it, the destination holds the result.";
  let constraints = "1. The token is used once.";
  let example = "step.collective_done %t";
  let arguments = (ins Step_Token:$token);
  let assemblyFormat = "$token attr-dict";
  let hasVerifier = 1;
}

def Step_CombineOp : Step_Op<"combine", [
    DeclareOpInterfaceMethods<KernelOpInterface, ["getScalars"]>]> {
  let summary = "Combine buffers element by element";
  let meaning = [{every element of the destination becomes the sum, maximum or
    minimum of the sources' elements at its place, in the order of the sources.
    16-bit floats are combined in f32; a sum of i1 is true if one of them is. A reducing
    collective among devices that share a memory uses this step: for each such
    collective the artifact of a GPU contains the kernel, which takes the number of
    elements as its scalar.}];
  let constraints = [{
    1. There is at least one source. All buffers are dense and of one type.
    2. The reduction is sum, max or min; 8-bit floats are not supported.}];
  let example = [{step.combine sum %x, %y into %z : memref<32xf32>, memref<32xf32> into memref<32xf32>}];
  let arguments = (ins Step_Reduction:$kind, Step_AllRead:$sources,
      Step_Written:$destination);
  let assemblyFormat = [{
    $kind $sources `into` $destination attr-dict `:` type($sources) `into` type($destination)
  }];
  let hasVerifier = 1;
}

def Step_RandomOp : Step_Op<"random", [
    DeclareOpInterfaceMethods<KernelOpInterface, ["getScalars"]>]> {
  let summary = "Generate random numbers from a seed";
  let meaning = [{element [i, j] of the destination becomes a random number that depends
    only on the seed and on its place `first` + i * `stride` + j in the whole tensor.
    Floats are between -`scale` and `scale`, which is an f32; integers are 0 to 7; 8-bit
    floats all have one magnitude. The runtime uses this step for inputs without a
    value: for each type of the inputs the artifact of a GPU contains the kernel, which
    takes all numbers of the step as its scalars.}];
  let constraints = "1. The buffer has two dimensions, the last of stride 1.";
  let example = [{step.random seed 42 scale 0.5 first 3 stride 9 into %x : memref<5x7xf32>}];
  let arguments = (ins Step_Written:$destination, I64Attr:$seed, F32Attr:$scale,
      I64Attr:$first, I64Attr:$stride);
  let assemblyFormat = [{
    `seed` $seed `scale` $scale `first` $first `stride` $stride `into` $destination
    attr-dict `:` type($destination)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Loops and branches
//===----------------------------------------------------------------------===//

def Step_LoopOp : Step_Op<"loop", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Repeat steps a known number of times";
  let meaning = [{runs the body `count` times. `step.counter` and views that move make
    the iterations differ.}];
  let constraints = "1. `count` is at least 0 and below 2^31.";
  let example = [{step.loop 12 {
    step.copy %x to %y : memref<4x8xf32> to memref<4x8xf32>
  }
  }];
  let arguments = (ins I64Attr:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$count $body attr-dict";
  let hasVerifier = 1;
}

def Step_WhileOp : Step_Op<"while", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Repeat steps while a condition holds";
  let meaning = [{runs `cond`; if the predicate is then true, runs `body`, and starts
    again. The runtime makes at most 2^31 - 1 iterations.}];
  let constraints = "1. The predicate is one i1.";
  let example = [{step.while %p cond {
    step.fill %p with false in memref<i1>
  } do {
    step.copy %x to %y : memref<4x8xf32> to memref<4x8xf32>
  } : memref<i1>}];
  let arguments = (ins Step_Buffer:$predicate);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let assemblyFormat = "$predicate `cond` $cond `do` $body attr-dict `:` type($predicate)";
  let hasVerifier = 1;
}

def Step_IfOp : Step_Op<"if", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Run one of two lists of steps";
  let meaning = "`then` if the predicate is true, else `otherwise`.";
  let constraints = "1. The predicate is one i1.";
  let example = [{step.if %p {
    step.copy %x to %y : memref<4x8xf32> to memref<4x8xf32>
  } else {
    step.fill %y with 0.0 : f32 in memref<4x8xf32>
  } : memref<i1>}];
  let arguments = (ins Step_Buffer:$predicate);
  let regions = (region SizedRegion<1>:$then, SizedRegion<1>:$otherwise);
  let assemblyFormat = "$predicate $then `else` $otherwise attr-dict `:` type($predicate)";
  let hasVerifier = 1;
}

def Step_ChooseOp : Step_Op<"choose", [NoTerminator, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "Run the faster one of two equivalent lists of steps";
  let meaning = [{runs `first` or `second`, which compute the same up to rounding. The
    runtime times both on its device and keeps the faster one; all devices run the same
    one. For a third alternative, `second` ends with another choice.}];
  let constraints = [{
    1. Both branches have at least one step: kernels, matrix products, copies and fills,
       or a choice at the end.
    2. Both branches write the same buffers from outside.}];
  let example = [{step.choose {
    step.matmul %a, %b into %c : memref<1x1x1x4x8xf32>, memref<1x1x1x8x16xf32> into memref<1x1x1x4x16xf32>
  } or {
    step.skinny_matmul %a, %b into %c : memref<1x1x1x4x8xf32>, memref<1x1x1x8x16xf32> into memref<1x1x1x4x16xf32>
  }
  }];
  let regions = (region SizedRegion<1>:$first, SizedRegion<1>:$second);
  let assemblyFormat = "$first `or` $second attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Row programs
//===----------------------------------------------------------------------===//

def Step_RowsOp : Step_Op<"rows", [SingleBlock, NoTerminator, IsolatedFromAbove,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<KernelOpInterface, ["getScalars", "getNumParts"]>]> {
  let summary = "A row program: computes every element of a domain";
  let meaning = [{the body runs for every point of `domain`; points that differ in the
    last dimension only make a row. The body is written for one element:
    `step.load` reads an operand at the point, `arith` and `math` ops compute,
    `step.reduce` combines a value over the row, and its result is the same for
    all points of it. Points are visited in any order, and a point's ops may be
    computed more than once, but its results are stored once. So an element that the
    program writes may only be read at the point that writes it, and only in programs
    without reductions.}];
  let constraints = [{
    1. The domain has at least one dimension, and sizes of at least 1.
    2. The block has one argument per operand, of its type.
    3. The body contains only the ops of this dialect for row programs, and element-wise
       arith and math ops on scalars.}];
  let example = [{step.rows [4, 16] reads(%x : memref<4x16xf32>) writes(%y : memref<4x16xf32>) {
  ^bb0(%a: memref<4x16xf32>, %b: memref<4x16xf32>):
    %0 = step.load %a : memref<4x16xf32>
    %1 = step.reduce max %0 : f32
    %2 = arith.subf %0, %1 : f32
    step.store %2 to %b : f32, memref<4x16xf32>
  }
  }];
  let arguments = (ins DenseI64ArrayAttr:$domain, Step_AllRead:$reads,
      Step_AllWritten:$writes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $domain (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number of rows: the product of all sizes of the domain except the
    /// last.
    int64_t getNumRows();
    int64_t getNumColumns() { return getDomain().back(); }
  }];
}

def Step_TogetherOp : Step_Op<"together", [SingleBlock, NoTerminator, IsolatedFromAbove,
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<KernelOpInterface, ["getScalars", "getNumParts"]>]> {
  let summary = "Several row programs in one kernel";
  let meaning = [{runs the row programs of the body in any order or at the same time:
    none of them reads or writes a buffer that another one writes. Threads share the
    rows of all of them as if they were one program, so they cost one launch, or one
    barrier.}];
  let constraints = [{
    1. The block has one argument per operand, of its type.
    2. The body has two or more row programs without reductions, which write only
       arguments of written operands.}];
  let example = [{step.together reads(%x : memref<4x16xf32>) writes(%y, %z : memref<4x16xf32>, memref<2x16xf32>) {
  ^bb0(%a: memref<4x16xf32>, %b: memref<4x16xf32>, %c: memref<2x16xf32>):
    step.rows [4, 16] reads(%a : memref<4x16xf32>) writes(%b : memref<4x16xf32>) {
    ^bb0(%p: memref<4x16xf32>, %q: memref<4x16xf32>):
      %0 = step.load %p : memref<4x16xf32>
      step.store %0 to %q : f32, memref<4x16xf32>
    }
    step.rows [2, 16] writes(%c : memref<2x16xf32>) {
    ^bb0(%p: memref<2x16xf32>):
      %0 = arith.constant 1.0 : f32
      step.store %0 to %p : f32, memref<2x16xf32>
    }
  }
  }];
  let arguments = (ins Step_AllRead:$reads, Step_AllWritten:$writes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// In the body of step.rows
//===----------------------------------------------------------------------===//

class Step_BodyOp<string mnemonic, list<Trait> traits = []>
    : Step_Op<mnemonic, traits # [HasParent<"RowsOp">]>;

def Step_LoadOp : Step_BodyOp<"load", [MemoryEffects<[MemRead]>,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "Read an operand";
  let meaning = [{the element at the point; with `indices`, the element at these
    indices, which must be inside the buffer. Unsigned elements are read as signless.}];
  let constraints = [{
    1. The buffer is an argument of the row program.
    2. Without indices it has the domain's shape; with them, one i64 per dimension.
    3. The result is the element type.}];
  let example = "%0 = step.load %a[%i, %j] : memref<4x16xf32>";
  let arguments = (ins Step_Buffer:$buffer, Variadic<I64>:$indices);
  let results = (outs Step_Scalar:$result);
  let assemblyFormat = "$buffer (`[` $indices^ `]`)? attr-dict `:` type($buffer)";
  let hasVerifier = 1;
}

def Step_StoreOp : Step_BodyOp<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "Write an operand";
  let meaning = [{the element at the point becomes the value; with `indices`, the
    element at these indices, which must be inside the buffer. A buffer whose last size
    is 1 gets one value per row.}];
  let constraints = [{
    1. The buffer is an argument of the row program for a buffer that it writes.
    2. Without indices it has the domain's shape, or 1 as its last size and a value
       that is the same for the whole row; with them, one i64 per dimension.
    3. The value is of the element type.}];
  let example = "step.store %0 to %b : f32, memref<4x16xf32>";
  let arguments = (ins Step_Scalar:$value, Step_Buffer:$buffer, Variadic<I64>:$indices);
  let assemblyFormat = "$value `to` $buffer (`[` $indices^ `]`)? attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}

def Step_ReduceOp : Step_BodyOp<"reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "Combine a value over the row";
  let meaning = [{the sum, maximum, minimum or product of the value at all points of the
    row. `umax` and `umin` compare integers as unsigned.}];
  let constraints = [{
    1. The result has the value's type.
    2. `umax` and `umin` are only for integers.}];
  let example = "%1 = step.reduce sum %0 : f32";
  let arguments = (ins Step_Reduction:$kind, Step_Scalar:$value);
  let results = (outs Step_Scalar:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Step_IndexOp : Step_BodyOp<"index", [Pure]> {
  let summary = "The index of the point";
  let meaning = "the point's index in dimension `dim` of the domain.";
  let constraints = "1. `dim` is a dimension of the domain.";
  let example = "%i = step.index 1";
  let arguments = (ins I64Attr:$dim);
  let results = (outs I64:$result);
  let assemblyFormat = "$dim attr-dict";
  let hasVerifier = 1;
}

def Step_CoordinateOp : Step_BodyOp<"coordinate", [Pure]> {
  let summary = "The device's place along an axis";
  let meaning = "the device's place along an axis of the program's mesh.";
  let constraints = "1. The program has a mesh with this axis.";
  let example = "%i = step.coordinate <\"x\">";
  let arguments = (ins SPMD_AxisRefAttr:$axis);
  let results = (outs I64:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}

def Step_CounterOp : Step_BodyOp<"counter", [Pure]> {
  let summary = "The number of the current iteration of a loop";
  let meaning = [{the number of iterations that the enclosing `step.loop` number `loop`
    has finished, where 0 is the innermost.}];
  let constraints = "1. There is a loop of that number around the row program.";
  let example = "%i = step.counter 0";
  let arguments = (ins I64Attr:$loop);
  let results = (outs I64:$result);
  let assemblyFormat = "$loop attr-dict";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_STEP_STEPOPS

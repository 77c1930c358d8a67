// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Transformer ops. Each of them has an exact decomposition into simpler ops.

#ifndef TPOPT_DIALECT_TP_TRANSFORMEROPS
#define TPOPT_DIALECT_TP_TRANSFORMEROPS

include "tpopt/Dialect/TP/TPBase.td"

def TP_EmbeddingOp : TP_Op<"embedding", "vh,...->...h", fixedRule # linear # decomposed # localized> {
  let summary = "Look up rows of a table";
  let meaning = [{row `ids[..]` of the table. An id outside of the table gives zeros. If
    the vocabulary is cut, every device looks up its own rows and the results are
    partial sums (Megatron's vocabulary-parallel embedding, arXiv:1909.08053).}];
  let constraints = [{
    1. The table has two dimensions; the result has the shape of `ids` followed by the
       table's second dimension, and the table's element type.}];
  let example = "%x = tp.embedding %table, %ids : (tensor<512x32xf32>, tensor<4x8xi32>) -> tensor<4x8x32xf32>";
  let arguments = (ins TP_FloatTensor:$table, TP_IntegerTensor:$ids);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$table `,` $ids attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_LayerNormOp : TP_Op<"layer_norm", "...d!,d,d->...d", fixedRule # decomposed> {
  let summary = "Normalise rows to mean 0 and variance 1";
  let meaning = [{(x - mean) / sqrt(variance + epsilon) * scale + bias over the last
    dimension (arXiv:1607.06450), computed in f32.}];
  let constraints = [{
    1. The input has at least one dimension; scale and bias have the size of its last one.
    2. All have one element type; the result has the input's type.
    3. `epsilon` is at least 0.}];
  let example = "%y = tp.layer_norm %x, %scale, %bias epsilon = 1.0e-5 : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input, TP_FloatTensor:$scale, TP_FloatTensor:$bias, F64Attr:$epsilon);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `,` $bias `epsilon` `=` custom<Real>($epsilon) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_RMSNormOp : TP_Op<"rms_norm", "...d!,d->...d", fixedRule # decomposed> {
  let summary = "Normalise rows to root mean square 1";
  let meaning = [{x / sqrt(mean(x^2) + epsilon) * scale over the last dimension
    (arXiv:1910.07467), computed in f32.}];
  let constraints = [{
    1. The input has at least one dimension; scale has the size of its last one.
    2. All have one element type; the result has the input's type.
    3. `epsilon` is at least 0.}];
  let example = "%y = tp.rms_norm %x, %scale epsilon = 1.0e-5 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input, TP_FloatTensor:$scale, F64Attr:$epsilon);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$input `,` $scale `epsilon` `=` custom<Real>($epsilon) attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_SoftmaxOp : TP_Op<"softmax", "", builtRule # decomposed # differentiable # [SameOperandsAndResultType]> {
  let summary = "Exponentials that sum to 1";
  let meaning = "exp(x - max) / sum(exp(x - max)) along `dim`, computed in f32.";
  let constraints = [{
    1. The result has the input's type.
    2. `dim` is a dimension of the input.}];
  let ruleText = "`dim` must be whole (`!`); the others pass through";
  let example = "%y = tp.softmax %x dim = 1 : tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input, I64Attr:$dim);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$input `dim` `=` custom<Plain>($dim) attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def TP_RotaryOp : TP_Op<"rotary", "", builtRule # decomposed> {
  let summary = "Rotate pairs of features by their position";
  let meaning = [{rotary position embedding (arXiv:2104.09864). The first r = 2h
    features of a head are rotated in pairs by the angles whose cosines and sines
    are given per position; the other features are not changed. Pairs are (i, i + h), or
    (2i, 2i + 1) if `interleaved`: y1 = x1 cos - x2 sin, y2 = x2 cos + x1 sin, computed
    in f32.}];
  let constraints = [{
    1. The input is [batch, position, .., feature] with at least 3 dimensions.
    2. cos and sin have one type, [position, h] or [batch, position, h], with
       2h at most the number of features.
    3. The result has the input's type.}];
  let ruleText = "`bs...d!,sh!,sh!->bs...d`";
  let example = "%y = tp.rotary %q, %cos, %sin : (tensor<2x16x8x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x8x64xf32>";
  let arguments = (ins TP_FloatTensor:$input, TP_FloatTensor:$cos, TP_FloatTensor:$sin, UnitAttr:$interleaved);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "(`interleaved` $interleaved^)? $input `,` $cos `,` $sin attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

// The operands that hide keys from queries, and the attributes of attention.
defvar attentionOptions = (ins Optional<TP_IntegerTensor>:$offset, Optional<TP_IntegerTensor>:$lengths,
                               Optional<TP_BoolTensor>:$mask,
                               F64Attr:$scale, UnitAttr:$causal, OptionalAttr<I64Attr>:$window);

def TP_AttentionOp : TP_Op<"attention", "", [AttrSizedOperandSegments, AttentionOpInterface]
                           # builtRule # decomposed # differentiable # localized> {
  let summary = "Weigh values by the softmax of query-key products";
  let meaning = [{scaled dot-product attention over grouped heads (arXiv:1706.03762,
    2305.13245). With query head (k, g) sharing key-value head k:

        score[b,s,k,g,t] = scale * sum_d query[b,s,k,g,d] key[b,t,k,d]
        weight[b,s,k,g,t] = softmax over t of score[b,s,k,g,t]
        result[b,s,k,g,e] = sum_t weight[b,s,k,g,t] value[b,t,k,e]
        logsumexp[b,s,k,g] = log(sum_t exp(score[b,s,k,g,t]))

    A key position t is visible to query row s if t <= offset + s (with
    `causal`), offset + s - t < `window` (with a window), t < `lengths`[b], and
    `mask`[b,s,t], as far as given. `offset` is the position of the first query
    row, a scalar or one per batch entry, 0 if left out: with a KV cache it is the
    number of positions before. Rows that see no key give zeros. Computed in f32, but
    for 16-bit values the weights are rounded to their type. The second result is
    optional; the gradient is computed from it.}];
  let constraints = [{
    1. query is [b,s,k,g,d], key [b,t,k,d], value [b,t,k,e], the result
       [b,s,k,g,e], in one element type.
    2. `offset` is an integer scalar or [b]; `lengths` is an integer [b]; `mask` is
       i1 [b,s,t].
    3. `window`, if given, is at least 1 and needs `causal`.
    4. `logsumexp`, if given, is [b,s,k,g], in f32, or in f64 for f64 operands.}];
  let ruleText = "`bskgd!,bt!kd,bt!ke->bskge,bskg`";
  let example = [{%o = tp.attention %q, %k, %v offset(%p : tensor<i32>) {causal, scale = 0.125 : f64}
      : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>}];
  let arguments = !con((ins TP_FloatTensor:$query, TP_FloatTensor:$key, TP_FloatTensor:$value),
                       attentionOptions);
  let results = (outs TP_FloatTensor:$result, Optional<TP_FloatTensor>:$logsumexp);
  let assemblyFormat = [{
    $query `,` $key `,` $value
    (`offset` `(` $offset^ `:` type($offset) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `)` `->` type($result)
    (`,` type($logsumexp)^)?
  }];
  let builders = [
    // Without the log-sum-exp.
    OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$query, "::mlir::Value":$key,
                   "::mlir::Value":$value, "::mlir::Value":$offset, "::mlir::Value":$lengths,
                   "::mlir::Value":$mask, "::mlir::FloatAttr":$scale,
                   "::mlir::UnitAttr":$causal, "::mlir::IntegerAttr":$window),
              [{ build($_builder, $_state, result, ::mlir::Type(), query, key, value, offset,
                       lengths, mask, scale, causal, window); }]>];
  let hasVerifier = 1;
}

/// The gradient of tp.attention with respect to some of its operands.
class TP_AttentionGradientOp<string mnemonic> : TP_Op<mnemonic, "",
    [AttrSizedOperandSegments, AttentionOpInterface] # builtRule # decomposed # localized> {
  let arguments = !con((ins TP_FloatTensor:$query, TP_FloatTensor:$key, TP_FloatTensor:$value,
                            TP_FloatTensor:$gradient, TP_FloatTensor:$logsumexp,
                            TP_FloatTensor:$delta),
                       attentionOptions);
  string operandsFormat = [{
    $query `,` $key `,` $value `,` $gradient `,` $logsumexp `,` $delta
    (`offset` `(` $offset^ `:` type($offset) `)`)?
    (`lengths` `(` $lengths^ `:` type($lengths) `)`)?
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    attr-dict `:` `(` type($query) `,` type($key) `,` type($value) `,` type($gradient) `,`
    type($logsumexp) `,` type($delta) `)` `->` }];
  let hasVerifier = 1;
}

def TP_AttentionQueryGradientOp : TP_AttentionGradientOp<"attention_query_gradient"> {
  let summary = "The gradient of attention with respect to its query";
  let meaning = [{from the gradient of the result of a `tp.attention` of this query,
    key, value and options, the gradient with respect to the query. The weights are
    computed again from the log-sum-exp of each row (FlashAttention-2,
    arXiv:2307.08691). `delta` is the sum over e of gradient times result:

        weight[b,s,k,g,t] = exp(score[b,s,k,g,t] - logsumexp[b,s,k,g]), 0 if hidden
        slope[b,s,k,g,t] = scale * weight[b,s,k,g,t]
            * (sum_e gradient[b,s,k,g,e] value[b,t,k,e] - delta[b,s,k,g])
        result[b,s,k,g,d] = sum_t slope[b,s,k,g,t] key[b,t,k,d]

    Computed in f32, but for 16-bit operands the slopes are rounded to their
    type.}];
  let constraints = [{
    1. query is [b,s,k,g,d], key [b,t,k,d], value [b,t,k,e], the gradient
       [b,s,k,g,e], in one element type.
    2. `offset`, `lengths`, `mask` and `window` are as in `tp.attention`.
    3. `logsumexp` and `delta` are [b,s,k,g], in f32, or in f64 for f64 operands.
    4. The result has the query's type.}];
  let ruleText = "`bskgd!,bt!kd,bt!ke!,bskge,bskg,bskg->bskgd`";
  let example = [{%dq = tp.attention_query_gradient %q, %k, %v, %dy, %l, %d {causal, scale = 0.5 : f64}
      : (tensor<2x8x3x1x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x1x4xf32>,
         tensor<2x8x3x1xf32>, tensor<2x8x3x1xf32>) -> tensor<2x8x3x1x4xf32>}];
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = operandsFormat # "type($result)";
}

def TP_AttentionKeyValueGradientOp : TP_AttentionGradientOp<"attention_key_value_gradient"> {
  let summary = "The gradients of attention with respect to its key and its value";
  let meaning = [{like `tp.attention_query_gradient`, for the key and the value, with
    the same weights and slopes:

        keyGradient[b,t,k,d] = sum_s,g slope[b,s,k,g,t] query[b,s,k,g,d]
        valueGradient[b,t,k,e] = sum_s,g weight[b,s,k,g,t] gradient[b,s,k,g,e]

    If the queries are cut, each device computes an addend of the sums.}];
  let constraints = [{
    1. query is [b,s,k,g,d], key [b,t,k,d], value [b,t,k,e], the gradient
       [b,s,k,g,e], in one element type.
    2. `offset`, `lengths`, `mask` and `window` are as in `tp.attention`.
    3. `logsumexp` and `delta` are [b,s,k,g], in f32, or in f64 for f64 operands.
    4. The results have the types of the key and the value.}];
  let ruleText = "`bskgd!,bt!kd,bt!ke!,bskge,bskg,bskg->btkd,btke`";
  let example = [{%dk, %dv = tp.attention_key_value_gradient %q, %k, %v, %dy, %l, %d {causal, scale = 0.5 : f64}
      : (tensor<2x8x3x1x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>, tensor<2x8x3x1x4xf32>,
         tensor<2x8x3x1xf32>, tensor<2x8x3x1xf32>) -> (tensor<2x8x3x4xf32>, tensor<2x8x3x4xf32>)}];
  let results = (outs TP_FloatTensor:$keyGradient, TP_FloatTensor:$valueGradient);
  let assemblyFormat = operandsFormat # "`(` type($keyGradient) `,` type($valueGradient) `)`";
}

def TP_CrossEntropyOp : TP_Op<"cross_entropy", "...v!,...->...", fixedRule # decomposed # differentiable> {
  let summary = "Negative log-likelihood of labels";
  let meaning = [{log(sum_v exp(logits - max)) + max - logits[label] for every row,
    computed in f32. A label outside the vocabulary gives no target term.}];
  let constraints = [{
    1. The labels are integers, shaped like the logits without the last dimension.
    2. The result has the shape of the labels and the element type of the logits.}];
  let example = "%l = tp.cross_entropy %logits, %labels : (tensor<24x256xf32>, tensor<24xi32>) -> tensor<24xf32>";
  let arguments = (ins TP_FloatTensor:$logits, TP_IntegerTensor:$labels);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $labels attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

#endif // TPOPT_DIALECT_TP_TRANSFORMEROPS

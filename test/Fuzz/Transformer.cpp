// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The ops transformers are made of.

#include "Author.h"

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;

namespace {

void addEmbedding(Author &author) {
  Type element = author.element(Elements::Float);
  Value table =
      author.get({author.random.draw(1, 9), author.random.draw(1, 6)}, element);
  Value ids = author.pick(Elements::Index);
  Shape result(Author::shapeOf(ids));
  result.push_back(Author::shapeOf(table)[1]);
  if (ShapedType::getNumElements(result) > 4096)
    return;
  author.add(EmbeddingOp::create(author.builder, author.loc,
                                 author.type(result, element), table, ids));
}

/// Rows of equal elements have no variance: a tiny epsilon would make rounding
/// errors large.
APFloat epsilon(Author &author) {
  return APFloat(author.random.pick({0.01, 0.5}));
}

void addLayerNorm(Author &author) {
  Value x = author.pick(Elements::Float, /*minRank=*/1);
  Type element = Author::elementOf(x);
  int64_t width = Author::shapeOf(x).back();
  Value scale = author.get({width}, element),
        bias = author.get({width}, element);
  author.add(LayerNormOp::create(author.builder, author.loc, x.getType(), x,
                                 scale, bias, epsilon(author)),
             /*leavesIntegers=*/true);
}

void addRMSNorm(Author &author) {
  Value x = author.pick(Elements::Float, /*minRank=*/1);
  Value scale = author.get({Author::shapeOf(x).back()}, Author::elementOf(x));
  author.add(RMSNormOp::create(author.builder, author.loc, x.getType(), x,
                               scale, epsilon(author)),
             /*leavesIntegers=*/true);
}

void addSoftmax(Author &author) {
  Value x = author.pick(Elements::Float, /*minRank=*/1);
  author.add(
      SoftmaxOp::create(author.builder, author.loc, x.getType(), x,
                        author.random.draw(0, Author::shapeOf(x).size() - 1)),
      /*leavesIntegers=*/true);
}

void addRotary(Author &author) {
  Value x = author.pick(Elements::Float, /*minRank=*/3);
  ArrayRef<int64_t> shape = Author::shapeOf(x);
  Shape angles{shape[1], author.random.draw(0, shape.back() / 2)};
  if (author.random.percent(50))
    angles.insert(angles.begin(), shape[0]);
  Type element = author.random.percent(70) ? Author::elementOf(x)
                                           : author.element(Elements::Float);
  Value cos = author.get(angles, element), sin = author.get(angles, element);
  author.add(RotaryOp::create(author.builder, author.loc, x.getType(), x, cos,
                              sin, author.random.percent(50)));
}

/// What attention and its gradients take.
struct AttentionOperands {
  explicit AttentionOperands(Author &author) {
    auto size = [&](int64_t most) { return author.random.draw(1, most); };
    int64_t b = size(4), s = size(6), k = size(4), g = size(3), d = size(4),
            t = size(7), e = size(4);
    element = author.element(Elements::Float);
    wide = element.isF64() ? element : author.builder.getF32Type();
    query = author.get({b, s, k, g, d}, element);
    key = author.get({b, t, k, d}, element);
    value = author.get({b, t, k, e}, element);
    rows = {b, s, k, g};
    result = {b, s, k, g, e};
    if (author.random.percent(40))
      offset = author.get(author.random.percent(50) ? Shape{} : Shape{b},
                          author.element(Elements::Index));
    if (author.random.percent(40))
      lengths = author.get({b}, author.element(Elements::Index));
    if (author.random.percent(40))
      mask = author.get({b, s, t}, author.builder.getI1Type());
    if (author.random.percent(50))
      causal = author.builder.getUnitAttr();
    if (causal && author.random.percent(40))
      window = author.builder.getI64IntegerAttr(size(6));
    scale = author.builder.getF64FloatAttr(0.5);
  }

  Type element, wide;
  Shape rows, result;
  Value query, key, value, offset, lengths, mask;
  FloatAttr scale;
  UnitAttr causal;
  IntegerAttr window;
};

void addAttention(Author &author) {
  AttentionOperands in(author);
  Type logsumexp;
  if (author.random.percent(30))
    logsumexp = author.type(in.rows, in.wide);
  author.add(AttentionOp::create(
                 author.builder, author.loc, author.type(in.result, in.element),
                 logsumexp, in.query, in.key, in.value, in.offset, in.lengths,
                 in.mask, in.scale, in.causal, in.window),
             /*leavesIntegers=*/true);
}

template <typename OpT> void addAttentionGradient(Author &author) {
  AttentionOperands in(author);
  Value gradient = author.get(in.result, in.element),
        logsumexp = author.get(in.rows, in.wide),
        delta = author.get(in.rows, in.wide);
  SmallVector<Type> types{in.query.getType()};
  if (std::is_same_v<OpT, AttentionKeyValueGradientOp>)
    types = {in.key.getType(), in.value.getType()};
  author.add(OpT::create(author.builder, author.loc, TypeRange(types), in.query,
                         in.key, in.value, gradient, logsumexp, delta,
                         in.offset, in.lengths, in.mask, in.scale, in.causal,
                         in.window),
             /*leavesIntegers=*/true);
}

void addCrossEntropy(Author &author) {
  Value logits = author.pick(Elements::Float, /*minRank=*/1);
  ArrayRef<int64_t> rows = Author::shapeOf(logits).drop_back();
  Value labels = author.get(rows, author.element(Elements::Index));
  author.add(CrossEntropyOp::create(
                 author.builder, author.loc,
                 author.type(rows, Author::elementOf(logits)), logits, labels),
             /*leavesIntegers=*/true);
}

} // namespace

void tp::fuzz::addTransformerOps(Generators &generators) {
  generators["tp.embedding"] = addEmbedding;
  generators["tp.layer_norm"] = addLayerNorm;
  generators["tp.rms_norm"] = addRMSNorm;
  generators["tp.softmax"] = addSoftmax;
  generators["tp.rotary"] = addRotary;
  generators["tp.attention"] = addAttention;
  generators["tp.attention_query_gradient"] =
      addAttentionGradient<AttentionQueryGradientOp>;
  generators["tp.attention_key_value_gradient"] =
      addAttentionGradient<AttentionKeyValueGradientOp>;
  generators["tp.cross_entropy"] = addCrossEntropy;
}

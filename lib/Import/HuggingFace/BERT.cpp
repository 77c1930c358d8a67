// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// BERT (arXiv:1810.04805) as an encoder: a norm follows each residual sum, and
// every token attends to all tokens that are not padding.

#include "Families.h"
#include "Loss.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::hf;

namespace {
struct BERTConfig {
  int64_t layers, hidden, heads, head, ffn, vocab, types, positions;
  double epsilon;
  Activation activation;
  std::optional<int64_t> padding; ///< Lookups of this token add no gradient.
  bool isTied;                    ///< The head uses the embedding table.
};

class BERT {
public:
  BERT(ModelBuilder &builder, const BERTConfig &config)
      : b(builder), config(config) {}
  /// With `hasLoss`, the entry takes labels and returns the loss of the head
  /// that predicts masked tokens.
  void build(int64_t batch, int64_t sequence, bool hasLoss);

private:
  Value buildEmbeddings(Value tokens, Value types);
  Value buildHeads(StringRef name, Value x, ArrayRef<int64_t> heads);
  Value buildAttention(Value x, Value mask);
  Value buildLinear(Value x, int64_t in, int64_t out);
  /// The `output` module of a sublayer: adds the result of `dense` to the
  /// sublayer's input x, and normalizes the sum.
  Value buildResidual(Value x, llvm::function_ref<Value()> dense);
  Value buildHead(Value x);

  ModelBuilder &b;
  const BERTConfig &config;
  Value table; ///< The embeddings of tokens.
};
} // namespace

static BERTConfig readBERTConfig(Config &config) {
  BERTConfig result;
  result.hidden = config.size("hidden_size");
  result.layers = config.size("num_hidden_layers", std::nullopt, 4096);
  result.heads = config.size("num_attention_heads");
  if (result.hidden % result.heads != 0)
    config.error(ErrorCode::ContradictoryConfig, "num_attention_heads",
                 "is " + llvm::Twine(result.heads) +
                     ", which does not divide hidden_size, " +
                     llvm::Twine(result.hidden),
                 "write a divisor of the hidden size");
  result.head = result.hidden / result.heads;
  result.ffn = config.size("intermediate_size");
  result.vocab = config.size("vocab_size");
  result.types = config.size("type_vocab_size");
  result.positions = config.size("max_position_embeddings");
  result.epsilon = config.number("layer_norm_eps");
  result.activation = getActivation(config, "hidden_act");
  if (config.word("position_embedding_type", StringRef("absolute")) !=
      "absolute")
    config.error(ErrorCode::UnsupportedFeature, "position_embedding_type",
                 "is not `absolute`: relative positions are not supported",
                 "only absolute is supported");
  result.isTied = config.flag("tie_word_embeddings", true);
  config.requireFlag("is_decoder", false, "BERT is imported as an encoder");
  config.requireFlag("add_cross_attention", false,
                     "attention to an encoder is not supported");
  return result;
}

/// Returns x times a weight stored [out, in], plus a bias; both are those of
/// the module at the current path.
Value BERT::buildLinear(Value x, int64_t in, int64_t out) {
  Value y = b.einsum("bsi,io->bso", x,
                     b.weight("weight", Stored::linear({in}, {out})));
  return b.addBias(y, b.weight("bias", Stored({out})));
}

Value BERT::buildHeads(StringRef name, Value x, ArrayRef<int64_t> heads) {
  ModelBuilder::Scope scope(b, name);
  SmallVector<int64_t> outs(heads);
  outs.push_back(config.head);
  Value weight = b.weight("weight", Stored::linear({config.hidden}, outs));
  Value y = b.einsum(heads.size() == 2 ? "bsi,ikgd->bskgd" : "bsi,ikd->bskd", x,
                     weight);
  return b.addBias(y, b.weight("bias", Stored({config.hidden}).read(outs)));
}

Value BERT::buildResidual(Value x, llvm::function_ref<Value()> dense) {
  ModelBuilder::Scope output(b, "output");
  Value y;
  {
    ModelBuilder::Scope scope(b, "dense");
    y = dense();
  }
  Value sum = b.add(y, x);
  ModelBuilder::Scope scope(b, "LayerNorm");
  return b.layerNorm(sum, config.epsilon);
}

Value BERT::buildAttention(Value x, Value mask) {
  ModelBuilder::Scope scope(b, "attention");
  Value attended;
  {
    ModelBuilder::Scope self(b, "self");
    Value query = buildHeads("query", x, {config.heads, 1});
    Value key = buildHeads("key", x, {config.heads});
    Value value = buildHeads("value", x, {config.heads});
    attended = b.maskedAttention(query, key, value, mask,
                                 1 / std::sqrt(double(config.head)));
  }
  return buildResidual(x, [&] {
    Value weight =
        b.weight("weight", Stored::linear({config.heads, 1, config.head},
                                          {config.hidden}));
    return b.addBias(b.einsum("bskgd,kgdo->bso", attended, weight),
                     b.weight("bias", Stored({config.hidden})));
  });
}

Value BERT::buildEmbeddings(Value tokens, Value types) {
  ModelBuilder::Scope scope(b, "embeddings");
  auto lookUp = [&](StringRef name, int64_t rows, Value ids) {
    ModelBuilder::Scope scope(b, name);
    return b.embedding(b.weight("weight", Stored({rows, config.hidden})), ids);
  };
  Value positions = b.op<IotaOp>(b.tensor({getShape(tokens)[1]}, b.i32()), 0);
  Value x;
  {
    ModelBuilder::Scope words(b, "word_embeddings");
    table = b.weight("weight", Stored({config.vocab, config.hidden}));
    x = b.embedding(table, tokens, config.padding);
  }
  x = b.add(x, lookUp("token_type_embeddings", config.types, types));
  x = b.addBias(x, lookUp("position_embeddings", config.positions, positions));
  ModelBuilder::Scope norm(b, "LayerNorm");
  return b.layerNorm(x, config.epsilon);
}

/// Returns the logits [b,s,v] of the tokens, in the type wide().
Value BERT::buildHead(Value x) {
  ModelBuilder::Scope scope(b, "cls.predictions");
  {
    ModelBuilder::Scope transform(b, "transform");
    {
      ModelBuilder::Scope dense(b, "dense");
      x = b.activation(config.activation,
                       buildLinear(x, config.hidden, config.hidden));
    }
    ModelBuilder::Scope norm(b, "LayerNorm");
    x = b.layerNorm(x, config.epsilon);
  }
  Value head = table;
  if (!config.isTied) {
    ModelBuilder::Scope decoder(b, "decoder");
    head = b.weight("weight", Stored({config.vocab, config.hidden}));
  }
  Value bias = b.convert(b.weight("bias", Stored({config.vocab})), b.wide());
  return b.addBias(b.einsum("bsh,vh->bsv", x, head, b.wide()), bias);
}

void BERT::build(int64_t batch, int64_t sequence, bool hasLoss) {
  b.beginEntry("main");
  RankedTensorType ids = b.tensor({batch, sequence}, b.i32());
  Value tokens = b.input("tokens", ids);
  Value types = b.input("token_type_ids", ids);
  Value real = b.input("attention_mask", ids);
  Value labels = hasLoss ? b.input("labels", ids) : Value();
  Value x = buildEmbeddings(tokens, types);
  Value mask;
  {
    ModelBuilder::Scope scope(b, "attention_mask");
    mask = b.op<CompareOp>(b.tensor({batch, sequence}, b.i1()),
                           ComparePredicate::NE, real,
                           b.integer(0, {batch, sequence}));
    mask = b.broadcast(mask, {batch, sequence, sequence}, {0, 2});
  }
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    ModelBuilder::Scope scope(b, "encoder.layer." + llvm::Twine(layer));
    x = buildAttention(x, mask);
    Value inner;
    {
      ModelBuilder::Scope dense(b, "intermediate.dense");
      inner = b.activation(config.activation,
                           buildLinear(x, config.hidden, config.ffn));
    }
    x = buildResidual(
        x, [&] { return buildLinear(inner, config.ffn, config.hidden); });
  }
  if (hasLoss)
    return b.endEntry(buildLoss(b, buildHead(x), labels));
  b.endEntry({{"last_hidden_state", x}});
}

LogicalResult hf::buildBERT(Import &import) {
  BERTConfig config = readBERTConfig(import.config);
  const ImportOptions &options = import.options;
  using Phase = ImportOptions::Phase;
  bool trains = options.phase == Phase::Train;
  bool hasHead = import.architecture == "BertForMaskedLM";
  if ((options.phase != Phase::Prefill && !trains) || options.cache ||
      options.logits)
    import.config.error(ErrorCode::BadImportOption, "architectures",
                        "is an encoder, which supports only the phases prefill "
                        "and train, and neither cache= nor logits=",
                        "import with batch, sequence and dtype only");
  if (trains)
    config.padding = import.config.has("pad_token_id")
                         ? import.config.token("pad_token_id", config.vocab)
                         : 0;
  if (trains && !hasHead)
    import.config.error(ErrorCode::BadImportOption, "architectures",
                        "is an encoder without a head, so it has no loss",
                        "import BertForMaskedLM for phase=train");
  int64_t sequence =
      options.sequence.value_or(std::min(int64_t(512), config.positions));
  if (!import.config.failed() && sequence > config.positions)
    import.config.error(ErrorCode::BadImportOption, "max_position_embeddings",
                        "is " + llvm::Twine(config.positions) +
                            ", less than sequence=" + llvm::Twine(sequence),
                        "import with at most sequence=" +
                            llvm::Twine(config.positions));
  if (import.config.failed())
    return failure();
  if (trains)
    warnOfDropout(import.config,
                  {"hidden_dropout_prob", "attention_probs_dropout_prob"});
  else if (hasHead)
    emitWarning(import.config.getLoc("architectures"))
        << "the head that predicts masked tokens is left out: the result is "
           "the output of the encoder";
  ModelBuilder builder(import.module, import.element, import.checkpoint,
                       "bert.", /*isStored=*/hasHead);
  builder.setHead("cls.");
  BERT(builder, config).build(options.batch, sequence, trains);
  return failure(builder.failed());
}

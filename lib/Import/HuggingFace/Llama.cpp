// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Llama (arXiv:2302.13971, 2407.21783) and models with the same structure:
// TinyLlama, SmolLM2, Mistral with its attention window (arXiv:2310.06825), and
// Qwen2 with its biases (arXiv:2407.10671).

#include "Decoder.h"
#include "Families.h"
#include "Loss.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::hf;

namespace {
struct LlamaConfig {
  DecoderSizes sizes;
  int64_t ffn, positions;
  double epsilon;
  Activation activation;
  bool hasQKVBias, hasOutputBias, hasMLPBias, isTied;
  SmallVector<std::optional<int64_t>> windows; ///< Attention window per layer.
  SmallVector<double> frequencies;
};

/// Builds one entry.
class Llama {
public:
  Llama(ModelBuilder &builder, const LlamaConfig &config, const Entry &entry,
        int64_t batch)
      : b(builder), config(config), sizes(config.sizes),
        decoder(builder, config.sizes, entry, batch) {}
  void build();

private:
  void buildAngles();
  Value buildAttention(int64_t layer, Value x);
  Value buildMLP(Value x);
  Value buildHeads(StringRef name, Value x, ArrayRef<int64_t> heads,
                   bool hasBias);
  Value buildLinear(StringRef name, Value x, int64_t in, int64_t out);

  ModelBuilder &b;
  const LlamaConfig &config;
  const DecoderSizes &sizes;
  Decoder decoder;
  Value cos, sin;
};
} // namespace

//===----------------------------------------------------------------------===//
// The configuration
//===----------------------------------------------------------------------===//

static void readHeads(Config &config, LlamaConfig &result) {
  DecoderSizes &sizes = result.sizes;
  int64_t heads = config.size("num_attention_heads");
  sizes.kv = config.size("num_key_value_heads", heads);
  bool isWhole = sizes.hidden % heads == 0;
  if (!config.has("head_dim") && !isWhole)
    config.error(ErrorCode::ContradictoryConfig, "num_attention_heads",
                 "is " + llvm::Twine(heads) +
                     ", which does not divide hidden_size, " +
                     llvm::Twine(sizes.hidden),
                 "write head_dim, or heads that divide the hidden size");
  if (heads % sizes.kv != 0)
    config.error(ErrorCode::ContradictoryConfig, "num_key_value_heads",
                 "is " + llvm::Twine(sizes.kv) +
                     ", which does not divide num_attention_heads, " +
                     llvm::Twine(heads),
                 "write a divisor of the number of attention heads");
  sizes.group = heads / sizes.kv;
  if (config.failed())
    return;
  sizes.head = config.size("head_dim", sizes.hidden / heads);
  if (sizes.head % 2 != 0)
    config.error(
        ErrorCode::ContradictoryConfig,
        config.has("head_dim") ? "head_dim" : "num_attention_heads",
        "gives heads of " + llvm::Twine(sizes.head) +
            " features, but rotary embedding rotates pairs of features",
        "write an even head size");
}

/// Reads which layers attend to a window only.
static void readWindows(Config &config, StringRef architecture,
                        LlamaConfig &result) {
  bool isQwen = architecture == "Qwen2ForCausalLM";
  result.windows.resize(result.sizes.layers);
  bool hasWindow = isQwen ? config.flag("use_sliding_window", false)
                          : architecture == "MistralForCausalLM" &&
                                config.has("sliding_window");
  if (!hasWindow)
    return;
  int64_t window = config.size("sliding_window");
  // Qwen2's first layers attend to everything.
  int64_t first = isQwen ? config.size("max_window_layers") : 0;
  for (int64_t layer = first; layer < result.sizes.layers; ++layer)
    result.windows[layer] = window;
  if (!config.has("layer_types"))
    return;
  std::vector<std::string> types = config.words("layer_types");
  if (int64_t(types.size()) != result.sizes.layers) {
    config.error(ErrorCode::ContradictoryConfig, "layer_types",
                 "has " + llvm::Twine(types.size()) +
                     " entries, but num_hidden_layers is " +
                     llvm::Twine(result.sizes.layers),
                 "write one entry per layer");
    return;
  }
  for (auto [type, slot] : llvm::zip_equal(types, result.windows)) {
    if (type == "sliding_attention")
      slot = window;
    else if (type == "full_attention")
      slot.reset();
    else
      config.error(ErrorCode::UnsupportedFeature, "layer_types",
                   "has the unknown type `" + type + "`",
                   "supported values are full_attention and sliding_attention");
  }
}

static LlamaConfig readLlamaConfig(Config &config, StringRef architecture) {
  LlamaConfig result;
  bool isLlama = architecture == "LlamaForCausalLM";
  bool isQwen = architecture == "Qwen2ForCausalLM";
  result.sizes.hidden = config.size("hidden_size");
  result.sizes.layers = config.size("num_hidden_layers", std::nullopt, 4096);
  result.sizes.vocab = config.size("vocab_size");
  result.ffn = config.size("intermediate_size");
  result.positions = config.size("max_position_embeddings");
  result.epsilon = config.number("rms_norm_eps");
  result.activation = getActivation(config, "hidden_act");
  result.hasQKVBias =
      isQwen || (isLlama && config.flag("attention_bias", false));
  result.hasOutputBias = isLlama && result.hasQKVBias;
  result.hasMLPBias = isLlama && config.flag("mlp_bias", false);
  result.isTied = config.flag("tie_word_embeddings", false);
  if (config.number("partial_rotary_factor", 1.0) != 1.0)
    config.error(
        ErrorCode::UnsupportedFeature, "partial_rotary_factor",
        "is not 1: rotary embedding of only a part of a head is not supported",
        "only 1 is supported");
  readHeads(config, result);
  if (config.failed())
    return result;
  readWindows(config, architecture, result);
  result.frequencies = getRotaryFrequencies(config, result.sizes.head);
  return result;
}

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

void Llama::buildAngles() {
  ModelBuilder::Scope scope(b, "rotary");
  Value positions = b.convert(decoder.getPositions(), b.wide());
  RankedTensorType type =
      b.tensor({int64_t(config.frequencies.size())}, b.wide());
  auto numbers =
      llvm::map_to_vector(config.frequencies, [&](double x) -> Attribute {
        return FloatAttr::get(type.getElementType(), x);
      });
  Value frequencies =
      b.op<ConstantOp>(type, DenseElementsAttr::get(type, numbers));
  SmallVector<int64_t> shape{getShape(positions)[0], type.getDimSize(0)};
  Value angles =
      b.op<MulOp>(b.tensor(shape, b.wide()), b.broadcast(positions, shape, {0}),
                  b.broadcast(frequencies, shape, {1}));
  cos = b.op<CosOp>(angles.getType(), angles);
  sin = b.op<SinOp>(angles.getType(), angles);
}

/// Projects x [b, s, hidden] to [b, s, heads.., head].
Value Llama::buildHeads(StringRef name, Value x, ArrayRef<int64_t> heads,
                        bool hasBias) {
  ModelBuilder::Scope scope(b, name);
  SmallVector<int64_t> outs(heads);
  outs.push_back(sizes.head);
  Value weight = b.weight("weight", Stored::linear({sizes.hidden}, outs));
  Value y = b.einsum(heads.size() == 2 ? "bsi,ikgd->bskgd" : "bsi,ikd->bskd", x,
                     weight);
  if (!hasBias)
    return y;
  Stored bias({ShapedType::getNumElements(outs)});
  return b.addBias(y, b.weight("bias", bias.read(outs)));
}

Value Llama::buildAttention(int64_t layer, Value x) {
  ModelBuilder::Scope scope(b, "self_attn");
  Value query =
      buildHeads("q_proj", x, {sizes.kv, sizes.group}, config.hasQKVBias);
  Value key = buildHeads("k_proj", x, {sizes.kv}, config.hasQKVBias);
  Value value = buildHeads("v_proj", x, {sizes.kv}, config.hasQKVBias);
  query = b.op<RotaryOp>(query.getType(), query, cos, sin);
  key = b.op<RotaryOp>(key.getType(), key, cos, sin);
  Value attended =
      decoder.attend(layer, query, key, value,
                     1 / std::sqrt(double(sizes.head)), config.windows[layer]);
  ModelBuilder::Scope output(b, "o_proj");
  Value weight =
      b.weight("weight", Stored::linear({sizes.kv, sizes.group, sizes.head},
                                        {sizes.hidden}));
  Value y = b.einsum("bskgd,kgdo->bso", attended, weight);
  return config.hasOutputBias
             ? b.addBias(y, b.weight("bias", Stored({sizes.hidden})))
             : y;
}

Value Llama::buildLinear(StringRef name, Value x, int64_t in, int64_t out) {
  ModelBuilder::Scope scope(b, name);
  Value y = b.einsum("bsi,io->bso", x,
                     b.weight("weight", Stored::linear({in}, {out})));
  return config.hasMLPBias ? b.addBias(y, b.weight("bias", Stored({out}))) : y;
}

Value Llama::buildMLP(Value x) {
  ModelBuilder::Scope scope(b, "mlp");
  Value gate = buildLinear("gate_proj", x, sizes.hidden, config.ffn);
  Value up = buildLinear("up_proj", x, sizes.hidden, config.ffn);
  Value gated = b.op<GatedOp>(gate.getType(), config.activation, gate, up);
  return buildLinear("down_proj", gated, config.ffn, sizes.hidden);
}

void Llama::build() {
  auto norm = [&](StringRef name, Value x) {
    ModelBuilder::Scope scope(b, name);
    return b.rmsNorm(x, config.epsilon);
  };
  Stored table({sizes.vocab, sizes.hidden});
  Value embeddings, rows;
  {
    ModelBuilder::Scope model(b, "model");
    Value x;
    {
      ModelBuilder::Scope scope(b, "embed_tokens");
      embeddings = b.weight("weight", table);
      x = decoder.embedTokens(embeddings);
    }
    buildAngles();
    for (int64_t layer = 0; layer < sizes.layers; ++layer) {
      ModelBuilder::Scope scope(b, "layers." + llvm::Twine(layer));
      x = b.add(x, buildAttention(layer, norm("input_layernorm", x)));
      x = b.add(x, buildMLP(norm("post_attention_layernorm", x)));
    }
    rows = norm("norm", decoder.select(x));
  }
  ModelBuilder::Scope scope(b, "lm_head");
  decoder.finish(rows, config.isTied ? embeddings : b.weight("weight", table));
}

LogicalResult hf::buildLlama(Import &import) {
  LlamaConfig config = readLlamaConfig(import.config, import.architecture);
  if (import.options.phase == ImportOptions::Phase::Train)
    config.sizes.padding =
        import.config.token("pad_token_id", config.sizes.vocab);
  if (import.config.failed())
    return failure();
  ModelBuilder builder(import.module, import.element, import.checkpoint,
                       "model.", /*isStored=*/false);
  FailureOr<SmallVector<Entry>> entries =
      getEntries(import.options, import.config, "max_position_embeddings",
                 config.positions);
  if (failed(entries))
    return failure();
  if (import.options.phase == ImportOptions::Phase::Train)
    warnOfDropout(import.config, {"attention_dropout"});
  for (const Entry &entry : *entries)
    Llama(builder, config, entry, import.options.batch).build();
  return failure(builder.failed());
}

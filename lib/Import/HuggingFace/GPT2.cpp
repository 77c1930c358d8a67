// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPT-2: learned positions, fused query-key-value weights, a tied head. Its
// matrices are stored [in, out].

#include "Decoder.h"
#include "Families.h"
#include "Loss.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::hf;

namespace {
struct GPT2Config {
  DecoderSizes sizes;
  int64_t ffn, positions;
  double epsilon;
  Activation activation;
  bool isTied, isScaled, isScaledByLayer;
};

/// Builds one entry.
class GPT2 {
public:
  GPT2(ModelBuilder &builder, const GPT2Config &config, const Entry &entry,
       int64_t batch)
      : b(builder), config(config), sizes(config.sizes),
        decoder(builder, config.sizes, entry, batch) {}
  void build();

private:
  Value buildHeads(unsigned part, StringRef label, ArrayRef<int64_t> heads,
                   Value x);
  Value buildAttention(int64_t layer, Value x);
  Value buildLinear(StringRef name, Value x, int64_t in, int64_t out);
  Value buildMLP(Value x);

  ModelBuilder &b;
  const GPT2Config &config;
  const DecoderSizes &sizes;
  Decoder decoder;
};
} // namespace

static GPT2Config readGPT2Config(Config &config) {
  GPT2Config result;
  DecoderSizes &sizes = result.sizes;
  sizes.hidden = config.size("n_embd");
  sizes.layers = config.size("n_layer", std::nullopt, 4096);
  sizes.vocab = config.size("vocab_size");
  sizes.kv = config.size("n_head");
  sizes.group = 1;
  if (sizes.hidden % sizes.kv != 0)
    config.error(ErrorCode::ContradictoryConfig, "n_head",
                 "is " + llvm::Twine(sizes.kv) +
                     ", which does not divide n_embd, " +
                     llvm::Twine(sizes.hidden),
                 "write a divisor of the hidden size");
  sizes.head = sizes.hidden / sizes.kv;
  result.ffn = config.size("n_inner", 4 * sizes.hidden);
  result.positions = config.size("n_positions");
  result.epsilon = config.number("layer_norm_epsilon");
  result.activation = getActivation(config, "activation_function");
  result.isTied = config.flag("tie_word_embeddings", true);
  result.isScaled = config.flag("scale_attn_weights", true);
  result.isScaledByLayer =
      config.flag("scale_attn_by_inverse_layer_idx", false);
  config.requireFlag("add_cross_attention", false,
                     "attention to an encoder is not supported");
  return result;
}

/// Multiplies x by part `part` of the fused weight, which is stored [hidden, 3
/// * hidden].
Value GPT2::buildHeads(unsigned part, StringRef label, ArrayRef<int64_t> heads,
                       Value x) {
  SmallVector<int64_t> view(heads);
  view.push_back(sizes.head);
  SmallVector<int64_t> stored{sizes.hidden};
  llvm::append_range(stored, view);
  int64_t n = sizes.hidden;
  Value weight = b.weight(
      "weight", Stored({n, 3 * n}).part(1, part * n, n, label).read(stored));
  Value y = b.einsum(heads.size() == 2 ? "bsi,ikgd->bskgd" : "bsi,ikd->bskd", x,
                     weight);
  return b.addBias(
      y,
      b.weight("bias", Stored({3 * n}).part(0, part * n, n, label).read(view)));
}

Value GPT2::buildAttention(int64_t layer, Value x) {
  ModelBuilder::Scope scope(b, "attn");
  Value query, key, value;
  {
    ModelBuilder::Scope fused(b, "c_attn");
    query = buildHeads(0, "q", {sizes.kv, sizes.group}, x);
    key = buildHeads(1, "k", {sizes.kv}, x);
    value = buildHeads(2, "v", {sizes.kv}, x);
  }
  double scale = config.isScaled ? 1 / std::sqrt(double(sizes.head)) : 1;
  if (config.isScaledByLayer)
    scale /= double(layer + 1);
  Value attended = decoder.attend(layer, query, key, value, scale);
  ModelBuilder::Scope output(b, "c_proj");
  Value weight = b.weight(
      "weight", Stored({sizes.hidden, sizes.hidden})
                    .read({sizes.kv, sizes.group, sizes.head, sizes.hidden}));
  return b.addBias(b.einsum("bskgd,kgdo->bso", attended, weight),
                   b.weight("bias", Stored({sizes.hidden})));
}

Value GPT2::buildLinear(StringRef name, Value x, int64_t in, int64_t out) {
  ModelBuilder::Scope scope(b, name);
  Value y = b.einsum("bsi,io->bso", x, b.weight("weight", Stored({in, out})));
  return b.addBias(y, b.weight("bias", Stored({out})));
}

Value GPT2::buildMLP(Value x) {
  ModelBuilder::Scope scope(b, "mlp");
  Value inner = buildLinear("c_fc", x, sizes.hidden, config.ffn);
  return buildLinear("c_proj", b.activation(config.activation, inner),
                     config.ffn, sizes.hidden);
}

void GPT2::build() {
  auto norm = [&](StringRef name, Value x) {
    ModelBuilder::Scope scope(b, name);
    return b.layerNorm(x, config.epsilon);
  };
  auto table = [&](StringRef name, int64_t rows) {
    ModelBuilder::Scope scope(b, name);
    return b.weight("weight", Stored({rows, sizes.hidden}));
  };
  Value embeddings = table("wte", sizes.vocab);
  Value places = table("wpe", config.positions);
  Value x;
  {
    ModelBuilder::Scope scope(b, "wte");
    x = decoder.embedTokens(embeddings);
  }
  {
    ModelBuilder::Scope scope(b, "wpe");
    x = b.addBias(x, b.embedding(places, decoder.getPositions()));
  }
  for (int64_t layer = 0; layer < sizes.layers; ++layer) {
    ModelBuilder::Scope scope(b, "h." + llvm::Twine(layer));
    x = b.add(x, buildAttention(layer, norm("ln_1", x)));
    x = b.add(x, buildMLP(norm("ln_2", x)));
  }
  Value rows = norm("ln_f", decoder.select(x));
  Value head = config.isTied ? embeddings : table("lm_head", sizes.vocab);
  ModelBuilder::Scope scope(b, "lm_head");
  decoder.finish(rows, head);
}

LogicalResult hf::buildGPT2(Import &import) {
  GPT2Config config = readGPT2Config(import.config);
  if (import.config.failed())
    return failure();
  ModelBuilder builder(import.module, import.element, import.checkpoint,
                       "transformer.", /*isStored=*/false);
  FailureOr<SmallVector<Entry>> entries = getEntries(
      import.options, import.config, "n_positions", config.positions);
  if (failed(entries))
    return failure();
  if (import.options.phase == ImportOptions::Phase::Train)
    warnOfDropout(import.config, {"attn_pdrop", "embd_pdrop", "resid_pdrop"});
  for (const Entry &entry : *entries)
    GPT2(builder, config, entry, import.options.batch).build();
  return failure(builder.failed());
}

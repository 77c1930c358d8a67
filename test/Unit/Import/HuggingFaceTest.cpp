// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// No configuration, however cut or bent, does more than give an error.

#include "lib/Import/HuggingFace/HuggingFace.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

using namespace llvm;
using namespace tp;

namespace {
/// A folder with a config.json to write.
class HuggingFace : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("tp-opt-config", folder));
    file = folder;
    sys::path::append(file, "config.json");
  }
  void TearDown() override { sys::fs::remove_directories(folder); }

  /// Whether `text` is imported. Failing, it must say why, with a code.
  bool import(StringRef text) {
    std::error_code error;
    raw_fd_ostream(file, error) << text;
    EXPECT_FALSE(error);
    mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
    unsigned errors = 0;
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
          EXPECT_TRUE(StringRef(diagnostic.str()).starts_with("[TP05") ||
                      diagnostic.getSeverity() !=
                          mlir::DiagnosticSeverity::Error)
              << diagnostic.str();
        });
    bool imported = bool(importHuggingFace(&context, folder, {}));
    EXPECT_EQ(imported, errors == 0) << text.str();
    return imported;
  }

  SmallString<64> folder, file;
};
} // namespace

TEST_P(HuggingFace, EveryPrefix) {
  StringRef text = GetParam();
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_FALSE(import(text.take_front(length)));
  EXPECT_TRUE(import(text));
}

TEST_P(HuggingFace, EveryFieldBent) {
  Expected<json::Value> config = json::parse(GetParam());
  ASSERT_TRUE(bool(config));
  const json::Object fields = *config->getAsObject();
  for (const auto &[name, old] : fields)
    for (const char *value :
         {"null", "true", "false", "0", "-1", "1", "3", "7", "2.5", "1e300",
          "9223372036854775807", "\"\"", "\"x\"", "[]", "{}", "[[1]]"}) {
      json::Object bent = fields;
      bent[name] = cantFail(json::parse(value));
      std::string text;
      raw_string_ostream(text) << json::Value(std::move(bent));
      import(text);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Families, HuggingFace,
    ::testing::Values(
        R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
            "hidden_size": 12, "intermediate_size": 10, "num_hidden_layers": 2,
            "num_attention_heads": 6, "num_key_value_heads": 3, "vocab_size": 9,
            "max_position_embeddings": 16, "rms_norm_eps": 1e-5,
            "hidden_act": "silu", "head_dim": 4, "rope_theta": 100,
            "rope_scaling": {"rope_type": "llama3", "factor": 2,
              "low_freq_factor": 1, "high_freq_factor": 4,
              "original_max_position_embeddings": 8},
            "attention_bias": true, "mlp_bias": true,
            "tie_word_embeddings": true})",
        R"({"architectures": ["Qwen2ForCausalLM"], "hidden_size": 12,
            "intermediate_size": 10, "num_hidden_layers": 2,
            "num_attention_heads": 6, "num_key_value_heads": 3, "vocab_size": 9,
            "max_position_embeddings": 16, "rms_norm_eps": 1e-5,
            "hidden_act": "silu", "use_sliding_window": true,
            "sliding_window": 4, "max_window_layers": 1,
            "layer_types": ["full_attention", "sliding_attention"]})",
        R"({"architectures": ["GPT2LMHeadModel"], "n_embd": 12, "n_head": 3,
            "n_layer": 2, "n_positions": 16, "vocab_size": 9, "n_inner": 10,
            "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new",
            "scale_attn_weights": true, "tie_word_embeddings": false})",
        R"({"architectures": ["BertModel"], "hidden_size": 12,
            "intermediate_size": 10, "num_hidden_layers": 2,
            "num_attention_heads": 3, "vocab_size": 9, "type_vocab_size": 2,
            "max_position_embeddings": 16, "layer_norm_eps": 1e-5,
            "hidden_act": "gelu", "position_embedding_type": "absolute"})"));

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Rotary frequencies and the ways they are stretched for longer contexts.

#include "Families.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::hf;

static constexpr double kTwoPi = 6.283185307179586476925;

/// The scaling of Llama 3.1: long waves are stretched, short ones are kept, and
/// those in between are interpolated smoothly.
static void scaleLlama3(Config scaling, MutableArrayRef<double> frequencies) {
  double factor = scaling.number("factor");
  double low = scaling.number("low_freq_factor");
  double high = scaling.number("high_freq_factor");
  double context = scaling.size("original_max_position_embeddings");
  if (scaling.failed())
    return;
  if (high <= low) {
    scaling.error(ErrorCode::ContradictoryConfig, "high_freq_factor",
                  "is not above low_freq_factor",
                  "write low_freq_factor < high_freq_factor");
    return;
  }
  for (double &frequency : frequencies) {
    double waves = context * frequency / kTwoPi;
    double keep = std::clamp((waves - low) / (high - low), 0.0, 1.0);
    frequency = (1 - keep) * frequency / factor + keep * frequency;
  }
}

SmallVector<double> hf::getRotaryFrequencies(Config &config, int64_t head) {
  // Since transformers 5, `rope_parameters` holds the contents of both
  // `rope_theta` and `rope_scaling`.
  StringRef field =
      config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  std::optional<Config> scaling;
  if (config.has(field))
    scaling = config.object(field);
  bool isInside = scaling && scaling->has("rope_theta");
  double theta = (isInside ? *scaling : config).number("rope_theta", 10000.0);
  SmallVector<double> frequencies(head / 2);
  for (auto [i, frequency] : llvm::enumerate(frequencies))
    frequency = std::pow(theta, -2.0 * double(i) / double(head));

  // The field `rope_type` used to be called `type`.
  StringRef typeField =
      scaling && scaling->has("type") && !scaling->has("rope_type")
          ? "type"
          : "rope_type";
  std::string type =
      scaling ? scaling->word(typeField, StringRef("default")) : "default";
  if (type == "linear") {
    double factor = scaling->number("factor");
    for (double &frequency : frequencies)
      frequency /= factor;
  } else if (type == "llama3") {
    scaleLlama3(*scaling, frequencies);
  } else if (type != "default" && type != "dynamic") {
    // `dynamic` changes angles only at positions beyond
    // max_position_embeddings, and no entry has such positions.
    scaling->error(ErrorCode::UnsupportedFeature, typeField,
                   "is `" + type + "`, which is not supported",
                   "supported values are default, linear, dynamic and llama3");
  }
  return frequencies;
}

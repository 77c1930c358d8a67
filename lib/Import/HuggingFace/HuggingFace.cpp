// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Finds the family of a model and builds it.

#include "lib/Import/HuggingFace/HuggingFace.h"

#include "Families.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;
using namespace tp;
using namespace tp::hf;

namespace {
/// A model class that config.json may name.
struct Architecture {
  StringRef name;
  StringRef modelType;
  LogicalResult (*build)(Import &import);
};
} // namespace

static constexpr Architecture kArchitectures[] = {
    {"LlamaForCausalLM", "llama", buildLlama},
    {"MistralForCausalLM", "mistral", buildLlama},
    {"Qwen2ForCausalLM", "qwen2", buildLlama},
    {"GPT2LMHeadModel", "gpt2", buildGPT2},
    {"BertModel", "bert", buildBERT},
    {"BertForMaskedLM", "bert", buildBERT},
};

using DType = ImportOptions::DType;

static Type getElement(DType type, MLIRContext *context) {
  switch (type) {
  case DType::F64:
    return Float64Type::get(context);
  case DType::F32:
    return Float32Type::get(context);
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  }
  llvm_unreachable("every type is handled");
}

/// Returns the type of weights and activations if options give none: the type
/// of the stored weights if there are any, else the type that config.json
/// gives. Reports the type if it is not f32.
static DType getOwnType(Config &config, const Checkpoint *checkpoint) {
  // transformers 5 writes `dtype`, older versions `torch_dtype`.
  StringRef field = config.has("torch_dtype") ? "torch_dtype" : "dtype";
  std::string word = checkpoint ? checkpoint->getMainType().lower()
                                : config.word(field, "float32");
  auto type = llvm::StringSwitch<DType>(word)
                  .Cases({"bf16", "bfloat16"}, DType::BF16)
                  .Cases({"f16", "float16"}, DType::F16)
                  .Cases({"f64", "float64"}, DType::F64)
                  .Default(DType::F32);
  if (type == DType::F32)
    return type;
  Location loc = config.getLoc(checkpoint ? "architectures" : field);
  emitRemark(loc) << "weights and activations are "
                  << llvm::to_string(getElement(type, loc.getContext()))
                  << ", as in the checkpoint; write dtype=f32 to convert them";
  return type;
}

Activation hf::getActivation(Config &config, StringRef field) {
  std::string word = config.word(field);
  if (word == "silu" || word == "swish")
    return Activation::Silu;
  if (word == "gelu")
    return Activation::Gelu;
  if (word == "gelu_new" || word == "gelu_pytorch_tanh")
    return Activation::GeluTanh;
  if (word == "relu")
    return Activation::Relu;
  // If the field is missing, that has been reported already.
  if (config.has(field) && !word.empty())
    config.error(
        ErrorCode::UnsupportedFeature, field,
        "is `" + word + "`, which is not supported",
        "supported values are silu, gelu, gelu_new, gelu_pytorch_tanh and "
        "relu");
  return Activation::Silu;
}

/// Returns the architecture that the config names; null after an error.
static const Architecture *getArchitecture(Config &config) {
  std::vector<std::string> names = config.words("architectures");
  if (config.failed())
    return nullptr;
  const Architecture *found =
      names.size() == 1 ? llvm::find_if(kArchitectures,
                                        [&](const Architecture &architecture) {
                                          return architecture.name == names[0];
                                        })
                        : std::end(kArchitectures);
  if (found == std::end(kArchitectures)) {
    std::string known;
    for (const Architecture &architecture : kArchitectures)
      known += (known.empty() ? "" : ", ") + architecture.name.str();
    config.error(
        ErrorCode::UnknownArchitecture, "architectures",
        names.size() == 1
            ? "is " + names[0] + ", which the importer does not know"
            : "names " + std::to_string(names.size()) +
                  " model classes, not one",
        "known architectures are " + known +
            "; export a PyTorch module of any other architecture as StableHLO, "
            "with tp_export.export_torch from tools/export");
    return nullptr;
  }
  std::string type = config.word("model_type", found->modelType);
  if (type != found->modelType)
    config.error(ErrorCode::ContradictoryConfig, "model_type",
                 "is `" + type + "`, but " + found->name + " is of type `" +
                     found->modelType + "`",
                 "write the model_type that belongs to the architecture");
  if (config.has("quantization_config"))
    config.error(ErrorCode::UnsupportedFeature, "quantization_config",
                 "says that weights are quantised, which is not supported",
                 "import the model as it was before quantisation");
  return config.failed() ? nullptr : found;
}

OwningOpRef<ModuleOp> tp::importHuggingFace(MLIRContext *context,
                                            StringRef directory,
                                            const ImportOptions &options) {
  context->loadDialect<TPDialect, func::FuncDialect>();
  FailureOr<Config> config = Config::load(context, directory);
  if (failed(config))
    return {};
  const Architecture *architecture = getArchitecture(*config);
  if (!architecture)
    return {};
  FailureOr<std::optional<Checkpoint>> checkpoint =
      Checkpoint::load(context, directory);
  if (failed(checkpoint))
    return {};
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(config->getLoc("architectures"));
  Checkpoint *weights = *checkpoint ? &**checkpoint : nullptr;
  DType type = options.dtype ? *options.dtype : getOwnType(*config, weights);
  if (config->failed())
    return {};
  Import import{*module, *config, architecture->name.str(),
                weights, options, getElement(type, context)};
  if (failed(architecture->build(import)) || failed(verify(*module)))
    return {};
  if (weights)
    weights->warnOfUnused(context);
  return module;
}

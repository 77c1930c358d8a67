// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Imports models as Hugging Face publishes them, from `config.json`
/// alone.
///
/// A folder with this config.json
///
///     {"architectures": ["LlamaForCausalLM"], "hidden_size": 576,
///      "num_attention_heads": 9, "num_key_value_heads": 3, ...}
///
/// becomes, with `phase=decode`,
///
///     func.func @main(%token: tensor<1x1xi32> {tp.name = "token"},
///         %position: tensor<i32> {tp.name = "position"},
///         %k0: tensor<1x2048x3x64xf32> {tp.name = "cache.k.0",
///                                       tp.donated = 1}, ..,
///         %wq: tensor<576x3x3x64xf32> {
///             tp.name = "model.layers.0.self_attn.q_proj.weight",
///             tp.source = #tp.source<..>}, ..)
///         -> (tensor<1x1x49152xf32> {tp.name = "logits"},
///             tensor<1x2048x3x64xf32> {tp.name = "cache.k.0"}, ..)
///
/// **Entries.** `prefill` makes @main(tokens [b,s], weights) -> logits [b,s,v];
/// with `cache` it also takes and returns caches. `decode` makes the entry
/// above. `generate` makes @prefill(tokens, length, caches, weights) and
/// @decode(token, position, caches, weights), which both return the caches and
/// the logits [b,v] of the last real token; arguments with the same `tp.name`
/// are the same tensor. `length` and `position` are scalars: all sequences of a
/// batch are at the same position. `train` makes @main(tokens, labels [b,s],
/// weights) -> loss, label_count: the mean cross entropy of predicting each
/// next token, over the labels that are not -100, and the number of these
/// labels. For an encoder, `prefill` makes @main(tokens, token_types,
/// attention_mask, weights). `train` needs a model with the head that predicts
/// masked tokens; there, each label is for the token at the label's own
/// position.
///
/// **Weights** are arguments in the shape that the computation wants, with
/// heads as dimensions: wq [hidden, kv, group, head], wk and wv [hidden, kv,
/// head], wo [kv, group, head, hidden], matrices [in, out], embeddings and
/// output heads [vocab, hidden]. `tp.name` is the name of the stored tensor, or
/// `h.0.attn.c_attn.weight#q` for a part of a tensor; `tp.source` says which
/// part of the stored tensor is read, and how it is transposed. A tied head is
/// one argument with two uses.
///
/// **Families.** Llama (also Mistral with its window and Qwen2 with its
/// biases), GPT-2, BERT. Rotary angles are computed once per entry. Weights and
/// activations have the type that the option `bf16`, `f16` or `f64` gives, or
/// the checkpoint's type without such an option. Norms, softmax, rotary, logits
/// and the loss are f32, or f64 in a model of f64.
///
/// **Locations** are the paths of the modules, `layers.0.self_attn.q_proj`.
///
/// **Errors** name file, line, field, reason and remedy. A feature that changes
/// the meaning of the model and is not supported is an error; it is never
/// ignored. If `model.safetensors` (or its index) is next to config.json, its
/// headers are read, and it must have every weight, in the expected shape.

#ifndef TPOPT_IMPORT_HUGGINGFACE_HUGGINGFACE_H
#define TPOPT_IMPORT_HUGGINGFACE_HUGGINGFACE_H

#include "tpopt/Import/Import.h"

namespace tp {

/// Builds the model of `directory`/config.json. Null after an error.
mlir::OwningOpRef<mlir::ModuleOp>
importHuggingFace(mlir::MLIRContext *context, llvm::StringRef directory,
                  const ImportOptions &options);

} // namespace tp

#endif // TPOPT_IMPORT_HUGGINGFACE_HUGGINGFACE_H

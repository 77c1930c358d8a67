// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Importing models: which program to build, and from which source.
///
/// `tp-opt --tp-import=hf:DIR --tp-import-options="phase=generate batch=1"`
/// calls importModel("hf:DIR", ..) with parsed options. A source is written
/// KIND:PLACE; `hf` is a model folder in the format of Hugging Face
/// (lib/Import/HuggingFace/HuggingFace.h).
///
/// Options are words `key=value` separated by blanks:
///
/// | key | values | default |
/// | --- | --- | --- |
/// | `phase` | `prefill`: a prompt; `decode`: one token; `generate`: both; `train`: a loss | `prefill` |
/// | `batch` | sequences computed together | 1 |
/// | `sequence` | tokens of the prompt | 512, or all positions if fewer |
/// | `cache` | positions a KV cache holds | 2048, or all positions if fewer |
/// | `dtype` | `f64`, `f32`, `bf16`, `f16`: weights and activations | the checkpoint's, else config.json's, else `f32` |
/// | `logits` | `all` positions or the `last` one | `all`; `last` for `generate` |
///
/// Errors are TP05xx diagnostics of the context; the result is then null.

#ifndef TPOPT_IMPORT_IMPORT_H
#define TPOPT_IMPORT_IMPORT_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <optional>

namespace tp {

struct ImportOptions {
  enum class Phase { Prefill, Decode, Generate, Train };
  enum class Logits { Last, All };
  enum class DType { F64, F32, BF16, F16 };

  Phase phase = Phase::Prefill;
  int64_t batch = 1;
  std::optional<int64_t> sequence;
  std::optional<int64_t> cache;
  std::optional<DType> dtype;
  std::optional<Logits> logits;

  /// Sizes in options and models are at most this, so that no product of a few
  /// of them overflows.
  static constexpr int64_t kMaxSize = int64_t(1) << 24;

  /// Parses "phase=decode cache=2048". Unknown words, ill-formed values and
  /// contradictions are errors that point at a position in `text`.
  static mlir::FailureOr<ImportOptions> parse(llvm::StringRef text,
                                              mlir::MLIRContext *context);
};

/// Imports `source`, written KIND:PLACE.
mlir::OwningOpRef<mlir::ModuleOp> importModel(llvm::StringRef source,
                                              const ImportOptions &options,
                                              mlir::MLIRContext *context);

} // namespace tp

#endif // TPOPT_IMPORT_IMPORT_H

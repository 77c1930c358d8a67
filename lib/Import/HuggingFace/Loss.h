// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The loss of a language model: the mean cross entropy over the tokens that
// have a label, as in `ForCausalLMLoss` and `ForMaskedLMLoss` of transformers.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H

#include "Config.h"
#include "ModelBuilder.h"

namespace tp::hf {

/// The results of an entry of `phase=train`: `loss`, the mean over all labels
/// except -100, and `label_count`, the number of these labels. Both have the
/// element type of the logits [b,s,v]; labels are i32 [b,s].
llvm::SmallVector<std::pair<std::string, mlir::Value>>
buildLoss(ModelBuilder &builder, mlir::Value logits, mlir::Value labels);

/// Returns the labels of a causal model: the label of each position is the next
/// token. The last position has no label.
mlir::Value shiftLabels(ModelBuilder &builder, mlir::Value labels);

/// Warns about those of `fields` that ask for dropout, which is not supported.
void warnOfDropout(Config &config, llvm::ArrayRef<llvm::StringRef> fields);

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H

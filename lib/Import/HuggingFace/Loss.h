// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a language model is trained by: the mean of the cross entropy over the
// tokens that have a label, as `ForCausalLMLoss` and `ForMaskedLMLoss` of
// transformers.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H

#include "Config.h"
#include "ModelBuilder.h"

namespace tp::hf {

/// The results of an entry of `phase=train`: `loss`, the mean over all labels
/// but -100, and `label_count`, how many these are. Both have the type of the
/// logits [b,s,v]; labels are i32 [b,s].
llvm::SmallVector<std::pair<std::string, mlir::Value>>
buildLoss(ModelBuilder &builder, mlir::Value logits, mlir::Value labels);

/// The label of each position as a causal model wants it: that of the next
/// token. The last position has none.
mlir::Value shiftLabels(ModelBuilder &builder, mlir::Value labels);

/// Says which of `fields` ask for dropout, which is left out.
void warnOfDropout(Config &config, llvm::ArrayRef<llvm::StringRef> fields);

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_LOSS_H

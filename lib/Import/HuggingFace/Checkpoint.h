// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The contents of the safetensors files next to a config.json, as their headers
// describe them.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_CHECKPOINT_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_CHECKPOINT_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <optional>

namespace tp::hf {

/// The headers of `model.safetensors`, or of the files that
/// `model.safetensors.index.json` lists. A safetensors file consists of the
/// length of its header in eight bytes, little-endian; the header, a JSON
/// object
///
///     {"wte.weight": {"dtype": "F32", "shape": [50257, 768],
///                     "data_offsets": [0, 154389504]}, ..}
///
/// and the data. Headers are not trusted: lengths and offsets must be within
/// the file, tensors must not overlap, and a tensor's shape must match its
/// number of bytes.
class Checkpoint {
public:
  struct Tensor {
    std::string type;
    llvm::SmallVector<int64_t> shape;
    std::string file;
  };

  /// Returns nullopt if there are no weights in `directory`, failure after an
  /// error.
  static mlir::FailureOr<std::optional<Checkpoint>>
  load(mlir::MLIRContext *context, llvm::StringRef directory);

  /// Returns the name that tensor `name` has in this checkpoint: models are
  /// saved with or without the prefix of their base model, "h.0.." or
  /// "transformer.h.0..".
  std::string resolve(llvm::StringRef name, llvm::StringRef prefix) const;
  /// Marks the tensor as used. Emits an error and fails unless the checkpoint
  /// has the tensor, in this shape and in a type from which weights can be
  /// converted.
  mlir::LogicalResult take(mlir::MLIRContext *context, llvm::StringRef name,
                           llvm::ArrayRef<int64_t> shape);
  /// Returns the most common type, counted by elements.
  llvm::StringRef getMainType() const;
  /// Warns of tensors that were never passed to take().
  void warnOfUnused(mlir::MLIRContext *context) const;

private:
  llvm::StringMap<Tensor> tensors;
  llvm::StringSet<> taken;
  std::string source; ///< The safetensors file, or the index.
};

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_CHECKPOINT_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads and writes the interpreter's tensors in safetensors files.

#ifndef TPOPT_PASSES_VERIFY_TENSORFILE_H
#define TPOPT_PASSES_VERIFY_TENSORFILE_H

#include "lib/Interpreter/DenseEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace tp {

/// Converts stored elements, which are little-endian, to those of the
/// interpreter.
TensorValue decodeTensor(mlir::RankedTensorType type, llvm::StringRef bytes);

/// Writes tensors under the given names, which must be distinct. Emits errors
/// at `function`.
mlir::LogicalResult writeTensorFile(mlir::func::FuncOp function,
                                    llvm::StringRef path,
                                    llvm::ArrayRef<std::string> names,
                                    llvm::ArrayRef<TensorValue> tensors);

/// The names that a function's arguments and results have in files.
llvm::SmallVector<std::string> getInputNames(mlir::func::FuncOp function);
llvm::SmallVector<std::string> getOutputNames(mlir::func::FuncOp function);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_TENSORFILE_H

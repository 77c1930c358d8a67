// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What sorts compare on a GPU: of any type, unsigned numbers. The one of what
// comes first is less; equal elements have equal ones, and differ in their
// words.

#ifndef TPOPT_LIB_CODEGEN_SORTKEYS_H
#define TPOPT_LIB_CODEGEN_SORTKEYS_H

#include "GpuFunction.h"

namespace tp::codegen {

class SortKeys {
public:
  SortKeys(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
           bool isDescending);

  /// What elements are in memory, as integers: i8 for i1.
  mlir::IntegerType getStored() const { return stored; }
  int64_t getWidth() const { return stored.getWidth(); }
  /// The key of an element that is loaded as an integer.
  mlir::Value getKey(mlir::Value bits);
  /// The key and, below it, an index in i64, as a word of `width`.
  mlir::Value getWord(mlir::Value bits, mlir::Value index, int64_t width);
  mlir::Value getIndex(mlir::Value word); ///< i64

private:
  mlir::Value number(const llvm::APInt &value);
  mlir::Value resize(mlir::Value value, unsigned width);
  /// Of a float, a signed integer in the order of floats.
  mlir::Value order(mlir::Value bits, mlir::FloatType type);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
  mlir::IntegerType stored;
  bool isDescending;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SORTKEYS_H

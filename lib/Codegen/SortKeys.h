// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sorts on a GPU compare keys. The key of an element of any type is an unsigned
// number: an element that comes first has the smaller key. Equal elements have
// equal keys. Sorts that must tell them apart compare *words*, which also
// contain the element's index.

#ifndef TPOPT_LIB_CODEGEN_SORTKEYS_H
#define TPOPT_LIB_CODEGEN_SORTKEYS_H

#include "GpuFunction.h"

namespace tp::codegen {

class SortKeys {
public:
  SortKeys(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type element,
           bool isDescending);

  /// The type in which elements are stored, as integers: i8 for i1.
  mlir::IntegerType getStored() const { return stored; }
  int64_t getWidth() const { return stored.getWidth(); }
  /// The key of an element that has been loaded as an integer.
  mlir::Value getKey(mlir::Value bits);
  /// A word of `width` bits, with the key in the upper bits and the index in
  /// the lower ones. `index` is passed as an i64.
  mlir::Value getWord(mlir::Value bits, mlir::Value index, int64_t width);
  mlir::Value getIndex(mlir::Value word); ///< i64

private:
  mlir::Value number(const llvm::APInt &value);
  mlir::Value resize(mlir::Value value, unsigned width);
  /// Maps the bits of a float to a signed integer that has the order of floats.
  mlir::Value order(mlir::Value bits, mlir::FloatType type);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type element;
  mlir::IntegerType stored;
  bool isDescending;
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SORTKEYS_H

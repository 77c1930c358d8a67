// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Custom assembly directives that the project's dialects share.

#ifndef TPOPT_DIALECTS_SPMD_DIRECTIVES_H
#define TPOPT_DIALECTS_SPMD_DIRECTIVES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"

namespace tp {

/// Parses an i64 attribute without its type.
inline mlir::ParseResult parsePlain(mlir::OpAsmParser &parser,
                                    mlir::IntegerAttr &value) {
  int64_t number;
  if (parser.parseInteger(number))
    return mlir::failure();
  value = parser.getBuilder().getI64IntegerAttr(number);
  return mlir::success();
}

inline void printPlain(mlir::OpAsmPrinter &printer, mlir::Operation *,
                       mlir::IntegerAttr value) {
  printer << value.getInt();
}

/// Parses an f64 attribute without its type.
inline mlir::ParseResult parseReal(mlir::OpAsmParser &parser,
                                   mlir::FloatAttr &value) {
  double number;
  if (parser.parseFloat(number))
    return mlir::failure();
  value = parser.getBuilder().getF64FloatAttr(number);
  return mlir::success();
}

inline void printReal(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      mlir::FloatAttr value) {
  printer.printFloat(value.getValue());
}

/// Parses a string attribute without its quotes.
inline mlir::ParseResult parseWord(mlir::OpAsmParser &parser,
                                   mlir::StringAttr &value) {
  llvm::StringRef word;
  if (parser.parseKeyword(&word))
    return mlir::failure();
  value = parser.getBuilder().getStringAttr(word);
  return mlir::success();
}

inline void printWord(mlir::OpAsmPrinter &printer, mlir::Operation *,
                      mlir::StringAttr value) {
  printer << value.getValue();
}

/// Parses the types of two operands and a result: a single type if they are
/// equal, else a function type.
inline mlir::ParseResult parseEqualTypes(mlir::OpAsmParser &parser,
                                         mlir::Type &lhs, mlir::Type &rhs,
                                         mlir::Type &result) {
  if (mlir::failed(parser.parseOptionalLParen())) {
    if (parser.parseType(result))
      return mlir::failure();
    lhs = rhs = result;
    return mlir::success();
  }
  return mlir::failure(parser.parseType(lhs) || parser.parseComma() ||
                       parser.parseType(rhs) || parser.parseRParen() ||
                       parser.parseArrow() || parser.parseType(result));
}

inline void printEqualTypes(mlir::OpAsmPrinter &printer, mlir::Operation *,
                            mlir::Type lhs, mlir::Type rhs, mlir::Type result) {
  if (lhs == rhs && lhs == result)
    printer << result;
  else
    printer << '(' << lhs << ", " << rhs << ") -> " << result;
}

} // namespace tp

#endif // TPOPT_DIALECTS_SPMD_DIRECTIVES_H

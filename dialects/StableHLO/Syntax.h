// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The pretty forms of operations.
///
/// Most forms are one: operands and `key = value` fields between commas, an
/// attribute dictionary, and types.
///
///     stablehlo.pad %x, %v, low = [0], high = [1], interior = [0] : (..) -> ..
///
/// What such a key stands for is one line of a table (Fields.cpp). A form of
/// its own is a function, and one line of another table (Forms.cpp). An
/// attribute whose name has no dot is the operation's own and becomes one of
/// its properties, as in the generic form; others are discardable.

#ifndef TPOPT_DIALECTS_STABLEHLO_SYNTAX_H
#define TPOPT_DIALECTS_STABLEHLO_SYNTAX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

namespace tp::reader {

using Operand = mlir::OpAsmParser::UnresolvedOperand;
using Form = mlir::ParseResult (*)(mlir::OpAsmParser &, mlir::OperationState &);

/// The form of one operation.
struct FormRow {
  llvm::StringLiteral op;
  Form form;
};

/// The form that `rows` have for an operation, else the plain one: operands and
/// fields. Parse hooks refer to it as long as the program runs, and so `rows`
/// must last.
const Form &findForm(llvm::ArrayRef<FormRow> rows, llvm::StringRef name);

/// `DEFAULT`, `7`, `true`, `[0, 1]`, `[b, 0, f]`, `[[1, 1], [0, 0]]`, or any
/// attribute. Numbers are i64, words strings.
mlir::ParseResult parseValue(mlir::OpAsmParser &parser, mlir::Attribute &value);

/// Types in any of the short forms: those of `operands`, and of the results.
mlir::ParseResult parseTypes(mlir::OpAsmParser &parser,
                             mlir::OperationState &state,
                             llvm::ArrayRef<Operand> operands);

/// An attribute dictionary and types.
mlir::ParseResult parseTail(mlir::OpAsmParser &parser,
                            mlir::OperationState &state,
                            llvm::ArrayRef<Operand> operands);

/// Operands and fields, an attribute dictionary, types.
mlir::ParseResult parseFields(mlir::OpAsmParser &parser,
                              mlir::OperationState &state);

/// Makes the attributes read so far properties if they are the operation's own.
void setProperties(mlir::OperationState &state);

/// The attribute that `key = ` of operation `name` stands for.
llvm::StringRef getFieldAttribute(llvm::StringRef name, llvm::StringRef key);

/// The form of `name` if it has one of its own; else parseFields. A reference,
/// since a hook of the parser keeps no more than one.
const Form &getForm(llvm::StringRef name);

/// A dialect that reads text: all its operations, types and attributes.
class ReaderDialect : public mlir::Dialect {
public:
  ReaderDialect(llvm::StringRef name, mlir::MLIRContext *context,
                mlir::TypeID id);

protected:
  mlir::Type parseType(mlir::DialectAsmParser &parser) const override;
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser,
                                 mlir::Type type) const override;
  /// What the attribute `text` says; null keeps it as text.
  virtual mlir::Attribute read(llvm::StringRef text) const = 0;
};

} // namespace tp::reader

#endif // TPOPT_DIALECTS_STABLEHLO_SYNTAX_H

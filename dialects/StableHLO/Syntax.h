// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The pretty forms of operations.
///
/// Most operations share one form: operands and `key = value` fields separated
/// by commas, an attribute dictionary, and types.
///
///     stablehlo.pad %x, %v, low = [0], high = [1], interior = [0] : (..) -> ..
///
/// The table in Fields.cpp has one line for each key, with the attribute that
/// the key sets. The table in Forms.cpp has one line for each operation with
/// another form, with the function that parses this form. An attribute whose
/// name has no dot is inherent and becomes a property, as in the generic form;
/// all others are discardable.

#ifndef TPOPT_DIALECTS_STABLEHLO_SYNTAX_H
#define TPOPT_DIALECTS_STABLEHLO_SYNTAX_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

namespace tp::reader {

using Operand = mlir::OpAsmParser::UnresolvedOperand;
using Form = mlir::ParseResult (*)(mlir::OpAsmParser &, mlir::OperationState &);

/// An operation and the function that parses its pretty form.
struct FormRow {
  llvm::StringLiteral op;
  Form form;
};

/// Returns the form of operation `name` in `rows`, or else the common form:
/// operands and fields. Parse hooks refer to the returned object until the
/// program ends, so `rows` must live that long.
const Form &findForm(llvm::ArrayRef<FormRow> rows, llvm::StringRef name);

/// Parses `DEFAULT`, `7`, `true`, `[0, 1]`, `[b, 0, f]`, `[[1, 1], [0, 0]]`, or
/// any attribute. Numbers become i64, words become strings.
mlir::ParseResult parseValue(mlir::OpAsmParser &parser, mlir::Attribute &value);

/// Parses the types of `operands` and of the results, in any of the short
/// forms.
mlir::ParseResult parseTypes(mlir::OpAsmParser &parser,
                             mlir::OperationState &state,
                             llvm::ArrayRef<Operand> operands);

/// Parses an attribute dictionary and types.
mlir::ParseResult parseTail(mlir::OpAsmParser &parser,
                            mlir::OperationState &state,
                            llvm::ArrayRef<Operand> operands);

/// Parses operands and fields, an attribute dictionary, and types.
mlir::ParseResult parseFields(mlir::OpAsmParser &parser,
                              mlir::OperationState &state);

/// Turns the inherent attributes that have been parsed so far into properties.
void setProperties(mlir::OperationState &state);

/// Returns the name of the attribute that the field `key = ..` sets on
/// operation `name`.
llvm::StringRef getFieldAttribute(llvm::StringRef name, llvm::StringRef key);

/// Returns the form of operation `name`: its own form if it has one, else
/// parseFields. Returns a reference, because a parse hook is a `function_ref`
/// and does not own the form.
const Form &getForm(llvm::StringRef name);

/// The base class of foreign dialects. Programs in these dialects can be read,
/// but none of their operations are registered. Types are kept as text, and
/// read() converts the text of attributes.
class ReaderDialect : public mlir::Dialect {
public:
  ReaderDialect(llvm::StringRef name, mlir::MLIRContext *context,
                mlir::TypeID id);

protected:
  mlir::Type parseType(mlir::DialectAsmParser &parser) const override;
  mlir::Attribute parseAttribute(mlir::DialectAsmParser &parser,
                                 mlir::Type type) const override;
  /// Converts the text of an attribute to an attribute of another dialect. If
  /// the result is null, the attribute is kept as text.
  virtual mlir::Attribute read(llvm::StringRef text) const = 0;
};

} // namespace tp::reader

#endif // TPOPT_DIALECTS_STABLEHLO_SYNTAX_H

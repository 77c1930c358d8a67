// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parsers of the parts of pretty forms: values, `key = value` fields and types.

#include "Syntax.h"

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tp;
using namespace tp::reader;

static ParseResult parseList(OpAsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> items;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parseValue(parser, items.emplace_back());
      }))
    return failure();
  SmallVector<int64_t> numbers;
  for (Attribute item : items)
    if (auto number = dyn_cast<IntegerAttr>(item);
        number && number.getType().isInteger(64))
      numbers.push_back(number.getInt());
  value = numbers.size() == items.size()
              ? Attribute(builder.getDenseI64ArrayAttr(numbers))
              : builder.getArrayAttr(items);
  return success();
}

/// `<lhs_precision_type = tf32, ..>`.
static ParseResult parseStructure(OpAsmParser &parser, Attribute &value) {
  NamedAttrList fields;
  if (parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::LessGreater, [&]() -> ParseResult {
            StringRef key;
            Attribute field;
            SMLoc loc = parser.getCurrentLocation();
            if (parser.parseKeyword(&key) || parser.parseEqual() ||
                parseValue(parser, field))
              return failure();
            if (fields.get(key))
              return parser.emitError(loc) << prefix(ErrorCode::BadSyntax)
                                           << "`" << key << "` is given twice";
            fields.append(key, field);
            return success();
          }))
    return failure();
  value = fields.getDictionary(parser.getContext());
  return success();
}

ParseResult reader::parseValue(OpAsmParser &parser, Attribute &value) {
  Builder &builder = parser.getBuilder();
  StringRef word;
  if (succeeded(parser.parseOptionalKeyword(&word))) {
    value = word == "true" || word == "false"
                ? Attribute(builder.getBoolAttr(word == "true"))
                : builder.getStringAttr(word);
    return success();
  }
  int64_t number;
  if (OptionalParseResult parsed = parser.parseOptionalInteger(number);
      parsed.has_value()) {
    value = builder.getI64IntegerAttr(number);
    return *parsed;
  }
  // Peek at the next character: the parser has no other method for this.
  char next = *parser.getCurrentLocation().getPointer();
  if (next == '[')
    return parseList(parser, value);
  if (next == '<')
    return parseStructure(parser, value);
  return parser.parseAttribute(value);
}

void reader::setProperties(OperationState &state) {
  NamedAttrList own, others;
  for (NamedAttribute attribute : state.attributes)
    (attribute.getName().getValue().contains('.') ? others : own)
        .push_back(attribute);
  if (!own.empty())
    state.propertiesAttr = own.getDictionary(state.getContext());
  state.attributes = others;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

namespace {
/// An op whose pretty form omits the types of some operands or results.
struct ShortTypes {
  StringLiteral op;
  /// Computes the types of operands and results. On entry, `written` has the
  /// types in the text; on return, it has the operand types.
  void (*complete)(SmallVectorImpl<Type> &written, SmallVectorImpl<Type> &,
                   size_t numOperands);
};
} // namespace

static void completeSelect(SmallVectorImpl<Type> &written,
                           SmallVectorImpl<Type> &results, size_t) {
  if (written.size() == 2)
    written.push_back(written[1]);
  results.assign({written.back()});
}

static void completeReturn(SmallVectorImpl<Type> &, SmallVectorImpl<Type> &,
                           size_t) {}

static void completeBarrier(SmallVectorImpl<Type> &written,
                            SmallVectorImpl<Type> &results, size_t) {
  results.assign(written.begin(), written.end());
}

static void completeTuple(SmallVectorImpl<Type> &written,
                          SmallVectorImpl<Type> &results, size_t) {
  results.assign({written.back()});
  if (auto tuple = dyn_cast<TupleType>(written.back()))
    written.assign(tuple.begin(), tuple.end());
}

/// The operands are the real and imaginary parts of a complex result.
static void completeComplex(SmallVectorImpl<Type> &written,
                            SmallVectorImpl<Type> &results,
                            size_t numOperands) {
  results.assign({written.back()});
  auto tensor = dyn_cast<RankedTensorType>(written.back());
  auto complex =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  if (complex)
    written.assign(numOperands, tensor.clone(complex.getElementType()));
}

static constexpr ShortTypes kShortTypes[] = {
    {"chlo.broadcast_select", completeSelect},
    {"stablehlo.complex", completeComplex},
    {"stablehlo.optimization_barrier", completeBarrier},
    {"stablehlo.return", completeReturn},
    {"stablehlo.select", completeSelect},
    {"stablehlo.tuple", completeTuple},
    {"sdy.return", completeReturn},
};

ParseResult reader::parseTypes(OpAsmParser &parser, OperationState &state,
                               ArrayRef<Operand> operands) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types, results;
  auto resolve = [&] {
    state.addTypes(results);
    return parser.resolveOperands(operands, types, loc, state.operands);
  };
  if (succeeded(parser.parseOptionalLParen())) { // (t, t) -> t
    if (failed(parser.parseOptionalRParen()) &&
        (parser.parseTypeList(types) || parser.parseRParen()))
      return failure();
    if (parser.parseArrowTypeList(results))
      return failure();
    return resolve();
  }
  if (parser.parseTypeList(types))
    return failure();
  if (succeeded(parser.parseOptionalArrow())) { // t, t -> t or t -> (t, t)
    if (succeeded(parser.parseOptionalLParen())) {
      if (parser.parseTypeList(results) || parser.parseRParen())
        return failure();
    } else if (parser.parseTypeList(results)) {
      return failure();
    }
    return resolve();
  }
  for (const ShortTypes &row : kShortTypes)
    if (row.op == state.name.getStringRef()) {
      row.complete(types, results, operands.size());
      return resolve();
    }
  // A single type applies to all operands and the result.
  results = {types.back()};
  if (types.size() == 1)
    types.assign(operands.size(), types[0]);
  return resolve();
}

ParseResult reader::parseTail(OpAsmParser &parser, OperationState &state,
                              ArrayRef<Operand> operands) {
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  setProperties(state);
  // An operation with neither operands nor results has no types.
  if (failed(parser.parseOptionalColon()))
    return operands.empty() ? success() : parser.parseColon();
  return parseTypes(parser, state, operands);
}

ParseResult reader::parseFields(OpAsmParser &parser, OperationState &state) {
  StringRef name = state.name.getStringRef();
  SmallVector<Operand> operands;
  bool inParens = succeeded(parser.parseOptionalLParen());
  do {
    Operand operand;
    OptionalParseResult parsed = parser.parseOptionalOperand(operand);
    if (parsed.has_value()) {
      if (failed(*parsed))
        return failure();
      operands.push_back(operand);
      continue;
    }
    StringRef key;
    if (failed(parser.parseOptionalKeyword(&key)))
      break;
    StringRef attribute = getFieldAttribute(name, key);
    SMLoc loc = parser.getCurrentLocation();
    Attribute value;
    if (parser.parseEqual() || parseValue(parser, value))
      return failure();
    if (state.attributes.get(attribute))
      return parser.emitError(loc) << prefix(ErrorCode::BadSyntax) << "`" << key
                                   << "` is given twice";
    state.addAttribute(attribute, value);
  } while (succeeded(parser.parseOptionalComma()));
  if (inParens && parser.parseRParen())
    return failure();
  return parseTail(parser, state, operands);
}

//===----------------------------------------------------------------------===//
// ReaderDialect
//===----------------------------------------------------------------------===//

ReaderDialect::ReaderDialect(StringRef name, MLIRContext *context, TypeID id)
    : Dialect(name, context, id) {
  allowUnknownOperations();
  allowUnknownTypes();
}

Type ReaderDialect::parseType(DialectAsmParser &parser) const {
  return OpaqueType::get(StringAttr::get(getContext(), getNamespace()),
                         parser.getFullSymbolSpec());
}

Attribute ReaderDialect::parseAttribute(DialectAsmParser &parser,
                                        Type type) const {
  StringRef text = parser.getFullSymbolSpec();
  if (Attribute value = read(text))
    return value;
  return OpaqueAttr::get(StringAttr::get(getContext(), getNamespace()), text,
                         type ? type : NoneType::get(getContext()));
}

static constexpr Form kPlainForm = parseFields;

const Form &reader::findForm(ArrayRef<FormRow> rows, StringRef name) {
  const FormRow *row =
      llvm::find_if(rows, [&](const FormRow &row) { return row.op == name; });
  return row == rows.end() ? kPlainForm : row->form;
}

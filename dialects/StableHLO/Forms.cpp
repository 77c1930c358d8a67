// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parsers of pretty forms that are not just operands and `key = value` fields.

#include "Syntax.h"

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cstring>

using namespace mlir;
using namespace tp;
using namespace tp::reader;

using Argument = OpAsmParser::Argument;

/// Returns true if `text` begins with `dense<"0x0100.."> : tensor<..i1>`.
static bool areBooleansInHex(const char *text) {
  static constexpr StringLiteral begin = "dense<\"0x", behind = "\"> : tensor<";
  if (std::strncmp(text, begin.data(), begin.size()) != 0)
    return false;
  const char *type = std::strchr(text + begin.size(), '"');
  if (!type || std::strncmp(type, behind.data(), behind.size()) != 0)
    return false;
  type += behind.size();
  return StringRef(type, std::strcspn(type, ">\n")).ends_with("xi1");
}

/// Parses a dense attribute of booleans in hexadecimal. Accepts one bit per
/// element, as LLVM 22 writes it, and one byte per element, as the later LLVM
/// in JAX does.
static ParseResult parseBooleans(OpAsmParser &parser, Attribute &value) {
  SMLoc loc = parser.getCurrentLocation();
  std::string text, bytes;
  RankedTensorType type;
  if (parser.parseKeyword("dense") || parser.parseLess() ||
      parser.parseString(&text) || parser.parseGreater() ||
      parser.parseColonType(type))
    return failure();
  int64_t count = type.hasStaticShape() ? type.getNumElements() : -1;
  bool isHex = llvm::tryGetFromHex(StringRef(text).drop_front(2), bytes);
  int64_t size = bytes.size();
  if (!isHex || count < 0 ||
      (size != count && size != llvm::divideCeilSigned(count, 8)))
    return parser.emitError(loc)
           << prefix(ErrorCode::BadSyntax)
           << "expects a hexadecimal string with a byte or a bit for each "
              "element of "
           << type;
  SmallVector<bool> booleans;
  for (int64_t i = 0; i < count; ++i)
    booleans.push_back(size == count ? bytes[i] != 0
                                     : (bytes[i / 8] >> (i % 8)) & 1);
  value = DenseElementsAttr::get(type, booleans);
  return success();
}

/// `dense<1.0> : tensor<4xf32>`
static ParseResult parseConstant(OpAsmParser &parser, OperationState &state) {
  Attribute value;
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  if (areBooleansInHex(parser.getCurrentLocation().getPointer())) {
    if (parseBooleans(parser, value))
      return failure();
    state.addAttribute("value", value);
  } else if (parser.parseAttribute(value, "value", state.attributes)) {
    return failure();
  }
  setProperties(state);
  auto typed = dyn_cast<TypedAttr>(value);
  if (!typed)
    return parser.emitError(parser.getNameLoc())
           << prefix(ErrorCode::BadSyntax) << "expects a tensor literal";
  state.addTypes(typed.getType());
  return success();
}

/// Parses a comparison: `LT, %a, %b, FLOAT : types`.
static ParseResult parseCompare(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringRef direction, type;
  Operand lhs, rhs;
  if (parser.parseKeyword(&direction) || parser.parseComma() ||
      parser.parseOperand(lhs) || parser.parseComma() ||
      parser.parseOperand(rhs))
    return failure();
  state.addAttribute("comparison_direction", builder.getStringAttr(direction));
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseKeyword(&type))
      return failure();
    state.addAttribute("compare_type", builder.getStringAttr(type));
  }
  return parseTail(parser, state, {lhs, rhs});
}

/// Parses `%x [0:1, 0:32:2] : types`: the start, limit and stride per
/// dimension.
static ParseResult parseSlice(OpAsmParser &parser, OperationState &state) {
  Operand input;
  SmallVector<int64_t> starts, limits, strides;
  auto parseRange = [&]() -> ParseResult {
    strides.push_back(1);
    return failure(parser.parseInteger(starts.emplace_back()) ||
                   parser.parseColon() ||
                   parser.parseInteger(limits.emplace_back()) ||
                   (succeeded(parser.parseOptionalColon()) &&
                    parser.parseInteger(strides.back())));
  };
  if (parser.parseOperand(input) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     parseRange))
    return failure();
  Builder &builder = parser.getBuilder();
  state.addAttribute("start_indices", builder.getDenseI64ArrayAttr(starts));
  state.addAttribute("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr(strides));
  return parseTail(parser, state, input);
}

/// Parses `%a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], ..
/// : types`.
static ParseResult parseDotGeneral(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  Operand lhs, rhs;
  if (parser.parseOperand(lhs) || parser.parseComma() ||
      parser.parseOperand(rhs))
    return failure();
  NamedAttrList numbers;
  for (StringRef side : {"lhs", "rhs"})
    for (StringRef what : {"batching", "contracting"})
      numbers.set((side + "_" + what + "_dimensions").str(),
                  builder.getDenseI64ArrayAttr({}));
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    Attribute left, right;
    if (parser.parseKeyword(&key) || parser.parseEqual() ||
        parseValue(parser, left))
      return failure();
    StringRef what = key;
    if (what.consume_back("_dims")) {
      if (parser.parseKeyword("x") || parseValue(parser, right))
        return failure();
      numbers.set(("lhs_" + what + "_dimensions").str(), left);
      numbers.set(("rhs_" + what + "_dimensions").str(), right);
      continue;
    }
    state.addAttribute(getFieldAttribute(state.name.getStringRef(), key), left);
  }
  state.addAttribute("dot_dimension_numbers",
                     numbers.getDictionary(builder.getContext()));
  return parseTail(parser, state, {lhs, rhs});
}

/// Parses `%x, format = e5m10 : type`: 5 exponent bits and 10 mantissa bits.
static ParseResult parseReducePrecision(OpAsmParser &parser,
                                        OperationState &state) {
  Operand input;
  StringRef format;
  if (parser.parseOperand(input) || parser.parseComma() ||
      parser.parseKeyword("format") || parser.parseEqual())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  int32_t exponent, mantissa;
  if (parser.parseKeyword(&format))
    return failure();
  auto [first, second] = format.split('m');
  if (!first.consume_front("e") || first.getAsInteger(10, exponent) ||
      second.getAsInteger(10, mantissa))
    return parser.emitError(loc)
           << prefix(ErrorCode::BadSyntax) << "expects a format such as e5m10";
  Builder &builder = parser.getBuilder();
  state.addAttribute("exponent_bits", builder.getI32IntegerAttr(exponent));
  state.addAttribute("mantissa_bits", builder.getI32IntegerAttr(mantissa));
  return parseTail(parser, state, input);
}

/// `%t[0] : types`
static ParseResult parseTupleElement(OpAsmParser &parser,
                                     OperationState &state) {
  Operand input;
  int32_t index;
  if (parser.parseOperand(input) || parser.parseLSquare() ||
      parser.parseInteger(index) || parser.parseRSquare())
    return failure();
  state.addAttribute("index", parser.getBuilder().getI32IntegerAttr(index));
  return parseTail(parser, state, input);
}

/// Parses the custom call `@name(%a, %b) {..} : types`.
static ParseResult parseCustomCall(OpAsmParser &parser, OperationState &state) {
  StringAttr callee;
  SmallVector<Operand> operands;
  if (parser.parseSymbolName(callee) ||
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
    return failure();
  state.addAttribute("call_target_name", callee);
  return parseTail(parser, state, operands);
}

/// Parses the composite `"chlo.top_k" %x {decomposition = @f, ..} : types`.
static ParseResult parseComposite(OpAsmParser &parser, OperationState &state) {
  std::string name;
  SmallVector<Operand> operands;
  if (parser.parseString(&name) || parser.parseOperandList(operands))
    return failure();
  state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  return parseTail(parser, state, operands);
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

/// Parses `[b, 0, f]x[0, i, o]->[b, 0, f]`: the dimensions of the input, the
/// kernel and the result of a convolution.
static ParseResult parseConvolutionDims(OpAsmParser &parser,
                                        Attribute &numbers) {
  Attribute lhs, rhs, result;
  if (parseValue(parser, lhs) || parser.parseKeyword("x") ||
      parseValue(parser, rhs) || parser.parseArrow() ||
      parseValue(parser, result))
    return failure();
  Builder &builder = parser.getBuilder();
  numbers = builder.getDictionaryAttr({builder.getNamedAttr("lhs", lhs),
                                       builder.getNamedAttr("rhs", rhs),
                                       builder.getNamedAttr("result", result)});
  return success();
}

/// Converts a window's `pad = [[0, 1], [2, 3]]` to the tensor of the generic
/// form.
static Attribute getPadding(Builder &builder, Attribute value) {
  SmallVector<int64_t> flat;
  auto rows = dyn_cast<ArrayAttr>(value);
  if (!rows) // no dimensions at all
    rows = builder.getArrayAttr({});
  for (Attribute row : rows) {
    auto pair = dyn_cast<DenseI64ArrayAttr>(row);
    if (!pair || pair.size() != 2)
      return {};
    llvm::append_range(flat, pair.asArrayRef());
  }
  auto type =
      RankedTensorType::get({int64_t(rows.size()), 2}, builder.getI64Type());
  return DenseIntElementsAttr::get(type, flat);
}

/// Converts a window's `reverse`, written `[false, true]` or `[0, 1]`, to
/// booleans.
static Attribute getReversal(Builder &builder, Attribute value) {
  SmallVector<bool> flags;
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(value)) {
    for (int64_t number : numbers.asArrayRef())
      flags.push_back(number != 0);
  } else if (auto words = dyn_cast<ArrayAttr>(value)) {
    for (Attribute word : words) {
      auto flag = dyn_cast<BoolAttr>(word);
      if (!flag)
        return {};
      flags.push_back(flag.getValue());
    }
  }
  return builder.getDenseBoolArrayAttr(flags);
}

/// Parses the window of a convolution: `{stride = [1, 1], pad = [[0, 0], [1,
/// 1]], ..}`.
static ParseResult parseWindow(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  return parser.parseCommaSeparatedList(
      OpAsmParser::Delimiter::Braces, [&]() -> ParseResult {
        StringRef key;
        Attribute value;
        SMLoc loc = parser.getCurrentLocation();
        if (parser.parseKeyword(&key) || parser.parseEqual() ||
            parseValue(parser, value))
          return failure();
        if (key == "stride")
          state.addAttribute("window_strides", value);
        else if (key == "lhs_dilate")
          state.addAttribute("lhs_dilation", value);
        else if (key == "rhs_dilate")
          state.addAttribute("rhs_dilation", value);
        else if (Attribute padding =
                     key == "pad" ? getPadding(builder, value) : Attribute())
          state.addAttribute("padding", padding);
        else if (Attribute flags = key == "reverse"
                                       ? getReversal(builder, value)
                                       : Attribute())
          state.addAttribute("window_reversal", flags);
        else
          return parser.emitError(loc)
                 << prefix(ErrorCode::BadSyntax)
                 << "cannot read this field of a window; a window may have "
                    "stride, pad, lhs_dilate, rhs_dilate and reverse, each as "
                    "NAME = LIST";
        return success();
      });
}

/// Parses `(%a, %b) dim_numbers = .., window = {..} {..} : types`.
static ParseResult parseConvolution(OpAsmParser &parser,
                                    OperationState &state) {
  SmallVector<Operand> operands;
  Attribute numbers;
  if (parser.parseOperandList(operands, /*requiredOperandCount=*/2,
                              OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("dim_numbers") || parser.parseEqual() ||
      parseConvolutionDims(parser, numbers) || parser.parseComma() ||
      parser.parseKeyword("window") || parser.parseEqual() ||
      parseWindow(parser, state))
    return failure();
  state.addAttribute("dimension_numbers", numbers);
  return parseTail(parser, state, operands);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// Builds the region that `applies <name>` abbreviates.
static ParseResult buildReducer(OpAsmParser &parser, OperationState &state,
                                StringRef name) {
  StringRef dialect = name.split('.').first;
  auto tensor = state.operands.empty()
                    ? RankedTensorType()
                    : dyn_cast<RankedTensorType>(state.operands[0].getType());
  if ((dialect != "stablehlo" && dialect != "chlo") || !tensor ||
      state.operands.size() != 2)
    return parser.emitError(parser.getNameLoc())
           << prefix(ErrorCode::BadSyntax)
           << "`applies` expects a binary op of stablehlo, and two operands: a "
              "tensor and its initial value";
  auto scalar = RankedTensorType::get({}, tensor.getElementType());
  OpBuilder builder(parser.getContext());
  auto block = std::make_unique<Block>();
  Value lhs = block->addArgument(scalar, state.location);
  Value rhs = block->addArgument(scalar, state.location);
  builder.setInsertionPointToEnd(block.get());
  OperationState combine(state.location, name, {lhs, rhs}, scalar);
  OperationState end(state.location, "stablehlo.return",
                     builder.create(combine)->getResults(), TypeRange());
  builder.create(end);
  state.addRegion()->push_back(block.release());
  return success();
}

/// Parses the short form `(%x init: %c), .. applies stablehlo.add across
/// dimensions = [1] : types`, or a form with a region: `(%x init: %c), ..
/// across dimensions = [1] : types reducer(%a: t, %b: t) .. {`.
static ParseResult parseReduce(OpAsmParser &parser, OperationState &state) {
  SmallVector<Operand> operands, inits;
  do {
    if (parser.parseLParen() || parser.parseOperand(operands.emplace_back()) ||
        parser.parseKeyword("init") || parser.parseColon() ||
        parser.parseOperand(inits.emplace_back()) || parser.parseRParen())
      return failure();
  } while (succeeded(parser.parseOptionalComma()));
  StringRef combiner;
  if (succeeded(parser.parseOptionalKeyword("applies")) &&
      parser.parseKeyword(&combiner))
    return failure();
  Attribute dims;
  if (parser.parseKeyword("across") || parser.parseKeyword("dimensions") ||
      parser.parseEqual() || parseValue(parser, dims))
    return failure();
  state.addAttribute("dimensions", dims);
  operands.append(inits);
  if (parseTail(parser, state, operands))
    return failure();
  if (!combiner.empty())
    return buildReducer(parser, state, combiner);
  // Each input has two arguments, left and right. The region takes first all
  // left arguments, then all right ones.
  SmallVector<Argument> left, right;
  if (parser.parseKeyword("reducer"))
    return failure();
  for (size_t i = 0; i < inits.size(); ++i) {
    SmallVector<Argument> pair;
    SMLoc loc = parser.getCurrentLocation();
    if (parser.parseArgumentList(pair, OpAsmParser::Delimiter::Paren,
                                 /*allowType=*/true))
      return failure();
    if (pair.size() != 2)
      return parser.emitError(loc)
             << prefix(ErrorCode::BadSyntax)
             << "expects the reducer to have two arguments";
    left.push_back(pair[0]);
    right.push_back(pair[1]);
  }
  left.append(right);
  return parser.parseRegion(*state.addRegion(), left);
}

/// Parses `(%i = %0, ..) : types attributes {..} cond {..} do {..}`.
static ParseResult parseWhile(OpAsmParser &parser, OperationState &state) {
  SmallVector<Argument> arguments;
  SmallVector<Operand> operands;
  auto parseAssignment = [&]() -> ParseResult {
    return failure(parser.parseArgument(arguments.emplace_back()) ||
                   parser.parseEqual() ||
                   parser.parseOperand(operands.emplace_back()));
  };
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<Type> types;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parseAssignment))
    return failure();
  if (succeeded(parser.parseOptionalColon()) && !operands.empty() &&
      parser.parseTypeList(types))
    return failure();
  if (types.size() != arguments.size())
    return parser.emitError(loc) << prefix(ErrorCode::BadSyntax)
                                 << "expects a type for each value of the loop";
  for (auto [argument, type] : llvm::zip_equal(arguments, types))
    argument.type = type;
  if (parser.resolveOperands(operands, types, loc, state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  setProperties(state);
  state.addTypes(types);
  return failure(parser.parseKeyword("cond") ||
                 parser.parseRegion(*state.addRegion(), arguments) ||
                 parser.parseKeyword("do") ||
                 parser.parseRegion(*state.addRegion(), arguments));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

static constexpr FormRow kForms[] = {
    {"stablehlo.compare", parseCompare},
    {"stablehlo.composite", parseComposite},
    {"stablehlo.constant", parseConstant},
    {"stablehlo.convolution", parseConvolution},
    {"stablehlo.custom_call", parseCustomCall},
    {"stablehlo.dot_general", parseDotGeneral},
    {"stablehlo.get_tuple_element", parseTupleElement},
    {"stablehlo.reduce", parseReduce},
    {"stablehlo.reduce_precision", parseReducePrecision},
    {"stablehlo.slice", parseSlice},
    {"stablehlo.while", parseWhile},
    {"chlo.constant", parseConstant},
};

const Form &reader::getForm(StringRef name) { return findForm(kForms, name); }

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parsers of the pretty forms of Shardy's operations.

#include "../StableHLO/Syntax.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/Sdy/Sdy.h"

using namespace mlir;
using namespace tp;
using namespace tp::reader;

using Argument = OpAsmParser::Argument;

static ParseResult parseSharding(OpAsmParser &parser, Attribute &sharding) {
  sharding = spmd::ShardingAttr::parse(parser, Type());
  return failure(!sharding);
}

/// Parses `@mesh = <["x"=2, "y"=4]> {..}`.
static ParseResult parseMesh(OpAsmParser &parser, OperationState &state) {
  StringAttr name;
  if (parser.parseSymbolName(name, "sym_name", state.attributes) ||
      parser.parseEqual())
    return failure();
  Attribute mesh = spmd::MeshAttr::parse(parser, Type());
  if (!mesh)
    return failure();
  state.addAttribute("mesh", mesh);
  if (parser.parseOptionalAttrDict(state.attributes))
    return failure();
  setProperties(state);
  return success();
}

/// Parses `%x <@mesh, [{"x"}]> : type`.
static ParseResult parseConstraint(OpAsmParser &parser, OperationState &state) {
  Operand input;
  Attribute sharding;
  if (parser.parseOperand(input) || parseSharding(parser, sharding))
    return failure();
  state.addAttribute("sharding", sharding);
  return parseTail(parser, state, input);
}

/// Parses `[{"x"}, {}] %x out_sharding=<..> : type`, where all_reduce has
/// `{"x"}`, all_to_all `[{"x"}: 0->1]`, and collective_permute nothing. The
/// axes are read and ignored, as the sharding implies them.
static ParseResult parseCollective(OpAsmParser &parser, OperationState &state) {
  int64_t number;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    if (failed(parser.parseOptionalColon()))
      return success();
    return failure(parser.parseLParen() || parser.parseInteger(number) ||
                   parser.parseRParen() || parser.parseInteger(number));
  };
  auto parseDim = [&]() -> ParseResult {
    if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Braces,
                                       parseAxis))
      return failure();
    if (failed(parser.parseOptionalColon()))
      return success();
    return failure(parser.parseInteger(number) || parser.parseArrow() ||
                   parser.parseInteger(number));
  };
  Operand input;
  Attribute sharding;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalSquare,
                                     parseDim) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::OptionalBraces,
                                     parseAxis) ||
      parser.parseOperand(input) || parser.parseKeyword("out_sharding") ||
      parser.parseEqual() || parseSharding(parser, sharding))
    return failure();
  state.addAttribute("out_sharding", sharding);
  return parseTail(parser, state, input);
}

/// Parses `=[<..>, ..]` after `in_shardings` or `out_shardings`.
static ParseResult parseShardings(OpAsmParser &parser, OperationState &state,
                                  StringRef key) {
  SmallVector<Attribute> shardings;
  if (parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&] {
        return parseSharding(parser, shardings.emplace_back());
      }))
    return failure();
  state.addAttribute(key, parser.getBuilder().getArrayAttr(shardings));
  return success();
}

/// Parses `(%a: t, ..) {..} {attributes} : types`: a region with its arguments,
/// then attributes and types.
static ParseResult parseBody(OpAsmParser &parser, OperationState &state,
                             ArrayRef<Operand> operands) {
  SmallVector<Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren,
                               /*allowType=*/true) ||
      parser.parseRegion(*state.addRegion(), arguments))
    return failure();
  return parseTail(parser, state, operands);
}

/// Parses `(%x, ..) in_shardings=[..] out_shardings=[..] manual_axes={..}`,
/// then the region `(%a: t) {..}`.
static ParseResult parseManual(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  SmallVector<Operand> operands;
  SmallVector<Attribute> axes;
  auto parseAxis = [&]() -> ParseResult {
    std::string name;
    if (parser.parseString(&name))
      return failure();
    axes.push_back(builder.getStringAttr(name));
    return success();
  };
  if (parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in_shardings") ||
      parseShardings(parser, state, "in_shardings") ||
      parser.parseKeyword("out_shardings") ||
      parseShardings(parser, state, "out_shardings") ||
      parser.parseKeyword("manual_axes") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Braces, parseAxis))
    return failure();
  state.addAttribute("manual_axes", builder.getArrayAttr(axes));
  return parseBody(parser, state, operands);
}

/// Parses `<"name">(%x, ..) in_shardings=[..] out_shardings=[..]`, then the
/// region `(%a: t) {..} : types`.
static ParseResult parseNamedComputation(OpAsmParser &parser,
                                         OperationState &state) {
  std::string name;
  SmallVector<Operand> operands;
  if (parser.parseLess() || parser.parseString(&name) ||
      parser.parseGreater() ||
      parser.parseOperandList(operands, OpAsmParser::Delimiter::Paren))
    return failure();
  state.addAttribute("name", parser.getBuilder().getStringAttr(name));
  for (StringRef key : {"in_shardings", "out_shardings"})
    if (succeeded(parser.parseOptionalKeyword(key)) &&
        parseShardings(parser, state, key))
      return failure();
  return parseBody(parser, state, operands);
}

/// `%x key=value : type`
static ParseResult parseOneField(OpAsmParser &parser, OperationState &state) {
  Operand input;
  StringRef key;
  Attribute value;
  if (parser.parseOperand(input) || parser.parseKeyword(&key) ||
      parser.parseEqual() || parseValue(parser, value))
    return failure();
  state.addAttribute(key, value);
  return parseTail(parser, state, input);
}

/// Parses `%x : type`, for an op without a result.
static ParseResult parseGroup(OpAsmParser &parser, OperationState &state) {
  if (parseOneField(parser, state))
    return failure();
  state.types.clear();
  return success();
}

static constexpr FormRow kForms[] = {
    {"sdy.all_gather", parseCollective},
    {"sdy.all_reduce", parseCollective},
    {"sdy.all_slice", parseCollective},
    {"sdy.all_to_all", parseCollective},
    {"sdy.collective_permute", parseCollective},
    {"sdy.manual_computation", parseManual},
    {"sdy.mesh", parseMesh},
    {"sdy.named_computation", parseNamedComputation},
    {"sdy.propagation_barrier", parseOneField},
    {"sdy.reduce_scatter", parseCollective},
    {"sdy.reshard", parseConstraint},
    {"sdy.sharding_constraint", parseConstraint},
    {"sdy.sharding_group", parseGroup},
};

namespace {
class SdyDialect : public ReaderDialect {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SdyDialect)
  explicit SdyDialect(MLIRContext *context)
      : ReaderDialect(getDialectNamespace(), context,
                      TypeID::get<SdyDialect>()) {
    // The attributes of `sdy` are read as attributes of the `spmd` dialect.
    context->getOrLoadDialect<spmd::SPMDDialect>();
  }
  static constexpr StringLiteral getDialectNamespace() { return "sdy"; }

  std::optional<ParseOpHook>
  getParseOperationHook(StringRef name) const override {
    return ParseOpHook(findForm(kForms, name));
  }

protected:
  Attribute read(StringRef text) const override {
    return sdy::readAttribute(getContext(), text);
  }
};
} // namespace

void sdy::registerReader(DialectRegistry &registry) {
  registry.insert<SdyDialect>();
}

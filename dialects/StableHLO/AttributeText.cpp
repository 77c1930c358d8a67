// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses the text of attributes into builtin attributes.

#include "tpopt/Dialect/StableHLO/StableHLO.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

namespace {

/// Reads values out of text. Every method that fails returns null.
class ValueReader {
public:
  ValueReader(MLIRContext *context, StringRef text)
      : builder(context), rest(text) {}

  /// Reads a word, a word and its value such as `precision HIGH`, or
  /// `word<..>`.
  Attribute readSymbol();
  bool isAtEnd() {
    rest = rest.ltrim();
    return rest.empty();
  }

private:
  /// The maximum depth of nested lists; no real attribute nests as deeply.
  static constexpr unsigned kMaxDepth = 16;

  Attribute readValue(unsigned depth);
  Attribute readList(unsigned depth);
  Attribute readFields(unsigned depth);
  /// Reads the text after `<`, for example `FLOAT>` or
  /// `lhs_contracting_dimensions = [1]>`.
  Attribute readBody(unsigned depth);
  /// Reads `[b, 0, f]x[0, i, o]->[b, 0, f]`, the dimension numbers of a
  /// convolution.
  Attribute readConvolution();
  /// Reads a sub-axis such as `(1)2` after its `(`, and returns `[1, 2]`.
  Attribute readPair();
  /// Reads `:(1)2` after the name in `#sdy<axis_ref"y":(1)2>`, or nothing. The
  /// result is the same as for `#stablehlo.axis_ref<name = "y", sub_axis_info =
  /// (1)2>`.
  Attribute readAxis(Attribute name, unsigned depth);

  bool consume(StringRef token) {
    rest = rest.ltrim();
    return rest.consume_front(token);
  }
  StringRef readWord() {
    rest = rest.ltrim();
    StringRef word = rest.take_while(
        [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    rest = rest.drop_front(word.size());
    return word;
  }

  Builder builder;
  StringRef rest;
};

} // namespace

Attribute ValueReader::readValue(unsigned depth) {
  if (depth > kMaxDepth)
    return {};
  if (consume("["))
    return readList(depth);
  if (consume("<"))
    return readFields(depth);
  if (consume("#")) {
    // `#stablehlo.kind<body>` or `#stablehlo<kind value>`.
    bool hasKind = readWord().contains('.');
    if (!consume("<"))
      return {};
    if (hasKind)
      return readBody(depth + 1);
    bool isAxis = readWord() == "axis_ref";
    Attribute value = readValue(depth + 1);
    if (isAxis && value)
      value = readAxis(value, depth + 1);
    return consume(">") ? value : Attribute();
  }
  if (consume("("))
    return readPair();
  if (consume("@")) {
    StringRef name = readWord();
    return name.empty() ? Attribute()
                        : FlatSymbolRefAttr::get(builder.getContext(), name);
  }
  if (consume("\"")) {
    auto [text, behind] = rest.split('"');
    if (behind.data() == rest.end())
      return {};
    rest = behind;
    return builder.getStringAttr(text);
  }
  int64_t number;
  StringRef digits = rest.ltrim();
  if (!digits.empty() && (llvm::isDigit(digits[0]) || digits[0] == '-')) {
    if (digits.consumeInteger(10, number))
      return {};
    rest = digits;
    return builder.getI64IntegerAttr(number);
  }
  StringRef word = readWord();
  if (word.empty())
    return {};
  if (word == "true" || word == "false")
    return builder.getBoolAttr(word == "true");
  return builder.getStringAttr(word);
}

Attribute ValueReader::readList(unsigned depth) {
  SmallVector<Attribute> items;
  if (!consume("]"))
    do {
      items.push_back(readValue(depth + 1));
      if (!items.back())
        return {};
    } while (consume(",") || !consume("]"));
  SmallVector<int64_t> numbers;
  for (Attribute item : items)
    if (auto number = dyn_cast<IntegerAttr>(item);
        number && !number.getType().isInteger(1))
      numbers.push_back(number.getInt());
  if (numbers.size() == items.size())
    return builder.getDenseI64ArrayAttr(numbers);
  return builder.getArrayAttr(items);
}

Attribute ValueReader::readFields(unsigned depth) {
  NamedAttrList fields;
  if (!consume(">"))
    do {
      StringRef name = readWord();
      if (name.empty() || fields.get(name))
        return {};
      Attribute value =
          consume("=") ? readValue(depth + 1) : builder.getUnitAttr();
      if (!value)
        return {};
      fields.append(name, value);
    } while (consume(",") || !consume(">"));
  return fields.getDictionary(builder.getContext());
}

Attribute ValueReader::readPair() {
  int64_t numbers[2];
  rest = rest.ltrim();
  if (rest.consumeInteger(10, numbers[0]) || !consume(")") ||
      rest.consumeInteger(10, numbers[1]))
    return {};
  return builder.getDenseI64ArrayAttr(numbers);
}

Attribute ValueReader::readAxis(Attribute name, unsigned depth) {
  NamedAttrList fields;
  fields.append("name", name);
  if (consume(":")) {
    Attribute part = readValue(depth);
    if (!part)
      return {};
    fields.append("sub_axis_info", part);
  }
  return fields.getDictionary(builder.getContext());
}

Attribute ValueReader::readConvolution() {
  Attribute lists[3];
  const char *before[] = {"[", "x[", "->["};
  for (int i = 0; i < 3; ++i)
    if (!consume(before[i]) || !(lists[i] = readList(0)))
      return {};
  if (!consume(">"))
    return {};
  return builder.getDictionaryAttr({builder.getNamedAttr("lhs", lists[0]),
                                    builder.getNamedAttr("rhs", lists[1]),
                                    builder.getNamedAttr("result", lists[2])});
}

Attribute ValueReader::readSymbol() {
  StringRef kind = readWord();
  if (!consume("<"))
    return readValue(0);
  if (kind == "conv")
    return readConvolution();
  return readBody(0);
}

Attribute ValueReader::readBody(unsigned depth) {
  rest = rest.ltrim();
  StringRef saved = rest;
  StringRef word = readWord();
  if (!word.empty() && consume(">"))
    return builder.getStringAttr(word);
  rest = saved;
  return readFields(depth);
}

Attribute tp::stablehlo::readAttribute(MLIRContext *context, StringRef text) {
  ValueReader reader(context, text);
  Attribute value = reader.readSymbol();
  return value && reader.isAtEnd() ? value : Attribute();
}

Attribute tp::stablehlo::toBuiltin(Attribute attribute) {
  StringRef dialect = attribute.getDialect().getNamespace();
  if (dialect != "stablehlo" && dialect != "chlo" && dialect != "mhlo")
    return attribute;
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  StringRef body = text;
  body.consume_front("#");
  body.consume_front(dialect);
  if (!body.consume_front(".")) {
    body.consume_front("<");
    body.consume_back(">");
  }
  Attribute value = readAttribute(attribute.getContext(), body);
  return value ? value : attribute;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Converts the text of Shardy's attributes to attributes of the `spmd` dialect.

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/Sdy/Sdy.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

/// Parses text in the notation of the `spmd` dialect. Reports no errors: the
/// caller does that.
static Attribute parse(MLIRContext *context, const Twine &text) {
  context->getOrLoadDialect<spmd::SPMDDialect>();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) {});
  return mlir::parseAttribute(text.str(), context);
}

/// Parses the Shardy list `{"a", "b"}` into the array attribute `["a", "b"]`.
static Attribute readNames(MLIRContext *context, StringRef text) {
  text = text.trim();
  if (!text.consume_front("{") || !text.consume_back("}"))
    return {};
  return dyn_cast_or_null<ArrayAttr>(parse(context, "[" + text + "]"));
}

/// Parses `[<@m, [..]>, <@m, [..]>]` into an array of `#spmd.sharding`
/// attributes.
static Attribute readShardings(MLIRContext *context, StringRef text) {
  std::string marked;
  unsigned depth = 0;
  bool inString = false;
  for (char c : text) {
    inString ^= c == '"';
    if (!inString && c == '<' && depth++ == 0)
      marked += "#spmd.sharding";
    if (!inString && c == '>' && depth-- == 0)
      return {};
    marked += c;
  }
  return dyn_cast_or_null<ArrayAttr>(parse(context, marked));
}

Attribute sdy::readAttribute(MLIRContext *context, StringRef text) {
  if (text.consume_front("sharding_per_value")) {
    if (!text.consume_front("<") || !text.consume_back(">"))
      return {};
    return readShardings(context, text);
  }
  if (text.consume_front("sharding<"))
    return dyn_cast_or_null<spmd::ShardingAttr>(
        parse(context, "#spmd.sharding<" + text));
  if (text.consume_front("mesh<"))
    return dyn_cast_or_null<spmd::MeshAttr>(
        parse(context, "#spmd.mesh<" + text));
  if (text.consume_front("manual_axes"))
    return readNames(context, text);
  StringRef word = text;
  if (word.consume_front("propagation_direction")) {
    word = word.trim("<> ");
    return StringAttr::get(context, word);
  }
  return {};
}

Attribute sdy::toBuiltin(Attribute attribute) {
  if (attribute.getDialect().getNamespace() != "sdy")
    return attribute;
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  StringRef body = text;
  body.consume_front("#sdy");
  if (!body.consume_front(".")) {
    body.consume_front("<");
    body.consume_back(">");
  }
  Attribute value = readAttribute(attribute.getContext(), body);
  return value ? value : attribute;
}

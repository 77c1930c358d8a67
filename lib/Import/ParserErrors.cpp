// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Import/ParserErrors.h"

#include "lib/Support/NearName.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OperationSupport.h"

#include <optional>
#include <string>
#include <vector>

using namespace mlir;
using namespace tp;

namespace {
struct Explanation {
  ErrorCode code;
  std::string text, note;
};
} // namespace

/// Returns the text between `begin` and `end`; nullopt if either is missing.
static std::optional<StringRef> getBetween(StringRef text, StringRef begin,
                                           StringRef end) {
  size_t from = text.find(begin);
  if (from == StringRef::npos)
    return std::nullopt;
  from += begin.size();
  size_t to = text.find(end, from);
  if (to == StringRef::npos)
    return std::nullopt;
  return text.slice(from, to);
}

static StringRef getLastPart(StringRef operation) {
  return operation.substr(operation.rfind('.') + 1);
}

/// Returns the operation that the user probably meant by `unknown`: one with
/// the same name in another dialect, or else one with a similar name. Empty if
/// there is none.
static std::string findOperation(StringRef unknown,
                                 const DialectRegistry &dialects) {
  // Use another context: this runs in a diagnostic handler, where no dialects
  // may be loaded into the program's context.
  MLIRContext context(dialects, MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::vector<StringRef> whole, parts;
  StringRef own = getLastPart(unknown);
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    // Skip the dialects whose operations users do not write.
    if (llvm::is_contained({"builtin", "step"}, name.getDialectNamespace()))
      continue;
    whole.push_back(name.getStringRef());
    parts.push_back(getLastPart(whole.back()));
  }
  auto same = llvm::find(parts, own);
  if (same != parts.end())
    return whole[same - parts.begin()].str();
  if (StringRef near = findNearName(unknown, whole); !near.empty())
    return near.str();
  StringRef near = findNearName(own, parts);
  return near.empty() ? ""
                      : whole[llvm::find(parts, near) - parts.begin()].str();
}

static Explanation explainUnknown(StringRef operation,
                                  const DialectRegistry &dialects) {
  Explanation result{ErrorCode::UnknownOperation,
                     ("no operation is called '" + operation + "'").str(),
                     "docs/reference lists the operations of each dialect"};
  if (std::string near = findOperation(operation, dialects); !near.empty())
    result.text += "; did you mean '" + near + "'?";
  return result;
}

/// `operation` is empty if the parser does not name it.
static Explanation explainForeign(StringRef operation,
                                  const DialectRegistry &dialects) {
  std::string what =
      operation.empty() ? "the operation" : ("'" + operation + "'").str();
  Explanation result{ErrorCode::ForeignOperation,
                     what + " belongs to a dialect that tp-opt does not read",
                     "a program consists of tp and spmd operations, or of "
                     "StableHLO with its shardings: export the model as "
                     "StableHLO, or express the operation in these dialects"};
  if (std::string near = findOperation(operation, dialects); !near.empty())
    result.text += "; did you mean '" + near + "'?";
  return result;
}

static std::optional<Explanation> explain(StringRef text,
                                          const DialectRegistry &dialects) {
  if (text.starts_with("custom op '") && text.contains("' is unknown"))
    return explainUnknown(*getBetween(text, "'", "'"), dialects);
  if (text.starts_with("unregistered operation '"))
    return explainUnknown(getBetween(text, "'", "'").value_or(""), dialects);
  if (text.starts_with("Dialect `"))
    if (auto operation = getBetween(text, "for custom op '", "'"))
      return explainForeign(*operation, dialects);
  if (text.starts_with("operation being parsed with an unregistered dialect"))
    return explainForeign("", dialects);
  // 'tp.exp' op operand #0 must be static tensor of floats, but got ..
  auto type = getBetween(text, "but got '", "'");
  bool isOurs = text.starts_with("'tp.") || text.starts_with("'spmd.");
  if (!isOurs || !type || !text.contains(" must be "))
    return std::nullopt;
  if (type->contains('?'))
    return Explanation{
        ErrorCode::DynamicShape, text.str(),
        "write the sizes out, as in tensor<8x512xf32>, or export "
        "the program with static sizes"};
  return Explanation{ErrorCode::TypeMismatch, text.str(), ""};
}

bool tp::repeatParserError(const Diagnostic &diagnostic,
                           const DialectRegistry &dialects) {
  if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return false;
  std::optional<Explanation> found = explain(diagnostic.str(), dialects);
  if (!found)
    return false;
  Location at = diagnostic.getLocation();
  InFlightDiagnostic repeated =
      at.getContext()->getDiagEngine().emit(at, DiagnosticSeverity::Error);
  repeated << prefix(found->code) << found->text;
  if (!found->note.empty())
    repeated.attachNote() << found->note;
  return true;
}

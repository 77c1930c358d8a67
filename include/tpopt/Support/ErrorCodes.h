// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The codes that prefix every user error: `[TP0204] what: why`.
///
/// People see the code in the text. Programs can query it: it is in the
/// metadata of a diagnostic, and is the `std::error_code` of an `llvm::Error`.
///
///     op->emitError() << prefix(ErrorCode::AxisUsedTwice) << "axis ...";
///     return createError(ErrorCode::UnwritableFile, "cannot write 'a.json'");
///     ...
///     if (getErrorCode(diagnostic) == ErrorCode::DiskFull) ...

#ifndef TPOPT_SUPPORT_ERRORCODES_H
#define TPOPT_SUPPORT_ERRORCODES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <type_traits>

namespace mlir {
class Diagnostic;
} // namespace mlir

namespace tp {

/// One enumerator per line of ErrorCodes.def; the value is the number.
enum class ErrorCode : unsigned {
#define TP_ERROR(number, enumerator, text) enumerator = number,
#include "tpopt/Support/ErrorCodes.def"
};

/// `"[TP0204] "`.
llvm::StringRef getText(ErrorCode code);

/// One sentence that says what an error of this code means and how to fix it.
llvm::StringRef describe(ErrorCode code);

/// The prefix of an error message, with the text getText(code). Printed to a
/// diagnostic, it also records the code in the diagnostic's metadata.
struct ErrorPrefix {
  ErrorCode code;

  operator llvm::StringRef() const { return getText(code); }
};

inline ErrorPrefix prefix(ErrorCode code) { return {code}; }

inline llvm::raw_ostream &operator<<(llvm::raw_ostream &os,
                                     ErrorPrefix prefix) {
  return os << getText(prefix.code);
}

/// Marks the error code in the metadata of a diagnostic: the number of the code
/// follows this string.
inline constexpr llvm::StringLiteral kErrorCodeMark = "tpopt.error_code";

/// The message of an `llvm::Error`, for a diagnostic that keeps the code:
///
///     return module.emitError() << toMessage(std::move(error));
struct ErrorMessage {
  std::optional<ErrorCode> code;
  std::string text;
};

ErrorMessage toMessage(llvm::Error error);

// The following are templates on the diagnostic class, because libraries that
// do not depend on MLIR include this header.

template <typename T>
using IfDiagnostic = std::enable_if_t<std::is_same_v<T, mlir::Diagnostic>>;

template <typename T, typename = IfDiagnostic<T>>
void setErrorCode(T &diagnostic, ErrorCode code) {
  auto &metadata = diagnostic.getMetadata();
  using Argument = typename std::decay_t<decltype(metadata)>::value_type;
  metadata.push_back(Argument(llvm::StringRef(kErrorCodeMark)));
  metadata.push_back(Argument(unsigned(code)));
}

template <typename T, typename = IfDiagnostic<T>>
T &operator<<(T &diagnostic, ErrorPrefix prefix) {
  setErrorCode(diagnostic, prefix.code);
  return diagnostic << getText(prefix.code);
}

template <typename T, typename = IfDiagnostic<T>>
T &operator<<(T &diagnostic, const ErrorMessage &message) {
  if (message.code)
    setErrorCode(diagnostic, *message.code);
  return diagnostic << message.text;
}

/// The code of a diagnostic; none if it does not have one of our codes.
template <typename T, typename = IfDiagnostic<T>>
std::optional<ErrorCode> getErrorCode(T &diagnostic) {
  bool isNext = false;
  for (const auto &argument : diagnostic.getMetadata()) {
    using Kind = std::decay_t<decltype(argument.getKind())>;
    if (isNext)
      return ErrorCode(argument.getAsUnsigned());
    isNext = argument.getKind() == Kind::String &&
             argument.getAsString() == kErrorCodeMark;
  }
  return std::nullopt;
}

/// An error whose message is `text` after the code's prefix.
llvm::Error createError(ErrorCode code, const llvm::Twine &text);

/// The error code for a file that cannot be opened. This is LimitReached if
/// `why` says that the process or the machine is at a limit, such as that of
/// open files. Otherwise it is `otherwise`, a code that blames the file.
ErrorCode getFileError(std::error_code why, ErrorCode otherwise);

} // namespace tp

#endif // TPOPT_SUPPORT_ERRORCODES_H

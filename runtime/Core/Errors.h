// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Errors of the runtime: an absl::Status whose message starts with the
/// stable code, `[TP0843] what: why; what to do instead`, and which carries
/// that code for callers whose decisions depend on it.
///
///   return makeError(ErrorCode::WeightsMissing, "tensor '", name, "': ...");
///   ...
///   if (getErrorCode(status) == ErrorCode::WeightsMissing) ...
///
/// Nothing in the runtime throws, aborts or exits; every failure is such a
/// status and propagates to the C ABI, which returns the number.

#ifndef TPRT_CORE_ERRORS_H
#define TPRT_CORE_ERRORS_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include <cstdint>

namespace tprt {

/// One enumerator for each line of Errors.def, with the number in that line as
/// its value.
enum class ErrorCode : int32_t {
#define TPRT_ERROR(number, enumerator, exit, text) enumerator = number,
#include "runtime/Core/Errors.def"
};

absl::Status makeErrorFromMessage(ErrorCode code, absl::string_view message);

/// Makes an error of this code; the pieces are joined as by absl::StrCat.
template <typename... Pieces>
absl::Status makeError(ErrorCode code, const Pieces &...pieces) {
  return makeErrorFromMessage(code, absl::StrCat(pieces...));
}

/// Returns the same error with `context: ` in front of its message, after the
/// code.
absl::Status addContext(const absl::Status &status, absl::string_view context);

/// Returns the code of an error from makeError; 0 for an OK status.
ErrorCode getErrorCode(const absl::Status &status);

/// Returns the message without its `[TPnnnn] `.
absl::string_view getPlainMessage(const absl::Status &status);

/// Returns the exit code of a process that failed with this status: 0, 1, 2 or
/// 3.
int getExitCode(const absl::Status &status);

/// Returns one sentence that says what an error of this code means; empty for a
/// number that is no code.
absl::string_view describe(ErrorCode code);

} // namespace tprt

#define TPRT_RETURN_IF_ERROR(expression)                                       \
  do {                                                                         \
    if (absl::Status tprtStatus = (expression); !tprtStatus.ok())              \
      return tprtStatus;                                                       \
  } while (false)

#define TPRT_CONCATENATE_(a, b) a##b
#define TPRT_CONCATENATE(a, b) TPRT_CONCATENATE_(a, b)

/// `TPRT_ASSIGN_OR_RETURN(auto value, expression);`
#define TPRT_ASSIGN_OR_RETURN(declaration, expression)                         \
  TPRT_ASSIGN_OR_RETURN_(TPRT_CONCATENATE(tprtOr, __LINE__), declaration,      \
                         expression)
#define TPRT_ASSIGN_OR_RETURN_(statusOr, declaration, expression)              \
  auto statusOr = (expression);                                                \
  if (!statusOr.ok())                                                          \
    return statusOr.status();                                                  \
  declaration = *std::move(statusOr)

#endif // TPRT_CORE_ERRORS_H

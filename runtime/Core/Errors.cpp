// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"

using namespace tprt;

static constexpr char kCodeUrl[] = "tprt/error-code";
/// The length of "[TP0843] ".
static constexpr size_t kPrefixLength = 9;

static int getExitCode(ErrorCode code) {
  switch (code) {
#define TPRT_ERROR(number, enumerator, exit, text)                             \
  case ErrorCode::enumerator:                                                  \
    return exit;
#include "runtime/Core/Errors.def"
  }
  return 2;
}

absl::string_view tprt::describe(ErrorCode code) {
  switch (code) {
#define TPRT_ERROR(number, enumerator, exit, text)                             \
  case ErrorCode::enumerator:                                                  \
    return text;
#include "runtime/Core/Errors.def"
  }
  return "";
}

absl::Status tprt::makeErrorFromMessage(ErrorCode code,
                                        absl::string_view message) {
  // The absl code is only a rough group: callers use our own code.
  int exit = ::getExitCode(code);
  absl::StatusCode group = exit == 1   ? absl::StatusCode::kInvalidArgument
                           : exit == 2 ? absl::StatusCode::kInternal
                                       : absl::StatusCode::kUnavailable;
  absl::Status status(
      group, absl::StrFormat("[TP%04d] %s", static_cast<int>(code), message));
  status.SetPayload(kCodeUrl, absl::Cord(absl::string_view(
                                  absl::StrCat(static_cast<int>(code)))));
  return status;
}

ErrorCode tprt::getErrorCode(const absl::Status &status) {
  int number = 0;
  if (absl::optional<absl::Cord> payload = status.GetPayload(kCodeUrl))
    if (!absl::SimpleAtoi(std::string(*payload), &number))
      number = 0;
  return static_cast<ErrorCode>(number);
}

absl::string_view tprt::getPlainMessage(const absl::Status &status) {
  absl::string_view message = status.message();
  if (getErrorCode(status) != ErrorCode(0))
    message.remove_prefix(kPrefixLength);
  return message;
}

absl::Status tprt::addContext(const absl::Status &status,
                              absl::string_view context) {
  if (status.ok())
    return status;
  return makeErrorFromMessage(
      getErrorCode(status),
      absl::StrCat(context, ": ", getPlainMessage(status)));
}

int tprt::getExitCode(const absl::Status &status) {
  return status.ok() ? 0 : ::getExitCode(getErrorCode(status));
}

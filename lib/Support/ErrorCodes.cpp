// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Support/ErrorCodes.h"

#include "llvm/Support/ErrorHandling.h"

using namespace tp;

llvm::StringRef tp::getText(ErrorCode code) {
  switch (code) {
#define TP_ERROR(number, enumerator, text)                                     \
  case ErrorCode::enumerator:                                                  \
    return "[TP0" #number "] ";
#include "tpopt/Support/ErrorCodes.def"
  }
  llvm_unreachable("every code is a line of ErrorCodes.def");
}

llvm::StringRef tp::describe(ErrorCode code) {
  switch (code) {
#define TP_ERROR(number, enumerator, text)                                     \
  case ErrorCode::enumerator:                                                  \
    return text;
#include "tpopt/Support/ErrorCodes.def"
  }
  llvm_unreachable("every code is a line of ErrorCodes.def");
}

namespace {

class Category : public std::error_category {
public:
  const char *name() const noexcept override { return "tp-opt"; }
  std::string message(int code) const override {
    return describe(ErrorCode(code)).str();
  }
};

} // namespace

static const Category &getCategory() {
  static const Category category;
  return category;
}

llvm::Error tp::createError(ErrorCode code, const llvm::Twine &text) {
  return llvm::createStringError(std::error_code(int(code), getCategory()),
                                 llvm::StringRef(prefix(code)) + text);
}

ErrorMessage tp::toMessage(llvm::Error error) {
  ErrorMessage message;
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &info) {
    std::error_code code = info.convertToErrorCode();
    if (!message.code && code.category() == getCategory())
      message.code = ErrorCode(code.value());
    message.text += (message.text.empty() ? "" : "\n") + info.message();
  });
  return message;
}

ErrorCode tp::getFileError(std::error_code why, ErrorCode otherwise) {
  for (std::errc error :
       {std::errc::too_many_files_open,
        std::errc::too_many_files_open_in_system, std::errc::not_enough_memory})
    if (why == error)
      return ErrorCode::LimitReached;
  return otherwise;
}

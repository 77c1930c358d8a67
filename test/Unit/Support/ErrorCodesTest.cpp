// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Support/ErrorCodes.h"

#include "gtest/gtest.h"

using namespace tp;

namespace {

TEST(ErrorCodes, AnErrorKeepsItsCode) {
  ErrorMessage message =
      toMessage(createError(ErrorCode::DiskFull, "cannot write 'a.json'"));
  EXPECT_EQ(message.code, ErrorCode::DiskFull);
  EXPECT_EQ(message.text,
            getText(ErrorCode::DiskFull).str() + "cannot write 'a.json'");
}

TEST(ErrorCodes, WhatLooksLikeACodeIsNone) {
  std::string text = getText(ErrorCode::DiskFull).str() + "said by somebody";
  EXPECT_EQ(toMessage(llvm::createStringError(text)).code, std::nullopt);
}

TEST(ErrorCodes, OfSeveralErrorsTheFirstCodeIsKept) {
  ErrorMessage message = toMessage(llvm::joinErrors(
      llvm::createStringError("first"),
      llvm::joinErrors(createError(ErrorCode::BadMachineFile, "second"),
                       createError(ErrorCode::DiskFull, "third"))));
  EXPECT_EQ(message.code, ErrorCode::BadMachineFile);
  EXPECT_EQ(message.text, "first\n" + getText(ErrorCode::BadMachineFile).str() +
                              "second\n" + getText(ErrorCode::DiskFull).str() +
                              "third");
}

TEST(ErrorCodes, WithoutDescriptorsNoFileIsToBlame) {
  auto of = [](std::errc why) {
    return getFileError(std::make_error_code(why), ErrorCode::BadSafetensors);
  };
  EXPECT_EQ(of(std::errc::no_such_file_or_directory),
            ErrorCode::BadSafetensors);
  EXPECT_EQ(of(std::errc::permission_denied), ErrorCode::BadSafetensors);
  EXPECT_EQ(of(std::errc::too_many_files_open), ErrorCode::LimitReached);
  EXPECT_EQ(of(std::errc::too_many_files_open_in_system),
            ErrorCode::LimitReached);
  EXPECT_EQ(of(std::errc::not_enough_memory), ErrorCode::LimitReached);
}

} // namespace

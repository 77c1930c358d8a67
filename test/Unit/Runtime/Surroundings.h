// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a test has around it for as long as it runs.

#ifndef TPOPT_TEST_UNIT_RUNTIME_SURROUNDINGS_H
#define TPOPT_TEST_UNIT_RUNTIME_SURROUNDINGS_H

#include "gtest/gtest.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

namespace tprt::test {

/// An empty folder that no other test has, gone with all that is in it when it
/// ends.
class TempFolder {
public:
  TempFolder() : path(::testing::TempDir() + "/tprt.XXXXXX") {
    EXPECT_NE(::mkdtemp(&path[0]), nullptr);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;

  const std::string &get() const { return path; }

private:
  std::string path;
};

/// A variable of the environment, for as long as it lives. No other thread may
/// use the environment as it begins or ends.
class Variable {
public:
  Variable(const char *name, const char *value) : name(name) {
    if (const char *known = std::getenv(name))
      before = known;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before)
      setenv(name, before->c_str(), 1);
    else
      unsetenv(name);
  }
  Variable(const Variable &) = delete;
  Variable &operator=(const Variable &) = delete;

private:
  const char *name;
  std::optional<std::string> before;
};

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_SURROUNDINGS_H

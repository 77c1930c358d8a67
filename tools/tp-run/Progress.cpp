// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Progress.h"

#include <cstdio>
#include <string>
#include <unistd.h>

tprun::Progress::Progress(absl::string_view what) {
  if (::isatty(STDERR_FILENO))
    std::fprintf(stderr, "%s ...", std::string(what).c_str());
}

tprun::Progress::~Progress() {
  // Back to the start, and clear the line.
  if (::isatty(STDERR_FILENO))
    std::fputs("\r\033[K", stderr);
}

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
  // Moves to the start of the line and clears it.
  if (::isatty(STDERR_FILENO))
    std::fputs("\r\033[K", stderr);
}

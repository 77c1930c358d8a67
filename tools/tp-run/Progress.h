// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Messages for a user who waits at a terminal.

#ifndef TPRUN_PROGRESS_H
#define TPRUN_PROGRESS_H

#include "absl/strings/string_view.h"

namespace tprun {

/// Shows a line on stderr while this object lives, if stderr is a terminal.
class Progress {
public:
  explicit Progress(absl::string_view what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
};

} // namespace tprun

#endif // TPRUN_PROGRESS_H

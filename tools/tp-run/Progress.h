// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Messages for a person who waits at a terminal.

#ifndef TPRUN_PROGRESS_H
#define TPRUN_PROGRESS_H

#include "absl/strings/string_view.h"

namespace tprun {

/// Shows a line on stderr until it goes out of scope; nothing if stderr is not
/// a terminal.
class Progress {
public:
  explicit Progress(absl::string_view what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;
};

} // namespace tprun

#endif // TPRUN_PROGRESS_H

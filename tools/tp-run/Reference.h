// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Runs the whole program, to compare the results of a sharded program
/// with those of the whole program.

#ifndef TPRUN_REFERENCE_H
#define TPRUN_REFERENCE_H

#include "Options.h"
#include "runtime/Core/Session.h"

namespace tprun {

/// The whole program on one device, with the inputs of a sharded program. It is
/// run once for each draw: draw 0 is the program itself, and each other draw
/// has different rounding errors; see loadReference in Program.h.
class Reference {
public:
  Reference(const tprt::Artifact &sharded, const Options &options)
      : sharded(sharded), options(options) {}

  /// Returns the outputs of an entry, in their order.
  absl::StatusOr<std::vector<std::string>> run(const std::string &entry,
                                               int draw) const;
  absl::StatusOr<std::vector<int64_t>> generate(int draw) const;

private:
  /// Opens a session and binds its inputs.
  absl::StatusOr<std::unique_ptr<tprt::Session>> open(int draw) const;

  const tprt::Artifact &sharded;
  const Options &options;
};

} // namespace tprun

#endif // TPRUN_REFERENCE_H

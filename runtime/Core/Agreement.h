// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What the ranks of a job must have been given alike. Each process has
/// its own options, inputs and weights; where they differ, each rank computes
/// its part of another answer, and nothing else would notice.
///
///     agreement.note("--seed", "1");
///     agreement.note("input 'x'", "bytes with digest 0123456789abcdef");
///     agreement.compare(world);      // before the first run, on all ranks
///     agreement.closeRun();          // a digest of all of it, run by run
///
/// The comparison before the first run names what differs. Later ones compare
/// the digest alone, which costs nothing: it rides on messages that are sent
/// anyway.

#ifndef TPRT_CORE_AGREEMENT_H
#define TPRT_CORE_AGREEMENT_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Core/Safetensors.h"

#include "absl/container/btree_map.h"

namespace tprt {

class Agreement {
public:
  /// Notes a value by the name that users know. A later note of the same name
  /// replaces it.
  void note(absl::string_view name, absl::string_view value);

  /// RanksDisagree if another rank's notes differ. All ranks call it, and all
  /// return the same error.
  absl::Status compare(World &world) const;

  /// Begins a new run; returns a digest of the notes of all runs up to it.
  uint64_t closeRun();

  /// What was noted for the last run, for the error of a later comparison.
  std::string listLast() const;

private:
  using Notes = absl::btree_map<std::string, std::string>;

  Notes all;
  Notes fresh; ///< Since the last run began.
  Notes last;  ///< Those for the last run.
  uint64_t history = 0;
};

/// `bytes with digest 0123456789abcdef`.
std::string describeBytes(absl::string_view bytes);

/// The same of a tensor in a file: its type, its shape, and a digest of samples
/// of its data, as reading all of it would take as long as loading it.
absl::StatusOr<std::string> describeStored(const TensorReader &tensor);

} // namespace tprt

#endif // TPRT_CORE_AGREEMENT_H

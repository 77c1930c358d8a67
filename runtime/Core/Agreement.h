// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Compares what must be the same on all ranks of a job. Each process has
/// its own options, inputs and weights. If they differ, each rank computes its
/// part of a different result, and nothing else would detect this.
///
///     agreement.note("--seed", "1");
///     agreement.note("input 'x'", "bytes with digest 0123456789abcdef");
///     agreement.compare(world);      // before the first run, on all ranks
///     agreement.closeRun();          // a digest of all of it, run by run
///
/// The comparison before the first run names what differs. Later runs compare
/// only the digest, which costs nothing: it is part of messages that are sent
/// anyway.

#ifndef TPRT_CORE_AGREEMENT_H
#define TPRT_CORE_AGREEMENT_H

#include "runtime/Communicators/Communicator.h"
#include "runtime/Core/Safetensors.h"

#include "absl/container/btree_map.h"

namespace tprt {

class Agreement {
public:
  /// Notes a value by the name that users know. A later note with the same name
  /// replaces it.
  void note(absl::string_view name, absl::string_view value);

  /// Returns RanksDisagree if the notes of any two ranks differ. All ranks must
  /// call this, and all get the same error.
  absl::Status compare(World &world) const;

  /// Begins a new run; returns a digest of the notes for all runs so far,
  /// including the new one.
  uint64_t closeRun();

  /// Returns the names of the notes for the last run, for the error message if
  /// the ranks' values differ.
  std::string listLast() const;

private:
  using Notes = absl::btree_map<std::string, std::string>;

  Notes all;
  Notes fresh; ///< Since the last run began.
  Notes last;  ///< For the last run.
  uint64_t history = 0;
};

/// Describes bytes by their digest, as in `bytes with digest 0123456789abcdef`.
std::string describeBytes(absl::string_view bytes);

/// Describes a tensor in a file: its type, its shape, and a digest of samples
/// of its data. A digest of all of the data would take as long as loading it.
absl::StatusOr<std::string> describeStored(const TensorReader &tensor);

} // namespace tprt

#endif // TPRT_CORE_AGREEMENT_H

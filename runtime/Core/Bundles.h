// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The positions of inputs that share a storage (BundleRow). The session
/// reads and writes the dense block of one input, whose rows in the bundle are:
///
///     for (int64_t row = 0; row < place.rows; ++row)
///       std::memcpy(bundle + place.offset + row * place.stride,
///                   block + row * place.rowBytes, place.rowBytes);

#ifndef TPRT_CORE_BUNDLES_H
#define TPRT_CORE_BUNDLES_H

#include "runtime/Core/Artifact.h"

#include <vector>

namespace tprt {

struct BundlePlace {
  uint32_t bundle = kNone; ///< kNone: the input has a storage of its own.
  int64_t rows = 0;
  uint64_t offset = 0, rowBytes = 0, stride = 0;

  bool isMember() const { return bundle != kNone; }
};

/// Returns, for each input of the artifact, which bytes of which bundle hold
/// the input, if any.
std::vector<BundlePlace> getBundlePlaces(const Artifact &artifact);

/// Returns the bytes of a bundle's storage: the sum of its members.
uint64_t getBytes(const Artifact &artifact, const BundleRow &bundle);

} // namespace tprt

#endif // TPRT_CORE_BUNDLES_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Bundles.h"

using namespace tprt;

uint64_t tprt::getBytes(const Artifact &artifact, const BundleRow &bundle) {
  uint64_t bytes = 0;
  for (int64_t input : artifact.integers(bundle.members))
    bytes += static_cast<uint64_t>(
        artifact.getLocalBytes(artifact.rows<InputRow>()[input]));
  return bytes;
}

std::vector<BundlePlace> tprt::getBundlePlaces(const Artifact &artifact) {
  std::vector<BundlePlace> places(artifact.rows<InputRow>().size());
  absl::Span<const BundleRow> bundles = artifact.rows<BundleRow>();
  for (uint32_t index = 0; index < bundles.size(); ++index) {
    const BundleRow &bundle = bundles[index];
    auto rows = static_cast<uint64_t>(bundle.rows);
    uint64_t offset = 0, stride = getBytes(artifact, bundle) / rows;
    for (int64_t input : artifact.integers(bundle.members)) {
      auto bytes = static_cast<uint64_t>(
          artifact.getLocalBytes(artifact.rows<InputRow>()[input]));
      places[input] = {index, bundle.rows, offset, bytes / rows, stride};
      offset += bytes / rows;
    }
  }
  return places;
}

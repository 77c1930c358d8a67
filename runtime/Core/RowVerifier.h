// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The base of all checks of an artifact's rows. Messages identify a
/// broken row by its table and number, the only names that a reader of the file
/// knows.

#ifndef TPRT_CORE_ROWVERIFIER_H
#define TPRT_CORE_ROWVERIFIER_H

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Errors.h"

namespace tprt {

class RowVerifier {
protected:
  explicit RowVerifier(const Artifact &artifact) : artifact(artifact) {}

  template <typename... Pieces>
  static absl::Status fail(const Pieces &...pieces) {
    return makeError(ErrorCode::ArtifactCorrupt,
                     "the artifact is damaged: ", pieces...,
                     "; compile the program again");
  }

  template <typename Row> bool isInside(Range range) const {
    return uint64_t{range.first} + range.count <= artifact.rows<Row>().size();
  }

  absl::Status verifyText(TextRef ref) const {
    if (uint64_t{ref.offset} + ref.size >
        artifact.bytes(SectionKind::Text).size())
      return fail("a name is not inside the text section");
    return absl::OkStatus();
  }

  static bool isDType(DType type) {
    return static_cast<uint32_t>(type) < kNumDTypes;
  }

  const Artifact &artifact;
};

} // namespace tprt

#endif // TPRT_CORE_ROWVERIFIER_H

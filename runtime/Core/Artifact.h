// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A checked, read-only view of an artifact (see ArtifactFormat.h).
///
/// Code that has an Artifact may use every index, range and offset in it
/// without checks. Opening the artifact has proved that each stays inside its
/// table or buffer, that loops nest, that collectives start and finish in
/// pairs, that no step touches their memory in between, and that nothing writes
/// to constants. For any other input, opening returns an error with a code, and
/// never crashes. The process has its own copy of the bytes: later changes to
/// the file have no effect.

#ifndef TPRT_CORE_ARTIFACT_H
#define TPRT_CORE_ARTIFACT_H

#include "runtime/Core/AlignedBuffer.h"
#include "runtime/Core/ArtifactFormat.h"
#include "runtime/Core/File.h"

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace tprt {

class Artifact {
public:
  static absl::StatusOr<std::shared_ptr<const Artifact>>
  open(const std::string &path);
  static absl::StatusOr<std::shared_ptr<const Artifact>> read(const File &file);
  /// Reads an artifact from bytes in memory, which are copied.
  static absl::StatusOr<std::shared_ptr<const Artifact>>
  fromBytes(absl::string_view bytes);

  /// Returns the target that the artifact was compiled for, one of the
  /// constants k..Target of the format.
  absl::string_view getTarget() const { return bytes(SectionKind::Target); }
  /// Returns an error unless the artifact was compiled for `target`.
  absl::Status checkTarget(absl::string_view target) const;

  /// Returns a hash that identifies the program: ranks that run the same
  /// program get the same hash.
  uint64_t getHash() const;

  /// Returns all rows of a section; none if the artifact has no such section.
  template <typename Row> absl::Span<const Row> rows() const {
    absl::string_view section =
        rowSections[static_cast<size_t>(SectionOf<Row>::kind)];
    return {reinterpret_cast<const Row *>(section.data()),
            section.size() / sizeof(Row)};
  }
  template <typename Row> absl::Span<const Row> rows(Range range) const {
    return rows<Row>().subspan(range.first, range.count);
  }
  absl::Span<const int64_t> integers(Range range) const {
    return rows<int64_t>(range);
  }
  absl::string_view text(TextRef ref) const {
    return bytes(SectionKind::Text).substr(ref.offset, ref.size);
  }
  /// Returns the contents of a section of bytes; empty if there is none.
  absl::string_view bytes(SectionKind kind) const;

  absl::optional<uint32_t> findEntry(absl::string_view name) const;
  absl::optional<uint32_t> findInput(absl::string_view name) const;
  /// Returns the stored tensor that the input is a part of, such as
  /// `qkv.weight` for `qkv.weight#1`; null for other inputs.
  const SourceRow *getPartSource(uint32_t input) const;
  /// Returns the inputs that are parts of that tensor.
  std::vector<uint32_t> findParts(absl::string_view tensor) const;

  /// A tensor that an entry returns: an output, or the tensor that several
  /// outputs are parts of.
  struct Result {
    absl::string_view name;
    DType dtype;
    std::vector<int64_t> shape;
    Range outputs;   ///< One output, or the parts in order.
    uint32_t joined; ///< The dimension along which parts are joined.
  };
  std::vector<Result> getResults(const EntryRow &entry) const;

  std::vector<int64_t> getGlobalShape(Range dims) const;
  std::vector<int64_t> getLocalShape(Range dims) const;
  /// Returns the bytes of the block that each rank holds.
  int64_t getLocalBytes(const InputRow &input) const;
  int64_t getLocalBytes(const OutputRow &output) const;
  /// Returns true if an output of some entry uses the input's storage.
  bool isDonated(uint32_t input) const;
  /// Returns true if the input keeps its value between runs. The input is zero
  /// before the first run; each later run finds what the previous run left.
  bool isKept(uint32_t input) const;
  /// Returns the bytes of an arena that suffices for all entries.
  uint64_t getArenaBytes() const;
  /// Returns how many loop counters suffice for all entries.
  uint32_t getNumCounters() const;

  /// Returns true if anything is computed between the start and the end of a
  /// collective.
  bool overlaps() const;

  /// Returns the number of links; 1 without a mesh.
  uint32_t getNumLinks() const;
  /// Returns the links that collectives of this group use, in ascending order.
  /// There is at least one.
  std::vector<uint32_t> getLinks(const CommunicatorRow &communicator) const;

  /// Returns the number of devices: the product of the mesh's sizes.
  int64_t getNumDevices() const;
  /// Returns the number of the place that `rank` has in the mesh. Places are
  /// numbered row-major.
  int64_t getPlace(int64_t rank) const;
  /// Returns the position of `rank` along the axes as one number, with the
  /// first axis most significant.
  int64_t getPosition(Range axes, int64_t rank) const;
  /// Returns the position of `rank` along the axes of a PlaceRow, plus the
  /// shift `plus` of that row, with wraparound.
  int64_t getShiftedPosition(const PlaceRow &place, int64_t rank) const;
  /// Returns the distance in bytes from a buffer's `offset` to where the buffer
  /// begins on `rank`. It depends on the buffer's PlaceRow, or on `counters`:
  /// how many iterations of each loop are finished.
  int64_t getDistance(const BufferRow &buffer, int64_t rank,
                      absl::Span<const int64_t> counters) const;
  /// Returns the value of a kernel's scalar operand on `rank`. `counters` tells
  /// how many iterations of each loop are finished.
  int64_t evaluate(const ScalarRow &scalar, int64_t rank,
                   absl::Span<const int64_t> counters) const;
  /// Returns the product of the axes' sizes.
  int64_t getGroupSize(Range axes) const;
  /// Returns the ranks of the group that contains `rank`, by position.
  std::vector<int> getGroup(const CommunicatorRow &communicator,
                            int64_t rank) const;

private:
  Artifact() = default;
  /// Parses the contents.
  absl::Status parse();
  /// Defined in ArtifactVerifier.cpp.
  absl::Status verify() const;

  AlignedBuffer contents;
  std::array<absl::string_view, kNumRowSections> rowSections;
  absl::flat_hash_map<SectionKind, absl::string_view> byteSections;
  /// The number of the place that each rank has in the mesh; empty if every
  /// rank r has place r.
  std::vector<uint32_t> places;
};

/// Returns the size of a section's row struct; 1 for bytes, 0 for an unknown
/// kind.
uint32_t getRowSize(SectionKind kind);

} // namespace tprt

#endif // TPRT_CORE_ARTIFACT_H

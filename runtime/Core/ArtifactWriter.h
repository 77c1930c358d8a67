// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Builds the bytes of an artifact. Does not use LLVM, so that the
/// compiler and the runtime's tests can share it.
///
///     ArtifactWriter writer;
///     uint32_t model = writer.add(MeshAxis{writer.text("model"), 2});
///     Range axes = writer.addAll<AxisRefRow>({{model, 0, 1, 2}});
///     uint32_t group = writer.add(CommunicatorRow{axes});
///     ...
///     std::string bytes = writer.finish();
///
/// The same calls give the same bytes. Rows are not checked here: reading the
/// result back with Artifact::fromBytes checks all of them.

#ifndef TPRT_CORE_ARTIFACTWRITER_H
#define TPRT_CORE_ARTIFACTWRITER_H

#include "runtime/Core/ArtifactFormat.h"

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <string>
#include <type_traits>

namespace tprt {

class ArtifactWriter {
public:
  /// Returns the name's place in the Text section; equal names share one.
  TextRef text(absl::string_view name);

  /// Appends a row to its section and returns its index.
  template <typename Row> uint32_t add(const Row &row) {
    return addAll<Row>({row}).first;
  }

  /// Appends several rows, one after the other, and returns their range, as in
  /// `addAll<int64_t>({2, 4})`.
  template <typename Row> Range addAll(std::initializer_list<Row> rows) {
    return addAll<Row>(absl::MakeConstSpan(rows.begin(), rows.size()));
  }
  template <typename Row> Range addAll(absl::Span<const Row> rows) {
    // No padding: the same rows must give the same bytes.
    static_assert(std::has_unique_object_representations_v<Row>);
    Section &section = sections[SectionOf<Row>::kind];
    section.rowSize = sizeof(Row);
    Range range{static_cast<uint32_t>(section.bytes.size() / sizeof(Row)),
                static_cast<uint32_t>(rows.size())};
    section.bytes.append(reinterpret_cast<const char *>(rows.data()),
                         rows.size() * sizeof(Row));
    return range;
  }

  /// Appends to the Constants section at a multiple of 64 bytes; returns the
  /// offset.
  uint64_t addConstant(absl::string_view bytes);

  /// Sets a section of bytes: object code, CPU features, programs.
  void setBytes(SectionKind kind, absl::string_view bytes);

  /// Returns the bytes of the whole file.
  std::string finish() const;

private:
  struct Section {
    uint32_t rowSize = 1;
    std::string bytes;
  };
  absl::btree_map<SectionKind, Section> sections;
  absl::flat_hash_map<std::string, TextRef> texts;
};

} // namespace tprt

#endif // TPRT_CORE_ARTIFACTWRITER_H

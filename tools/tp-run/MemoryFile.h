// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A file that exists only in memory, for passing data between this tool
/// and tp-opt. Nothing remains after both have ended.

#ifndef TPRUN_MEMORYFILE_H
#define TPRUN_MEMORYFILE_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <utility>

namespace tprun {

class MemoryFile {
public:
  static absl::StatusOr<MemoryFile> create(absl::string_view bytes = "");

  MemoryFile(MemoryFile &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)) {}
  MemoryFile &operator=(MemoryFile &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~MemoryFile();

  /// Returns the path by which a process that this one starts can open the
  /// file.
  std::string getPath() const;
  /// Returns its current contents.
  absl::StatusOr<std::string> read() const;

private:
  explicit MemoryFile(int descriptor) : descriptor(descriptor) {}

  int descriptor;
};

} // namespace tprun

#endif // TPRUN_MEMORYFILE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A file mapped read-only: pages are read when touched, so a rank that
/// looks at its own slice of a weight reads no more than that.

#ifndef TPRT_CORE_MAPPEDFILE_H
#define TPRT_CORE_MAPPEDFILE_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>
#include <utility>

namespace tprt {

class MappedFile {
public:
  static absl::StatusOr<MappedFile> open(const std::string &path);

  MappedFile(MappedFile &&other) noexcept
      : data(std::exchange(other.data, nullptr)),
        size(std::exchange(other.size, 0)) {}
  MappedFile &operator=(MappedFile &&other) noexcept {
    std::swap(data, other.data);
    std::swap(size, other.size);
    return *this;
  }
  ~MappedFile();

  absl::string_view bytes() const {
    return {static_cast<const char *>(data), size};
  }

private:
  MappedFile(void *data, size_t size) : data(data), size(size) {}

  void *data = nullptr;
  size_t size = 0;
};

} // namespace tprt

#endif // TPRT_CORE_MAPPEDFILE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The cache of this user, for files that take long to make but can be
/// made again: `$XDG_CACHE_HOME/tp-opt`, or `$HOME/.cache/tp-opt`.
///
/// The entries are run as native code, or passed to libraries, so other users
/// must not be able to change them. The folder and each entry belong to the
/// user, and other users cannot write to them. An entry is checked through the
/// same descriptor that it is read from. If the folder or an entry is a
/// symbolic link, it is not followed, and opening it fails.
/// Entries are written atomically, even by several processes at once, and an
/// entry that is removed stays intact for processes that have it open.

#ifndef TPRT_CORE_CACHEFOLDER_H
#define TPRT_CORE_CACHEFOLDER_H

#include "runtime/Core/File.h"

#include <string>
#include <utility>

namespace tprt {

class CacheFolder {
public:
  /// Opens the folder, and creates it if it does not exist. Returns
  /// CacheUnusable if that fails, or if the folder belongs to another user or
  /// other users can write to it.
  static absl::StatusOr<CacheFolder> open();

  CacheFolder(CacheFolder &&other) noexcept
      : descriptor(std::exchange(other.descriptor, -1)),
        path(std::move(other.path)) {}
  CacheFolder &operator=(CacheFolder &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    std::swap(path, other.path);
    return *this;
  }
  ~CacheFolder();

  const std::string &getPath() const { return path; }

  /// Opens an entry, which then counts as used. Returns FileUnreadable if there
  /// is none, and CacheUnusable if the entry belongs to another user or other
  /// users can write to it.
  absl::StatusOr<File> openEntry(const std::string &name) const;
  absl::Status write(const std::string &name, absl::string_view bytes) const;

  /// Removes entries whose names end in `suffix`, the least recently used
  /// first, until the rest have no more than `maxBytes`.
  void prune(absl::string_view suffix, uint64_t maxBytes) const;

private:
  CacheFolder(int descriptor, std::string path)
      : descriptor(descriptor), path(std::move(path)) {}

  int descriptor;
  std::string path;
};

} // namespace tprt

#endif // TPRT_CORE_CACHEFOLDER_H

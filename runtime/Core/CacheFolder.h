// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Where this user keeps what takes long to make and can be made again:
/// `$XDG_CACHE_HOME/tp-opt`, or `$HOME/.cache/tp-opt`.
///
/// What is kept there is run as native code, or handed to libraries, so nobody
/// else may have had a hand in it: the folder is the user's and closed to
/// others, and so is each entry, which is looked at through the descriptor that
/// it is read by. Neither is followed through a symbolic link. An entry is put
/// in its place whole, however many processes do so at once, and one that is
/// removed stays as it is for whoever has opened it.

#ifndef TPRT_CORE_CACHEFOLDER_H
#define TPRT_CORE_CACHEFOLDER_H

#include "runtime/Core/File.h"

#include <string>
#include <utility>

namespace tprt {

class CacheFolder {
public:
  /// Makes the folder if it is not there. CacheUnusable if there can be none,
  /// or if it is not this user's alone.
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

  /// An entry, which now counts as used. FileUnreadable if there is none,
  /// CacheUnusable if it is not this user's alone.
  absl::StatusOr<File> openEntry(const std::string &name) const;
  absl::Status write(const std::string &name, absl::string_view bytes) const;

  /// Of the entries whose names end so, removes those whose last use is longest
  /// ago, until the others have no more than `maxBytes`.
  void prune(absl::string_view suffix, uint64_t maxBytes) const;

private:
  CacheFolder(int descriptor, std::string path)
      : descriptor(descriptor), path(std::move(path)) {}

  int descriptor;
  std::string path;
};

} // namespace tprt

#endif // TPRT_CORE_CACHEFOLDER_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/CacheFolder.h"

#include "runtime/Core/WriteAll.h"

#include "absl/strings/match.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <tuple>
#include <vector>

using namespace tprt;

static constexpr char kTemporary[] = ".tmp";
/// A temporary file that is older than this many seconds has been abandoned.
static constexpr int64_t kAbandoned = 3600;

static absl::Status fail(absl::string_view path, absl::string_view why) {
  return makeError(ErrorCode::CacheUnusable, "'", path, "' ", why);
}

static absl::Status failBecause(absl::string_view what,
                                absl::string_view path) {
  return makeError(ErrorCode::CacheUnusable, "cannot ", what, " '", path,
                   "': ", std::strerror(errno));
}

/// Returns the folder of all caches of this user. Only absolute paths count, as
/// the XDG specification demands.
static std::string getBase() {
  const char *cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache == '/')
    return cache;
  const char *home = std::getenv("HOME");
  return home && *home == '/' ? absl::StrCat(home, "/.cache") : "";
}

absl::StatusOr<CacheFolder> CacheFolder::open() {
  std::string base = getBase();
  if (base.empty())
    return makeError(ErrorCode::CacheUnusable,
                     "the cache needs a folder, but neither XDG_CACHE_HOME nor "
                     "HOME is an absolute path; set one of them");
  CacheFolder folder(-1, base + "/tp-opt");
  if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST)
    return failBecause("make", base);
  if (::mkdir(folder.path.c_str(), 0700) != 0 && errno != EEXIST)
    return failBecause("make", folder.path);
  folder.descriptor = ::open(folder.path.c_str(),
                             O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat info;
  if (folder.descriptor < 0 || ::fstat(folder.descriptor, &info) != 0)
    return failBecause("open", folder.path);
  if (info.st_uid != ::geteuid())
    return fail(
        folder.path,
        "belongs to another user; set XDG_CACHE_HOME to a folder of your own");
  if (info.st_mode & 022)
    return fail(folder.path, "can be written to by other users; remove it");
  if (info.st_mode & 077 && ::fchmod(folder.descriptor, 0700) != 0)
    return failBecause("deny other users access to", folder.path);
  return folder;
}

CacheFolder::~CacheFolder() {
  if (descriptor >= 0)
    ::close(descriptor);
}

absl::StatusOr<File> CacheFolder::openEntry(const std::string &name) const {
  std::string whole = absl::StrCat(path, "/", name);
  int entry = ::openat(descriptor, name.c_str(),
                       O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (entry < 0)
    return makeError(getFileError(errno, ErrorCode::FileUnreadable),
                     "cannot open '", whole, "': ", std::strerror(errno));
  TPRT_ASSIGN_OR_RETURN(File file, File::adopt(entry, whole));
  struct stat info;
  if (::fstat(entry, &info) != 0)
    return failBecause("examine", whole);
  if (info.st_uid != ::geteuid() || info.st_mode & 022)
    return fail(whole, "belongs to another user, or can be written to by other "
                       "users; remove it");
  // Marks the entry as used. If that fails, the entry is pruned earlier.
  (void)::futimens(entry, nullptr);
  return file;
}

absl::Status CacheFolder::write(const std::string &name,
                                absl::string_view bytes) const {
  // The temporary file has a unique name: several threads, and also processes
  // on several machines, may write to the folder at the same time.
  static std::atomic<int> counter{0};
  char host[256] = {};
  (void)::gethostname(host, sizeof(host) - 1);
  std::string temporary = absl::StrCat(name, ".", host, "-", ::getpid(), "-",
                                       ++counter, kTemporary);
  int file =
      ::openat(descriptor, temporary.c_str(),
               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0)
    return failBecause("write", absl::StrCat(path, "/", temporary));
  bool isWhole = writeAll(file, bytes);
  isWhole &= ::close(file) == 0;
  if (isWhole &&
      ::renameat(descriptor, temporary.c_str(), descriptor, name.c_str()) == 0)
    return absl::OkStatus();
  absl::Status status = failBecause("write", absl::StrCat(path, "/", name));
  ::unlinkat(descriptor, temporary.c_str(), 0);
  return status;
}

void CacheFolder::prune(absl::string_view suffix, uint64_t maxBytes) const {
  int again = ::openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *list = again < 0 ? nullptr : ::fdopendir(again);
  if (!list)
    return; // pruned next time
  // The time of last use, the size, the name.
  std::vector<std::tuple<int64_t, uint64_t, std::string>> entries;
  uint64_t total = 0;
  int64_t now = ::time(nullptr);
  while (const dirent *entry = ::readdir(list)) {
    absl::string_view name = entry->d_name;
    struct stat info;
    if (::fstatat(descriptor, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(info.st_mode))
      continue;
    if (absl::EndsWith(name, kTemporary)) {
      if (info.st_mtim.tv_sec < now - kAbandoned)
        ::unlinkat(descriptor, entry->d_name, 0);
    } else if (absl::EndsWith(name, suffix)) {
      entries.emplace_back(info.st_mtim.tv_sec * 1'000'000'000 +
                               info.st_mtim.tv_nsec,
                           info.st_size, name);
      total += static_cast<uint64_t>(info.st_size);
    }
  }
  ::closedir(list);
  std::sort(entries.begin(), entries.end());
  for (const auto &[time, size, name] : entries) {
    if (total <= maxBytes)
      return;
    // unlinkat fails if another process has already removed the entry.
    ::unlinkat(descriptor, name.c_str(), 0);
    total -= size;
  }
}

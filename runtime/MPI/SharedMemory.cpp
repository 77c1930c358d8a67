// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/MPI/SharedMemory.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace tprt;

/// The name of each memory is this prefix and a random number, so that a ticket
/// from another process ID namespace does not open anything.
static constexpr absl::string_view kName = "tp-opt-";

SharedMemory &SharedMemory::operator=(SharedMemory &&other) noexcept {
  std::swap(descriptor, other.descriptor);
  std::swap(memory, other.memory);
  std::swap(size, other.size);
  std::swap(ticket, other.ticket);
  return *this;
}

SharedMemory::~SharedMemory() {
  close();
  if (memory)
    munmap(memory, size);
}

void SharedMemory::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}

bool SharedMemory::map(size_t bytes) {
  void *at =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED)
    return false;
  memory = static_cast<char *>(at);
  size = bytes;
  return true;
}

absl::optional<SharedMemory> SharedMemory::create(size_t bytes) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
    return absl::nullopt;
  std::string name = absl::StrCat(kName, absl::Hex(number, absl::kZeroPad16));
  SharedMemory made;
  made.descriptor = memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
  // The size is sealed, because truncating the memory would end all other
  // processes with SIGBUS.
  if (made.descriptor < 0 ||
      ftruncate(made.descriptor, static_cast<off_t>(bytes)) != 0 ||
      fcntl(made.descriptor, F_ADD_SEALS,
            F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
      !made.map(bytes))
    return absl::nullopt;
  made.ticket = absl::StrCat(getpid(), " ", made.descriptor, " ", name);
  return made;
}

absl::optional<SharedMemory> SharedMemory::open(absl::string_view ticket,
                                                size_t bytes) {
  std::vector<absl::string_view> parts = absl::StrSplit(ticket, ' ');
  if (parts.size() != 3)
    return absl::nullopt;
  // First check the link's target: opening a device can have effects.
  std::string path = absl::StrCat("/proc/", parts[0], "/fd/", parts[1]);
  std::string wanted = absl::StrCat("/memfd:", parts[2]);
  char target[256];
  ssize_t length = readlink(path.c_str(), target, sizeof(target));
  if (length < 0 ||
      !absl::StartsWith(absl::string_view(target, length), wanted))
    return absl::nullopt;
  SharedMemory opened;
  opened.descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat status = {};
  if (opened.descriptor < 0 || fstat(opened.descriptor, &status) != 0 ||
      status.st_size != static_cast<off_t>(bytes) ||
      (fcntl(opened.descriptor, F_GET_SEALS) & F_SEAL_SHRINK) == 0 ||
      !opened.map(bytes))
    return absl::nullopt;
  opened.close();
  return opened;
}

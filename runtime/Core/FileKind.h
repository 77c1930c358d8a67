// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The kind of a file, determined by its first bytes and not by its name.

#ifndef TPRT_CORE_FILEKIND_H
#define TPRT_CORE_FILEKIND_H

#include "runtime/Core/ArtifactFormat.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tprt {

enum class FileKind { Text, Artifact, Bytecode, Safetensors, Binary };

/// Returns the kind of a file that starts with `start`: a few hundred bytes, or
/// all of it.
inline FileKind getFileKind(std::string_view start) {
  constexpr std::string_view kBytecode = "ML\xEFR";
  constexpr size_t kLengthBytes = 8, kLooked = 512;
  constexpr uint64_t kMaxHeader = 100'000'000; // the format's limit
  std::string_view magic(reinterpret_cast<const char *>(kMagic),
                         sizeof(kMagic));
  if (start.substr(0, magic.size()) == magic)
    return FileKind::Artifact;
  if (start.substr(0, kBytecode.size()) == kBytecode)
    return FileKind::Bytecode;
  uint64_t header = 0;
  if (start.size() > kLengthBytes)
    std::memcpy(&header, start.data(), kLengthBytes);
  if (0 < header && header <= kMaxHeader && start[kLengthBytes] == '{')
    return FileKind::Safetensors;
  start = start.substr(0, kLooked);
  return start.find('\0') == start.npos ? FileKind::Text : FileKind::Binary;
}

} // namespace tprt

#endif // TPRT_CORE_FILEKIND_H

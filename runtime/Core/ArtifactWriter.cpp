// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/ArtifactWriter.h"

#include "runtime/Core/Hash.h"

using namespace tprt;

static uint64_t alignUp(uint64_t value) {
  return (value + kSectionAlignment - 1) / kSectionAlignment *
         kSectionAlignment;
}

TextRef ArtifactWriter::text(absl::string_view name) {
  auto [place, isNew] = texts.try_emplace(std::string(name));
  if (isNew) {
    std::string &bytes = sections[SectionKind::Text].bytes;
    place->second = {static_cast<uint32_t>(bytes.size()),
                     static_cast<uint32_t>(name.size())};
    bytes.append(name.data(), name.size());
  }
  return place->second;
}

uint64_t ArtifactWriter::addConstant(absl::string_view bytes) {
  std::string &all = sections[SectionKind::Constants].bytes;
  uint64_t offset = alignUp(all.size());
  all.resize(offset);
  all.append(bytes.data(), bytes.size());
  return offset;
}

void ArtifactWriter::setBytes(SectionKind kind, absl::string_view bytes) {
  sections[kind].bytes = std::string(bytes);
}

std::string ArtifactWriter::finish() const {
  std::string table;
  uint64_t end =
      alignUp(sizeof(FileHeader) + sections.size() * sizeof(SectionRow));
  for (const auto &[kind, section] : sections) {
    SectionRow row{kind, section.rowSize, end, section.bytes.size(),
                   hashBytes(section.bytes)};
    table.append(reinterpret_cast<const char *>(&row), sizeof(row));
    end = alignUp(end + section.bytes.size());
  }

  FileHeader header = {};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.sectionCount = static_cast<uint32_t>(sections.size());
  header.fileSize = end;
  header.checksum = hashBytes(table);

  std::string file(reinterpret_cast<const char *>(&header), sizeof(header));
  file.reserve(end);
  file += table;
  for (const auto &[kind, section] : sections) {
    file.resize(alignUp(file.size()));
    file += section.bytes;
  }
  file.resize(end);
  return file;
}

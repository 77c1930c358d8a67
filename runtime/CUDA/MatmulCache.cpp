// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/MatmulCache.h"

#include "runtime/Core/CacheFolder.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

#include <cctype>
#include <cstring>

using namespace tprt;

std::string tprt::writeChoices(const MatmulChoices &choices) {
  std::string text;
  for (const auto &[key, algorithm] : choices)
    absl::StrAppend(
        &text, key, " ",
        absl::BytesToHexString(
            {reinterpret_cast<const char *>(&algorithm), sizeof(algorithm)}),
        "\n");
  return text;
}

MatmulChoices tprt::parseChoices(absl::string_view text) {
  MatmulChoices choices;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    blas::Algorithm algorithm;
    bool isHex = words.second.size() == 2 * sizeof(algorithm);
    for (char c : words.second)
      isHex &= std::isxdigit(static_cast<unsigned char>(c)) != 0;
    if (!isHex || words.first.empty())
      continue;
    std::string bytes = absl::HexStringToBytes(words.second);
    std::memcpy(&algorithm, bytes.data(), sizeof(algorithm));
    choices[std::string(words.first)] = algorithm;
  }
  return choices;
}

std::string tprt::getChoicesName(absl::string_view device, size_t version) {
  std::string name;
  for (char c : device)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return absl::StrCat("matmuls-", name, "-", version, ".txt");
}

static MatmulChoices load(const CacheFolder &folder, const std::string &name) {
  auto file = folder.openEntry(name);
  if (!file.ok())
    return {};
  auto text = file->readAll();
  return text.ok() ? parseChoices(text->view()) : MatmulChoices();
}

MatmulChoices tprt::loadChoices(const std::string &name) {
  auto folder = CacheFolder::open();
  return folder.ok() ? load(*folder, name) : MatmulChoices();
}

void tprt::saveChoices(const std::string &name, const MatmulChoices &choices) {
  auto folder = CacheFolder::open();
  if (!folder.ok())
    return;
  // Others may have measured in the meantime.
  MatmulChoices all = load(*folder, name);
  for (const auto &[key, algorithm] : choices)
    all[key] = algorithm;
  (void)folder->write(name, writeChoices(all));
}

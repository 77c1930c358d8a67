// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/TuningCache.h"

#include "runtime/Core/CacheFolder.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

#include <cctype>

using namespace tprt;

std::string tprt::writeTunings(const Tunings &tunings) {
  std::string text;
  for (const auto &[key, found] : tunings)
    absl::StrAppend(&text, key, " ", absl::BytesToHexString(found), "\n");
  return text;
}

Tunings tprt::parseTunings(absl::string_view text) {
  Tunings tunings;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    std::pair<absl::string_view, absl::string_view> words =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    bool isHex = !words.second.empty() && words.second.size() % 2 == 0;
    for (char c : words.second)
      isHex &= std::isxdigit(static_cast<unsigned char>(c)) != 0;
    if (isHex && !words.first.empty())
      tunings[std::string(words.first)] = absl::HexStringToBytes(words.second);
  }
  return tunings;
}

std::string tprt::getTuningName(absl::string_view device, size_t version) {
  std::string name;
  for (char c : device)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return absl::StrCat("tuning-", name, "-", version, ".txt");
}

static Tunings load(const CacheFolder &folder, const std::string &name) {
  auto file = folder.openEntry(name);
  if (!file.ok())
    return {};
  auto text = file->readAll();
  return text.ok() ? parseTunings(text->view()) : Tunings();
}

Tunings tprt::loadTunings(const std::string &name) {
  auto folder = CacheFolder::open();
  return folder.ok() ? load(*folder, name) : Tunings();
}

void tprt::saveTunings(const std::string &name, const Tunings &tunings) {
  auto folder = CacheFolder::open();
  if (!folder.ok())
    return;
  // Other processes may have stored results in the meantime, so read the file
  // again.
  Tunings all = load(*folder, name);
  for (const auto &[key, found] : tunings)
    all[key] = found;
  (void)folder->write(name, writeTunings(all));
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/MatmulCache.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

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

std::string tprt::getChoicesPath(absl::string_view device, size_t version) {
  std::string folder;
  if (const char *cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    folder = cache;
  else if (const char *home = std::getenv("HOME"); home && *home)
    folder = absl::StrCat(home, "/.cache");
  else
    return "";
  std::string name;
  for (char c : device)
    name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return absl::StrCat(folder, "/tp-opt/matmuls-", name, "-", version, ".txt");
}

MatmulChoices tprt::loadChoices(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return parseChoices(std::string(std::istreambuf_iterator<char>(file), {}));
}

void tprt::saveChoices(const std::string &path, const MatmulChoices &choices) {
  if (path.empty())
    return;
  // Others may have measured in the meantime.
  MatmulChoices all = loadChoices(path);
  for (const auto &[key, algorithm] : choices)
    all[key] = algorithm;
  size_t slash = path.rfind('/');
  std::string folder = path.substr(0, slash);
  mkdir(folder.substr(0, folder.rfind('/')).c_str(), 0777);
  mkdir(folder.c_str(), 0777);
  std::string temporary = absl::StrCat(path, ".", getpid());
  std::ofstream file(temporary, std::ios::binary);
  file << writeChoices(all);
  file.close();
  if (!file || std::rename(temporary.c_str(), path.c_str()) != 0)
    std::remove(temporary.c_str());
}

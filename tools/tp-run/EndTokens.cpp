// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "EndTokens.h"

#include "runtime/Core/Errors.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace tprt;
using namespace tprun;
using nlohmann::json;

bool EndTokens::contains(int64_t token) const {
  return std::binary_search(ids.begin(), ids.end(), token);
}

std::string EndTokens::str() const {
  return ids.empty() ? "none" : absl::StrJoin(ids, ",");
}

static absl::StatusOr<EndTokens> parseOption(const std::string &option) {
  EndTokens tokens{{}, "--end_token"};
  if (option == "none")
    return tokens;
  for (absl::string_view text : absl::StrSplit(option, ',')) {
    int64_t id;
    if (!absl::SimpleAtoi(text, &id) || id < 0)
      return makeError(
          ErrorCode::BadOption,
          "--end_token expects none or token ids, such as 2 or 2,7; "
          "got '",
          option, "'");
    tokens.ids.push_back(id);
  }
  std::sort(tokens.ids.begin(), tokens.ids.end());
  return tokens;
}

/// Reads the end tokens from a JSON file. The `source` of the result is empty
/// if the file lists none.
static absl::StatusOr<EndTokens> readFile(const std::filesystem::path &path) {
  EndTokens tokens;
  std::ifstream file(path);
  if (!file)
    return tokens;
  json config = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object())
    return makeError(ErrorCode::BadOption, path.string(),
                     " is not a JSON object");
  auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null())
    return tokens;
  tokens.source = path.filename().string();
  json ids = found->is_array() ? *found : json::array({*found});
  for (const json &id : ids) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0)
      return makeError(ErrorCode::BadOption, path.string(),
                       ": eos_token_id expects a token id or a list of them, "
                       "got ",
                       found->dump(-1, ' ', /*ensure_ascii=*/true,
                                   json::error_handler_t::replace),
                       "; give the end tokens by --end_token");
    tokens.ids.push_back(id.get<int64_t>());
  }
  std::sort(tokens.ids.begin(), tokens.ids.end());
  return tokens;
}

absl::StatusOr<EndTokens> tprun::readEndTokens(const std::string &option,
                                               const std::string &weights) {
  if (!option.empty())
    return parseOption(option);
  if (weights.empty())
    return EndTokens();
  std::filesystem::path folder(weights);
  std::error_code ignored; // loading the weights reports errors
  if (!std::filesystem::is_directory(folder, ignored))
    folder = folder.parent_path();
  for (const char *name : {"generation_config.json", "config.json"}) {
    absl::StatusOr<EndTokens> tokens = readFile(folder / name);
    if (!tokens.ok() || !tokens->source.empty())
      return tokens;
  }
  return EndTokens();
}

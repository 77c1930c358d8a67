// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Agree.h"

#include "absl/strings/str_join.h"

using namespace tprt;

/// Describes a prompt: a short one by its tokens, a long one by a digest.
static std::string describePrompt(const std::vector<int64_t> &tokens) {
  std::string text = absl::StrJoin(tokens, ",");
  constexpr size_t longest = 60;
  if (text.size() <= longest)
    return text;
  return absl::StrCat(tokens.size(), " tokens, ", describeBytes(text));
}

absl::Status tprun::agreeOnOptions(Session &session, const Options &options,
                                   const std::string &entry) {
  auto isGiven = [](bool given) { return given ? "given" : "not given"; };
  session.agree("--entry", entry);
  session.agree("--seed", absl::StrCat(options.seed));
  session.agree("--print", isGiven(options.print));
  session.agree("--output", isGiven(!options.output.empty()));
  session.agree("--check", isGiven(options.check));
  session.agree("--bench", absl::StrCat(options.bench));
  session.agree("--steps", absl::StrCat(options.steps));
  if (options.generate.empty())
    return absl::OkStatus();
  TPRT_ASSIGN_OR_RETURN(std::vector<int64_t> prompt,
                        parseTokens(options.generate));
  session.agree("--generate", describePrompt(prompt));
  session.agree("--max_tokens", absl::StrCat(options.maxTokens));
  session.agree("--temperature", absl::StrCat(options.temperature));
  session.agree("--end_token", options.endTokens.str());
  return absl::OkStatus();
}

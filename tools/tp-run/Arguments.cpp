// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Arguments.h"

#include "runtime/Core/Errors.h"

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

#include <algorithm>
#include <numeric>

using namespace tprt;

void tprun::spellWithUnderscores(absl::Span<char *const> arguments) {
  for (char *argument : arguments)
    if (absl::StartsWith(argument, "--"))
      for (char *c = argument + 2; *c != '\0' && *c != '='; ++c)
        if (*c == '-')
          *c = '_';
}

absl::StatusOr<tprun::NamedTexts>
tprun::takeInputs(std::vector<char *> &arguments) {
  NamedTexts inputs;
  std::vector<char *> rest;
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    absl::string_view flag = "--input";
    std::string value;
    if (argument == flag)
      value = i + 1 < arguments.size() ? arguments[++i] : "";
    else if (absl::StartsWith(argument, "--input="))
      value = std::string(argument.substr(flag.size() + 1));
    else {
      rest.push_back(arguments[i]);
      continue;
    }
    std::pair<std::string, std::string> input =
        absl::StrSplit(value, absl::MaxSplits('=', 1));
    if (input.first.empty() || input.second.empty())
      return makeError(ErrorCode::BadOption, "--input '", value,
                       "' does not have the form NAME=VALUE; write --input "
                       "x=1,2,3 or --input x=FILE.safetensors");
    inputs.push_back(input);
  }
  arguments = std::move(rest);
  return inputs;
}

/// Strips the dashes of `--name` or `-name`; returns false for anything else.
static bool isFlag(absl::string_view &argument) {
  if (argument == "-" || !absl::ConsumePrefix(&argument, "-"))
    return false;
  absl::ConsumePrefix(&argument, "-");
  return true;
}

absl::Status tprun::refuseEmpty(absl::Span<char *const> arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (!isFlag(argument))
      continue;
    bool isEmpty = absl::ConsumeSuffix(&argument, "=") ||
                   (i + 1 < arguments.size() && *arguments[i + 1] == '\0');
    for (absl::string_view flag : {"backend", "weights", "entry", "output",
                                   "trace", "generate", "train", "log"})
      if (isEmpty && argument == flag)
        return makeError(ErrorCode::BadOption, "--", flag,
                         " has no value; give it one, or leave it out");
  }
  return absl::OkStatus();
}

/// Returns how many letters must be added, removed or replaced to turn `a` into
/// `b`.
static size_t getDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Returns the flag that a misspelt flag probably means; empty if none is
/// close.
static std::string findNearFlag(absl::string_view word) {
  std::string nearest;
  size_t least = std::max<size_t>(1, word.size() / 3) + 1;
  std::vector<std::string> names = {"input"};
  for (auto &entry : absl::GetAllFlags())
    if (absl::StrContains(entry.second->Filename(), "tp-run"))
      names.emplace_back(entry.first);
  std::sort(names.begin(), names.end());
  for (const std::string &name : names)
    if (size_t distance = getDistance(word, name); distance < least) {
      least = distance;
      nearest = name;
    }
  return nearest;
}

/// Suggests what to write instead of an unknown flag. `argument` is the whole
/// argument, including the flag's value.
static std::string getRemedy(absl::string_view argument,
                             absl::string_view flag) {
  for (absl::string_view option :
       {"mesh", "plan", "zero", "machine", "memory", "target", "chips", "ptxas",
        "fp8", "overlap", "chunk", "in_flight"})
    if (flag == option)
      return absl::StrCat(
          "this is an option of the compilation: write --shard=\"", argument,
          "\" for a .mlir, or tp-opt --tp-compile=\"", argument, "\"");
  if (flag == "tp_shard" || flag == "tp_compile")
    return absl::StrCat(
        "write --shard=\"",
        argument.substr(std::min(flag.size() + 1, argument.size())),
        "\" for a .mlir");
  if (absl::StartsWith(flag, "tp_"))
    return "this is an option of tp-opt, which compiles programs, not of "
           "tp-run";
  std::string near = findNearFlag(flag);
  return absl::StrCat(
      "unknown option; ",
      near.empty() ? "" : absl::StrCat("did you mean --", near, "? "),
      "--help lists them");
}

absl::Status tprun::refuseUnknown(absl::Span<char *const> arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    absl::string_view argument = arguments[i];
    if (argument == "--")
      break;
    if (!isFlag(argument))
      continue;
    std::string name(argument.substr(0, argument.find('=')));
    std::replace(name.begin(), name.end(), '-', '_');
    const absl::CommandLineFlag *flag = absl::FindCommandLineFlag(name);
    if (!flag && absl::StartsWith(name, "no")) {
      flag = absl::FindCommandLineFlag(absl::string_view(name).substr(2));
      if (flag && !flag->IsOfType<bool>())
        flag = nullptr;
    }
    if (!flag) {
      std::string all(argument);
      // The next word is the flag's value, unless it is the name of a program.
      if (name.size() == argument.size() && i + 1 < arguments.size())
        if (absl::string_view next = arguments[i + 1];
            !absl::StartsWith(next, "-") && !absl::StrContains(next, ".mlir") &&
            !absl::EndsWith(next, ".tpx"))
          absl::StrAppend(&all, "=", next);
      return makeError(ErrorCode::BadOption, arguments[i], ": ",
                       getRemedy(all, name));
    }
    // The next argument is the value and not a flag, whatever it begins with.
    if (name.size() == argument.size() && !flag->IsOfType<bool>())
      ++i;
  }
  return absl::OkStatus();
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PipelineOptions.h"

#include "lib/Support/NearName.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"
#include "tpopt/Support/ErrorCodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tp;

namespace {

/// Exposes the names of options, which the base class keeps private.
template <typename Options> struct Listed : Options {
  std::vector<StringRef> list() {
    std::vector<StringRef> names;
    for (auto &entry : this->OptionsMap)
      names.push_back(entry.second->ArgStr);
    llvm::sort(names);
    return names;
  }
};

} // namespace

std::vector<StringRef> tp::getPipelineOptions(StringRef flag) {
  if (flag == "tp-shard")
    return Listed<ShardOptions>().list();
  if (flag == "tp-compile")
    return Listed<CompileOptions>().list();
  if (flag == "tp-train")
    return Listed<TrainOptions>().list();
  if (flag == "tp-verify-certificate")
    return Listed<CertificateOptions>().list();
  return {};
}

template <typename Option>
static std::vector<StringRef> listValues(Option &option) {
  auto &parser = option.getParser();
  std::vector<StringRef> values;
  for (unsigned i = 0; i < parser.getNumOptions(); ++i)
    values.push_back(parser.getOption(i));
  return values;
}

std::vector<StringRef> tp::getOptionValues(StringRef option) {
  ShardOptions options;
  if (option == "stop-after")
    return listValues(options.stopAfter);
  if (option == "verify")
    return listValues(options.verify);
  return {};
}

/// Takes `key=value` or `key` from the front of options in MLIR's syntax:
/// options are separated by blanks, except within quotes and braces.
static std::pair<StringRef, StringRef> takeOption(StringRef &text) {
  text = text.ltrim();
  StringRef key =
      text.take_until([](char c) { return c == '=' || llvm::isSpace(c); });
  text = text.drop_front(key.size());
  if (!text.consume_front("="))
    return {key, {}};
  size_t end = 0;
  char quote = 0;
  for (int depth = 0; end < text.size(); ++end) {
    char c = text[end];
    if (quote) {
      quote = c == quote ? 0 : quote;
      continue;
    }
    if (c == '\'' || c == '"')
      quote = c;
    depth += (c == '{') - (c == '}');
    if (depth == 0 && llvm::isSpace(c))
      break;
  }
  StringRef value = text.take_front(end);
  text = text.drop_front(end);
  return {key, value};
}

/// Returns true for options that users do not set. They are added to a pipeline
/// by tp-run, or because of --tp-report, --tp-explain and --tp-strict.
static bool isInternal(StringRef option) {
  return llvm::is_contained(
      {"default-mesh", "explain", "part", "report-verification", "strict"},
      option);
}

static LogicalResult refuse(StringRef flag, StringRef what, StringRef word,
                            std::vector<StringRef> known) {
  llvm::erase_if(known, isInternal);
  llvm::errs() << "error: " << prefix(ErrorCode::BadOption) << "--" << flag
               << ": " << what;
  if (StringRef near = findNearName(word, known); !near.empty())
    llvm::errs() << "; did you mean " << near << "?";
  llvm::errs() << "\nnote: write one of " << llvm::join(known, ", ") << "\n";
  return failure();
}

LogicalResult tp::checkPipelineOptions(StringRef flag, StringRef text) {
  std::vector<StringRef> known = getPipelineOptions(flag);
  if (known.empty())
    return success();
  while (!text.ltrim().empty()) {
    auto [key, value] = takeOption(text);
    if (!llvm::is_contained(known, key))
      return refuse(flag, ("unknown option '" + key + "'").str(), key, known);
    // In --tp-train, `verify` is true or false.
    if (flag == "tp-train")
      continue;
    std::vector<StringRef> values = getOptionValues(key);
    StringRef bare = value.trim("'\"");
    if (!values.empty() && !llvm::is_contained(values, bare))
      return refuse(flag, (key + "=" + bare + " is not a valid value").str(),
                    bare, values);
  }
  return success();
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses import options and finds the importer for a source.

#include "tpopt/Import/Import.h"

#include "lib/Import/HuggingFace/HuggingFace.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tp;

/// Sets the option `key` from `value`. Returns a message that lists the valid
/// values if `value` is not one of them.
static std::optional<std::string> set(ImportOptions &options, StringRef key,
                                      StringRef value) {
  auto choose = [&](auto &target, auto choices) -> std::optional<std::string> {
    std::string known;
    for (auto &[name, choice] : choices) {
      if (name == value) {
        target = choice;
        return std::nullopt;
      }
      known += (known.empty() ? "" : " or ") + name.str();
    }
    return "`" + key.str() + "` must be " + known + ", not `" + value.str() +
           "`";
  };
  auto size = [&](auto &target) -> std::optional<std::string> {
    int64_t number;
    if (!value.getAsInteger(10, number) && number >= 1 &&
        number <= ImportOptions::kMaxSize) {
      target = number;
      return std::nullopt;
    }
    return "`" + key.str() + "` must be a number from 1 to " +
           std::to_string(ImportOptions::kMaxSize) + ", not `" + value.str() +
           "`";
  };
  using Phase = ImportOptions::Phase;
  using Logits = ImportOptions::Logits;
  using DType = ImportOptions::DType;
  if (key == "phase")
    return choose(options.phase,
                  std::initializer_list<std::pair<StringRef, Phase>>{
                      {"prefill", Phase::Prefill},
                      {"decode", Phase::Decode},
                      {"generate", Phase::Generate},
                      {"train", Phase::Train}});
  if (key == "dtype")
    return choose(options.dtype,
                  std::initializer_list<std::pair<StringRef, DType>>{
                      {"f64", DType::F64},
                      {"f32", DType::F32},
                      {"bf16", DType::BF16},
                      {"f16", DType::F16}});
  if (key == "logits")
    return choose(options.logits,
                  std::initializer_list<std::pair<StringRef, Logits>>{
                      {"last", Logits::Last}, {"all", Logits::All}});
  if (key == "batch")
    return size(options.batch);
  if (key == "sequence")
    return size(options.sequence);
  if (key == "cache")
    return size(options.cache);
  return "unknown option `" + key.str() +
         "`; known options are phase, batch, sequence, cache, dtype and logits";
}

FailureOr<ImportOptions> ImportOptions::parse(StringRef text,
                                              MLIRContext *context) {
  ImportOptions options;
  llvm::SmallVector<StringRef> seen;
  auto fail = [&](size_t offset) {
    return emitError(
               FileLineColLoc::get(context, "import-options", 1, offset + 1))
           << prefix(ErrorCode::BadImportOption);
  };
  size_t begin = 0;
  while ((begin = text.find_first_not_of(" \t\n", begin)) != StringRef::npos) {
    size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
    StringRef word = text.slice(begin, end);
    auto [key, value] = word.split('=');
    if (!word.contains('='))
      return fail(begin) << "`" << word
                         << "` cannot be read: expects options of the form "
                            "key=value, separated by blanks";
    if (llvm::is_contained(seen, key))
      return fail(begin) << "`" << key << "` is given twice";
    seen.push_back(key);
    if (std::optional<std::string> error = set(options, key, value))
      return fail(begin) << *error;
    begin = end;
  }
  if (options.phase == Phase::Decode && options.sequence)
    return fail(0) << "`sequence` contradicts `phase=decode`, which takes one "
                      "token at a time; leave it out";
  if (options.phase == Phase::Generate && options.logits == Logits::All)
    return fail(0) << "`logits=all` contradicts `phase=generate`, which "
                      "returns only the logits of the last token; leave it out";
  if (options.phase == Phase::Train && (options.cache || options.logits))
    return fail(0) << "`" << (options.cache ? "cache" : "logits")
                   << "` contradicts `phase=train`, which returns the loss "
                      "over all tokens; leave it out";
  return options;
}

OwningOpRef<ModuleOp> tp::importModel(StringRef source,
                                      const ImportOptions &options,
                                      MLIRContext *context) {
  auto [kind, place] = source.split(':');
  if (kind == "hf" && !place.empty())
    return importHuggingFace(context, place, options);
  emitError(FileLineColLoc::get(context, "import", 1, 1))
      << prefix(ErrorCode::BadImportSource) << "`" << source
      << "` does not name a model: write hf:DIR for a folder with a Hugging "
         "Face config.json";
  return {};
}

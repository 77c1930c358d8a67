// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// config.json, read strictly.

#include "Config.h"

#include "mlir/IR/Location.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::hf;

/// Configurations are a few kilobytes; a file larger than this is something
/// else.
static constexpr uint64_t kMaxBytes = 16 << 20;

static Location getLoc(MLIRContext *context, StringRef file,
                       JsonFile::Position position) {
  return FileLineColLoc::get(context, file, position.line, position.column);
}

FailureOr<Config> Config::load(MLIRContext *context, StringRef directory) {
  llvm::SmallString<128> file(directory);
  llvm::sys::path::append(file, "config.json");
  auto json = JsonFile::read(file, kMaxBytes);
  if (auto *error = std::get_if<JsonFile::Error>(&json)) {
    Location at = ::getLoc(context, file, error->position);
    InFlightDiagnostic diagnostic = emitError(at);
    diagnostic << prefix(getFileError(error->why, ErrorCode::UnreadableConfig))
               << error->message;
    if (error->why)
      diagnostic.attachNote()
          << "write hf:FOLDER, a local folder that contains config.json; to "
             "import a model by its name, download it first";
    return failure();
  }
  auto state = std::make_shared<State>(
      State{context, std::string(file), std::move(std::get<JsonFile>(json))});
  const llvm::json::Object *fields = state->json.getRoot().getAsObject();
  if (!fields) {
    emitError(::getLoc(context, file, {}))
        << prefix(ErrorCode::UnreadableConfig)
        << "expects a single JSON object, such as {\"hidden_size\": 576, ..}";
    return failure();
  }
  return Config(std::move(state), fields);
}

const llvm::json::Value *Config::find(StringRef field) const {
  const llvm::json::Value *value = fields->get(field);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

Location Config::getLoc(StringRef field) const {
  SmallVector<StringRef> parts(path.begin(), path.end());
  parts.push_back(field);
  return ::getLoc(state->context, state->file, state->json.find(parts));
}

void Config::error(ErrorCode code, StringRef field, const llvm::Twine &reason,
                   const llvm::Twine &remedy) {
  state->failed = true;
  std::string name;
  for (const std::string &part : path)
    name += part + ".";
  InFlightDiagnostic diagnostic = emitError(getLoc(field));
  diagnostic << prefix(code) << "`" << name << field << "` " << reason;
  diagnostic.attachNote() << remedy;
}

const llvm::json::Value *Config::require(StringRef field, StringRef what) {
  const llvm::json::Value *value = find(field);
  if (!value)
    error(ErrorCode::MissingField, field, "is missing",
          "write \"" + field + "\": " + what);
  return value;
}

void Config::mistyped(StringRef field, StringRef what) {
  error(ErrorCode::BadField, field,
        "is " + llvm::formatv("{0}", *fields->get(field)).str() + ", not " +
            what,
        "write " + what);
}

int64_t Config::size(StringRef field, std::optional<int64_t> otherwise,
                     int64_t max) {
  std::string what = "a whole number from 1 to " + std::to_string(max);
  if (otherwise && !has(field))
    return *otherwise;
  const llvm::json::Value *value = require(field, what);
  if (!value)
    return 1;
  std::optional<int64_t> number = value->getAsInteger();
  if (number && *number >= 1 && *number <= max)
    return *number;
  mistyped(field, what);
  return 1;
}

double Config::number(StringRef field, std::optional<double> otherwise) {
  StringRef what = "a number above 0";
  if (otherwise && !has(field))
    return *otherwise;
  const llvm::json::Value *value = require(field, what);
  if (!value)
    return 1;
  std::optional<double> number = value->getAsNumber();
  if (number && std::isfinite(*number) && *number > 0)
    return *number;
  mistyped(field, what);
  return 1;
}

std::optional<int64_t> Config::token(StringRef field, int64_t vocab) {
  const llvm::json::Value *value = find(field);
  if (!value)
    return std::nullopt;
  std::optional<int64_t> number = value->getAsInteger();
  if (!number || *number >= vocab) {
    mistyped(field, "a number below vocab_size, " + std::to_string(vocab));
    return std::nullopt;
  }
  return *number < 0 ? std::nullopt : number;
}

double Config::share(StringRef field) {
  const llvm::json::Value *value = find(field);
  if (!value)
    return 0;
  std::optional<double> number = value->getAsNumber();
  if (number && *number >= 0 && *number <= 1)
    return *number;
  mistyped(field, "a number from 0 to 1");
  return 0;
}

bool Config::flag(StringRef field, bool otherwise) {
  const llvm::json::Value *value = find(field);
  if (!value)
    return otherwise;
  if (std::optional<bool> flag = value->getAsBoolean())
    return *flag;
  mistyped(field, "true or false");
  return otherwise;
}

std::string Config::word(StringRef field, std::optional<StringRef> otherwise) {
  if (otherwise && !has(field))
    return otherwise->str();
  const llvm::json::Value *value = require(field, "a string");
  if (!value)
    return "";
  if (std::optional<StringRef> word = value->getAsString())
    return word->str();
  mistyped(field, "a string");
  return "";
}

std::vector<std::string> Config::words(StringRef field) {
  std::vector<std::string> words;
  const llvm::json::Value *value = require(field, "a list of strings");
  if (!value)
    return words;
  const llvm::json::Array *array = value->getAsArray();
  for (size_t i = 0; array && i < array->size(); ++i) {
    std::optional<StringRef> word = (*array)[i].getAsString();
    if (!word)
      array = nullptr;
    else
      words.push_back(word->str());
  }
  if (!array)
    mistyped(field, "a list of strings");
  return words;
}

Config Config::object(StringRef field) {
  static const llvm::json::Object empty;
  const llvm::json::Value *value = require(field, "an object");
  const llvm::json::Object *inner = value ? value->getAsObject() : nullptr;
  if (value && !inner)
    mistyped(field, "an object");
  Config nested(state, inner ? inner : &empty);
  nested.path = path;
  nested.path.push_back(field.str());
  return nested;
}

void Config::requireFlag(StringRef field, bool allowed, StringRef reason) {
  if (flag(field, allowed) != allowed)
    error(ErrorCode::UnsupportedFeature, field,
          (allowed ? "is false: " : "is true: ") + reason,
          allowed ? "only true is supported" : "only false is supported");
}

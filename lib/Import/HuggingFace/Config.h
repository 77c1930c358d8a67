// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// config.json, read strictly.

#ifndef TPOPT_LIB_IMPORT_HUGGINGFACE_CONFIG_H
#define TPOPT_LIB_IMPORT_HUGGINGFACE_CONFIG_H

#include "lib/Support/JsonFile.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <memory>

namespace tp::hf {

/// The fields of one JSON object. A getter that finds a field missing or wrong
/// reports it and returns 1, so that a family can read all its fields, report
/// everything that is wrong with them, and then call failed() once.
///
/// A field that is `null` counts as absent.
class Config {
public:
  /// Reads `directory`/config.json; failure after an error.
  static mlir::FailureOr<Config> load(mlir::MLIRContext *context,
                                      llvm::StringRef directory);

  bool has(llvm::StringRef field) const { return find(field) != nullptr; }

  /// A number from 1 to `max`. Without a default the field must be present.
  int64_t size(llvm::StringRef field,
               std::optional<int64_t> otherwise = std::nullopt,
               int64_t max = int64_t(1) << 24);
  /// A finite number above 0.
  double number(llvm::StringRef field,
                std::optional<double> otherwise = std::nullopt);
  /// A token id below `vocab`; nullopt if the field is absent or negative.
  std::optional<int64_t> token(llvm::StringRef field, int64_t vocab);
  /// A number from 0 to 1; 0 if the field is absent.
  double share(llvm::StringRef field);
  bool flag(llvm::StringRef field, bool otherwise);
  std::string word(llvm::StringRef field,
                   std::optional<llvm::StringRef> otherwise = std::nullopt);
  std::vector<std::string> words(llvm::StringRef field);
  /// Returns the object in `field`; its errors count as errors of this Config.
  Config object(llvm::StringRef field);

  /// Reports an error in `field`: `reason` says what is wrong, `remedy` says
  /// what to write instead.
  void error(ErrorCode code, llvm::StringRef field, const llvm::Twine &reason,
             const llvm::Twine &remedy);
  /// Reports an error with `reason` if `field` is present and not equal to
  /// `allowed`.
  void requireFlag(llvm::StringRef field, bool allowed, llvm::StringRef reason);
  bool failed() const { return state->failed; }

  mlir::Location getLoc(llvm::StringRef field) const;
  mlir::MLIRContext *getContext() const { return state->context; }

private:
  struct State {
    mlir::MLIRContext *context;
    std::string file;
    JsonFile json;
    bool failed = false;
  };

  Config(std::shared_ptr<State> state, const llvm::json::Object *fields)
      : state(std::move(state)), fields(fields) {}

  const llvm::json::Value *find(llvm::StringRef field) const;
  /// Returns the field, or null after reporting that it is missing.
  const llvm::json::Value *require(llvm::StringRef field, llvm::StringRef what);
  void mistyped(llvm::StringRef field, llvm::StringRef what);

  std::shared_ptr<State> state;
  const llvm::json::Object *fields;
  std::vector<std::string> path;
};

} // namespace tp::hf

#endif // TPOPT_LIB_IMPORT_HUGGINGFACE_CONFIG_H

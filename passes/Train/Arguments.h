// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Parses a name with arguments, such as adamw(lr=3e-4,betas=(0.9,0.95)).

#ifndef TPOPT_PASSES_TRAIN_ARGUMENTS_H
#define TPOPT_PASSES_TRAIN_ARGUMENTS_H

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"

#include <limits>

namespace tp {

/// The range of numbers that an argument allows.
struct NumberRange {
  double least;
  double end; ///< Included only if the range is `closed`.
  bool closed = false;
  llvm::StringRef words; ///< "at least 0"

  bool contains(double number) const {
    return number >= least && (number < end || (closed && number == end));
  }
};

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr NumberRange kNotNegative{0, kInfinity, false, "at least 0"},
    kNotPositive{-kInfinity, 0, true, "at most 0"},
    kDecay{0, 1, false, "at least 0 and below 1"},
    kShare{0, 1, true, "from 0 to 1"},
    kAtLeastOne{1, kInfinity, false, "at least 1"},
    kPositive{std::numeric_limits<double>::denorm_min(), kInfinity, false,
              "above 0"};

/// Parses `text` as a finite number. None if it is anything else.
std::optional<double> parseNumber(llvm::StringRef text);

/// A name with arguments, such as adamw(lr=3e-4). The arguments are read one by
/// one. The first wrong argument emits an error, and makes `finish` fail.
class Arguments {
public:
  /// `what` is the option that contains the text. Errors name it and have the
  /// code `code`.
  static mlir::FailureOr<Arguments> parse(llvm::StringRef text,
                                          llvm::StringRef what, ErrorCode code,
                                          mlir::Location loc);

  llvm::StringRef getName() const { return name; }

  double getNumber(llvm::StringRef key, double fallback,
                   const NumberRange &range);
  /// A number of steps; none if there is no such argument.
  std::optional<int64_t> getSteps(llvm::StringRef key);
  std::pair<double, double> getPair(llvm::StringRef key,
                                    std::pair<double, double> fallback,
                                    const NumberRange &range);
  bool getFlag(llvm::StringRef key);
  bool has(llvm::StringRef key) const;

  /// Emits an error about the arguments, with the code given to `parse`.
  mlir::InFlightDiagnostic complain();
  /// Fails if an argument was wrong, or if an argument in the text was never
  /// read.
  mlir::LogicalResult finish();

private:
  Arguments(llvm::StringRef what, ErrorCode code, mlir::Location loc)
      : what(what), code(code), loc(loc) {}

  /// Null if there is no such argument.
  const std::string *find(llvm::StringRef key);
  void fail(llvm::StringRef key, llvm::StringRef text,
            const llvm::Twine &expected);

  std::string what;
  ErrorCode code;
  mlir::Location loc;
  std::string name;
  llvm::SmallVector<std::pair<std::string, std::string>> arguments;
  llvm::SmallVector<std::string> known;
  bool isWrong = false;
};

} // namespace tp

#endif // TPOPT_PASSES_TRAIN_ARGUMENTS_H

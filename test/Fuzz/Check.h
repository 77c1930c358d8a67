// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shards a program, runs it whole and on all devices, and compares.

#ifndef TPOPT_TEST_FUZZ_CHECK_H
#define TPOPT_TEST_FUZZ_CHECK_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <string>

namespace tp::fuzz {

enum class Verdict : uint8_t {
  Right,
  /// An error with a code, and nothing wrong done.
  Refused,
  /// The data grew beyond what doubles keep exactly, so that nothing is said.
  Discarded,
  /// The local program computes something else, or does not run.
  Wrong,
  /// An error without a code.
  Unexplained,
  /// The program itself is not right: the generator's fault.
  Invalid,
  /// It took too long.
  Slow,
  /// Written in another way, it costs something else.
  Unequal,
};
llvm::StringRef stringify(Verdict verdict);

/// What is run beside the whole program.
enum class Execution : uint8_t {
  /// The local program, by the interpreter.
  Interpreted,
  /// What it is compiled to, too, on ranks that are threads.
  Compiled,
};

/// How often each op was there, and how often with a cut operand or result.
using Coverage = std::map<std::string, std::pair<unsigned, unsigned>>;

struct Finding {
  Verdict verdict = Verdict::Right;
  /// The code of an error, as `TP0402`.
  std::string code;
  std::string message;
  /// Of the local program.
  Coverage coverage;

  bool isFailure() const { return verdict > Verdict::Discarded; }
};

/// A context with all that programs need.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// As text, the form in which everything is checked: what fails is a file.
std::string print(mlir::ModuleOp module);

/// Checks `program`, on data drawn from `seed`.
Finding check(mlir::MLIRContext &context, llvm::StringRef program,
              uint64_t seed, Execution execution = Execution::Interpreted);

/// Shards two programs that compute the same, and compares what they cost.
Finding checkCosts(mlir::MLIRContext &context, llvm::StringRef program,
                   llvm::StringRef other);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_CHECK_H

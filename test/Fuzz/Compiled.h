// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles a program for the CPU and runs it on ranks that are threads.

#ifndef TPOPT_TEST_FUZZ_COMPILED_H
#define TPOPT_TEST_FUZZ_COMPILED_H

#include "lib/Interpreter/DenseEvaluator.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <memory>
#include <optional>

namespace tprt {
class Artifact;
class Session;
} // namespace tprt

namespace tp::fuzz {

/// An artifact in memory, and the ranks that run it.
struct Ranks {
  std::shared_ptr<const tprt::Artifact> artifact;
  std::unique_ptr<tprt::Session> session;

  Ranks();
  Ranks(Ranks &&);
  Ranks &operator=(Ranks &&);
  ~Ranks();

  uint32_t findEntry(llvm::StringRef name) const;
  /// Gives an entry `arguments`; what is wrong if that fails.
  std::string bind(uint32_t entry, llvm::ArrayRef<TensorValue> arguments);
};

/// A program as it is compiled with overlap and, where anything overlaps,
/// without.
class Compiled {
public:
  /// Shards and compiles a copy of `whole`. Errors go to the context's handler;
  /// null if there are any.
  static std::unique_ptr<Compiled> create(mlir::ModuleOp whole);

  /// Runs the entry of `function` on `arguments`, and compares with what the
  /// interpreter computes of the whole program in the types that it names;
  /// without overlap there have to be the same bits. Returns what differs;
  /// empty if nothing does.
  std::string compare(mlir::func::FuncOp function,
                      llvm::ArrayRef<TensorValue> arguments);

private:
  Compiled(Ranks overlapping, std::optional<Ranks> asWritten);

  /// `arguments` with zeros for what a run starts with: caches.
  llvm::SmallVector<TensorValue>
  clearState(uint32_t entry, llvm::ArrayRef<TensorValue> arguments) const;
  /// Whether the results of an entry have the bits that they have without
  /// overlap; what differs if not.
  std::string compareBits(llvm::StringRef entry,
                          llvm::ArrayRef<TensorValue> arguments);

  Ranks ranks;
  std::optional<Ranks> asWritten;
};

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_COMPILED_H

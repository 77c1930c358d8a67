// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The whole way, as a fixture: a program is sharded, lowered,
/// compiled, and run on ranks that are threads, on inputs that the interpreter
/// gets, too.

#ifndef TPOPT_TEST_UNIT_EXECUTE_COMPILEDPROGRAM_H
#define TPOPT_TEST_UNIT_EXECUTE_COMPILEDPROGRAM_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "gtest/gtest.h"

#include <random>

namespace tp {

class CompiledProgram : public ::testing::Test {
protected:
  CompiledProgram();

  /// A program's text; empty if there is no such file, which is no program.
  static std::string readFile(const std::string &path);
  mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &source);

  /// The bytes of the artifact for a mesh, `a=2,b=3`; empty, having said why,
  /// if there are none.
  std::string compile(const std::string &source, const std::string &mesh);

  /// Runs the entry main on `ranks` ranks and expects what the interpreter
  /// computes of the whole program in doubles, rounded where types are
  /// narrower: exactly, if it is of integers. `tolerance` is relative to the
  /// largest magnitude of an output, or to 1.
  void expectWholeProgram(const std::string &source, const std::string &mesh,
                          int ranks, double tolerance);

private:
  std::vector<double> makeValues(mlir::RankedTensorType type, bool isState);

  mlir::MLIRContext context;
  std::mt19937 engine{1};
};

} // namespace tp

#endif // TPOPT_TEST_UNIT_EXECUTE_COMPILEDPROGRAM_H

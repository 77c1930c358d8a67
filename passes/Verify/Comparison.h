// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compares a local program with the whole program on one data set.

#ifndef TPOPT_PASSES_VERIFY_COMPARISON_H
#define TPOPT_PASSES_VERIFY_COMPARISON_H

#include "Conditioning.h"
#include "IndexCoverage.h"
#include "RandomData.h"

#include <optional>
#include <string>

namespace tp {

/// Two programs that should compute the same results.
struct ProgramPair {
  const interp::Program &local, &whole;
  /// For every argument of `local`, the number of the matching argument of
  /// `whole`.
  llvm::ArrayRef<unsigned> matches;

  llvm::SmallVector<TensorValue>
  takeLocal(llvm::ArrayRef<TensorValue> wholeArguments) const {
    return llvm::map_to_vector(
        matches, [&](unsigned match) { return wholeArguments[match]; });
  }
};

struct Difference {
  unsigned result;
  std::string text;
};

/// The number of iterations that a loop of the local program may take, after a
/// run of the whole program. Partitioning does not change how often a loop
/// runs: a loop that runs much longer is wrong, and could run for hours.
int64_t limitIterations(const interp::Interpreter &ofWhole);

/// None if both programs compute the same results. Fails with an error if one
/// of them cannot run.
using Verdict = mlir::FailureOr<std::optional<Difference>>;

/// Compares in the arithmetic of `evaluator`, in which equal results must be
/// bitwise equal.
Verdict compareExactly(interp::DenseEvaluator &evaluator,
                       const ProgramPair &programs, const DataSet &data);

/// Explains in remarks why result `index` is wrong.
void explain(interp::DenseEvaluator &evaluator, const ProgramPair &programs,
             const DataSet &data, unsigned index, double tolerance);

/// Compares two programs in floating point. Two results count as equal if
/// random errors inside the programs change the results by about as much as the
/// results differ. With wide magnitudes, values of the whole program may exceed
/// the range of doubles; such values are not compared.
class FloatComparison {
public:
  /// `unit` is the relative error that each result of an op may have.
  FloatComparison(const ProgramPair &programs, const DataSet &data,
                  double unit);

  mlir::LogicalResult runWhole(IndexCoverage &coverage);
  /// Must be called after `runWhole`.
  Verdict compare();
  /// Returns true unless all elements of result `index` of the whole program
  /// are NaN.
  bool hasNumber(unsigned index) const;
  /// The cost of running the whole program: the number of elements, plus a
  /// fixed number for each op that is run at all.
  int64_t getWork() const { return work; }
  void explain(unsigned index) {
    tp::explain(evaluator, programs, data, index, options.tolerance);
  }

private:
  bool isEqual(unsigned result, int64_t i, interp::Element got,
               interp::Element wanted);

  const ProgramPair &programs;
  const DataSet &data;
  interp::DoubleEvaluator evaluator;
  interp::InterpreterOptions options, localOptions;
  llvm::SmallVector<TensorValue> wholeArguments, localArguments, expected;
  int64_t work = 0;
  /// Further runs, made only when a difference has to be explained.
  Conditioning ofWhole, ofLocal;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_COMPARISON_H

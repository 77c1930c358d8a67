// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A local program beside the whole one, on one data set.

#ifndef TPOPT_PASSES_VERIFY_COMPARISON_H
#define TPOPT_PASSES_VERIFY_COMPARISON_H

#include "Conditioning.h"
#include "IndexCoverage.h"
#include "RandomData.h"

#include <optional>
#include <string>

namespace tp {

/// Two programs that should compute the same.
struct ProgramPair {
  const interp::Program &local, &whole;
  /// For every argument of `local` the one of `whole` that it is.
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

/// How many turns a loop of the local program may take, after a run of the
/// whole one. Partitioning does not change how often a loop runs: one that runs
/// much longer is wrong, and could keep us for hours.
int64_t limitIterations(const interp::Interpreter &ofWhole);

/// None if both programs compute the same. Fails with an error where one of
/// them cannot run.
using Verdict = mlir::FailureOr<std::optional<Difference>>;

/// In the numbers of `evaluator`, where equal results are equal bit by bit.
Verdict compareExactly(interp::DenseEvaluator &evaluator,
                       const ProgramPair &programs, const DataSet &data);

/// Says in remarks why result `index` is wrong.
void explain(interp::DenseEvaluator &evaluator, const ProgramPair &programs,
             const DataSet &data, unsigned index, double tolerance);

/// In floating point. Results are equal if errors in both programs move them by
/// as much as they differ. Where numbers are wide, the whole program may leave
/// the range of doubles, and says nothing then.
class FloatComparison {
public:
  /// `unit` is the error that each result of an op may have, relative to it.
  FloatComparison(const ProgramPair &programs, const DataSet &data,
                  double unit);

  mlir::LogicalResult runWhole(IndexCoverage &coverage);
  /// To be called when the whole program has run.
  Verdict compare();
  /// Whether result `index` of the whole program has a number.
  bool hasNumber(unsigned index) const;
  /// What running the whole program cost: elements, and as many for each op as
  /// it takes to run it at all.
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
  /// Run as far as differences ask for it.
  Conditioning ofWhole, ofLocal;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_COMPARISON_H

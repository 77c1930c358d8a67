// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How far results may be apart that are equal but for rounding.
//
// Two right programs add in other orders, and differ in the last digits of what
// they add: in all digits of a result where large terms cancel. So a program is
// run again with every result of an op off by a random 10^-9 or so of itself.
// What that moves a result by is what another order may move it by, many times
// over, as doubles are off by 10^-16:
//
//     1 + 2 + .. + 100            moves by 10^-9 of itself
//     (10^12 + x) - 10^12         moves by 10^3: nothing can be said of it
//     exp(1000) / exp(1000)       is NaN, and stays it: that is no rounding

#ifndef TPOPT_PASSES_VERIFY_CONDITIONING_H
#define TPOPT_PASSES_VERIFY_CONDITIONING_H

#include "lib/Interpreter/Interpreter.h"

namespace tp {

/// The results of a program that was run with errors, as often as was asked
/// for.
class Conditioning {
public:
  /// Errors are up to `unit` on top of what `rounding` does; where that rounds,
  /// every other run rounds at random, and sums as their order may. What is
  /// given must outlive this.
  Conditioning(const interp::Program &program,
               llvm::ArrayRef<TensorValue> arguments,
               const interp::InterpreterOptions &options, double unit,
               interp::Rounding rounding = interp::Rounding::None);

  /// Runs the program once more. False if it has run so often that what can be
  /// moved has been.
  bool addRun();

  /// How far element `i` of a result moved from `value`; infinitely, if an
  /// integer changed, or a number became none.
  double getSpread(unsigned result, int64_t i, interp::Element value) const;

private:
  const interp::Program &program;
  llvm::ArrayRef<TensorValue> arguments;
  interp::InterpreterOptions options;
  double unit;
  interp::Rounding rounding;
  unsigned key = 0; ///< Of the next run.
  std::vector<llvm::SmallVector<TensorValue>> runs;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_CONDITIONING_H

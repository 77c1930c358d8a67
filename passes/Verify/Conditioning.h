// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How far results may differ if they are equal except for rounding.
//
// Two correct programs may add in different orders. Then they differ in the
// last digits of the terms, which may be all digits of a result if large terms
// cancel. So a program is run again with every result of an op off by a random
// relative error of 10^-9 or so. The distance by which this moves a result is
// an upper bound on the effect of a different order, since the error of doubles
// is only 10^-16:
//
//     1 + 2 + .. + 100            moves by 10^-9 of itself
//     (10^12 + x) - 10^12         moves by 10^3: no conclusion is possible
//     exp(1000) / exp(1000)       is NaN and stays NaN: that is not rounding

#ifndef TPOPT_PASSES_VERIFY_CONDITIONING_H
#define TPOPT_PASSES_VERIFY_CONDITIONING_H

#include "lib/Interpreter/Interpreter.h"

namespace tp {

/// The results of a program that is run repeatedly with random errors. Each
/// call of `addRun` runs it once more.
class Conditioning {
public:
  /// In each run, every result of an op gets a random relative error of up to
  /// `unit`, in addition to the errors of `rounding`. If `rounding` is not
  /// None, every second run instead rounds at random, and changes sums by as
  /// much as another order of their terms might. The arguments must outlive
  /// this object.
  Conditioning(const interp::Program &program,
               llvm::ArrayRef<TensorValue> arguments,
               const interp::InterpreterOptions &options, double unit,
               interp::Rounding rounding = interp::Rounding::None);

  /// Runs the program once more. Returns false if it has run so often that
  /// further runs would show nothing new.
  bool addRun();

  /// How far element `i` of a result moved from `value`; infinity if an integer
  /// changed, or if a number became NaN.
  double getSpread(unsigned result, int64_t i, interp::Element value) const;

private:
  const interp::Program &program;
  llvm::ArrayRef<TensorValue> arguments;
  interp::InterpreterOptions options;
  double unit;
  interp::Rounding rounding;
  unsigned key = 0; ///< The key of the next run.
  std::vector<llvm::SmallVector<TensorValue>> runs;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_CONDITIONING_H

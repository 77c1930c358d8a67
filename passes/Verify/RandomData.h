// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Data on which a wrong program shows.
//
// No data set shows every error, so each is of another kind. Zeros in padding
// win a maximum only if all numbers are negative, and a minimum only if all are
// positive. An exponential overflows only if numbers are far apart. Integers
// add up exactly in every order. Large numbers saturate a softmax, so that
// small changes show only if numbers are small. Whether any element is positive
// depends on one element only if all others are negative.

#ifndef TPOPT_PASSES_VERIFY_RANDOMDATA_H
#define TPOPT_PASSES_VERIFY_RANDOMDATA_H

#include "lib/Interpreter/Interpreter.h"

namespace tp {

/// Of numbers and truth values: false counts as negative.
enum class Signs : uint8_t {
  Any,
  Negative,
  Positive,
  Alternating, ///< Positive and negative arguments: products are negative.
  PerArgument, ///< One of the first three for each argument.
  /// One sign for each line, of the elements that agree in some dimensions;
  /// most lines are large. In every second line one element is zero or of the
  /// other sign: the same one in all arguments that are cut into equal lines.
  PerLine,
};

/// Of floats, where numbers have magnitudes.
enum class Magnitudes : uint8_t {
  Integers, ///< From -3 to 3.
  Small,    ///< 1/64 to 1/4: no activation saturates.
  Tiny,     ///< 2^-13 to 2^-7: what keeps a norm from dividing by 0 counts.
  Moderate, ///< 1/4 to 4.
  Large,    ///< 4 to 16: beyond what masks and padding are filled with.
  Wide,     ///< From one of 2^-16, 2^-11 and 2^-6 on, over 22 powers of two.
};

struct DataSet {
  uint64_t seed = 1;
  unsigned number = 0; ///< Of equal seeds: indices go on from the last one.
  Signs signs = Signs::Any;
  Magnitudes magnitudes = Magnitudes::Integers;
  /// Each argument's indices address a part of what they could: so do those
  /// that are computed from several.
  bool narrows = false;
};

/// One of a sequence of data sets of which the first five are of all kinds.
DataSet getDataSet(uint64_t seed, unsigned number);

/// The arguments of `function`: an index counts through a permutation of all
/// places, from one number of a data set to the next, and every eighth or so,
/// of data that narrows every third, is out of range; other integers are from
/// -4 to 4, or 0 to 8 if unsigned.
llvm::SmallVector<TensorValue> drawArguments(interp::DenseEvaluator &evaluator,
                                             mlir::func::FuncOp function,
                                             const DataSet &data);

/// Replaces a quarter of the integers of inputs by constants that `function`
/// compares with, such as the label -100, which is ignored.
void putComparedNumbers(mlir::func::FuncOp function,
                        llvm::MutableArrayRef<TensorValue> arguments,
                        uint64_t seed);

/// Turns the drawn states of optimizers into possible ones: they are not
/// negative, are multiplied by `scale`, and follow at least one step. Before
/// the first step all are zero, and some optimizers divide a gradient by its
/// size, which may be rounding.
void makeStates(mlir::func::FuncOp function,
                llvm::MutableArrayRef<TensorValue> arguments, double scale);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_RANDOMDATA_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random data that reveals wrong programs.
//
// No data set reveals every error, so there are several kinds. Zeros in padding
// win a maximum only if all numbers are negative, and a minimum only if all are
// positive. An exponential overflows only if numbers are far apart. Integers
// add up exactly in every order. Large numbers saturate a softmax, so that
// small changes show only if numbers are small. The test "is any element
// positive" depends on a particular element only if all others are negative.

#ifndef TPOPT_PASSES_VERIFY_RANDOMDATA_H
#define TPOPT_PASSES_VERIFY_RANDOMDATA_H

#include "lib/Interpreter/Interpreter.h"

namespace tp {

/// Signs of numbers and truth values; false counts as negative.
enum class Signs : uint8_t {
  Any,
  Negative,
  Positive,
  Alternating, ///< Arguments alternate in sign: products are negative.
  PerArgument, ///< One of the first three for each argument.
  /// Each line has one sign. A line is a set of elements whose indices agree in
  /// some dimensions. Most lines contain large numbers. In about half of the
  /// lines, one element is an exception: it is zero or has the opposite sign.
  /// Arguments that are divided into the same lines have their exceptions at
  /// the same elements.
  PerLine,
};

/// Magnitudes of floats. Without effect in prime fields, where numbers have no
/// magnitudes.
enum class Magnitudes : uint8_t {
  Integers, ///< From -3 to 3.
  Small,    ///< 1/64 to 1/4: no activation saturates.
  Tiny,     ///< 2^-13 to 2^-7: a norm's epsilon matters.
  Moderate, ///< 1/4 to 4.
  Large,    ///< 4 to 16: larger than the values that fill masks and padding.
  Wide,     ///< 22 powers of two, from 2^-16, 2^-11 or 2^-6 on.
};

struct DataSet {
  uint64_t seed = 1;
  unsigned number = 0; ///< Indices continue from one number to the next.
  Signs signs = Signs::Any;
  Magnitudes magnitudes = Magnitudes::Integers;
  /// Draws the indices of about half of the arguments from only the front of
  /// their dimension, so that indices computed from several arguments are often
  /// in range, too.
  bool narrows = false;
};

/// Returns data set `number` of a sequence. The first five cover all kinds.
DataSet getDataSet(uint64_t seed, unsigned number);

/// Draws the arguments of `function`. The elements of an index argument count
/// through a permutation of all positions, and the next data set number
/// continues the count. One index in about eight is out of range, or one in
/// about three if `data.narrows` is set. Other integers are from -8 to 8, or
/// from 0 to 8 if unsigned.
llvm::SmallVector<TensorValue> drawArguments(interp::DenseEvaluator &evaluator,
                                             mlir::func::FuncOp function,
                                             const DataSet &data);

/// Replaces a quarter of the integers of inputs by constants that `function`
/// compares them with, such as the label -100, which is ignored.
void putComparedNumbers(mlir::func::FuncOp function,
                        llvm::MutableArrayRef<TensorValue> arguments,
                        uint64_t seed);

/// Turns the drawn states of optimizers into states that can occur after at
/// least one step: makes them nonnegative, multiplies floats by `scale`, and
/// adds 1 to integers. States before the first step, which are all zero, are
/// avoided, because some optimizers then divide a gradient by its own size,
/// which may consist of rounding errors only.
void makeStates(mlir::func::FuncOp function,
                llvm::MutableArrayRef<TensorValue> arguments, double scale);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_RANDOMDATA_H

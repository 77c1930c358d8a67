// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Data on which a wrong program shows.

#ifndef TPOPT_PASSES_VERIFY_RANDOMDATA_H
#define TPOPT_PASSES_VERIFY_RANDOMDATA_H

#include "tpopt/Interpreter/Interpreter.h"

#include <optional>

namespace tp {

/// The largest extent of a dimension that the elements of integer value `value`
/// address: a table looked up, a cache written to. None if it is no index.
std::optional<int64_t> getIndexedExtent(mlir::Value value);

/// The arguments of `function` for one of several trials: floats are what the
/// evaluator draws; an index counts through a permutation of all places, from
/// one trial to the next, and every eighth or so is out of range; other
/// integers are from -4 to 4, or 0 to 8 if unsigned.
llvm::SmallVector<TensorValue> drawArguments(DenseEvaluator &evaluator,
                                             mlir::func::FuncOp function,
                                             uint64_t seed, unsigned trial);

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_RANDOMDATA_H

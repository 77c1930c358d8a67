// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Decides which copy each copy of a value is made from.
//
//     made [{"x"}, {}], needed [{}, {}] and [{}, {"x"}]
//
//     [{"x"}, {}] --all-gather--> [{}, {}] --slice, free--> [{}, {"x"}]
//
// The cheapest tree that reaches all layouts is a Steiner arborescence, which
// is NP-hard to find in general. With up to four layouts, all trees are tried.
// A larger tree is grown as in Prim's algorithm, and then improved.

#ifndef TPOPT_PLAN_COPYTREE_H
#define TPOPT_PLAN_COPYTREE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tp::plan {

/// For each of `count` layouts, returns the layout that it is made from, or
/// kUnused if it is not made. Layout 0 already exists. The next `required`
/// layouts are needed, and the others may be used as intermediate steps.
/// `getCost(a, b)` is the cost of making b from a; it must not be negative.
llvm::SmallVector<unsigned, 4>
growCopies(unsigned count, unsigned required,
           llvm::function_ref<double(unsigned, unsigned)> getCost);

constexpr unsigned kUnused = ~0u;

} // namespace tp::plan

#endif // TPOPT_PLAN_COPYTREE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// From what the copies of a value in several layouts are made.
//
//     made [{"x"}, {}], needed [{}, {}] and [{}, {"x"}]
//
//     [{"x"}, {}] --all-gather--> [{}, {}] --slice, free--> [{}, {"x"}]
//
// The least tree that reaches all layouts is a Steiner arborescence, which is
// NP-hard to find in general. Up to four layouts have few trees, which are all
// tried. A larger tree is grown as by Prim's algorithm, and then improved.

#ifndef TPOPT_PLAN_COPYTREE_H
#define TPOPT_PLAN_COPYTREE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace tp::plan {

/// For each of `count` layouts, the layout that it is made from, and kUnused
/// for those that are not made. Layout 0 exists. The next `required` ones are
/// needed, and the others may be used on the way. `getCost(a, b)` is what it
/// costs to make b from a; it is not negative.
llvm::SmallVector<unsigned, 4>
growCopies(unsigned count, unsigned required,
           llvm::function_ref<double(unsigned, unsigned)> getCost);

constexpr unsigned kUnused = ~0u;

} // namespace tp::plan

#endif // TPOPT_PLAN_COPYTREE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Ways to damage a partitioned program.
//
// Those of the global stage act after tp-plan-collectives, on decisions: what
// is sent, and what shardings claim. Those of the local stage act after
// tp-localize, on the program that devices run. Each is what a slip in a
// compiler, or of an author, could leave behind.

#ifndef TPOPT_TEST_MUTATION_MUTATIONS_H
#define TPOPT_TEST_MUTATION_MUTATIONS_H

#include "lib/Support/Random.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

struct Mutation {
  llvm::StringLiteral name;
  bool isLocal;
  /// Damages the program at `op`, if this damage is possible there.
  bool (*apply)(mlir::Operation *op, Random &random);
};

llvm::ArrayRef<Mutation> getMutations();
/// Local ones that show on some data only: masks of every kind, indices,
/// overflow.
llvm::ArrayRef<Mutation> getDataMutations();

} // namespace tp

#endif // TPOPT_TEST_MUTATION_MUTATIONS_H

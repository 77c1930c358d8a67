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
#include "tpopt/Dialect/SPMD/SPMD.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tp {

struct Mutation {
  llvm::StringLiteral name;
  bool isLocal;
  /// Damages the program at `op`, if this damage is possible there.
  bool (*apply)(mlir::Operation *op, Random &random);
};

llvm::ArrayRef<Mutation> getGlobalMutations();
llvm::ArrayRef<Mutation> getLocalMutations();
/// Local ones that show on some data only: masks of every kind, indices,
/// overflow.
llvm::ArrayRef<Mutation> getDataMutations();

/// Those of the names `ways`, or all if there are none.
llvm::SmallVector<Mutation> pickWays(llvm::ArrayRef<Mutation> mutations,
                                     llvm::ArrayRef<std::string> ways);
/// How often to look for a place. What is drawn from all mutations is the more
/// frequent the more places it has; what was asked for may have one of many.
inline unsigned getNumDraws(llvm::ArrayRef<std::string> ways) {
  return ways.empty() ? 1 : 1000;
}
/// Damages one of `ops` and says which; nothing if no draw found one.
std::optional<size_t> applySomewhere(const Mutation &mutation,
                                     llvm::ArrayRef<mlir::Operation *> ops,
                                     unsigned draws, Random &random);
std::string print(mlir::Operation *op);

// What both stages use.
Mesh getMeshOf(mlir::Operation *op, spmd::ShardingAttr sharding);
TensorSharding resolve(spmd::ShardingAttr attribute, const Mesh &mesh);
bool swapOperands(mlir::Operation *op, Random &random);

} // namespace tp

#endif // TPOPT_TEST_MUTATION_MUTATIONS_H

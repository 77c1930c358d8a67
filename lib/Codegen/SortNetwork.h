// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A bitonic network on words in shared memory (`Sort.h`).
//
// Slots fall into *runs*, the even ones in ascending, the odd ones in
// descending order, so that two are bitonic: to merge them, each word is
// compared with the one half of both away, then a quarter, and so on. A thread
// has groups of eight words that differ in three bits of their slots, and takes
// three such stages, or fewer where their number is no multiple, from one pass
// through shared memory to the next: a *round*, with a barrier behind it. Of a
// word of one run and that of the next at its place, the lesser is among the
// first of both, and these are bitonic again: so two runs become one.
//
// The fewer words are left, the fewer threads have a group; all wait.

#ifndef TPOPT_LIB_CODEGEN_SORTNETWORK_H
#define TPOPT_LIB_CODEGEN_SORTNETWORK_H

#include "GpuFunction.h"

#include "lib/Codegen/Sort.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tp::codegen {

class SortNetwork {
public:
  /// Runs are at last of `run`, a power of two and at least a group.
  SortNetwork(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp function,
              const SortTile &tile, int64_t run);

  mlir::Value getThread(); ///< i64
  mlir::Value getLast();   ///< A word behind all others.
  /// The thread's words in slots from 8 * thread on, as they are.
  llvm::SmallVector<mlir::Value> loadGroup();
  /// Stores them, if the tile has the slots and `condition`, which may be null,
  /// is true.
  void storeGroup(mlir::ValueRange words, mlir::Value condition);
  /// The same words in the order of runs of eight.
  llvm::SmallVector<mlir::Value> sortGroup(mlir::ValueRange words);

  /// A loop in whose body rounds are.
  mlir::scf::ForOp createTileLoop(mlir::Value begin, mlir::Value end,
                                  mlir::Value step);
  /// Waits for the block.
  void wait();
  /// From runs of eight to runs of `run`.
  void sortRuns();
  /// From runs of `run` to one, in the first slots.
  void reduceRuns();
  mlir::Value load(mlir::Value slot); ///< Of a slot in i64.

private:
  using Words = llvm::SmallVector<mlir::Value>;

  mlir::Value number(int64_t value); ///< i32
  mlir::Value mask(mlir::Value value, int64_t bits);
  mlir::Value shift(mlir::Value value, int64_t by); ///< To the right.
  mlir::Value permute(mlir::Value slot);
  /// The address of a slot that is permuted, but for its bits `bits`.
  mlir::Value locate(mlir::Value permuted, int64_t bits);
  Words loadWords(mlir::Value permuted, int64_t stride, int64_t bits = 0);
  void storeWords(mlir::ValueRange words, mlir::Value permuted, int64_t stride);
  /// What `emit` gives the threads that have one of so many groups.
  Words emitForGroups(int64_t groups, llvm::function_ref<Words()> emit);
  /// The first slot of a group whose slots are `stride` apart.
  mlir::Value getFirst(mlir::Value group, int64_t stride);
  /// Puts two words in ascending order, or if `isDown` in descending order; the
  /// other way round where `flips`, which may be null, is true.
  void exchange(mlir::Value &a, mlir::Value &b, bool isDown, mlir::Value flips);
  /// Merges bitonic runs of 2^phase in `slots` slots, which come from two such
  /// runs each if `halves`.
  void merge(int64_t phase, int64_t slots, bool halves);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  SortTile tile;
  int64_t run;
  mlir::IntegerType word;
  mlir::Value shared, thread; ///< i32
};

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_SORTNETWORK_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A bitonic network on words in shared memory (`Sort.h`).
//
// Slots are divided into *runs*. Even runs are in ascending and odd ones in
// descending order, so that two adjacent runs are bitonic. To merge two runs,
// each word is compared with the word half their joint length away, then with
// the word a quarter away, and so on. A thread has groups of eight words, whose
// slots differ in three bits, and executes three such stages (or fewer, if
// their number is not a multiple of three) in one pass through shared memory.
// Such a pass, with the barrier after it, is a *round*. To reduce two runs to
// one, words at the same position of both are compared, and the lesser is kept.
// The kept words are the first ones, in sort order, of the two runs together,
// and they form a bitonic run.
//
// As the number of words falls, so does the number of threads that have a
// group, but all threads wait at each barrier.

#ifndef TPOPT_LIB_CODEGEN_SORTNETWORK_H
#define TPOPT_LIB_CODEGEN_SORTNETWORK_H

#include "GpuFunction.h"

#include "lib/Codegen/Sort.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tp::codegen {

class SortNetwork {
public:
  /// In the end, runs have length `run`, a power of two and at least the size
  /// of a group.
  SortNetwork(mlir::OpBuilder &builder, mlir::gpu::GPUFuncOp function,
              const SortTile &tile, int64_t run);

  mlir::Value getThread(); ///< i64
  mlir::Value getLast();   ///< A word that sorts after all others.
  /// Loads the thread's eight words, which begin at slot 8 * thread.
  llvm::SmallVector<mlir::Value> loadGroup();
  /// Stores the thread's group of words, if the group is in the tile and
  /// `condition` is null or true.
  void storeGroup(mlir::ValueRange words, mlir::Value condition);
  /// Sorts the thread's group into a run of eight words: descending if the
  /// thread's number is odd, ascending otherwise.
  llvm::SmallVector<mlir::Value> sortGroup(mlir::ValueRange words);

  /// Creates a loop over tiles. Its body may contain rounds: passes through
  /// shared memory, each followed by a barrier.
  mlir::scf::ForOp createTileLoop(mlir::Value begin, mlir::Value end,
                                  mlir::Value step);
  /// A barrier for the block.
  void wait();
  /// Merges runs of eight words into longer runs, up to the length `run`.
  void sortRuns();
  /// Reduces all runs to one, which holds the first `run` words in sort order.
  /// The result is in the first slots of the tile.
  void reduceRuns();
  mlir::Value load(mlir::Value slot); ///< `slot` is an i64.

private:
  using Words = llvm::SmallVector<mlir::Value>;

  mlir::Value number(int64_t value); ///< i32
  mlir::Value mask(mlir::Value value, int64_t bits);
  mlir::Value shift(mlir::Value value, int64_t by); ///< To the right.
  mlir::Value permute(mlir::Value slot);
  /// Returns the address of slot s ^ `bits`, where `permuted` is the permuted
  /// number of slot s.
  mlir::Value locate(mlir::Value permuted, int64_t bits);
  Words loadWords(mlir::Value permuted, int64_t stride, int64_t bits = 0);
  void storeWords(mlir::ValueRange words, mlir::Value permuted, int64_t stride);
  /// Calls `emit` to create code that only threads with a group, the first
  /// `groups` threads, execute. Returns the results of that code.
  Words emitForGroups(int64_t groups, llvm::function_ref<Words()> emit);
  /// The first slot of a group whose slots are `stride` apart.
  mlir::Value getFirst(mlir::Value group, int64_t stride);
  /// Puts two words in ascending order, or in descending order if `isDown` is
  /// true. If `flips`, which may be null, is true, the order is reversed.
  void exchange(mlir::Value &a, mlir::Value &b, bool isDown, mlir::Value flips);
  /// Sorts bitonic runs of 2^phase words, which fill the first `slots` slots.
  /// If `halves` is true, each of these runs is first made from two runs: by
  /// keeping the lesser of each two words at the same position.
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

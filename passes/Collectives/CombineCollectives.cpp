// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Combines collectives that do not depend on each other into one launch, as far
// as memory allows.

#include "passes/Collectives/BlockCombiner.h"

#include "dialects/TP/ShardingTable.h"
#include "lib/Cost/PriceRecord.h"
#include "lib/Cost/ProgramCost.h"
#include "tpopt/Passes/Collectives/Passes.h"

namespace tp {
#define GEN_PASS_DEF_COMBINECOLLECTIVESPASS
#include "tpopt/Passes/Collectives/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

namespace {

struct CombineCollectives
    : tp::impl::CombineCollectivesPassBase<CombineCollectives> {
  using CombineCollectivesPassBase::CombineCollectivesPassBase;

  static SmallVector<Block *> findBlocks(FunctionOpInterface function) {
    SmallVector<Block *> blocks;
    function->walk<WalkOrder::PreOrder>([&](Block *block) {
      if (llvm::any_of(*block, llvm::IsaPred<CollectiveOpInterface>))
        blocks.push_back(block);
    });
    return blocks;
  }

  static CombineResult combine(FunctionOpInterface function, const Mesh &mesh,
                               const LaunchRules &rules) {
    CombineResult result;
    for (Block *block : findBlocks(function)) {
      CombineResult own = combineCollectives(*block, mesh, rules);
      result.isChanged |= own.isChanged;
      result.isMixed |= own.isMixed;
      result.combined += own.combined;
    }
    return result;
  }

  /// Returns true if the function has sums and collectives that move data.
  static bool mayMix(FunctionOpInterface function) {
    bool sums = false, moves = false;
    function->walk([&](CollectiveOpInterface op) {
      CollectiveKind kind = getKind(op);
      sums |= isReduction(kind);
      moves |= !isReduction(kind) && !isFree(kind);
    });
    return sums && moves;
  }

  /// Launches sums together with collectives that move data, unless the
  /// function would then need more memory than with launches of their own.
  CombineResult combine(FunctionOpInterface function, const Mesh &mesh,
                        int64_t bucket) {
    if (!mayMix(function))
      return combine(function, mesh, {bucket, /*mixed=*/true});
    // Insert the copy next to the function, so that it finds the mesh.
    auto copy = cast<FunctionOpInterface>(OpBuilder(function).clone(*function));
    CombineResult result = combine(function, mesh, {bucket, /*mixed=*/true});
    if (result.isMixed) {
      ShardingTable table(&getContext(), mesh);
      CombineResult apart = combine(copy, mesh, {bucket, /*mixed=*/false});
      if (getHeldBytes(function, table) > getHeldBytes(copy, table)) {
        function.getFunctionBody().takeBody(copy.getFunctionBody());
        result = apart;
      }
    }
    copy.erase();
    return result;
  }

  /// Returns the largest bucket size with which the program fits into a
  /// device's memory. If there is none, returns the size with which the program
  /// needs the least memory. Returns nullopt if the program needs even less
  /// memory when no collective is moved.
  std::optional<int64_t> findBucket(FunctionOpInterface function,
                                    const Mesh &mesh, int64_t capacity) {
    ShardingTable table(&getContext(), mesh);
    int64_t least = getHeldBytes(function, table);
    if (least + getMovedBytes(function, table) <= capacity)
      return bucketBytes;
    std::optional<int64_t> best;
    for (int64_t bucket = bucketBytes;; bucket /= 4) {
      // Insert the trial next to the function, so that it finds the mesh.
      auto trial =
          cast<FunctionOpInterface>(OpBuilder(function).clone(*function));
      combine(trial, mesh, bucket);
      int64_t held = getHeldBytes(trial, table);
      trial.erase();
      if (held <= capacity)
        return bucket;
      if (held < least || (!best && held == least)) {
        least = held;
        best = bucket;
      }
      if (bucket == 0)
        return best;
    }
  }

  /// An upper bound on the memory that moving collectives can add.
  static int64_t getMovedBytes(FunctionOpInterface function,
                               ShardingTable &table) {
    int64_t bytes = 0;
    function->walk([&](CollectiveOpInterface op) {
      for (Value value :
           llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                               SmallVector<Value>(op->getResults())))
        if (std::optional<LocalTensor> local = getLocalTensor(value, table))
          bytes += local->getBytes();
    });
    return bytes;
  }

  void runOnOperation() override {
    auto device = readMachineOption(getOperation(), machine);
    if (failed(device))
      return signalPassFailure();
    auto capacity = readMemoryOption(getOperation(), "", *device);
    if (failed(capacity))
      return signalPassFailure();
    bool isChanged = false;
    for (auto function : getOperation().getOps<FunctionOpInterface>()) {
      if (findBlocks(function).empty())
        continue;
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      Mesh linked = withMachineLinks(mesh->toMesh(), *device);
      std::optional<int64_t> bucket =
          *capacity ? findBucket(function, linked, *capacity) : bucketBytes;
      CombineResult result;
      if (bucket)
        result = combine(function, linked, *bucket);
      isChanged |= result.isChanged;
      ShardingTable table(&getContext(), linked);
      recordChange(function, PriceKind::Combined, result.combined, table,
                   *device);
    }
    if (!isChanged) // then verification is not needed again either
      markAllAnalysesPreserved();
  }
};

} // namespace

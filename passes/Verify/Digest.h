// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a program computes, as one number per value.
//
// Partition and Collectives may move data and take ops apart; they may not
// compute anything else. So a program keeps its digest: the hash of an op's
// name, attributes and operands' digests, where
//
// * what only moves data between devices (reshards, collectives, constraints)
//   has the digest of its operand,
// * an op that decomposes has the digest of its decomposition.
//
//     %0 = softmax %x                    %0 = reduce max %x
//     return %0                          %1 = spmd.all_reduce %0
//                                        %2 = sub %x, broadcast %1 ..
//
// have equal results, by structure: no arithmetic is needed. Two programs of n
// values that differ have equal digests with a probability of about n^2 / 2^65.

#ifndef TPOPT_PASSES_VERIFY_DIGEST_H
#define TPOPT_PASSES_VERIFY_DIGEST_H

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>
#include <memory>
#include <unordered_map>

namespace tp {

/// Digests of the values of one function, in one context and process.
class ProgramDigest {
public:
  ProgramDigest();
  ~ProgramDigest();

  /// Computes the digests of all values, and calls `visit` on every op that
  /// computes something, in program order, and on the parts that it decomposes
  /// to.
  void compute(mlir::FunctionOpInterface function,
               llvm::function_ref<void(mlir::Operation *, uint64_t)> visit);

  /// The digests of what the function returns.
  llvm::ArrayRef<uint64_t> getResults() const { return results; }

private:
  using Digests = llvm::DenseMap<mlir::Value, uint64_t>;
  using Visitor = llvm::function_ref<void(mlir::Operation *, uint64_t)>;
  struct Decomposition;

  llvm::SmallVector<uint64_t> digestBlock(mlir::Block &block, Digests &digests,
                                          uint64_t place, Visitor visit);
  void digestOp(mlir::Operation *op, Digests &digests, uint64_t place,
                Visitor visit);
  uint64_t digestSelf(mlir::Operation *op);
  Decomposition *decompose(mlir::Operation *op);

  llvm::SmallVector<uint64_t> results;
  std::map<std::vector<const void *>, std::unique_ptr<Decomposition>>
      decompositions;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_DIGEST_H

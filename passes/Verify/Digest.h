// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Identifies what a program computes by one number per value.
//
// Partition and Collectives may move data and decompose ops; they may not
// compute anything else. So they must preserve a program's digest: the hash of
// an op's name, attributes and operands' digests, where
//
// * an op that only moves data between devices (reshards, collectives,
//   constraints) has the digest of its operand,
// * an op that decomposes has the digest of its decomposition,
// * a reshape has the digest of its operand, combined with its own type,
// * letters of an einsum that always follow each other count as one, since
//   splitting or merging them does not change the value's elements,
// * a slice of a slice counts as one slice, and so does a pad of a pad with the
//   same fill.
//
// The programs
//
//     %0 = softmax %x                    %0 = reduce max %x
//     return %0                          %1 = spmd.all_reduce %0
//                                        %2 = sub %x, broadcast %1 ..
//
// have equal digests, so their results are equal; no arithmetic is needed. Two
// different programs of n values have equal digests with a probability of about
// n^2 / 2^65.

#ifndef TPOPT_PASSES_VERIFY_DIGEST_H
#define TPOPT_PASSES_VERIFY_DIGEST_H

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <memory>
#include <unordered_map>

namespace tp {

/// Combines numbers, in order.
uint64_t mixDigest(uint64_t a, uint64_t b);

/// The digest of an op alone, without its operands and without the attributes
/// that say where the op comes from and why it exists.
uint64_t digestOpAlone(mlir::Operation *op);

/// The digests of a function: of its results, in order, and of all its values,
/// in ascending order.
struct KnownDigests {
  llvm::SmallVector<int64_t> results;
  std::vector<int64_t> values;

  static KnownDigests collect(mlir::FunctionOpInterface function);
  /// Emits an error if the digests of the results of `function` are not
  /// `results`. The error is at the first op whose digest is not in `values`,
  /// or at `function` if there is no such op.
  mlir::LogicalResult verify(mlir::FunctionOpInterface function) const;
};

/// Computes digests of the values of functions. Digests can be compared only if
/// they were computed in the same MLIRContext and the same process.
class ProgramDigest {
public:
  /// Called for each computed value, in program order, with its op and its
  /// digest. The op is null if the value is part of an op's decomposition.
  using Visitor = llvm::function_ref<void(mlir::Operation *, uint64_t)>;

  /// Computes the digests of all values of `function`.
  void compute(mlir::FunctionOpInterface function, Visitor visit);

  /// The digests of the values that the function returns.
  llvm::ArrayRef<uint64_t> getResults() const { return results; }

private:
  /// Identifies a slice or a pad of the value `root`. `fill` is the digest of
  /// the padding, 0 for a slice.
  struct Moved {
    uint64_t root, fill;
    llvm::SmallVector<int64_t, 4> starts, strides;
  };
  /// Identifies a value of type `type`. Its elements, in row-major order, are
  /// those of a value of type `made` with digest `digest`.
  struct Known {
    uint64_t digest = 0;
    mlir::Type made, type;
    /// Set for a slice or a pad.
    std::shared_ptr<const Moved> moved;

    uint64_t as(mlir::Type wanted) const;
    uint64_t get() const { return as(type); }
  };
  using Digests = llvm::DenseMap<mlir::Value, Known>;

  /// Describes an op without its operands. `read` and `made` are set only for
  /// an einsum: the types of its operands and of its result after letters have
  /// been merged.
  struct Alone {
    enum Kind { Other, Reshape, Einsum, Slice, Pad } kind = Other;
    uint64_t digest = 0;
    mlir::Type read[2], made;
    llvm::SmallVector<int64_t, 4> starts, strides; ///< Pads have starts.
    llvm::SmallVector<mlir::Type, 1> results;

    static Alone of(mlir::Operation *op);
    /// Applies the op to `operands` and identifies each result. Sets `whole` to
    /// the digest of all results together.
    llvm::SmallVector<Known, 1> apply(llvm::ArrayRef<Known> operands,
                                      uint64_t &whole) const;
    Known move(llvm::ArrayRef<Known> operands) const;
  };
  static Alone ofEinsum(mlir::Operation *op);

  /// The decomposition of an op as a flat list of ops. Values are numbered,
  /// operands first.
  struct Recipe {
    struct Part {
      Alone alone;
      llvm::SmallVector<unsigned, 3> operands;
    };
    std::vector<Part> parts;
    llvm::SmallVector<unsigned, 1> results;
    unsigned numValues = 0;
  };

  /// `operands` numbers the op's operands; equal values have the same number.
  const Recipe &getRecipe(mlir::Operation *op,
                          llvm::ArrayRef<unsigned> operands);
  /// Decomposes `op`, and appends the resulting ops to `recipe`. `operands` are
  /// the numbers of the operands of `op`. Returns the numbers of the results of
  /// `op`.
  static llvm::SmallVector<unsigned, 1>
  flatten(mlir::Operation *op, llvm::ArrayRef<unsigned> operands,
          Recipe &recipe);
  llvm::SmallVector<uint64_t> digestBlock(mlir::Block &block, Digests &digests,
                                          uint64_t place, Visitor visit);
  void digestOp(mlir::Operation *op, Digests &digests, uint64_t place,
                Visitor visit);
  void digestParts(mlir::Operation *op, Digests &digests, Visitor visit);

  llvm::SmallVector<uint64_t> results;
  std::unordered_map<uint64_t, Recipe> recipes;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_DIGEST_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Shrinks a splice along a sharded dimension to fewer devices and
/// shorter blocks. A splice concatenates slices of its inputs, called pieces.
///
/// The local form of a splice contains counts: it refers to devices by their
/// distance on the ring, and to rows by their position in a block. Arbitrary
/// extents would change all these numbers. So rows are left out only away from
/// the ends of pieces and blocks: whole blocks from the middle of a piece, and
/// rows from the middle of every block.
///
/// # A worked example
///
/// Two rows are spliced in front of 131070 rows, on 8192 devices in blocks of
/// 16:
///
///     whole    2 | 131070 = 8192 blocks - 2         blocks of 16
///     small    2 |     46 =    6 blocks - 2         blocks of 8
///
/// A count of rows is written as `blocks * block + rest`, where `block` is the
/// size of a block, and `rest` is at most half a block. The small count is
/// `(blocks - gone) * small + rest`, where `gone` blocks are left out and
/// `small` is the size of a small block. For rows inside a block, `gone` is 0:
/// rows [14, 16) of a block of 16 become rows [6, 8) of a block of 8. The
/// distances on the ring are those at which the small pieces are read (see
/// Window in Halo.h). A row at which the result changes from one piece to the
/// next becomes the corresponding row of the small result. A number that occurs
/// in no window becomes a number that occurs in no small window, so that a
/// wrong form stays wrong.

#ifndef TPOPT_PASSES_VERIFY_SPLICESHRINKER_H
#define TPOPT_PASSES_VERIFY_SPLICESHRINKER_H

#include "passes/Verify/CountShrinker.h"

#include "lib/Sharding/Algebra/Halo.h"
#include "tpopt/Dialect/TP/TP.h"

namespace tp {

class SpliceShrinker final : public CountShrinker {
public:
  /// Creates a shrinker. `layouts` are the layouts of the inputs and of the
  /// result. Returns none if the splice sends nothing, if blocks differ in
  /// size, if a stride is not 1 or -1, or if no smaller numbers satisfy the
  /// rules in the file comment.
  static std::optional<SpliceShrinker>
  create(SpliceOp op, llvm::ArrayRef<TensorSharding> layouts, const Mesh &mesh);

  std::optional<int64_t> getSize(unsigned tensor,
                                 unsigned other) const override {
    return other == dim ? std::optional(small.lengths[tensor]) : std::nullopt;
  }
  unsigned getReference() const override { return small.lengths.size() - 1; }
  std::optional<int64_t> mapRows(int64_t rows, unsigned other) const override {
    return other == dim ? std::optional(mapRows(rows)) : std::nullopt;
  }
  /// A reversed read uses a list that contains one index for each row.
  std::optional<int64_t> mapIndices(int64_t count) const override {
    return mapRows(count);
  }
  void mapNumbers(mlir::Operation *copy) const override;
  void mapWhole(mlir::Operation *copy) const override;

private:
  /// The numbers that describe a splice.
  struct Numbers {
    int64_t devices, block;
    llvm::SmallVector<int64_t> lengths; ///< Of inputs and result.
    llvm::SmallVector<Piece> pieces;
    llvm::SmallVector<std::optional<Window>> windows; ///< None for scalars.
  };

  /// Shrinks a count of rows, or the index of a row, in one device's buffer.
  int64_t mapRows(int64_t rows) const;
  /// Shrinks the distance of a shift along the ring of devices.
  int64_t mapDistance(int64_t distance) const;
  /// Shrinks a position: a number that is compared with rows of the result, or
  /// that determines where a device's rows start in the strip of rows that it
  /// has fetched.
  int64_t mapPlace(int64_t place) const;

  bool read(SpliceOp op, llvm::ArrayRef<TensorSharding> layouts);
  bool shrink(int64_t grain);
  bool findWindows(Numbers &numbers) const;
  bool shrink(int64_t block, int64_t blocksKept);
  bool findDevices(int64_t grain);
  int64_t shrinkSegment(int64_t rows, int64_t blocksKept, bool isCut) const;
  bool liesAlike() const;
  bool countsBackAlike(const Window &was, const Window &is) const;
  bool relate();

  unsigned dim = 0;
  llvm::SmallVector<bool> isCut; ///< By tensor.
  /// For each input, the number of the first input that is the same value; -1
  /// for scalars.
  llvm::SmallVector<int> sources;
  Numbers large, small;
  std::map<int64_t, int64_t> distances, places;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_SPLICESHRINKER_H

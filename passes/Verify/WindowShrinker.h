// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Shrinks windows to fewer devices and shorter blocks.
///
/// Whole blocks are left out, and so are windows from the middle of every
/// block. Both ends stay the same: the first element that windows read, and the
/// distance from the last element that they read to the end of the input. In
/// the example, the first window begins `low` rows before the input:
///
///     whole    131072 windows of 4 on 64 devices, blocks of 2048, low = 3
///     small         9 windows of 4 on  3 devices, blocks of    3, low = 3
///
///     rows needed of the preceding block     [2045, 2048) -> [0, 3)
///     rows that a device's windows span              2051 -> 6
///
/// Each number of the large local form is paired with one of the small local
/// form (see dialects/TP/Strips.h). Sizes are rejected if two pairs contradict
/// each other. Any other number keeps its distance from the nearest paired
/// number.

#ifndef TPOPT_PASSES_VERIFY_WINDOWSHRINKER_H
#define TPOPT_PASSES_VERIFY_WINDOWSHRINKER_H

#include "passes/Verify/CountShrinker.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Sharding.h"

namespace tp {

class WindowShrinker final : public CountShrinker {
public:
  /// Creates a shrinker. `from` is the layout of the input, `to` that of the
  /// result. Returns none if a dimension is sharded differently in the input
  /// and in the result, if blocks of windows do not start where blocks of the
  /// input start, if some devices have no elements, or if no smaller numbers
  /// satisfy the rules in the file comment.
  static std::optional<WindowShrinker> create(WindowOp op,
                                              const TensorSharding &from,
                                              const TensorSharding &to,
                                              const Mesh &mesh);

  std::optional<int64_t> getSize(unsigned tensor, unsigned dim) const override;
  unsigned getReference() const override { return 0; }
  std::optional<int64_t> mapRows(int64_t rows, unsigned dim) const override;
  std::optional<int64_t> mapIndices(int64_t) const override {
    return std::nullopt;
  }
  void mapNumbers(mlir::Operation *copy) const override;

private:
  using Map = std::map<int64_t, int64_t>;
  /// The sizes of one of the op's dimensions.
  struct Numbers {
    int64_t length, windows, devices;
  };
  struct Along {
    int64_t dim;
    int64_t first, stride, taps, dilation;
    AxisList axes; ///< The axes that split the dimension.
    Numbers large, small;
    Map rows, places, distances;

    int64_t getSpan(const Numbers &numbers) const;
    std::optional<Numbers> shrinkTo(int64_t devices, int64_t block) const;
    bool relate();
    bool shrink(int64_t grain);
    int64_t mapDistance(int64_t distance) const;
  };

  const Along *find(unsigned dim) const;
  const Along *findCutBy(mlir::Operation *op) const;
  void mapConstant(mlir::Operation *copy) const;

  const Mesh *mesh = nullptr;
  unsigned numOperands = 1;
  llvm::SmallVector<Along, 2> along;
};

} // namespace tp

#endif // TPOPT_PASSES_VERIFY_WINDOWSHRINKER_H

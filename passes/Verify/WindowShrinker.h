// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Windows over fewer devices and shorter blocks.
///
/// What is left out are windows from the middle of every block, and blocks.
/// What windows reach at either end stays: the first element that they read,
/// and how far the last one is from the input's last.
///
///     whole    131072 windows of 4 on 64 devices, blocks of 2048, low = 3
///     small         9 windows of 4 on  3 devices, blocks of    3, low = 3
///
///     rows [2045, 2048) of the block before    rows [0, 3)
///     a span of 2051 rows                      6 rows
///
/// The numbers of both local forms are listed one beside the other (see
/// dialects/TP/Strips.h), and a pair that contradicts another rules the sizes
/// out. Any other number becomes what is as far from the nearest one.

#ifndef TPOPT_PASSES_VERIFY_WINDOWSHRINKER_H
#define TPOPT_PASSES_VERIFY_WINDOWSHRINKER_H

#include "passes/Verify/CountShrinker.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Sharding/Sharding.h"

namespace tp {

class WindowShrinker final : public CountShrinker {
public:
  /// `from` is the layout of the input, `to` that of the result. None if a
  /// dimension is cut for windows and the input has it whole, if blocks of
  /// windows are not blocks of the input, if devices have nothing, or if
  /// nothing smaller keeps what is to be kept.
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
  /// One of the op's dimensions, as numbers.
  struct Numbers {
    int64_t length, windows, devices;
  };
  struct Along {
    int64_t dim;
    int64_t first, stride, taps, dilation;
    AxisList axes; ///< That cut it.
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

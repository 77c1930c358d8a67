// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file A sharding as boxes with device numbers in them.
///
/// `[{"x"}, {"y"}]` of 8x6 on `["x"=2, "y"=2, "z"=2]`:
///
///     dim 0 down, dim 1 across
///          0-2   3-5
///         +-----+-----+
///     0-3 | 0-1 | 2-3 |
///         +-----+-----+
///     4-7 | 4-5 | 6-7 |
///         +-----+-----+
///
/// A box lists the devices that have this part of the tensor, several if it is
/// replicated. At most two dimensions are drawn, the first two that are
/// sharded; notes say what the picture leaves out.

#ifndef TPOPT_REPORT_PICTURE_H
#define TPOPT_REPORT_PICTURE_H

#include "tpopt/Sharding/Sharding.h"

#include "llvm/Support/Error.h"

#include <vector>

namespace tp {

/// The boxes, row by row.
struct Picture {
  std::string caption; ///< Which dimension is drawn in which direction.
  std::vector<std::string> rowLabels, columnLabels;
  std::vector<std::string> boxes; ///< Device numbers such as `0-3,8`.
  std::vector<std::string> notes;

  const std::string &getBox(unsigned row, unsigned column) const {
    return boxes[row * columnLabels.size() + column];
  }
};

Picture makePicture(const Mesh &mesh, const TensorSharding &sharding,
                    llvm::ArrayRef<int64_t> shape);

/// Draws with ASCII lines, indented by two, at most 80 columns wide and 16
/// boxes high. If the picture is larger, `..` marks what is left out.
void printPicture(const Picture &picture, llvm::raw_ostream &os);

/// Sorted numbers as ranges: `0-3,8`.
std::string formatDevices(llvm::ArrayRef<int64_t> devices);

} // namespace tp

#endif // TPOPT_REPORT_PICTURE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file How far two tensors are apart, and how far they may be.
///
/// A sharded program adds in another order than the whole one, and may keep a
/// value in a register that the other rounds on its way to memory. Either is an
/// error relative to the largest numbers that went into a sum, so differences
/// are measured against the largest magnitude of the tensor, not element by
/// element: a small element may be what is left of large ones. Allowed are
///
///     f64 1e-11    f32 1e-4    f16 1e-2    bf16 5e-2
///
/// of it, a few hundred roundings of f64 and f32 and, as those of the narrow
/// types are fewer and coarser, a few dozen of theirs. Integers and truth
/// values must be equal.

#ifndef TPRUN_COMPARE_H
#define TPRUN_COMPARE_H

#include "runtime/Core/DType.h"

#include <string>

namespace tprun {

struct Difference {
  double absolute = 0;   ///< The largest.
  double relative = 0;   ///< That, over the largest finite magnitude wanted.
  int64_t place = 0;     ///< Of the largest, in row-major order.
  bool isAllNaN = false; ///< Nothing could be compared.
};

/// Of two tensors of one type and size. NaN equals NaN, and infinity itself;
/// either differs infinitely from all else.
Difference compare(tprt::DType dtype, absl::string_view got,
                   absl::string_view wanted);

/// The relative difference that is allowed.
double getTolerance(tprt::DType dtype);

} // namespace tprun

#endif // TPRUN_COMPARE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Splits a product that waits for a long gather.
///
/// In FSDP, a weight [k, n] is usually sharded along k, which the product sums
/// over, so tp.gather_einsum cannot multiply one device's rows while those of
/// the others travel. But the product can be computed column by column, if the
/// gather is split along n as well:
///
///     gather w to b                  gather w[:, 0:4] to p
///                                    gather w[:, 4:8] to q
///     c = a b                        c[:, 0:4] = a p
///                                    c[:, 4:8] = a q
///                                    copy p and q to b
///
/// While q travels, the device multiplies p. Each element of c is the same sum.
/// The same number of bytes is sent. b is needed only if other steps read it.

#ifndef TPOPT_PASSES_SCHEDULE_SPLITPRODUCTS_H
#define TPOPT_PASSES_SCHEDULE_SPLITPRODUCTS_H

#include "lib/Cost/Machine.h"
#include "tpopt/Dialect/Step/Step.h"

#include <optional>

namespace tp::schedule {

/// An all-gather of the rows of a matrix, and the first step that reads its
/// result: a product that sums over these rows.
struct GatheredProduct {
  step::CollectiveStartOp gather;
  step::MatmulOp product;
};

/// Returns the product in `block` whose gather takes longest, if there is one.
std::optional<GatheredProduct> findLongestProduct(mlir::Block &block,
                                                  const Mesh &mesh);

/// Splits the gather and the product into at most this many pieces. Returns the
/// bytes of the pieces' buffers.
int64_t splitProduct(GatheredProduct found, int64_t pieces);

} // namespace tp::schedule

#endif // TPOPT_PASSES_SCHEDULE_SPLITPRODUCTS_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The table of `key = value` fields in pretty forms: for each op and key, the
// name of the attribute that the key sets.

#include "Syntax.h"

using namespace tp;

namespace {
struct Field {
  llvm::StringLiteral op, key, attribute;
};
} // namespace

static constexpr Field kFields[] = {
    {"stablehlo.broadcast", "sizes", "broadcast_sizes"},
    {"stablehlo.broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.cholesky", "lower", "lower"},
    {"stablehlo.concatenate", "dim", "dimension"},
    {"stablehlo.convolution", "dim_numbers", "dimension_numbers"},
    {"stablehlo.dot", "precision", "precision_config"},
    {"stablehlo.dot_general", "precision", "precision_config"},
    {"stablehlo.dynamic_broadcast_in_dim", "dims", "broadcast_dimensions"},
    {"stablehlo.dynamic_iota", "dim", "iota_dimension"},
    {"stablehlo.dynamic_slice", "sizes", "slice_sizes"},
    {"stablehlo.einsum", "config", "einsum_config"},
    {"stablehlo.fft", "length", "fft_length"},
    {"stablehlo.fft", "type", "fft_type"},
    {"stablehlo.get_dimension_size", "dim", "dimension"},
    {"stablehlo.iota", "dim", "iota_dimension"},
    {"stablehlo.pad", "high", "edge_padding_high"},
    {"stablehlo.pad", "interior", "interior_padding"},
    {"stablehlo.pad", "low", "edge_padding_low"},
    {"stablehlo.reverse", "dims", "dimensions"},
    {"stablehlo.rng", "distribution", "rng_distribution"},
    {"stablehlo.rng_bit_generator", "algorithm", "rng_algorithm"},
    {"stablehlo.set_dimension_size", "dim", "dimension"},
    {"stablehlo.transpose", "dims", "permutation"},
    {"stablehlo.unary_einsum", "config", "einsum_config"},
};

llvm::StringRef reader::getFieldAttribute(llvm::StringRef name,
                                          llvm::StringRef key) {
  for (const Field &field : kFields)
    if (field.op == name && field.key == key)
      return field.attribute;
  return key;
}

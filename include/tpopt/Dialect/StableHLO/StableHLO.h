// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Reading the text of StableHLO programs without StableHLO.
///
/// JAX and PyTorch export programs in the dialects `stablehlo` and `chlo`, and
/// sometimes with attributes of `mhlo` (https://openxla.org/stablehlo/spec).
/// The readers load their text, in the pretty form that exporters print
///
///     %0 = stablehlo.iota dim = 1 : tensor<4x8xi32>
///
/// and in the generic one, into the same operations:
///
///     %0 = "stablehlo.iota"() <{iota_dimension = 1}> : () -> tensor<4x8xi32>
///
/// Operations stay unregistered: nothing is verified here, and operations that
/// are added to these dialects later can be read as well. The importer
/// (passes/Import/StableHLO/StableHLO.h) interprets programs and rejects
/// invalid ones.
///
/// Attributes of these dialects become builtin attributes, see readAttribute:
/// an enumerator is a string, a structure a dictionary, a list of numbers an
/// `array<i64>`.
///
/// A tool registers the readers itself. registerTPOptDialects does not, since a
/// compiler that embeds our passes may have the real dialects. Portable
/// artifacts, which are MLIR bytecode of the dialect `vhlo`, cannot be read
/// this way: see isPortableArtifact.

#ifndef TPOPT_DIALECT_STABLEHLO_STABLEHLO_H
#define TPOPT_DIALECT_STABLEHLO_STABLEHLO_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/DialectRegistry.h"

namespace tp::stablehlo {

/// Registers the readers of `stablehlo`, `chlo` and attributes of `mhlo`.
void registerReaders(mlir::DialectRegistry &registry);

/// The builtin attribute for the attribute `#<dialect>.<text>`:
///
/// | text | attribute |
/// | --- | --- |
/// | `#stablehlo<precision HIGH>` | `"HIGH"` |
/// | `#stablehlo.channel_handle<handle = 1, type = 0>` | `{handle = 1, type = 0}` |
/// | `#stablehlo.gather<offset_dims = [1], ..>` | `{offset_dims = array<i64: 1>, ..}` |
/// | `#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>` | `{lhs = ["b", 0, "f"], rhs = [0, "i", "o"], result = ["b", 0, "f"]}` |
///
/// Null if the text has another form.
mlir::Attribute readAttribute(mlir::MLIRContext *context, llvm::StringRef text);

/// Converts `attribute` if it belongs to one of StableHLO's own dialects, which
/// a compiler that embeds our passes may have loaded. Returns the attribute
/// that the readers would return for its text. All other attributes are
/// returned unchanged.
mlir::Attribute toBuiltin(mlir::Attribute attribute);

/// Whether `bytes` are a serialized StableHLO program, which the readers of
/// text cannot read: MLIR bytecode of that format, or the output of
/// `jax.export`'s serialization.
bool isPortableArtifact(llvm::StringRef bytes);

} // namespace tp::stablehlo

#endif // TPOPT_DIALECT_STABLEHLO_STABLEHLO_H

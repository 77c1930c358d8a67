// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One program written in two ways: a product as another einsum or of transposed
// operands, a slice with starts that are constants, a sum as two. How users and
// exporters happen to write a program must not change what its plan costs.

#ifndef TPOPT_TEST_FUZZ_SPELLINGS_H
#define TPOPT_TEST_FUZZ_SPELLINGS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tp::fuzz {

enum class Spelling : uint8_t { Plain, Varied };

/// The program of `seed`, in one way or another.
mlir::OwningOpRef<mlir::ModuleOp> spell(mlir::MLIRContext &context,
                                        uint64_t seed, Spelling spelling);

} // namespace tp::fuzz

#endif // TPOPT_TEST_FUZZ_SPELLINGS_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs ptxas, NVIDIA's assembler, which compiles PTX to the code of one chip.
// ptxas is a separate program, and is missing on some machines.

#ifndef TPOPT_LIB_CODEGEN_PTXAS_H
#define TPOPT_LIB_CODEGEN_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tp::codegen {

/// The path of ptxas: bin/ptxas in CUDA_HOME, CUDA_ROOT or CUDA_PATH, then the
/// one on the PATH, in /usr/local/cuda, or in the wheel nvidia-cuda-nvcc of a
/// Python that is on the PATH. Empty if there is none.
std::string findPtxas();

/// Compiles PTX to a cubin for `chip`. Errors name the kernel that they are
/// about, if ptxas reports the line.
llvm::Expected<std::string> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                                     llvm::StringRef chip);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_PTXAS_H

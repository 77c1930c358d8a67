// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// NVIDIA's assembler, a program that may or may not be installed: from PTX to
// the code of one chip.

#ifndef TPOPT_LIB_CODEGEN_PTXAS_H
#define TPOPT_LIB_CODEGEN_PTXAS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace tp::codegen {

/// The path of ptxas: bin/ptxas of CUDA_HOME, CUDA_ROOT or CUDA_PATH, then what
/// is on the PATH, in /usr/local/cuda, or in the wheel nvidia-cuda-nvcc of a
/// Python that is on the PATH. Empty if there is none.
std::string findPtxas();

/// The bytes of the cubin for `chip`. Errors name the kernel they are about, if
/// ptxas gives the line.
llvm::Expected<std::string> assemble(llvm::StringRef ptxas, llvm::StringRef ptx,
                                     llvm::StringRef chip);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_PTXAS_H

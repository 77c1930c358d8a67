// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles LLVM IR to machine code.

#ifndef TPOPT_LIB_CODEGEN_MACHINECODE_H
#define TPOPT_LIB_CODEGEN_MACHINECODE_H

#include "mlir/Support/LLVM.h"
#include "llvm/Support/CodeGen.h"

#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tp::codegen {

/// Optimises `module` for `machine` and writes its code. Fails if the machine
/// does not support this type of output.
mlir::FailureOr<std::string> generateCode(llvm::Module &module,
                                          llvm::TargetMachine &machine,
                                          llvm::CodeGenFileType type);

} // namespace tp::codegen

#endif // TPOPT_LIB_CODEGEN_MACHINECODE_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The GPU kernels of steps as a shared object for this machine:
//
//   tp-opt IN.mlir --tp-compile="target=cuda" -o STEPS.mlir
//   tp-emulate-kernels STEPS.mlir -o kernels.so
//
// They are those of a chip that has no form of its own, or of `--chip`. Each
// kernel has the name that it has in the artifact, and the form
// `emulation::Kernel`.

#include "HostKernels.h"

#include "lib/Codegen/KernelTable.h"
#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/ObjectCode.h"
#include "lib/Codegen/Ptx.h"
#include "lib/Import/ReadProgram.h"
#include "lib/Support/OutputFile.h"
#include "tpopt/InitAll.h"

#include "runtime/Core/CpuFeatures.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static llvm::cl::opt<std::string> inputPath(llvm::cl::Positional,
                                            llvm::cl::Required,
                                            llvm::cl::desc("steps"));
static llvm::cl::opt<std::string> outputPath("o", llvm::cl::Required,
                                             llvm::cl::desc("shared object"));
static llvm::cl::opt<std::string> chip("chip", llvm::cl::init("sm_80"),
                                       llvm::cl::desc("GPU"));

static FailureOr<std::string> compile(ModuleOp module) {
  KernelTable table;
  OwningOpRef<ModuleOp> combinations = createCombinations(module),
                        randoms = createRandoms(module);
  // In the artifact's order.
  for (ModuleOp steps : {module, *combinations, *randoms})
    table.addForGpu(steps);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(module.getLoc());
  OwningOpRef<ModuleOp> code = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(outer->getBody());
  auto device = createGpuModule(builder, module.getLoc(), chip);
  for (const Kernel &kernel : table.getKernels()) {
    builder.setInsertionPointToEnd(device.getBody());
    if (failed(emitGpuKernel(builder, kernel.op, kernel.name)))
      return failure();
  }
  if (failed(emulation::convertToHost(device, *code)))
    return failure();
  return compileKernels(*code, tprt::getHostCpu());
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "GPU kernels for a CPU\n");
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerGpuKernelDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = readProgram(inputPath, &context);
  if (!module)
    return 1;
  FailureOr<std::string> bytes = compile(*module);
  if (failed(bytes))
    return 1;
  if (llvm::Error error = writeFile(outputPath, *bytes)) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
  return 0;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/ObjectCode.h"
#include "lib/Codegen/TargetCode.h"

#include "runtime/Core/ArtifactWriter.h"
#include "runtime/Core/CpuFeatures.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

class CpuCode final : public TargetCode {
public:
  explicit CpuCode(MLIRContext *context)
      : kernels(ModuleOp::create(UnknownLoc::get(context))) {}

  const Target &getTarget() const override {
    return *Target::find(tprt::kCpuTarget);
  }

  bool hasKernel(step::KernelOpInterface op) const override {
    return isa<CpuKernelOpInterface>(op.getOperation());
  }

  LogicalResult addKernel(const Kernel &kernel) override {
    OpBuilder builder = OpBuilder::atBlockEnd(kernels->getBody());
    return emitCpuKernel(builder, kernel.op, kernel.name);
  }

  LogicalResult write(Location loc, tprt::ArtifactWriter &writer) override {
    (*kernels)->setLoc(loc);
    std::string cpu = tprt::getHostCpu();
    FailureOr<std::string> code = compileKernels(*kernels, cpu);
    if (failed(code))
      return failure();
    writer.setBytes(tprt::SectionKind::ObjectCode, *code);
    writer.setBytes(tprt::SectionKind::CpuFeatures, cpu);
    return success();
  }

private:
  OwningOpRef<ModuleOp> kernels;
};

} // namespace

std::unique_ptr<TargetCode> tp::codegen::createCpuCode(MLIRContext *context) {
  return std::make_unique<CpuCode>(context);
}

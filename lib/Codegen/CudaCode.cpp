// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/Ptx.h"
#include "tpopt/Codegen/TargetCode.h"

#include "runtime/Core/ArtifactWriter.h"

using namespace mlir;
using namespace tp;

namespace {

class CudaCode final : public TargetCode {
public:
  explicit CudaCode(ArrayRef<std::string> chips) : chips(chips) {}

  StringRef getName() const override { return tprt::kCudaTarget; }

  void addKernel(step::RowsOp rows, StringRef name) override {
    kernels.push_back(rows);
  }

  LogicalResult write(Location loc, tprt::ArtifactWriter &writer) override;

private:
  SmallVector<std::string> chips;
  SmallVector<step::RowsOp> kernels;
};

} // namespace

/// 90 of "sm_90a", which `compilePtx` has found to be a chip.
static uint32_t getNumber(StringRef chip) {
  uint32_t number = 0;
  chip.consume_front("sm_");
  chip.consumeInteger(10, number);
  return number;
}

LogicalResult CudaCode::write(Location, tprt::ArtifactWriter &writer) {
  std::string code;
  for (const std::string &chip : chips) {
    FailureOr<PtxModule> ptx = compilePtx(kernels, chip);
    if (failed(ptx))
      return failure();
    if (code.empty())
      for (const PtxModule::Kernel &kernel : ptx->kernels)
        writer.add(tprt::LaunchRow{kernel.launch.blocks,
                                   uint32_t(kernel.launch.threads),
                                   /*sharedBytes=*/0});
    tprt::GpuImageRow image = {};
    image.kind = tprt::GpuImageKind::Ptx;
    image.chip = getNumber(chip);
    image.name = writer.text(chip);
    image.offset = code.size();
    image.size = ptx->text.size();
    writer.add(image);
    code += ptx->text;
  }
  writer.setBytes(tprt::SectionKind::GpuCode, code);
  return success();
}

std::unique_ptr<TargetCode> tp::createCudaCode(ArrayRef<std::string> chips) {
  return std::make_unique<CudaCode>(chips);
}

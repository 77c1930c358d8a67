// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles kernels to PTX and cubins for the requested chips.

#include "Ptxas.h"

#include "lib/Codegen/Attention.h"
#include "lib/Codegen/Ptx.h"
#include "lib/Codegen/TargetCode.h"
#include "tpopt/Support/ErrorCodes.h"

#include "runtime/Core/ArtifactWriter.h"

#include "mlir/IR/Threading.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

class CudaCode final : public TargetCode {
public:
  CudaCode(const Target &target, std::vector<GpuChip> chips, StringRef ptxas)
      : target(target), chips(std::move(chips)), wantedPtxas(ptxas) {}

  const Target &getTarget() const override { return target; }

  bool hasKernel(step::KernelOpInterface op) const override {
    return isa<GpuKernelOpInterface>(op.getOperation());
  }

  LogicalResult addKernel(const Kernel &kernel) override {
    kernels.push_back(kernel);
    return success(); // write() compiles all kernels together
  }

  LogicalResult write(Location loc, tprt::ArtifactWriter &writer) override;

private:
  /// The path of ptxas. Empty, with a warning, if it is not found; empty,
  /// without a warning, if the user disabled it.
  FailureOr<std::string> getPtxas(Location loc);
  LogicalResult assembleAll(Location loc, StringRef ptxas,
                            ArrayRef<PtxModule> modules,
                            std::vector<std::string> &cubins);

  const Target &target;
  std::vector<GpuChip> chips;
  std::string wantedPtxas;
  SmallVector<Kernel> kernels;
};

} // namespace

FailureOr<std::string> CudaCode::getPtxas(Location loc) {
  if (wantedPtxas == "none")
    return std::string();
  if (!wantedPtxas.empty()) {
    if (llvm::sys::fs::can_execute(wantedPtxas))
      return wantedPtxas;
    return emitError(loc) << prefix(ErrorCode::NoPtxas) << "cannot execute '"
                          << wantedPtxas << "', which ptxas= names";
  }
  std::string found = findPtxas();
  if (found.empty())
    emitWarning(loc) << prefix(ErrorCode::NoPtxas)
                     << "no ptxas was found, so the artifact holds PTX, which "
                        "the driver compiles each time the artifact is loaded: "
                        "install the CUDA toolkit or the Python wheel "
                        "nvidia-cuda-nvcc, or write ptxas=PATH, or ptxas=none";
  return found;
}

LogicalResult CudaCode::assembleAll(Location loc, StringRef ptxas,
                                    ArrayRef<PtxModule> modules,
                                    std::vector<std::string> &cubins) {
  cubins.resize(modules.size());
  std::vector<std::string> errors(modules.size());
  parallelFor(loc.getContext(), 0, modules.size(), [&](size_t i) {
    llvm::Expected<std::string> cubin =
        assemble(ptxas, modules[i].text, chips[i].name);
    if (cubin)
      cubins[i] = std::move(*cubin);
    else
      errors[i] = llvm::toString(cubin.takeError());
  });
  for (auto [error, chip] : llvm::zip_equal(errors, chips))
    if (!error.empty())
      return emitError(loc) << prefix(ErrorCode::PtxasFailed) << "for "
                            << chip.name << ", " << error;
  return success();
}

/// Returns true if a chip's PTX is worth storing. That is the case for the
/// lowest chip of each major version, since the driver compiles its PTX for all
/// later chips. The PTX of a chip with a suffix runs on no other chip. It is
/// stored if there is no cubin for the chip, or if none of the other chips' PTX
/// runs on this chip.
static bool isPtxKept(const GpuChip &chip, ArrayRef<GpuChip> chips,
                      bool hasCubin) {
  if (chip.hasSuffix)
    return !hasCubin || llvm::none_of(chips, [&](const GpuChip &other) {
      return !other.hasSuffix && other.version <= chip.version;
    });
  return llvm::none_of(chips, [&](const GpuChip &other) {
    return !other.hasSuffix && other.version < chip.version &&
           other.version / 10 == chip.version / 10;
  });
}

LogicalResult CudaCode::write(Location loc, tprt::ArtifactWriter &writer) {
  FailureOr<std::string> ptxas = getPtxas(loc);
  if (failed(ptxas))
    return failure();
  FailureOr<std::vector<PtxModule>> ptx = compilePtx(kernels, chips);
  if (failed(ptx))
    return failure();
  std::vector<std::string> cubins;
  if (!ptxas->empty() && failed(assembleAll(loc, *ptxas, *ptx, cubins)))
    return failure();
  std::string code;
  auto add = [&](tprt::GpuImageKind kind, const GpuChip &chip,
                 ArrayRef<KernelLaunch> launches, StringRef bytes) {
    for (const KernelLaunch &launch : launches)
      writer.add(tprt::LaunchRow{launch.blocks, uint32_t(launch.threads),
                                 uint32_t(launch.sharedBytes)});
    // The driver reads cubins and PTX in place, so they have to be aligned.
    code.resize(llvm::alignTo(code.size(), tprt::kSectionAlignment));
    tprt::GpuImageRow image = {};
    image.kind = kind;
    image.chip = chip.version;
    image.name = writer.text(chip.name);
    image.offset = code.size();
    image.size = bytes.size();
    writer.add(image);
    code += bytes;
  };
  for (auto [i, chip] : llvm::enumerate(chips)) {
    const PtxModule &module = (*ptx)[i];
    if (!cubins.empty())
      add(tprt::GpuImageKind::Cubin, chip, module.launches, cubins[i]);
    if (!isPtxKept(chip, chips, /*hasCubin=*/!cubins.empty()))
      continue;
    add(tprt::GpuImageKind::Ptx, chip, module.launches, module.text);
    code += '\0'; // the driver expects a string
  }
  writer.setBytes(tprt::SectionKind::GpuCode, code);
  return success();
}

/// The first chip whose tensor cores multiply 8-bit floats.
static constexpr unsigned kFirstFp8Chip = 89;

FailureOr<std::unique_ptr<TargetCode>>
tp::codegen::createCudaCode(Operation *op, const CodeOptions &options,
                            const Target &target) {
  bool fp8 = target.multipliesFloat8();
  SmallVector<std::string> names = options.chips;
  if (names.empty())
    names = {fp8 ? "sm_89" : "sm_80", kWarpgroupChip, "sm_100"};
  std::vector<GpuChip> chips;
  for (StringRef name : names) {
    FailureOr<GpuChip> chip = getGpuChip(op, name);
    if (failed(chip))
      return failure();
    if (fp8 && chip->version < kFirstFp8Chip)
      return op->emitError()
             << prefix(ErrorCode::ChipWithoutFp8) << name
             << " cannot multiply 8-bit floats: name chips from sm_"
             << kFirstFp8Chip << " on, or compile without fp8=true";
    if (llvm::none_of(chips,
                      [&](const GpuChip &other) { return other.name == name; }))
      chips.push_back(*chip);
  }
  return std::unique_ptr<TargetCode>(
      std::make_unique<CudaCode>(target, std::move(chips), options.ptxas));
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/GpuProgram.h"

#include "runtime/CUDA/MatmulPlan.h"
#include "runtime/Core/Hash.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cctype>

using namespace tprt;

/// A kernel that needs more shared memory than this must ask for it.
static constexpr uint32_t kSharedBytesOfAll = 48 << 10;

std::vector<uint32_t> tprt::rankImages(const Artifact &artifact, int chip) {
  absl::Span<const GpuImageRow> images = artifact.rows<GpuImageRow>();
  auto rank = [&](const GpuImageRow &image) -> int64_t {
    int made = static_cast<int>(image.chip);
    absl::string_view name = artifact.text(image.name);
    bool isOneChips =
        !name.empty() && std::isalpha(static_cast<unsigned char>(name.back()));
    bool isCubin = image.kind == GpuImageKind::Cubin;
    if (made > chip || (isOneChips && made != chip) ||
        (isCubin && made / 10 != chip / 10))
      return -1;
    return (isCubin ? 100000 : 0) + made * 10 + isOneChips;
  };
  std::vector<uint32_t> ranked;
  for (uint32_t i = 0; i < images.size(); ++i)
    if (rank(images[i]) >= 0)
      ranked.push_back(i);
  std::sort(ranked.begin(), ranked.end(), [&](uint32_t a, uint32_t b) {
    return std::make_pair(-rank(images[a]), a) <
           std::make_pair(-rank(images[b]), b);
  });
  return ranked;
}

/// The first chip whose tensor cores multiply 8-bit floats.
static constexpr int kFirstFp8Chip = 89;

static absl::Status checkFloat8(const Device &device,
                                const Artifact &artifact) {
  for (const MatmulRow &row : artifact.rows<MatmulRow>())
    if (row.a.dtype == DType::F8E4M3FN && device.chip < kFirstFp8Chip)
      return makeError(
          ErrorCode::GpuImage,
          "the program was compiled with fp8=true and multiplies "
          "8-bit floats, but this ",
          device.name, " of sm_", device.chip, " cannot: a GPU of sm_",
          kFirstFp8Chip,
          " or later is needed; compile the program without fp8=true");
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> GpuProgram::loadImage() {
  absl::Span<const GpuImageRow> images = artifact.rows<GpuImageRow>();
  std::vector<std::string> refused;
  for (uint32_t index : rankImages(artifact, device->chip)) {
    const GpuImageRow &image = images[index];
    // PTX is text that ends with a zero; a cubin contains its own length.
    std::string code(
        artifact.bytes(SectionKind::GpuCode).substr(image.offset, image.size));
    cuda::Module loaded = nullptr;
    cuda::Result result = device->driver.loadModule(&loaded, code.c_str());
    if (result == cuda::kSuccess) {
      module = Owned<cuda::Module>(loaded, device->driver.unloadModule);
      codeHash = hashBytes(code);
      return index;
    }
    // A driver that is older than the assembler may still accept the PTX of the
    // same kernels, so continue with the next image.
    refused.push_back(
        absl::StrCat(artifact.text(image.name),
                     image.kind == GpuImageKind::Cubin ? " (cubin): " : ": ",
                     getPlainMessage(device->check(result, "loading"))));
  }
  if (!refused.empty())
    return makeError(ErrorCode::GpuImage,
                     "the driver rejects the artifact's code for ",
                     absl::StrJoin(refused, " and for "),
                     "; install a newer driver, or compile the program for "
                     "other GPUs with chips=");
  std::vector<absl::string_view> chips;
  for (const GpuImageRow &image : images) // a chip's images are adjacent
    if (chips.empty() || chips.back() != artifact.text(image.name))
      chips.push_back(artifact.text(image.name));
  return makeError(ErrorCode::GpuImage, "the artifact has code for ",
                   absl::StrJoin(chips, ", "), ", but none of it runs on this ",
                   device->name, " of sm_", device->chip,
                   "; compile the program with chips=sm_", device->chip);
}

absl::StatusOr<std::shared_ptr<const GpuProgram>>
GpuProgram::load(std::shared_ptr<Device> device, const Artifact &artifact) {
  TPRT_RETURN_IF_ERROR(checkFloat8(*device, artifact));
  TPRT_RETURN_IF_ERROR(device->enter());
  std::shared_ptr<GpuProgram> program(new GpuProgram(device, artifact));
  absl::Span<const KernelRow> kernels = artifact.rows<KernelRow>();
  if (kernels.empty())
    return program; // only matmuls, copies and collectives
  TPRT_ASSIGN_OR_RETURN(uint32_t index, program->loadImage());
  const GpuImageRow &image = artifact.rows<GpuImageRow>()[index];
  program->launches = artifact.rows<LaunchRow>().subspan(index * kernels.size(),
                                                         kernels.size());
  for (size_t i = 0; i < kernels.size(); ++i) {
    std::string symbol(artifact.text(kernels[i].symbol));
    cuda::Function function = nullptr;
    if (cuda::Result result = device->driver.getFunction(
            &function, program->module.get(), symbol.c_str()))
      return makeError(
          ErrorCode::GpuImage, "the artifact's code for ",
          artifact.text(image.name), " lacks the kernel '", symbol,
          "': ", getPlainMessage(device->check(result, "looking for it")));
    auto shared = program->launches[i].sharedBytes;
    if (shared > kSharedBytesOfAll)
      TPRT_RETURN_IF_ERROR(device->check(
          device->driver.setFunctionAttribute(function, cuda::kMaxDynamicShared,
                                              static_cast<int>(shared)),
          absl::StrCat("giving the kernel '", symbol, "' ", shared,
                       " bytes of shared memory")));
    program->functions.push_back(function);
  }
  return program;
}

GpuProgram::~GpuProgram() {
  // Unloading the module needs its context to be current.
  (void)device->enter();
}

absl::Status GpuProgram::launch(uint32_t kernel, void **arguments,
                                cuda::Stream stream) const {
  const LaunchRow &launch = launches[kernel];
  cuda::Result result = device->driver.launch(
      functions[kernel], static_cast<unsigned>(launch.blocks), 1, 1,
      launch.threads, 1, 1, launch.sharedBytes, stream, arguments, nullptr);
  if (result == cuda::kSuccess)
    return absl::OkStatus();
  return device->check(
      result,
      absl::StrCat("launching '",
                   artifact.text(artifact.rows<KernelRow>()[kernel].symbol),
                   "'"));
}

/// Returns true if the elements are contiguous, in the order of the dimensions.
static bool isContiguous(absl::Span<const int64_t> sizes,
                         const StridedView &view) {
  int64_t dense = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && view.strides[i] != dense)
      return false;
    dense *= sizes[i];
  }
  return true;
}

static absl::Status checkStep(const Artifact &artifact, const StepRow &step) {
  auto fail = [&](absl::string_view what) {
    return makeError(ErrorCode::GpuStep, "step '", artifact.text(step.name),
                     "' is ", what,
                     ", which a GPU can only run as a kernel; compile the "
                     "program with target=cuda");
  };
  switch (step.kind) {
  case StepKind::Scatter:
    return fail("a scatter");
  case StepKind::Sort:
    return fail("a sort");
  case StepKind::Copy: {
    const CopyRow &copy = artifact.rows<CopyRow>()[step.row];
    absl::Span<const int64_t> sizes(copy.sizes, copy.rank);
    return isContiguous(sizes, copy.from) && isContiguous(sizes, copy.to)
               ? absl::OkStatus()
               : fail("a copy of strided memory");
  }
  case StepKind::Fill: {
    const FillRow &fill = artifact.rows<FillRow>()[step.row];
    if (!isContiguous({fill.sizes, fill.rank}, fill.to))
      return fail("a fill of strided memory");
    if (getSize(fill.dtype) == 8 &&
        fill.pattern >> 32 != (fill.pattern & 0xffffffff))
      return fail("a fill with a 64-bit pattern");
    return absl::OkStatus();
  }
  case StepKind::Matmul: {
    const MatmulRow &matmul = artifact.rows<MatmulRow>()[step.row];
    return addContext(planMatmul(artifact, matmul).status(),
                      absl::StrCat("step '", artifact.text(step.name), "'"));
  }
  default:
    return absl::OkStatus();
  }
}

absl::Status tprt::checkGpuSteps(const Artifact &artifact) {
  for (const StepRow &step : artifact.rows<StepRow>())
    TPRT_RETURN_IF_ERROR(checkStep(artifact, step));
  return absl::OkStatus();
}

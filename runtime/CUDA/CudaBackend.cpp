// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The plugin for the backends "cuda", where each rank has its own GPU, and
// "virtual", where ranks share one GPU, and for the transport "environment".

#include "runtime/CUDA/CudaExecutor.h"
#include "runtime/CUDA/NcclWorld.h"

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"

using namespace tprt;

namespace {

class CudaBackend final : public Backend {
public:
  /// For a machine with `count` GPUs.
  CudaBackend(std::shared_ptr<const Artifact> artifact, BackendOptions options,
              int count)
      : artifact(std::move(artifact)), options(std::move(options)),
        count(count) {}

  absl::StatusOr<std::unique_ptr<Executor>> createExecutor(World &world,
                                                           int) override {
    TPRT_ASSIGN_OR_RETURN(int ordinal, chooseDevice(world));
    TPRT_ASSIGN_OR_RETURN(std::shared_ptr<const GpuProgram> program,
                          load(ordinal));
    return CudaExecutor::create(std::move(program), *artifact, world, options);
  }

private:
  absl::StatusOr<int> chooseDevice(World &world) const {
    if (options.name == kVirtual)
      return 0;
    bool isProcess = !world.getThreads();
    int local = isProcess ? getLocalRank() : world.getRank();
    return chooseGpu(world.getRank(), local, count, isProcess);
  }

  /// Loads the code once per GPU: ranks on the same GPU share it.
  absl::StatusOr<std::shared_ptr<const GpuProgram>> load(int ordinal) {
    absl::MutexLock lock(&mutex);
    std::shared_ptr<const GpuProgram> &program = programs[ordinal];
    if (!program) {
      TPRT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                            Device::open(ordinal));
      TPRT_ASSIGN_OR_RETURN(program,
                            GpuProgram::load(std::move(device), *artifact));
    }
    return program;
  }

  const std::shared_ptr<const Artifact> artifact;
  const BackendOptions options;
  const int count;
  absl::Mutex mutex;
  absl::flat_hash_map<int, std::shared_ptr<const GpuProgram>>
      programs ABSL_GUARDED_BY(mutex);
};

} // namespace

static absl::StatusOr<std::unique_ptr<Backend>>
createBackend(std::shared_ptr<const Artifact> artifact,
              const BackendOptions &options) {
  if (options.network.isEmulated())
    return makeError(ErrorCode::BadOption,
                     "links can only be emulated between ranks on CPUs; leave "
                     "out --link_us, --link_gbps and --axis_link");
  TPRT_RETURN_IF_ERROR(artifact->checkTarget(kCudaTarget));
  TPRT_RETURN_IF_ERROR(checkGpuSteps(*artifact));
  TPRT_ASSIGN_OR_RETURN(int count, Device::count());
  if (count < 1)
    return makeError(ErrorCode::GpuMissing,
                     "the driver shows no GPU; check CUDA_VISIBLE_DEVICES, or "
                     "run with --backend=cpu");
  return std::make_unique<CudaBackend>(std::move(artifact), options, count);
}

static absl::StatusOr<std::unique_ptr<World>>
createWorld(absl::Duration timeout) {
  TPRT_ASSIGN_OR_RETURN(Launch launch, readLaunch());
  TPRT_ASSIGN_OR_RETURN(int count, Device::count());
  TPRT_ASSIGN_OR_RETURN(int gpu, chooseGpu(launch.rank, getLocalRank(), count,
                                           /*isProcess=*/true));
  MeetingPlace place(launch.address);
  return createNcclWorld(launch, gpu, timeout);
}

extern "C" const Plugin *tprtGetPlugin() {
  static const Plugin plugin{kPluginVersion, createBackend, createWorld};
  return &plugin;
}

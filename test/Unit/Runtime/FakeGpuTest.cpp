// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The fake GPU sees what a real one would not forgive, and does nothing before
// it must. A mistake breaks it for good, so each is made in a process of its
// own.

#include "Surroundings.h"
#include "runtime/CUDA/Blas.h"
#include "runtime/CUDA/Device.h"
#include "runtime/CUDA/Nccl.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <functional>
#include <thread>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A GPU with a stream and some memory.
struct Gpu {
  Gpu() {
    device = *Device::open(0);
    driver = &device->driver;
    (void)device->enter();
    stream = *device->createStream(false);
    other = *device->createStream(false);
    memory = *device->allocate(1024);
    event = *device->createEvent(false);
  }
  std::shared_ptr<Device> device;
  const Driver *driver;
  Owned<cuda::Stream> stream, other;
  Owned<cuda::Pointer> memory;
  Owned<cuda::Event> event;
};

/// Makes a mistake, which is to give this error, and tells why.
void expectMisuse(cuda::Result error, const char *why,
                  const std::function<cuda::Result(Gpu &)> &make) {
  EXPECT_EXIT(
      {
        unsetenv("TPRT_RECORD"); // is looked through for mistakes
        // Not ended: what is broken cannot be tidied up.
        auto *gpu = new Gpu;
        std::_Exit(make(*gpu) == error ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), why);
}

TEST(FakeGpuDeathTest, SeesMemoryThatIsNotThere) {
  expectMisuse(1, "outside of what is allocated", [](Gpu &s) {
    return s.driver->set8(s.memory.get() + 1000, 0, 25, s.stream.get());
  });
  expectMisuse(999, "freed before it ran", [](Gpu &s) {
    cuda::Pointer memory = 0;
    cuda::Graph graph = nullptr;
    cuda::GraphExec executable = nullptr;
    s.driver->allocate(&memory, 64);
    s.driver->beginCapture(s.stream.get(), cuda::kCaptureThreadLocal);
    s.driver->copy(s.memory.get(), memory, 64, s.stream.get());
    s.driver->endCapture(s.stream.get(), &graph);
    s.driver->instantiate(&executable, graph, cuda::kUseNodePriority);
    s.driver->free(memory);
    s.driver->launchGraph(executable, s.stream.get());
    return s.driver->queryStream(s.stream.get());
  });
  expectMisuse(1, "freeing memory that is not there",
               [](Gpu &s) { return s.driver->free(s.memory.get() + 256); });
}

TEST(FakeGpuDeathTest, SeesHandlesThatAreGone) {
  expectMisuse(400, "unknown stream", [](Gpu &s) {
    cuda::Stream stream = s.stream.get();
    s.driver->destroyStream(stream);
    return s.driver->queryStream(stream);
  });
  expectMisuse(400, "what is unknown", [](Gpu &s) {
    cuda::Event event = s.event.get();
    s.driver->destroyEvent(event);
    return s.driver->recordEvent(event, s.stream.get());
  });
  // Contexts count who holds them.
  expectMisuse(201, "a context that was released", [](Gpu &s) {
    cuda::Context context = nullptr;
    s.driver->retainContext(&context, 0);
    s.driver->releaseContext(0);
    if (cuda::Result result = s.driver->setContext(context))
      return result + 1;
    s.driver->releaseContext(0);
    return s.driver->setContext(context);
  });
  // And is broken from then on, as a context is.
  expectMisuse(999, "unknown stream", [](Gpu &s) {
    s.driver->queryStream(nullptr);
    return s.driver->queryStream(s.stream.get());
  });
}

TEST(FakeGpuDeathTest, SeesWhatMustNotBeCaptured) {
  auto begin = [](Gpu &s) {
    s.driver->beginCapture(s.stream.get(), cuda::kCaptureThreadLocal);
  };
  expectMisuse(900, "while capturing", [&](Gpu &s) {
    begin(s);
    cuda::Pointer memory = 0;
    return s.driver->allocate(&memory, 64);
  });
  expectMisuse(900, "that is captured", [&](Gpu &s) {
    begin(s);
    return s.driver->queryStream(s.stream.get());
  });
  expectMisuse(905, "an event that is not", [&](Gpu &s) {
    s.driver->recordEvent(s.event.get(), s.other.get());
    begin(s);
    return s.driver->waitEvent(s.stream.get(), s.event.get(), 0);
  });
  expectMisuse(904, "was not joined", [&](Gpu &s) {
    begin(s);
    s.driver->recordEvent(s.event.get(), s.stream.get());
    s.driver->waitEvent(s.other.get(), s.event.get(), 0);
    s.driver->set8(s.memory.get(), 0, 64, s.other.get());
    cuda::Graph graph = nullptr;
    return s.driver->endCapture(s.stream.get(), &graph);
  });
}

/// What is copied without a wait for what writes it is what was there before;
/// with the wait, it is what was written.
TEST(FakeGpu, WorksAsLateAsItCan) {
  for (bool waits : {false, true}) {
    Gpu s;
    Owned<void *> host = *s.device->allocateHost(4);
    s.driver->set8(s.memory.get(), 1, 4, s.stream.get());
    ASSERT_TRUE(s.device->wait(s.stream.get()).ok());
    s.driver->set8(s.memory.get(), 2, 4, s.stream.get());
    s.driver->recordEvent(s.event.get(), s.stream.get());
    if (waits)
      s.driver->waitEvent(s.other.get(), s.event.get(), 0);
    s.driver->copyToHost(host.get(), s.memory.get(), 4, s.other.get());
    ASSERT_TRUE(s.device->wait(s.other.get()).ok());
    EXPECT_EQ(*static_cast<char *>(host.get()), waits ? 2 : 1);
    ASSERT_TRUE(s.device->wait(s.stream.get()).ok());
  }
}

/// A graph whose second stream copies what the first one writes. Without an
/// edge that says so one launch copies what was written, the next what was
/// there.
TEST(FakeGpu, GraphsKeepNoOrderButTheirEdges) {
  for (bool waits : {false, true}) {
    Gpu s;
    Owned<void *> host = *s.device->allocateHost(4);
    Owned<cuda::Event> end = *s.device->createEvent(false);
    s.driver->beginCapture(s.stream.get(), cuda::kCaptureThreadLocal);
    s.driver->recordEvent(s.event.get(), s.stream.get());
    s.driver->waitEvent(s.other.get(), s.event.get(), 0);
    s.driver->set8(s.memory.get(), 2, 4, s.stream.get());
    if (waits) {
      s.driver->recordEvent(s.event.get(), s.stream.get());
      s.driver->waitEvent(s.other.get(), s.event.get(), 0);
    }
    s.driver->copyToHost(host.get(), s.memory.get(), 4, s.other.get());
    s.driver->recordEvent(end.get(), s.other.get());
    s.driver->waitEvent(s.stream.get(), end.get(), 0);
    cuda::Graph graph = nullptr;
    cuda::GraphExec executable = nullptr;
    ASSERT_EQ(s.driver->endCapture(s.stream.get(), &graph), cuda::kSuccess);
    s.driver->instantiate(&executable, graph, cuda::kUseNodePriority);
    std::vector<int> copied;
    for (int launch = 0; launch < 2; ++launch) {
      s.driver->set8(s.memory.get(), 1, 4, s.stream.get());
      s.driver->launchGraph(executable, s.stream.get());
      ASSERT_TRUE(s.device->wait(s.stream.get()).ok());
      copied.push_back(*static_cast<char *>(host.get()));
    }
    EXPECT_EQ(copied, waits ? std::vector({2, 2}) : std::vector({2, 1}));
    s.driver->destroyGraphExec(executable);
    s.driver->destroyGraph(graph);
  }
}

/// Ranks that are at different collectives are an error for both.
TEST(FakeGpuDeathTest, SeesRanksOutOfStep) {
  EXPECT_EXIT(
      {
        unsetenv("TPRT_RECORD");
        const Nccl &nccl = **openNccl();
        nccl::UniqueId id;
        nccl.getUniqueId(&id);
        nccl::Result states[2] = {};
        std::vector<std::thread> ranks;
        for (int rank : {0, 1})
          ranks.emplace_back([&, rank] {
            auto *gpu = new Gpu;
            nccl::Config config;
            config.blocking = 0;
            nccl::Comm comm = nullptr;
            nccl.init(&comm, 2, id, rank, &config);
            nccl::Result &state = states[rank];
            do
              nccl.getAsyncError(comm, &state);
            while (state == nccl::kInProgress);
            auto *memory = reinterpret_cast<void *>(gpu->memory.get());
            nccl.allReduce(memory, memory, 4 + rank, nccl::kFloat32, nccl::kSum,
                           comm, gpu->stream.get());
            while (state == nccl::kSuccess || state == nccl::kInProgress) {
              gpu->driver->queryStream(gpu->stream.get());
              nccl.getAsyncError(comm, &state);
            }
          });
        for (std::thread &rank : ranks)
          rank.join();
        std::_Exit(states[0] == 5 && states[1] == 5 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

/// A matmul of 8-bit floats, said to the library.
struct Float8Matmul {
  int typeA = blas::kF8E4M3, typeC = blas::kBF16, typeD = blas::kBF16;
  int compute = blas::kCompute32F;
  int32_t transA = blas::kTranspose, transB = 0;
  uint64_t m = 16, k = 32;
  int64_t ldD = 16;
  int32_t epilogue = blas::kEpilogueNone, biasType = blas::kBF16, batches = 1;
  const char *chip = "90";

  blas::Status getHeuristics() const {
    Variable variable("TPRT_FAKE_CHIP", chip);
    const Blas &lt = **openBlas();
    blas::Handle handle;
    blas::Desc desc;
    blas::Layout a, b, c, d;
    blas::Preference preference;
    lt.create(&handle);
    lt.createDesc(&desc, compute, blas::kF32);
    lt.setDesc(desc, blas::kTransA, &transA, sizeof(transA));
    lt.setDesc(desc, blas::kTransB, &transB, sizeof(transB));
    lt.setDesc(desc, blas::kEpilogue, &epilogue, sizeof(epilogue));
    lt.setDesc(desc, blas::kBiasType, &biasType, sizeof(biasType));
    auto first = static_cast<int64_t>(transA ? k : m);
    lt.createLayout(&a, typeA, transA ? k : m, transA ? m : k, first);
    lt.createLayout(&b, blas::kF8E4M3, k, 5, static_cast<int64_t>(k));
    lt.createLayout(&c, typeC, m, 5, ldD);
    lt.createLayout(&d, typeD, m, 5, ldD);
    for (blas::Layout layout : {a, b, c, d})
      lt.setLayout(layout, blas::kBatchCount, &batches, sizeof(batches));
    lt.createPreference(&preference);
    blas::Heuristic found;
    int count = 0;
    blas::Status status = lt.getHeuristics(handle, desc, a, b, c, d, preference,
                                           1, &found, &count);
    EXPECT_EQ(count, status == blas::kSuccess ? 1 : 0);
    for (blas::Layout layout : {a, b, c, d})
      lt.destroyLayout(layout);
    lt.destroyPreference(preference);
    lt.destroyDesc(desc);
    lt.destroy(handle);
    return status;
  }
};

/// Of 8-bit floats it has what NVIDIA's documentation lists.
TEST(FakeGpu, HasFewKernelsOf8BitFloats) {
  constexpr blas::Status none = 15;
  auto ask = [](auto change) {
    Float8Matmul matmul;
    change(matmul);
    return matmul.getHeuristics();
  };
  EXPECT_EQ(ask([](Float8Matmul &) {}), blas::kSuccess);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.chip = "89"; }), blas::kSuccess);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.chip = "86"; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.typeC = x.typeD = blas::kF32; }),
            blas::kSuccess);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.typeD = blas::kF8E4M3; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.typeA = blas::kBF16; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.compute = blas::kComputeTF32; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.transA = 0; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.transB = blas::kTranspose; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.k = 24; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.m = 8; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.ldD = 20; }), none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.epilogue = blas::kEpilogueGelu; }),
            none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.epilogue = blas::kEpilogueBias; }),
            blas::kSuccess);
  EXPECT_EQ(ask([](Float8Matmul &x) {
              x.epilogue = blas::kEpilogueBias;
              x.biasType = blas::kF32;
            }),
            none);
  EXPECT_EQ(ask([](Float8Matmul &x) { x.batches = 2; }), blas::kSuccess);
  EXPECT_EQ(ask([](Float8Matmul &x) {
              x.epilogue = blas::kEpilogueBias;
              x.batches = 2;
            }),
            none);
}

} // namespace

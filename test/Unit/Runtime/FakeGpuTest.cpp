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
#include <cstring>
#include <elf.h>
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

/// Memory begins where the real driver's may, and no better.
TEST(FakeGpu, AlignsMemoryNoBetterThanItMust) {
  Gpu s;
  EXPECT_EQ(s.memory.get() % 256, 0u);
  EXPECT_NE(s.memory.get() % 512, 0u);
}

/// A kernel of PTX that is launched with so many threads, or a target that this
/// GPU does not take.
cuda::Result launchPtx(Gpu &s, const std::string &target, unsigned threads,
                       unsigned shared = 0) {
  std::string ptx = ".version 8.0\n.target " + target +
                    "\n.visible .entry f()\n.maxntid 64, 1, 1\n{ ret; }\n";
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  if (cuda::Result result = s.driver->loadModule(&module, ptx.c_str()))
    return result;
  s.driver->getFunction(&function, module, "f");
  return s.driver->launch(function, 1, 1, 1, threads, 1, 1, shared,
                          s.stream.get(), nullptr, nullptr);
}

/// An ELF file with one kernel `f` of so many registers, as ptxas writes it for
/// a chip.
std::string makeCubin(unsigned chip, unsigned registers) {
  const std::string names("\0f\0.text.f\0", 11);
  Elf64_Ehdr header = {};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_ABIVERSION] = 8;
  header.e_machine = 190;
  header.e_flags = chip << 8;
  header.e_shoff = sizeof(header);
  header.e_shnum = 4;
  header.e_shstrndx = 1;
  Elf64_Shdr sections[4] = {};
  uint64_t symbols = sizeof(header) + sizeof(sections);
  uint64_t text = symbols + sizeof(Elf64_Sym);
  sections[1].sh_type = SHT_STRTAB;
  sections[1].sh_offset = text;
  sections[2].sh_type = SHT_SYMTAB;
  sections[2].sh_link = 1;
  sections[2].sh_offset = symbols;
  sections[2].sh_size = sizeof(Elf64_Sym);
  sections[3].sh_name = 3;
  sections[3].sh_info = registers << 24;
  Elf64_Sym symbol = {};
  symbol.st_name = 1;
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  std::string file;
  auto add = [&](const auto &part) {
    file.append(reinterpret_cast<const char *>(&part), sizeof(part));
  };
  add(header);
  add(sections);
  add(symbol);
  return file + names;
}

cuda::Result launchCubin(Gpu &s, unsigned chip, unsigned registers) {
  cuda::Module module = nullptr;
  cuda::Function function = nullptr;
  std::string cubin = makeCubin(chip, registers);
  if (cuda::Result result = s.driver->loadModule(&module, cubin.data()))
    return result;
  s.driver->getFunction(&function, module, "f");
  return s.driver->launch(function, 1, 1, 1, 512, 1, 1, 0, s.stream.get(),
                          nullptr, nullptr);
}

/// Code is for its chip and later ones, or for a major version, or for one chip
/// alone.
TEST(FakeGpu, TakesTheCodeOfItsChip) {
  constexpr cuda::Result none = 209;
  Variable variable("TPRT_FAKE_CHIP", "89");
  Gpu s;
  EXPECT_EQ(launchPtx(s, "sm_90", 64), none);
  EXPECT_EQ(launchPtx(s, "sm_80a", 64), none);
  EXPECT_EQ(launchCubin(s, 90, 16), none);
  EXPECT_EQ(launchCubin(s, 75, 16), none);
}

TEST(FakeGpuDeathTest, SeesBlocksThatDoNotStart) {
  expectMisuse(1, "more threads than it was compiled for",
               [](Gpu &s) { return launchPtx(s, "sm_80", 65); });
  expectMisuse(1, "more shared memory than was asked for",
               [](Gpu &s) { return launchPtx(s, "sm_80", 64, 49 << 10); });
  expectMisuse(1, "more registers than there are",
               [](Gpu &s) { return launchCubin(s, 120, 129); });
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

/// A matmul of one number by the last proposal, which takes a workspace.
blas::Status multiply(Gpu &s, int64_t offset, size_t bytes) {
  const Blas &lt = **openBlas();
  blas::Handle handle;
  blas::Desc desc;
  blas::Layout layout;
  blas::Preference preference;
  lt.create(&handle);
  lt.createDesc(&desc, blas::kCompute32F, blas::kF32);
  lt.createLayout(&layout, blas::kF32, 1, 1, 1);
  lt.createPreference(&preference);
  uint64_t most = 8192;
  lt.setPreference(preference, blas::kMaxWorkspace, &most, sizeof(most));
  blas::Heuristic found[8];
  int count = 0;
  lt.getHeuristics(handle, desc, layout, layout, layout, layout, preference, 8,
                   found, &count);
  EXPECT_EQ(found[count - 1].workspace, 4096u);
  Owned<cuda::Pointer> workspace = *s.device->allocate(8192);
  auto at = [](cuda::Pointer pointer) {
    return reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
  };
  float one = 1, zero = 0;
  void *number = at(s.memory.get());
  return lt.matmul(handle, desc, &one, number, layout, number, layout, &zero,
                   number, layout, number, layout, &found[count - 1].algorithm,
                   at(workspace.get() + offset), bytes, s.stream.get());
}

TEST(FakeGpuDeathTest, SeesWorkspacesThatAreNone) {
  expectMisuse(0, "", [](Gpu &s) { return multiply(s, 0, 8192); });
  expectMisuse(7, "workspace that is too small",
               [](Gpu &s) { return multiply(s, 0, 4095); });
  expectMisuse(7, "workspace that is not aligned",
               [](Gpu &s) { return multiply(s, 16, 8192 - 16); });
  expectMisuse(7, "workspace that is not there",
               [](Gpu &s) { return multiply(s, 0, 8193); });
}

/// Without a number, every call fails.
TEST(FakeGpu, FailsWhereItIsTold) {
  Gpu s;
  Variable failing("TPRT_FAKE_FAIL", "cuMemAlloc_v2");
  EXPECT_FALSE(s.device->allocate(64).ok());
  EXPECT_FALSE(s.device->allocate(64).ok());
  EXPECT_TRUE(s.device->createEvent(false).ok());
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

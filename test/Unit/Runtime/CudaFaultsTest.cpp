// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What goes wrong on GPUs that are none: programs and machines that do not fit,
// libraries without a feature, and every call that fails.

#include "CudaSurroundings.h"
#include "runtime/CUDA/Blas.h"
#include "runtime/CUDA/Driver.h"
#include "runtime/CUDA/Nccl.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/types/optional.h"

#include <set>

using namespace tprt;
using namespace tprt::test;

namespace {

/// One kernel, of this much shared memory, for this chip.
TestProgram makeKernelProgram(uint32_t shared, uint32_t chip,
                              const std::string &symbol = "add_scalar") {
  TestProgram program;
  Kernels kernels(program);
  uint32_t y = program.addOutput("y", DType::F32, {{4, {}}});
  BufferRow buffer = program.buffer(Space::Output, y, 16);
  kernels.addStep(kernels.add(symbol, 4, shared), {buffer, buffer}, 0,
                  {constant(1), constant(4)}, "add");
  kernels.finish(chip);
  return program;
}

/// No code for the chip, code that the driver refuses, a kernel that is not in
/// it.
TEST(CudaFaults, CodeThatDoesNotFit) {
  TestProgram newer = makeKernelProgram(0, 130);
  EXPECT_EQ(openingFails(newer, "cuda"), ErrorCode::GpuImage);
  TestProgram spoilt = makeKernelProgram(0, 80);
  spoilt.writer.setBytes(SectionKind::GpuCode, std::string(4096, 'x'));
  EXPECT_EQ(openingFails(spoilt, "cuda"), ErrorCode::GpuImage);
  TestProgram other = makeKernelProgram(0, 80);
  other.writer.add(KernelRow{other.writer.text("no_such_kernel")});
  other.writer.add(LaunchRow{1, 1, 0});
  EXPECT_EQ(openingFails(other, "cuda"), ErrorCode::GpuImage);
}

/// Shared memory up to what a block of the chip can have.
TEST(CudaFaults, SharedMemoryOfChips) {
  const std::pair<const char *, uint32_t> chips[] = {{"80", 163},  {"86", 99},
                                                     {"89", 99},   {"90", 227},
                                                     {"100", 227}, {"120", 99}};
  for (auto [chip, kibibytes] : chips) {
    Variable variable("TPRT_FAKE_CHIP", chip);
    TestProgram fits = makeKernelProgram(kibibytes << 10, 80);
    EXPECT_EQ(openingFails(fits, "cuda"), ErrorCode(0)) << chip;
    TestProgram large = makeKernelProgram((kibibytes + 1) << 10, 80);
    EXPECT_EQ(openingFails(large, "cuda"), ErrorCode::GpuFailed) << chip;
  }
}

/// A cubin that the driver does not take, as of a newer assembler: PTX does.
TEST(CudaFaults, CubinThatIsRefused) {
  for (bool hasPtx : {true, false}) {
    TestProgram program = makeKernelProgram(0, hasPtx ? 80 : 130);
    GpuImageRow cubin = {};
    cubin.kind = GpuImageKind::Cubin;
    cubin.chip = 120;
    cubin.name = program.writer.text("sm_120");
    cubin.size = 8;
    program.writer.add(cubin);
    program.writer.add(LaunchRow{1, 32, 0});
    auto session = open(program, "cuda");
    EXPECT_EQ(session.ok(), hasPtx) << session.status();
    if (!hasPtx)
      EXPECT_TRUE(absl::StrContains(session.status().message(),
                                    "code for sm_120 (cubin): "))
          << session.status();
  }
}

/// A program for a CPU, and steps that take a kernel.
TEST(CudaFaults, StepsThatNoGpuExecutes) {
  auto makeCopy = [](int64_t stride) {
    TestProgram program;
    uint32_t x = program.addInput("x", DType::F32, {{8, {}}});
    uint32_t y = program.addOutput("y", DType::F32, {{8, {}}});
    CopyRow copy = {};
    copy.rank = 1;
    copy.dtype = DType::F32;
    copy.sizes[0] = 4;
    copy.source = program.buffer(Space::Input, x, 32);
    copy.destination = program.buffer(Space::Output, y, 32);
    copy.from.strides[0] = stride;
    copy.to.strides[0] = 1;
    program.addStep(StepKind::Copy, program.writer.add(copy), "copy");
    return program;
  };
  TestProgram dense = makeCopy(1), strided = makeCopy(2);
  EXPECT_EQ(openingFails(dense, "cuda"), ErrorCode(0));
  EXPECT_EQ(openingFails(strided, "cuda"), ErrorCode::GpuStep);
  for (uint64_t pattern : {uint64_t{1}, uint64_t{0}}) {
    TestProgram program;
    uint32_t y = program.addOutput("y", DType::F64, {{8, {}}});
    FillRow fill = {};
    fill.rank = 1;
    fill.dtype = DType::F64;
    fill.sizes[0] = 4;
    fill.destination = program.buffer(Space::Output, y, 64);
    fill.to.strides[0] = 1;
    fill.pattern = pattern;
    program.addStep(StepKind::Fill, program.writer.add(fill), "fill");
    EXPECT_EQ(openingFails(program, "cuda"),
              pattern == 0 ? ErrorCode(0) : ErrorCode::GpuStep);
  }
}

TestProgram makeMatmul(DType dtype = DType::F32) {
  TestProgram program({{"model", 3}});
  auto bytes = static_cast<uint64_t>(1024 * getSize(dtype));
  uint32_t x = program.addInput("x", dtype, {{1024, {}}});
  uint32_t y = program.addOutput("y", DType::F32, {{1024, {}}});
  MatmulRow row = {};
  row.m = row.n = row.k = 32;
  std::fill_n(row.batch, kMaxBatch, 1);
  row.a = {program.buffer(Space::Input, x, bytes), dtype, 0, {}};
  row.a.strides[kMaxBatch] = 32;
  row.a.strides[kMaxBatch + 1] = 1;
  row.b = row.c = row.a;
  std::swap(row.b.strides[kMaxBatch], row.b.strides[kMaxBatch + 1]);
  row.c.dtype = DType::F32;
  row.c.buffer = program.buffer(Space::Output, y, 4096);
  program.addStep(StepKind::Matmul, program.writer.add(row), "mlp");
  return program;
}

/// 8-bit floats are for GPUs that multiply them, and the error says which does
/// not.
TEST(CudaFaults, Float8OnAnEarlierGpu) {
  for (auto [chip, isEarlier] : {std::make_pair("86", true), {"89", false}}) {
    Variable variable("TPRT_FAKE_CHIP", chip);
    TestProgram wide = makeMatmul(), narrow = makeMatmul(DType::F8E4M3FN);
    EXPECT_EQ(openingFails(wide, "cuda"), ErrorCode(0));
    absl::Status status = open(narrow, "cuda").status();
    EXPECT_EQ(getErrorCode(status),
              isEarlier ? ErrorCode::GpuImage : ErrorCode(0))
        << status;
    if (isEarlier)
      EXPECT_NE(status.message().find("Fake GPU of sm_86"), std::string::npos)
          << status;
  }
}

/// More ranks than GPUs, GPUs of two kinds, a GPU that is too small.
TEST(CudaFaults, MachinesThatDoNotFit) {
  TestProgram four({{"model", 4}});
  four.addInput("x", DType::F32, {{4, {}}});
  four.endEntry();
  EXPECT_EQ(openingFails(four, "cuda"), ErrorCode::GpuMissing);
  {
    Variable odd("TPRT_FAKE_ODD", "1");
    TestProgram program = makeMatmul();
    EXPECT_EQ(openingFails(program, "cuda"), ErrorCode::GpuMismatch);
  }
  {
    Variable memory("TPRT_FAKE_MEMORY", "40000000");
    TestProgram program = makeMatmul();
    EXPECT_EQ(openingFails(program, "cuda"), ErrorCode(0));
  }
  Variable memory("TPRT_FAKE_MEMORY", "20000000");
  TestProgram program = makeMatmul();
  EXPECT_EQ(openingFails(program, "cuda"), ErrorCode::OutOfMemory);
}

TestProgram makeSum(DType dtype = DType::F32) {
  TestProgram program({{"model", 3}});
  uint32_t x = program.addInput("x", dtype, {{3 * 77, {0}}});
  program.addOutput("y", dtype, {{3 * 77, {0}}}, x);
  CollectiveRow sum = {};
  sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  sum.dtype = dtype;
  sum.reduction = Reduction::Sum;
  sum.count = 77;
  sum.source = sum.destination =
      program.buffer(Space::Input, x, 77 * getSize(dtype));
  program.addCollective(sum, "attn.out");
  return program;
}

/// What NCCL has no type for, and what no kernel of the artifact reduces.
TEST(CudaFaults, ReductionsThatNobodyDoes) {
  TestProgram words = makeSum(DType::I16);
  EXPECT_EQ(openingFails(words, "cuda"), ErrorCode::GpuStep);
  TestProgram floats = makeSum();
  EXPECT_EQ(openingFails(floats, "virtual"), ErrorCode::GpuStep);
}

/// A collective that never ends is named when its time is over, issued or in a
/// graph, every rank ends, and NCCL is told to stop.
TEST(CudaFaults, CollectiveThatIsStuck) {
  for (bool isCaptured : {false, true}) {
    TestProgram program = makeSum();
    auto session = open(program, "cuda", absl::Seconds(1));
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindFloats(**session, "x", iota(3 * 77)).ok());
    if (isCaptured)
      ASSERT_TRUE((*session)->run("main").ok());
    Variable stuck("TPRT_FAKE_STUCK", "77");
    Record record;
    absl::Status status = (*session)->run("main");
    EXPECT_EQ(getErrorCode(status), ErrorCode::CollectiveTimeout) << status;
    EXPECT_NE(status.message().find(isCaptured ? "graph of 'main'"
                                               : "all_reduce 'attn.out'"),
              std::string::npos)
        << status;
    EXPECT_EQ((*session)->getRankErrors().size(), 3u);
    EXPECT_EQ(record.count("abort c0.0"), 3);
  }
}

/// Stopped from outside, ranks that wait for the GPU end.
TEST(CudaFaults, AbortEndsAWait) {
  TestProgram program = makeSum();
  auto session = open(program, "cuda");
  ASSERT_TRUE(session.ok()) << session.status();
  ASSERT_TRUE(bindFloats(**session, "x", iota(3 * 77)).ok());
  Variable stuck("TPRT_FAKE_STUCK", "77");
  ASSERT_TRUE((*session)->start("main").ok());
  EXPECT_FALSE((*session)->wait(absl::Milliseconds(50)).ok());
  (*session)->abort("enough");
  absl::Status status = (*session)->wait(absl::Seconds(20));
  EXPECT_EQ(getErrorCode(status), ErrorCode::Aborted) << status;
}

/// NCCL without windows, or without memory for them: the arena is any memory,
/// and what is computed is the same.
TEST(CudaFaults, ArenaWithoutWindows) {
  for (const char *missing : {"0", "1", "2"}) {
    Variable windows("TPRT_FAKE_NO_WINDOWS", missing);
    Record record;
    TestProgram program = makeMlp();
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindMlp(**session).ok());
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(areSame(*(*session)->read("y"), getMlpResult()));
    EXPECT_EQ(record.count("window "), *missing == '0' ? 3 : 0);
  }
}

/// Without other ranks, what cannot be captured is issued in each run.
TEST(CudaFaults, CaptureThatFails) {
  for (const char *symbol : {"cuStreamBeginCapture_v2", "cuStreamEndCapture",
                             "cuGraphInstantiateWithFlags"}) {
    SCOPED_TRACE(symbol);
    std::string where = absl::StrCat(symbol, ":1");
    Variable failing("TPRT_FAKE_FAIL", where.c_str());
    TestProgram program = makeKernelProgram(0, 80);
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 0; run < 3; ++run) {
      Record record;
      absl::Status status = (*session)->run("main");
      EXPECT_TRUE(status.ok()) << status;
      // The second may be issued twice: to be captured, and to be run.
      EXPECT_GE(record.count("launch add_scalar"), 1);
      EXPECT_EQ(record.count("launch graph"), 0);
    }
  }
}

/// A proposal of cuBLASLt's that fails when it is run, or captured, is left
/// out.
TEST(CudaFaults, ProposalThatFails) {
  for (int at : {1, 2, 3}) {
    TempFolder folder;
    Variable cache("XDG_CACHE_HOME", folder.get().c_str());
    std::string where = absl::StrCat("cublasLtMatmul:", at);
    Variable failing("TPRT_FAKE_FAIL", where.c_str());
    Record record;
    TestProgram program = makeMlp();
    auto session = open(program, "cuda");
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(bindMlp(**session).ok());
    absl::Status status = (*session)->run("main");
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_TRUE(areSame(*(*session)->read("y"), getMlpResult()));
    EXPECT_EQ(record.count("failing "), 1);
  }
}

//===----------------------------------------------------------------------===//
// Every call of a library that fails
//===----------------------------------------------------------------------===//

#define TPRT_SYMBOL(name, symbol, ...) #symbol,
const char *const kSymbols[] = {
    TPRT_DRIVER_FUNCTIONS(TPRT_SYMBOL) TPRT_BLAS_FUNCTIONS(TPRT_SYMBOL)
        TPRT_NCCL_FUNCTIONS(TPRT_SYMBOL)
            TPRT_NCCL_OPTIONAL_FUNCTIONS(TPRT_SYMBOL)};

/// These have no error to give, or are called once in a process, for which
/// there is test/Cuda/faults.mlir.
const std::set<absl::string_view> kInfallible = {
    "cuInit",
    "cuDriverGetVersion",
    "cuGetErrorString",
    "cublasLtGetStatusString",
    "cublasLtGetVersion",
    "ncclGetErrorString",
    "ncclGetLastError",
};

/// Tuning leaves out what fails, or does it in another way. With choices that
/// are known, only runs come to these.
const std::set<absl::string_view> kDoneWithoutInTuning = {
    "cublasLtMatmul",          "cuMemsetD32Async",
    "cublasLtMatmulAlgoCheck", "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",      "cuGraphInstantiateWithFlags",
};

/// A failure of these is no reason to end: what they begin is done in another
/// way, or they end what is of no use any more.
bool isHarmless(absl::string_view symbol) {
  for (absl::string_view part : {"Destroy", "Release", "Unload", "Free",
                                 "Finalize", "Abort", "Deregister"})
    if (absl::StrContains(symbol, part))
      return true;
  return symbol == "ncclMemAlloc" || symbol == "ncclCommWindowRegister" ||
         symbol == "cublasLtMatmulAlgoCheck" || symbol == "cuDriverGetVersion";
}

/// A program that makes the runtime call all there is.
TestProgram makeEverything() {
  TestProgram program = makeMlp(50000);
  constexpr int64_t count = 100;
  uint32_t x = program.addInput("u", DType::F32, {{9 * count, {0}}});
  uint32_t y = program.addOutput("v", DType::F32, {{9 * count, {0}}});
  auto from = [&](int64_t elements) {
    return program.buffer(Space::Input, x, elements * 4);
  };
  auto to = [&](int64_t elements) {
    return program.buffer(Space::Output, y, elements * 4);
  };
  CollectiveRow row = {};
  row.communicator = 0;
  row.dtype = DType::F32;
  row.count = count;
  auto add = [&](CollectiveKind kind, int64_t source, int64_t destination) {
    row.kind = kind;
    row.source = from(source);
    row.destination = to(destination);
    program.addCollective(row, "exchange");
  };
  add(CollectiveKind::AllGather, count, 3 * count);
  add(CollectiveKind::AllToAll, 3 * count, 3 * count);
  std::vector<int64_t> permutation = {2, -1, 0};
  row.permutation =
      program.writer.addAll<int64_t>(absl::MakeConstSpan(permutation));
  add(CollectiveKind::CollectivePermute, count, count);
  row.permutation = {};
  row.reduction = Reduction::Sum;
  add(CollectiveKind::ReduceScatter, 3 * count, count);
  CopyRow copy = {};
  copy.dtype = DType::F32;
  copy.source = from(count);
  copy.destination = to(count);
  copy.rank = 1;
  copy.sizes[0] = count;
  copy.from.strides[0] = copy.to.strides[0] = 1;
  program.addStep(StepKind::Copy, program.writer.add(copy), "copy");
  auto addFill = [&](DType dtype) {
    FillRow fill = {};
    fill.rank = 1;
    fill.dtype = dtype;
    fill.sizes[0] = count;
    fill.destination = program.buffer(Space::Output, y, count * getSize(dtype));
    fill.to.strides[0] = 1;
    program.addStep(StepKind::Fill, program.writer.add(fill), "fill");
  };
  addFill(DType::BF16);
  program.addChoice(2, 1);
  for (int i = 0; i < 3; ++i)
    addFill(DType::F32);
  MatmulRow matmul = {};
  matmul.m = matmul.n = matmul.k = 1;
  std::fill_n(matmul.batch, kMaxBatch, 1);
  matmul.batch[kMaxBatch - 1] = 2;
  matmul.a = {from(2), DType::F32, 0, {}};
  std::fill_n(matmul.a.strides, kMaxBatch + 2, 1);
  matmul.b = matmul.c = matmul.a;
  matmul.c.buffer = to(2);
  program.addStep(StepKind::Matmul, program.writer.add(matmul), "products");
  return program;
}

/// What the library of a symbol says where it is told to fail.
absl::string_view getCause(absl::string_view symbol) {
  return absl::StartsWith(symbol, "nccl")     ? "an error of the fake NCCL"
         : absl::StartsWith(symbol, "cublas") ? "cuBLASLt: "
                                              : "an error of the fake GPU";
}

/// Opens, binds, runs, takes times and reads; what came of it. Of a run that
/// fails each rank has to say something.
absl::Status useAll(TestProgram &program, absl::Duration timeout) {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        open(program, "cuda", timeout));
  TPRT_RETURN_IF_ERROR(bindMlp(*session));
  TPRT_RETURN_IF_ERROR(bindFloats(*session, "u", iota(900)));
  for (int i = 0; i < 3; ++i) {
    absl::Status status = session->run("main");
    EXPECT_EQ(session->getRankErrors().size(), status.ok() ? 0u : 3u) << status;
    TPRT_RETURN_IF_ERROR(status);
  }
  // A rank that cannot read times has run with the others.
  session->recordTimes(true);
  TPRT_RETURN_IF_ERROR(session->run("main"));
  return session->read("y").status();
}

/// A case of the walk: one call fails. `isReached` says whether it came to it.
void checkCall(absl::string_view symbol, int at, bool &isReached) {
  std::string where = absl::StrCat(symbol, ":", at);
  SCOPED_TRACE(where);
  // What is only called where something else is wrong.
  absl::optional<Variable> stuck, memory;
  if (symbol == "cuEventQuery" || symbol == "ncclCommAbort")
    stuck.emplace("TPRT_FAKE_STUCK", "4");
  if (symbol == "cuMemGetInfo_v2")
    memory.emplace("TPRT_FAKE_MEMORY", "20000000");
  // Matmuls are tuned for the first call, but where that would do without what
  // fails.
  TempFolder folder;
  absl::optional<Variable> cache;
  if (at == 1 && kDoneWithoutInTuning.count(symbol) == 0)
    cache.emplace("XDG_CACHE_HOME", folder.get().c_str());
  Variable failing("TPRT_FAKE_FAIL", where.c_str());
  Record record;
  absl::Time begin = absl::Now();
  TestProgram program = makeEverything();
  absl::Status status =
      useAll(program, stuck ? absl::Milliseconds(200) : absl::Seconds(300));
  EXPECT_LT(absl::Now() - begin, absl::Seconds(60));
  bool hasFailed = record.count("failing ") > 0;
  isReached |= hasFailed;
  if (stuck || memory || (hasFailed && !isHarmless(symbol)))
    EXPECT_NE(getErrorCode(status), ErrorCode(0)) << status;
  else
    EXPECT_TRUE(status.ok()) << status;
  if (!stuck && !memory && !status.ok())
    EXPECT_TRUE(absl::StrContains(status.message(), getCause(symbol)))
        << status;
  // NCCL's codes alone say little.
  if (symbol == "ncclAllReduce" && hasFailed)
    EXPECT_TRUE(absl::StrContains(status.message(), "said last")) << status;
  EXPECT_EQ(record.count("misuse"), 0);
  EXPECT_EQ(record.count("leak"), 0);
}

/// Wherever a library fails, at the first call or a later one, every rank ends
/// with an error of this runtime that says the cause, or is not harmed, and
/// nobody waits for the timeout of a collective.
TEST(CudaFaults, EveryCallThatFails) {
  TestProgram program = makeEverything();
  absl::Status status = useAll(program, absl::Seconds(60)); // tunes
  ASSERT_TRUE(status.ok()) << status;
  std::vector<absl::string_view> unreached;
  for (absl::string_view symbol : kSymbols) {
    bool isReached = kInfallible.count(symbol) > 0;
    for (int at : {1, 2, 7})
      checkCall(symbol, at, isReached);
    if (!isReached)
      unreached.push_back(symbol);
  }
  EXPECT_TRUE(unreached.empty()) << absl::StrJoin(unreached, " ");
}

} // namespace

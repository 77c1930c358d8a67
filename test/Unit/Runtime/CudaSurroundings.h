// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What tests of whole programs on fake GPUs share: three GPUs, a record
/// of what was called, and programs with kernels.

#ifndef TPOPT_TEST_UNIT_RUNTIME_CUDASURROUNDINGS_H
#define TPOPT_TEST_UNIT_RUNTIME_CUDASURROUNDINGS_H

#include "Surroundings.h"
#include "TestProgram.h"
#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <fstream>
#include <numeric>

namespace tprt::test {

/// A folder of this process: others run tests of their own meanwhile.
inline const std::string &getFolder() {
  static const TempFolder folder;
  return folder.get();
}

inline std::string getRecordPath() { return getFolder() + "/record"; }

/// Before the fakes are asked for anything.
inline const bool hasEnvironment = [] {
  setenv("TPRT_FAKE_DEVICES", "3", 1);
  setenv("TPRT_EMULATED_KERNELS", TPRT_TEST_GPU_KERNELS, 1);
  setenv("TPRT_RECORD", getRecordPath().c_str(), 1);
  setenv("XDG_CACHE_HOME", getFolder().c_str(), 1);
  return true;
}();

/// The lines that the fakes have recorded since it was made.
class Record {
public:
  Record() : begin(std::ifstream(getRecordPath(), std::ios::ate).tellg()) {}
  std::string get() const {
    std::ifstream file(getRecordPath());
    file.seekg(begin);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  int count(const std::string &what) const {
    std::string text = get();
    int found = 0;
    for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at)
      ++found;
    return found;
  }

private:
  std::streamoff begin;
};

inline absl::StatusOr<std::unique_ptr<Session>>
open(TestProgram &program, const std::string &backend,
     absl::Duration timeout = absl::Seconds(60)) {
  SessionOptions options;
  options.backend = backend;
  options.timeout = timeout;
  program.target = backend == "cpu" ? kCpuTarget : kCudaTarget;
  TPRT_ASSIGN_OR_RETURN(std::shared_ptr<const Artifact> artifact,
                        Artifact::fromBytes(program.finish()));
  return Session::open(options, std::move(artifact));
}

inline ErrorCode openingFails(TestProgram &program,
                              const std::string &backend) {
  auto session = open(program, backend);
  return getErrorCode(session.status());
}

template <typename T> std::string toBytes(const std::vector<T> &values) {
  return std::string(reinterpret_cast<const char *>(values.data()),
                     values.size() * sizeof(T));
}

inline std::string iota(int64_t count, float first = 0) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  return toBytes(values);
}

/// The kernels of a program's image, by symbol.
class Kernels {
public:
  explicit Kernels(TestProgram &program) : program(program) {}

  uint32_t add(const std::string &symbol, int parameters,
               uint32_t sharedBytes = 0) {
    ptx += ".visible .entry " + symbol + "(\n";
    for (int i = 0; i < parameters; ++i)
      ptx += "  .param .u64 " + symbol + "_" + std::to_string(i) + ",\n";
    ptx += ")\n{\n  ret;\n}\n";
    program.writer.add(LaunchRow{1, 32, sharedBytes});
    return program.writer.add(KernelRow{program.writer.text(symbol)});
  }

  void addStep(uint32_t kernel, const std::vector<BufferRow> &buffers,
               uint32_t firstWritten, const std::vector<ScalarRow> &scalars,
               const std::string &name) {
    KernelCallRow call = {};
    call.kernel = kernel;
    call.buffers =
        program.writer.addAll<BufferRow>(absl::MakeConstSpan(buffers));
    call.firstWritten = firstWritten;
    call.scalars =
        program.writer.addAll<ScalarRow>(absl::MakeConstSpan(scalars));
    call.rowEnd = 1;
    program.addStep(StepKind::Kernel, program.writer.add(call), name);
  }

  void finish(uint32_t chip = 80) {
    GpuImageRow image = {};
    image.chip = chip;
    image.name = program.writer.text("sm_" + std::to_string(chip));
    image.size = ptx.size();
    program.writer.add(image);
    program.writer.setBytes(SectionKind::GpuCode, ptx);
  }

private:
  TestProgram &program;
  std::string ptx = ".version 8.0\n.target sm_80\n";
};

/// Not EXPECT_EQ, which would print all of both.
inline bool areSame(const std::string &a, const std::string &b) {
  return a == b;
}

inline ScalarRow constant(int64_t value) {
  return {ScalarKind::Constant, 0, value};
}

inline absl::Status bindFloats(Session &session, const std::string &name,
                               const std::string &bytes) {
  return session.bind(name, DType::F32,
                      {static_cast<int64_t>(bytes.size()) / 4}, bytes);
}

/// A matmul of two operands that are sharded along the model axis of 3, the
/// all-reduce of its partial results, and a kernel that adds one.
inline TestProgram makeMlp(uint32_t sharedBytes = 0) {
  TestProgram program({{"model", 3}});
  program.arena = 1024;
  Kernels kernels(program);
  uint32_t combine = kernels.add("combine3", 5);
  program.writer.add(CombineRow{combine, DType::F32, Reduction::Sum, 3});
  uint32_t x = program.addInput("x", DType::F32, {{2, {}}, {6, {0}}});
  uint32_t w =
      program.addInput("w", DType::F32, {{6, {0}}, {2, {}}}, Role::Parameter);
  uint32_t y = program.addOutput("y", DType::F32, {{2, {}}, {2, {}}});
  MatmulRow matmul = {};
  matmul.m = matmul.n = matmul.k = 2;
  std::fill_n(matmul.batch, kMaxBatch, 1);
  auto operand = [](BufferRow buffer) {
    MatmulOperand result = {buffer, DType::F32, 0, {}};
    result.strides[kMaxBatch] = 2;
    result.strides[kMaxBatch + 1] = 1;
    return result;
  };
  BufferRow partial = program.buffer(Space::Arena, 0, 16, 256);
  matmul.a = operand(program.buffer(Space::Input, x, 16));
  matmul.b = operand(program.buffer(Space::Input, w, 16));
  matmul.c = operand(partial);
  program.addStep(StepKind::Matmul, program.writer.add(matmul), "mlp");
  CollectiveRow sum = {};
  sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  sum.dtype = DType::F32;
  sum.reduction = Reduction::Sum;
  sum.count = 4;
  sum.source = sum.destination = partial;
  program.addCollective(sum, "mlp.out");
  kernels.addStep(kernels.add("add_scalar", 4, sharedBytes),
                  {partial, program.buffer(Space::Output, y, 16)}, 1,
                  {constant(1), constant(4)}, "add");
  kernels.finish();
  return program;
}

inline absl::Status bindMlp(Session &session) {
  absl::Status status = session.bind("x", DType::F32, {2, 6}, iota(12));
  return status.ok() ? session.bind("w", DType::F32, {6, 2}, iota(12)) : status;
}

/// [0..5; 6..11] times [0 1; 2 3; ..], plus one.
inline std::string getMlpResult() {
  return toBytes(std::vector<float>{111, 126, 291, 342});
}

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_CUDASURROUNDINGS_H

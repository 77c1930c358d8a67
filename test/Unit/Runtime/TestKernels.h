// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The object code of kernels.c, and steps that call it.

#ifndef TPOPT_TEST_UNIT_RUNTIME_TESTKERNELS_H
#define TPOPT_TEST_UNIT_RUNTIME_TESTKERNELS_H

#include "TestProgram.h"
#include "runtime/Core/CpuFeatures.h"

#include <fstream>
#include <iterator>

namespace tprt::test {

/// TPRT_TEST_KERNELS is the path of the library that CMake builds.
inline std::string readKernels() {
  std::ifstream file(TPRT_TEST_KERNELS, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline void addObjectCode(TestProgram &program) {
  program.writer.setBytes(SectionKind::ObjectCode, readKernels());
  program.writer.setBytes(SectionKind::CpuFeatures, getHostCpu());
}

inline ScalarRow constant(int64_t value) {
  return {ScalarKind::Constant, 0, value};
}

/// A step that calls `symbol`; buffers from `firstWritten` on are written.
inline void addKernel(TestProgram &program, const std::string &symbol,
                      const std::vector<BufferRow> &buffers,
                      uint32_t firstWritten,
                      const std::vector<ScalarRow> &scalars, int64_t rows) {
  KernelCallRow call = {};
  call.kernel = program.writer.add(KernelRow{program.writer.text(symbol)});
  call.buffers = program.writer.addAll<BufferRow>(absl::MakeConstSpan(buffers));
  call.firstWritten = firstWritten;
  call.scalars = program.writer.addAll<ScalarRow>(absl::MakeConstSpan(scalars));
  call.rowEnd = rows;
  program.addStep(StepKind::Kernel, program.writer.add(call), symbol);
}

/// `kernel` on rank `where` only, then an all-reduce of all ranks; or beside
/// the kernel.
inline void buildFault(TestProgram &program, const std::string &kernel,
                       int64_t where, int64_t how, bool beside = false) {
  addObjectCode(program);
  program.arena = 128;
  uint32_t axis = program.axes({0}).first;
  CollectiveRow sum = {};
  sum.communicator = program.writer.add(CommunicatorRow{program.axes({0})});
  sum.dtype = DType::F32;
  sum.reduction = Reduction::Sum;
  sum.count = 4;
  sum.source = sum.destination = program.buffer(Space::Arena, 0, 16);
  uint32_t index = program.writer.add(sum);
  if (beside)
    program.addStep(StepKind::CollectiveStart, index, "attn.out");
  addKernel(program, kernel, {}, 0,
            {{ScalarKind::Coordinate, axis, 0}, constant(where), constant(how)},
            0);
  if (!beside)
    program.addStep(StepKind::CollectiveStart, index, "attn.out");
  program.addStep(StepKind::CollectiveDone, index, "attn.out");
}

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_TESTKERNELS_H

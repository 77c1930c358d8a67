// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// GPU kernels, executed on this machine, write what the CPU's kernels write.

#include "test/Emulation/Emulator.h"
#include "test/Emulation/HostKernels.h"

#include "lib/Codegen/Kernels.h"
#include "lib/Codegen/ObjectCode.h"
#include "tpopt/InitAll.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// RowOperands of a row program in memory, the same for the same program.
class RowOperands {
public:
  explicit RowOperands(step::RowsOp rows) {
    std::mt19937 engine(1);
    for (Type type : rows.getOperandTypes()) {
      auto buffer = cast<MemRefType>(type);
      Type element = buffer.getElementType();
      // Words with room to begin at a multiple of 64 bytes.
      memory.emplace_back(step::getEndByte(buffer) / 8 + 17);
      auto start = reinterpret_cast<uintptr_t>(memory.back().data());
      auto *begin = reinterpret_cast<char *>((start + 63) / 64 * 64);
      int64_t bytes = step::getElementBytes(element);
      for (int64_t i = 0; i < step::getEndByte(buffer) / bytes; ++i) {
        if (element.isF32()) {
          float value = (int(engine() % 65) - 32) / 8.0f;
          std::memcpy(begin + i * bytes, &value, bytes);
        } else {
          int64_t value = int64_t(engine()) % 100;
          std::memcpy(begin + i * bytes, &value, bytes);
        }
      }
      begins.push_back(begin);
      pointers.push_back(begin + step::Strides(buffer).offset * bytes);
    }
  }
  void *const *getTable() const { return pointers.data(); }
  const char *getBegin(unsigned operand) const { return begins[operand]; }

private:
  std::vector<std::vector<int64_t>> memory;
  std::vector<char *> begins;
  std::vector<void *> pointers;
};

class GpuEmulation : public ::testing::Test {
protected:
  GpuEmulation() {
    DialectRegistry registry;
    registerTPOptDialects(registry);
    registerKernelDialects(registry);
    registry.insert<gpu::GPUDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// Runs the row programs of `source`, the body of a step.program, both ways.
  void expectSame(StringRef source, double tolerance);

  MLIRContext context;
};

} // namespace

static void compare(step::RowsOp rows, const RowOperands &cpu,
                    const RowOperands &gpu, double tolerance) {
  for (unsigned i = 0; i < rows->getNumOperands(); ++i) {
    auto buffer = cast<MemRefType>(rows->getOperand(i).getType());
    int64_t size = step::getEndByte(buffer);
    const char *a = cpu.getBegin(i), *b = gpu.getBegin(i);
    if (!buffer.getElementType().isF32()) {
      EXPECT_EQ(std::memcmp(a, b, size), 0) << "operand " << i;
      continue;
    }
    for (int64_t at = 0; at < size; at += sizeof(float)) {
      float x, y;
      std::memcpy(&x, a + at, sizeof(x));
      std::memcpy(&y, b + at, sizeof(y));
      EXPECT_NEAR(x, y, tolerance * std::max(1.0f, std::abs(x)))
          << "element " << at / sizeof(float) << " of operand " << i;
    }
  }
}

void GpuEmulation::expectSame(StringRef source, double tolerance) {
  std::string text =
      ("step.program @main inputs [] outputs [] {\n^bb0:\n" + source + "\n}\n")
          .str();
  auto parsed = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(parsed);
  SmallVector<step::RowsOp> programs;
  parsed->walk([&](step::RowsOp rows) { programs.push_back(rows); });
  ASSERT_FALSE(programs.empty());

  Location loc = parsed->getLoc();
  OwningOpRef<ModuleOp> code = ModuleOp::create(loc);
  OwningOpRef<ModuleOp> outer = ModuleOp::create(loc);
  OpBuilder builder = OpBuilder::atBlockEnd(outer->getBody());
  auto device = gpu::GPUModuleOp::create(builder, loc, "kernels");
  std::vector<KernelLaunch> launches;
  OpBuilder host = OpBuilder::atBlockEnd(code->getBody());
  for (auto [i, rows] : llvm::enumerate(programs)) {
    host.setInsertionPointToEnd(code->getBody());
    ASSERT_TRUE(
        succeeded(emitCpuKernel(host, rows, "cpu" + std::to_string(i))));
    builder.setInsertionPointToEnd(device.getBody());
    FailureOr<KernelLaunch> launch =
        emitGpuKernel(builder, rows, "gpu" + std::to_string(i));
    ASSERT_TRUE(succeeded(launch));
    launches.push_back(*launch);
  }
  auto library = emulation::loadOnHost(device, *code);
  ASSERT_TRUE(library);

  for (size_t i = 0; i < programs.size(); ++i) {
    step::RowsOp rows = programs[i];
    // Both have the same four arguments, and rows of the one are numbers of
    // the block and the thread of the other.
    emulation::Kernel onCpu = library->find("cpu" + std::to_string(i)),
                      onGpu = library->find("gpu" + std::to_string(i));
    ASSERT_TRUE(onCpu && onGpu);
    RowOperands cpu(rows);
    onCpu(cpu.getTable(), nullptr, 0, rows.getNumRows());
    for (auto order : emulation::kOrders) {
      RowOperands gpu(rows);
      absl::Status status =
          emulation::launch(onGpu, gpu.getTable(), nullptr,
                            {launches[i].blocks, launches[i].threads}, order);
      ASSERT_TRUE(status.ok()) << status;
      compare(rows, cpu, gpu, tolerance);
    }
  }
}

/// A row softmax of [rows, columns].
static std::string getSoftmax(int64_t rows, int64_t columns) {
  std::string shape = std::to_string(rows) + "x" + std::to_string(columns);
  std::string type = "memref<" + shape + "xf32>";
  return "%x" + shape + " = step.alloc : " + type + "\n%y" + shape +
         " = step.alloc : " + type + "\nstep.rows [" + std::to_string(rows) +
         ", " + std::to_string(columns) + "] reads(%x" + shape + " : " + type +
         ") writes(%y" + shape + " : " + type + ") {\n^bb0(%a: " + type +
         ", %b: " + type + "):\n%0 = step.load %a : " + type + R"(
  %1 = step.reduce max %0 : f32
  %2 = arith.subf %0, %1 : f32
  %3 = math.exp %2 : f32
  %4 = step.reduce sum %3 : f32
  %5 = arith.divf %3, %4 : f32
  step.store %5 to %b : f32, )" +
         type + "\n}\n";
}

// A row is a warp's, a block's in registers, or a block's that reads it three
// times; with chunks of 4, 2 and 1, and with threads that have none.
TEST_F(GpuEmulation, SoftmaxOfAnyLength) {
  std::string source;
  for (auto [rows, columns] :
       {std::pair(1, 1), std::pair(5, 7), std::pair(3, 130), std::pair(4, 128),
        std::pair(2, 1024), std::pair(2, 1031), std::pair(1, 4096),
        std::pair(1, 16386), std::pair(1, 20000)})
    source += getSoftmax(rows, columns);
  expectSame(source, 2e-6);
}

// Words of 8 and 64 bits go through shuffles too, and signs are kept.
TEST_F(GpuEmulation, ReductionsOfIntegers) {
  std::string source;
  for (StringRef type : {"i8", "i32", "i64"})
    for (StringRef kind : {"sum", "max", "min", "umax", "umin", "prod"})
      for (StringRef columns : {"37", "2048"}) {
        std::string name = (type + kind + columns).str();
        std::string in = ("memref<2x" + columns + "x" + type + ">").str();
        std::string out = ("memref<2x1x" + type + ">").str();
        source += "%x" + name + " = step.alloc : " + in + "\n%y" + name +
                  " = step.alloc : " + out + "\nstep.rows [2, " +
                  columns.str() + "] reads(%x" + name + " : " + in +
                  ") writes(%y" + name + " : " + out + ") {\n^bb0(%a: " + in +
                  ", %b: " + out + "):\n%0 = step.load %a : " + in +
                  "\n%1 = step.reduce " + kind.str() + " %0 : " + type.str() +
                  "\nstep.store %1 to %b : " + type.str() + ", " + out +
                  "\n}\n";
      }
  expectSame(source, 0);
}

// Chunks of no row in particular: a strided input, a value per row, an index,
// a lookup, and more threads than chunks.
TEST_F(GpuEmulation, ElementWise) {
  expectSame(R"(
  %x = step.alloc : memref<12x5xf32>
  %xt = step.view %x : memref<12x5xf32> as memref<5x12xf32, strided<[1, 5]>>
  %s = step.alloc : memref<5xf32>
  %sb = step.view %s : memref<5xf32> as memref<5x12xf32, strided<[1, 0]>>
  %n = step.alloc : memref<5x12xi32>
  %t = step.alloc : memref<100x12xf32>
  %y = step.alloc : memref<5x12xf32>
  %r = step.alloc : memref<5x1xf32>
  step.rows [5, 12] reads(%xt, %sb, %n, %t : memref<5x12xf32, strided<[1, 5]>>, memref<5x12xf32, strided<[1, 0]>>, memref<5x12xi32>, memref<100x12xf32>)
      writes(%y, %r : memref<5x12xf32>, memref<5x1xf32>) {
  ^bb0(%a: memref<5x12xf32, strided<[1, 5]>>, %b: memref<5x12xf32, strided<[1, 0]>>, %c: memref<5x12xi32>, %d: memref<100x12xf32>, %e: memref<5x12xf32>, %f: memref<5x1xf32>):
    %0 = step.load %a : memref<5x12xf32, strided<[1, 5]>>
    %1 = step.load %b : memref<5x12xf32, strided<[1, 0]>>
    %2 = arith.mulf %0, %1 : f32
    %3 = step.load %c : memref<5x12xi32>
    %4 = arith.extsi %3 : i32 to i64
    %5 = step.index 1
    %6 = step.load %d[%4, %5] : memref<100x12xf32>
    %7 = math.sin %6 : f32
    %8 = arith.addf %2, %7 : f32
    step.store %8 to %e : f32, memref<5x12xf32>
    step.store %1 to %f : f32, memref<5x1xf32>
  })",
             1e-6);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Which steps are one kernel, and which have none.

#include "lib/Codegen/KernelTable.h"
#include "lib/Codegen/ObjectCode.h"
#include "lib/Codegen/Ptx.h"
#include "tpopt/InitAll.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

class Kernels : public ::testing::Test {
protected:
  Kernels() {
    DialectRegistry registry;
    registerTPOptDialects(registry);
    registerGpuKernelDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  /// The kernels' names, after adding all steps that may be kernels: `body` is
  /// that of a step.program.
  std::string getKernels(StringRef body, ArrayRef<unsigned> numbers) {
    parse(body);
    KernelTable table;
    size_t next = 0;
    module->walk([&](step::KernelOpInterface op) {
      EXPECT_EQ(table.add(op), numbers[next++]);
    });
    EXPECT_EQ(next, numbers.size());
    std::string names;
    for (const Kernel &kernel : table.getKernels())
      names += (names.empty() ? "" : " ") + kernel.name;
    return names;
  }

  void parse(StringRef body) {
    std::string text =
        ("step.program @main inputs [] outputs [] {\n^bb0:\n" + body + "\n}\n")
            .str();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

} // namespace

// Other buffers, and other names, are the same kernel; another type, constant,
// or an operand in another's place is another one.
TEST_F(Kernels, DifferInWhatTheyCompute) {
  auto rows = [](StringRef in, StringRef out, StringRef body) {
    return ("step.rows [4] reads(%" + in + ", %x : memref<4xf32>, " +
            "memref<4xf32>) writes(%" + out + " : memref<4xf32>) {\n" +
            "^bb0(%a: memref<4xf32>, %b: memref<4xf32>, %c: memref<4xf32>):\n" +
            body + "\nstep.store %z to %c : f32, memref<4xf32>\n}\n")
        .str();
  };
  auto load = [](StringRef name, StringRef from) {
    return ("%" + name + " = step.load %" + from + " : memref<4xf32>\n").str();
  };
  std::string same = load("p", "a") + load("q", "b");
  std::string buffers;
  for (StringRef name : {"x", "y", "u", "v"})
    buffers += ("%" + name + " = step.alloc : memref<4xf32>\n").str();
  EXPECT_EQ(
      getKernels(buffers +
                     rows("y", "u", same + "%z = arith.subf %p, %q : f32") +
                     rows("v", "y",
                          load("s", "a") + load("t", "b") +
                              "%z = arith.subf %s, %t : f32") +
                     rows("y", "u", same + "%z = arith.subf %q, %p : f32") +
                     rows("y", "u", same + "%z = arith.addf %p, %q : f32") +
                     rows("y", "u", "%z = arith.constant 1.0 : f32") +
                     rows("y", "u", "%z = arith.constant 2.0 : f32"),
                 {0, 0, 1, 2, 3, 4}),
      "rows0 rows1 rows2 rows3 rows4");
}

// Steps without a body differ in their attributes and types.
TEST_F(Kernels, OfOtherSteps) {
  EXPECT_EQ(getKernels(R"(
    %x = step.alloc : memref<4x16xf32>
    %w = step.alloc : memref<4x16xi32>
    %v = step.alloc : memref<4x2xf32>
    %a = step.alloc : memref<4x2xi32>
    %b = step.alloc : memref<4x2xi32>
    %u = step.alloc : memref<4x2xi32>
    step.sort descending %x into %v, %a : memref<4x16xf32> into memref<4x2xf32>, memref<4x2xi32>
    step.sort descending %x into %v, %b : memref<4x16xf32> into memref<4x2xf32>, memref<4x2xi32>
    step.sort %x into %v, %b : memref<4x16xf32> into memref<4x2xf32>, memref<4x2xi32>
    step.sort descending %w into %u, %b : memref<4x16xi32> into memref<4x2xi32>, memref<4x2xi32>)",
                       {0, 0, 1, 2}),
            "sort0 sort1 sort2");
}

// The buffers of the parts of attention, which blocks read that other blocks
// have written, are not like an output: GPU kernels do not say that nobody else
// writes them.
TEST_F(Kernels, ReadWhatTheyWrite) {
  parse(R"(
    %q = step.alloc : memref<1x1x2x4x64xf16>
    %k = step.alloc : memref<1x600x2x64xf16>
    %p = step.alloc : memref<3x1x1x2x4x64xf32>
    %s = step.alloc : memref<3x1x1x2x4x2xf32>
    %c = step.alloc : memref<1x1x2x4xi32>
    step.attention %q, %k, %k into %q parts(%p, %s, %c : memref<3x1x1x2x4x64xf32>, memref<3x1x1x2x4x2xf32>, memref<1x1x2x4xi32>) {scale = 0.5 : f64}
      : memref<1x1x2x4x64xf16>, memref<1x600x2x64xf16>, memref<1x600x2x64xf16> into memref<1x1x2x4x64xf16>
    %y = step.alloc : memref<1x1x2x4x64xf16>
    step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x1x1x2x4x64xf32>, memref<3x1x1x2x4x2xf32>, memref<1x1x2x4xi32>) {scale = 0.5 : f64}
      : memref<1x1x2x4x64xf16>, memref<1x600x2x64xf16>, memref<1x600x2x64xf16> into memref<1x1x2x4x64xf16>)");
  std::vector<std::vector<bool>> flags;
  module->walk([&](step::KernelOpInterface op) {
    std::vector<bool> &ofOp = flags.emplace_back();
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      ofOp.push_back(isReadAndWritten(op, i));
  });
  // Query, key, value, output, and the three buffers. The first step writes to
  // its query.
  EXPECT_EQ(flags[0], (std::vector<bool>{1, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(flags[1], (std::vector<bool>{0, 0, 0, 0, 1, 1, 1}));
}

// A step that the target has no kernel for is an error at it.
TEST_F(Kernels, MayBeMissing) {
  parse(R"(
    %x = step.alloc : memref<4x16xf32>
    %v = step.alloc : memref<4x2xf32>
    %i = step.alloc : memref<4x2xi32>
    step.sort %x into %v, %i : memref<4x16xf32> into memref<4x2xf32>, memref<4x2xi32>)");
  std::string message;
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diagnostic) { message = diagnostic.str(); });
  OwningOpRef<ModuleOp> code = ModuleOp::create(UnknownLoc::get(&context));
  OpBuilder builder = OpBuilder::atBlockEnd(code->getBody());
  module->walk([&](step::SortOp sort) {
    EXPECT_TRUE(failed(emitCpuKernel(builder, sort, "sort0")));
  });
  EXPECT_EQ(message, getText(ErrorCode::NoKernel).str() +
                         "step.sort is not supported on a CPU");
}

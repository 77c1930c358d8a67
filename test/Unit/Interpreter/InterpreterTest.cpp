// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Whole programs: what lit tests cannot see.

#include "Harness.h"

using namespace tp;
using namespace tp::interp;
using namespace mlir;

namespace {

class InterpreterTest : public InterpreterFixture {};

const char *kSum = R"(
  spmd.mesh @mesh <["x"=2]>
  !x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[3]>>
  !s = tensor<f32, #spmd.local<@mesh, [], unreduced={"x"}, global=[]>>
  func.func @f(%x: !x ARGUMENT) -> (!s, !x) {
    %s = tp.reduce sum %x dims = [0] : !x -> !s
    return %s, %x : !s, !x
  }
)";

// A plain argument arrives with zeros in its padding, so a sum over it needs no
// mask; the buffer of a donated one is dirty.
TEST_F(InterpreterTest, DonatedBuffersAreDirty) {
  TensorValue x = makeRealTensor(type({3}, f32()), {1, 2, 3});
  for (StringRef attribute : {"", "{tp.donated = 1 : i64}"}) {
    std::string text = kSum;
    text.replace(text.find("ARGUMENT"), 8, attribute.str());
    unsigned dirty = 0; // what is tiny changes no sum
    constexpr unsigned kRuns = 16;
    for (unsigned garbage = 0; garbage < kRuns; ++garbage) {
      auto results = run(text, {x}, Rounding::None, garbage);
      ASSERT_EQ(results.size(), 2u);
      dirty += real(results[0], {}) != 6;
      EXPECT_EQ(real(results[1], {2}), 3);
    }
    if (attribute.empty())
      EXPECT_EQ(dirty, 0u);
    else
      EXPECT_GT(dirty, kRuns / 2);
  }
}

// An observer sees every op of the program once, and none of a decomposition.
TEST_F(InterpreterTest, ObservesTheProgramsOps) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func private @g(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tp.neg %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = tp.gelu %x : tensor<4xf32>
      %1 = tp.for 2 (%0) {
      ^bb0(%i: tensor<i32>, %h: tensor<4xf32>):
        %2 = func.call @g(%h) : (tensor<4xf32>) -> tensor<4xf32>
        tp.yield %2 : tensor<4xf32>
      } : (tensor<4xf32>) -> tensor<4xf32>
      return %1 : tensor<4xf32>
    }
  )",
                                            &context);
  std::vector<std::string> seen;
  InterpreterOptions options;
  options.observer = [&](Operation *op, ArrayRef<DeviceValues> results) {
    EXPECT_EQ(results.size(), op->getNumResults());
    seen.push_back(op->getName().getStringRef().str());
  };
  auto program = Program::analyze(module->lookupSymbol<func::FuncOp>("f"));
  ASSERT_TRUE(succeeded(program));
  EXPECT_FALSE(program->isLocal());
  auto results =
      Interpreter(evaluator, options).run(*program, {random(type({4}, f32()))});
  EXPECT_TRUE(succeeded(results));
  EXPECT_EQ(seen, (std::vector<std::string>{"tp.gelu", "tp.neg", "func.call",
                                            "tp.neg", "func.call", "tp.for"}));
}

// Wrong arguments are an error, not undefined behaviour.
TEST_F(InterpreterTest, ChecksArguments) {
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }
  )",
                                            &context);
  auto program = Program::analyze(module->lookupSymbol<func::FuncOp>("f"));
  std::vector<std::string> messages;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    messages.push_back(diag.str());
    return success();
  });
  Interpreter interpreter(evaluator);
  EXPECT_TRUE(failed(interpreter.run(*program, {})));
  EXPECT_TRUE(failed(interpreter.run(*program, {random(type({5}, f32()))})));
  EXPECT_TRUE(failed(interpreter.run(*program, {random(type({4}, i(32)))})));
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0], "[TP0706] the function expects 1 arguments, got 0");
}

// A branch index outside of all branches takes the last one.
TEST_F(InterpreterTest, TakesTheLastBranchOtherwise) {
  const char *text = R"(
    func.func @f(%i: tensor<i32>, %a: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
      %0 = tp.case %i {
        tp.yield %a : tensor<2xf32>
      }, {
        tp.yield %b : tensor<2xf32>
      } : (tensor<i32>) -> tensor<2xf32>
      return %0 : tensor<2xf32>
    }
  )";
  TensorValue a = random(type({2}, f32())), b = random(type({2}, f32()));
  for (int64_t index : {-5, 0, 1, 2, 100}) {
    auto results =
        run(text, {makeIntegerTensor(type({}, i(32)), {index}), a, b});
    ASSERT_EQ(results.size(), 1u);
    EXPECT_EQ(results[0], index == 0 ? a : b);
  }
}

// In a manual region, a sum over a manual axis is one, and over another axis
// nothing; results that are not what they promise are found.
TEST_F(InterpreterTest, ManualRegions) {
  const char *text = R"(
    spmd.mesh @mesh <["x"=2, "y"=3]>
    func.func @f(%x: tensor<6xf32>) -> (tensor<3xf32>, tensor<2xf32>) {
      %s, %p = spmd.manual (%x) in [<@mesh, [{"x"}]>] out [<@mesh, [{}]>, <@mesh, [{"x"}]>] axes {"x"} {
      ^bb0(%a: tensor<3xf32>):
        %0 = spmd.all_reduce %a {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<3xf32> -> tensor<3xf32>
        %1 = spmd.all_reduce %0 {"y"} in <@mesh, [{}], unreduced={"y"}> out <@mesh, [{}]> : tensor<3xf32> -> tensor<3xf32>
        %i = spmd.axis_index @mesh {"x"} : tensor<i32>
        %f = tp.convert %i : tensor<i32> -> tensor<f32>
        %r = tp.reshape %f : tensor<f32> -> tensor<1xf32>
        spmd.return %1, %r : tensor<3xf32>, tensor<1xf32>
      } : (tensor<6xf32>) -> (tensor<3xf32>, tensor<2xf32>)
      return %s, %p : tensor<3xf32>, tensor<2xf32>
    }
  )";
  TensorValue x = draw(type({6}, f32()), -9, 9);
  auto results = run(text, {x});
  ASSERT_EQ(results.size(), 2u);
  expectReals(results[0],
              [&](const Index &n) { return real(x, n) + real(x, {n[0] + 3}); });
  expectReals(results[1], [&](const Index &n) { return double(n[0]); });

  std::string wrong = text;
  wrong.replace(wrong.find("return %1, %r"), 13, "return %a, %r");
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diag) {
    message = diag.str();
    return success();
  });
  EXPECT_TRUE(run(wrong, {x}).empty());
  EXPECT_TRUE(
      StringRef(message).starts_with("[TP0702] result #0: device 3 holds"))
      << message;
}

} // namespace

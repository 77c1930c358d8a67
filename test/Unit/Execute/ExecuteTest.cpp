// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The whole way: programs are sharded, lowered, compiled, and run on 1, 2 and 3
// ranks, and give what the interpreter computes of the whole program in
// doubles, rounded where types are narrower. Sizes are uneven on most of these
// meshes.

#include "tpopt/Codegen/Artifact.h"
#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/InitAll.h"
#include "tpopt/Interpreter/Interpreter.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/StridedCopy.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <random>

using namespace mlir;
using namespace tp;

namespace {

/// A program of Inputs/, and by how much f32 may differ from doubles.
struct Case {
  const char *name;
  double tolerance;
};

/// A case on a mesh whose axis has so many devices.
using Parameter = std::tuple<Case, int>;

class Execute : public ::testing::TestWithParam<Parameter> {
protected:
  Execute() {
    DialectRegistry registry;
    registerTPOptDialects(registry);
    registerKernelDialects(registry);
    func::registerInlinerExtension(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
  }

  OwningOpRef<ModuleOp> parse() {
    std::string path = std::string(TPOPT_TEST_INPUTS) + "/" +
                       std::get<0>(GetParam()).name + ".mlir";
    return parseSourceFile<ModuleOp>(path, &context);
  }

  /// The bytes of the artifact; empty, having said why, if there are none.
  std::string compile() {
    OwningOpRef<ModuleOp> module = parse();
    spmd::MeshOp mesh = *module->getOps<spmd::MeshOp>().begin();
    PassManager manager(&context);
    CompileOptions options;
    options.mesh = (mesh.getMesh().getNames()[0].getValue() + "=" +
                    std::to_string(std::get<1>(GetParam())))
                       .str();
    buildCompilePipeline(manager, options);
    if (failed(manager.run(*module)))
      return "";
    FailureOr<std::string> bytes = buildCPUArtifact(*module);
    return succeeded(bytes) ? *bytes : "";
  }

  /// Multiples of 1/8 for floats; integers from -1 to 8, some of which are no
  /// place in anything; zeros for caches.
  std::vector<double> makeValues(RankedTensorType type, bool isState) {
    std::vector<double> values(type.getNumElements(), 0.0);
    for (double &value : values)
      if (isState)
        value = 0;
      else if (isa<FloatType>(type.getElementType()))
        value = (int(engine() % 33) - 16) / 8.0;
      else
        value = int(engine() % 10) - 1;
    return values;
  }

  MLIRContext context;
  std::mt19937 engine{1};
};

} // namespace

static TensorValue toTensor(RankedTensorType type,
                            const std::vector<double> &values) {
  if (isa<FloatType>(type.getElementType()))
    return makeRealTensor(type, values);
  return makeIntegerTensor(type,
                           std::vector<int64_t>(values.begin(), values.end()));
}

/// Bytes as the runtime takes them, and back.
static std::string encode(tprt::DType dtype,
                          const std::vector<double> &values) {
  std::string bytes(values.size() * tprt::getSize(dtype), '\0');
  for (auto [i, value] : llvm::enumerate(values)) {
    char *to = bytes.data() + i * tprt::getSize(dtype);
    if (dtype == tprt::DType::I32) {
      auto integer = int32_t(value);
      std::memcpy(to, &integer, sizeof(integer));
    } else {
      tprt::copyStrided(dtype, to, {1}, tprt::DType::F64,
                        reinterpret_cast<const char *>(&value), {1}, {1});
    }
  }
  return bytes;
}

static std::vector<double> decode(tprt::DType dtype, const std::string &bytes) {
  std::vector<double> values(bytes.size() / tprt::getSize(dtype));
  for (auto [i, value] : llvm::enumerate(values)) {
    const char *from = bytes.data() + i * tprt::getSize(dtype);
    if (dtype == tprt::DType::I32) {
      int32_t integer;
      std::memcpy(&integer, from, sizeof(integer));
      value = integer;
    } else {
      tprt::copyStrided(tprt::DType::F64, reinterpret_cast<char *>(&value), {1},
                        dtype, from, {1}, {1});
    }
  }
  return values;
}

TEST_P(Execute, ComputesTheWholeProgram) {
  auto loaded = tprt::Artifact::fromBytes(compile());
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::shared_ptr<const tprt::Artifact> artifact = *loaded;
  tprt::SessionOptions options;
  options.ranks = std::get<1>(GetParam());
  auto session = tprt::Session::open(options, artifact);
  ASSERT_TRUE(session.ok()) << session.status();

  OwningOpRef<ModuleOp> whole = parse();
  auto function = whole->lookupSymbol<func::FuncOp>("main");
  ASSERT_TRUE(function);
  SmallVector<TensorValue> arguments;
  for (auto [index, row] : llvm::enumerate(artifact->rows<tprt::InputRow>())) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
    bool isState = row.role == tprt::Role::State;
    std::vector<double> values = makeValues(type, isState);
    arguments.push_back(toTensor(type, values));
    if (isState)
      continue;
    absl::Status bound = (*session)->bind(
        artifact->text(row.name), row.dtype,
        absl::MakeConstSpan(type.getShape().data(), type.getRank()),
        encode(row.dtype, values));
    ASSERT_TRUE(bound.ok()) << bound;
  }
  FailureOr<Program> program = Program::analyze(function);
  ASSERT_TRUE(succeeded(program));
  DoubleEvaluator evaluator(Rounding::ToElementType);
  FailureOr<SmallVector<TensorValue>> wanted =
      Interpreter(evaluator).run(*program, arguments);
  ASSERT_TRUE(succeeded(wanted));

  absl::Status ran = (*session)->run("main");
  ASSERT_TRUE(ran.ok()) << ran;
  double tolerance = std::get<0>(GetParam()).tolerance;
  for (auto [index, row] : llvm::enumerate(artifact->rows<tprt::OutputRow>())) {
    auto bytes = (*session)->read(artifact->text(row.name));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    std::vector<double> values = decode(row.dtype, *bytes);
    const DenseTensor &expected = toDense((*wanted)[index]);
    ASSERT_EQ(int64_t(values.size()), expected.size());
    for (int64_t i = 0; i < expected.size(); ++i) {
      double value =
          expected.isFloat() ? expected[i].real : double(expected[i].integer);
      EXPECT_NEAR(values[i], value, tolerance * std::max(1.0, std::abs(value)))
          << "element " << i << " of output " << artifact->text(row.name);
    }
  }
}

TEST_P(Execute, GivesTheSameBytesTwice) {
  std::string bytes = compile();
  EXPECT_FALSE(bytes.empty());
  EXPECT_TRUE(bytes == compile());
}

INSTANTIATE_TEST_SUITE_P(
    Programs, Execute,
    ::testing::Combine(::testing::Values(Case{"mlp", 0}, Case{"embedding", 0},
                                         Case{"cache", 0}, Case{"movement", 0},
                                         Case{"norms", 2e-6},
                                         Case{"attention", 1e-5},
                                         Case{"exchange", 0},
                                         Case{"mixed", 8e-3}),
                       ::testing::Values(1, 2, 3)),
    [](const ::testing::TestParamInfo<Parameter> &info) {
      return std::string(std::get<0>(info.param).name) + "On" +
             std::to_string(std::get<1>(info.param));
    });

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

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

using namespace mlir;
using namespace tp;

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

CompiledProgram::CompiledProgram() {
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerKernelDialects(registry);
  func::registerInlinerExtension(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

OwningOpRef<ModuleOp> CompiledProgram::parse(const std::string &path) {
  return parseSourceFile<ModuleOp>(path, &context);
}

std::string CompiledProgram::compile(const std::string &path,
                                     const std::string &mesh) {
  OwningOpRef<ModuleOp> module = parse(path);
  if (!module)
    return "";
  PassManager manager(&context);
  CompileOptions options;
  options.mesh = mesh;
  buildCompilePipeline(manager, options);
  if (failed(manager.run(*module)))
    return "";
  FailureOr<std::string> bytes = buildCPUArtifact(*module);
  return succeeded(bytes) ? *bytes : "";
}

/// Multiples of 1/8 for floats; integers from -1 to 8, some of which are no
/// place in anything; zeros for caches.
std::vector<double> CompiledProgram::makeValues(RankedTensorType type,
                                                bool isState) {
  std::vector<double> values(type.getNumElements(), 0.0);
  if (isState)
    return values;
  for (double &value : values)
    value = isa<FloatType>(type.getElementType())
                ? (int(engine() % 33) - 16) / 8.0
                : int(engine() % 10) - 1;
  return values;
}

void CompiledProgram::expectWholeProgram(const std::string &path,
                                         const std::string &mesh, int ranks,
                                         double tolerance) {
  auto loaded = tprt::Artifact::fromBytes(compile(path, mesh));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::shared_ptr<const tprt::Artifact> artifact = *loaded;
  tprt::SessionOptions options;
  options.ranks = ranks;
  auto session = tprt::Session::open(options, artifact);
  ASSERT_TRUE(session.ok()) << session.status();

  OwningOpRef<ModuleOp> whole = parse(path);
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
  for (auto [index, row] : llvm::enumerate(artifact->rows<tprt::OutputRow>())) {
    auto bytes = (*session)->read(artifact->text(row.name));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    std::vector<double> values = decode(row.dtype, *bytes);
    const DenseTensor &expected = toDense((*wanted)[index]);
    ASSERT_EQ(int64_t(values.size()), expected.size());
    auto get = [&, &expected = expected](int64_t i) {
      return expected.isFloat() ? expected[i].real
                                : double(expected[i].integer);
    };
    double largest = 1;
    for (int64_t i = 0; i < expected.size(); ++i)
      largest = std::max(largest, std::abs(get(i)));
    for (int64_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(values[i], get(i), tolerance * largest)
          << "element " << i << " of output " << artifact->text(row.name);
  }
}

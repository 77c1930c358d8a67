// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CompiledProgram.h"

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/ObjectCode.h"
#include "lib/Interpreter/Interpreter.h"
#include "tpopt/InitAll.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/StridedCopy.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::interp;

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
  int64_t size = tprt::getSize(dtype);
  std::string bytes(values.size() * size, '\0');
  for (auto [i, value] : llvm::enumerate(values)) {
    char *to = bytes.data() + i * size;
    if (tprt::isFloat(dtype)) {
      tprt::copyStrided(dtype, to, {1}, tprt::DType::F64,
                        reinterpret_cast<const char *>(&value), {1}, {1});
    } else {
      auto integer = int64_t(value);
      std::memcpy(to, &integer, size);
    }
  }
  return bytes;
}

static double decodeReal(tprt::DType dtype, const char *from) {
  double value;
  tprt::copyStrided(tprt::DType::F64, reinterpret_cast<char *>(&value), {1},
                    dtype, from, {1}, {1});
  return value;
}

CompiledProgram::CompiledProgram() {
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerKernelDialects(registry);
  func::registerInlinerExtension(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

std::string CompiledProgram::readFile(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : "";
}

OwningOpRef<ModuleOp> CompiledProgram::parse(const std::string &source) {
  return parseSourceString<ModuleOp>(source, &context);
}

std::string CompiledProgram::compile(const std::string &source,
                                     const std::string &mesh) {
  OwningOpRef<ModuleOp> module = parse(source);
  if (!module)
    return "";
  PassManager manager(&context);
  CompileOptions options;
  options.mesh = mesh;
  buildCompilePipeline(manager, options);
  if (failed(manager.run(*module)))
    return "";
  FailureOr<std::string> bytes =
      buildArtifact(*module, *createCpuCode(&context));
  return succeeded(bytes) ? *bytes : "";
}

/// Multiples of 1/8 for floats; integers from -1 to 8, some of which are no
/// place in anything, or from 0 for unsigned ones; zeros for caches.
std::vector<double> CompiledProgram::makeValues(RankedTensorType type,
                                                bool isState) {
  std::vector<double> values(type.getNumElements(), 0.0);
  if (isState)
    return values;
  Type element = type.getElementType();
  for (double &value : values)
    if (isa<FloatType>(element))
      value = (int(engine() % 33) - 16) / 8.0;
    else if (element.isInteger(1))
      value = engine() % 2;
    else
      value = int(engine() % 10) - (element.isUnsignedInteger() ? 0 : 1);
  return values;
}

void CompiledProgram::expectWholeProgram(const std::string &source,
                                         const std::string &mesh, int ranks,
                                         double tolerance) {
  auto loaded = tprt::Artifact::fromBytes(compile(source, mesh));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  std::shared_ptr<const tprt::Artifact> artifact = *loaded;
  tprt::SessionOptions options;
  options.ranks = ranks;
  auto session = tprt::Session::open(options, artifact);
  ASSERT_TRUE(session.ok()) << session.status();

  OwningOpRef<ModuleOp> whole = parse(source);
  auto function = whole->lookupSymbol<func::FuncOp>("main");
  ASSERT_TRUE(function);
  SmallVector<TensorValue> arguments;
  for (auto [index, row] : llvm::enumerate(artifact->rows<tprt::InputRow>())) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[index]);
    bool isState = artifact->isKept(index);
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
    const DenseTensor &expected = toDense((*wanted)[index]);
    int64_t size = tprt::getSize(row.dtype);
    ASSERT_EQ(int64_t(bytes->size()), expected.size() * size);
    double largest = 1;
    for (int64_t i = 0; i < expected.size() && expected.isFloat(); ++i)
      if (std::isfinite(expected[i].real))
        largest = std::max(largest, std::abs(expected[i].real));
    for (int64_t i = 0; i < expected.size(); ++i) {
      const char *from = bytes->data() + i * size;
      std::string where = "element " + std::to_string(i) + " of output " +
                          std::string(artifact->text(row.name));
      if (!expected.isFloat()) {
        // As bits: the interpreter may keep them with either sign.
        uint64_t bits = 0, wantedBits = 0;
        std::memcpy(&bits, from, size);
        std::memcpy(&wantedBits, &expected[i].integer, size);
        EXPECT_EQ(bits, wantedBits) << where;
        continue;
      }
      double value = decodeReal(row.dtype, from), real = expected[i].real;
      if (std::isfinite(real))
        EXPECT_NEAR(value, real, tolerance * largest) << where;
      else
        EXPECT_TRUE(std::isnan(real) ? std::isnan(value) : value == real)
            << value << ", not " << real << ": " << where;
    }
  }
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Compiles a program for the CPU and runs it on ranks that are threads.

#include "Compiled.h"

#include "lib/Codegen/Artifact.h"
#include "lib/Codegen/TargetCode.h"
#include "lib/Interpreter/Interpreter.h"
#include "lib/Support/Random.h"
#include "tpopt/Passes/Collectives/Passes.h"
#include "tpopt/Passes/Localize/Passes.h"
#include "tpopt/Passes/Lower/Passes.h"
#include "tpopt/Passes/Partition/Passes.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"
#include "tpopt/Passes/Propagate/Passes.h"
#include "tpopt/Passes/Schedule/Passes.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "runtime/Core/Artifact.h"
#include "runtime/Core/Session.h"
#include "runtime/Core/StridedCopy.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::interp;
using namespace tp::fuzz;

/// A value as the runtime takes it.
static std::string encode(tprt::DType dtype, const DenseTensor &tensor) {
  int64_t size = tprt::getSize(dtype);
  std::string bytes(tensor.size() * size, '\0');
  for (int64_t i = 0; i < tensor.size(); ++i) {
    char *to = bytes.data() + i * size;
    if (tensor.isFloat())
      tprt::copyStrided(dtype, to, {1}, tprt::DType::F64,
                        reinterpret_cast<const char *>(&tensor[i].real), {1},
                        {1});
    else
      std::memcpy(to, &tensor[i].integer, size);
  }
  return bytes;
}

static double decodeReal(tprt::DType dtype, const char *from) {
  double value;
  tprt::copyStrided(tprt::DType::F64, reinterpret_cast<char *>(&value), {1},
                    dtype, from, {1}, {1});
  return value;
}

/// The lowest bits of an integer, of either sign.
static uint64_t getBits(const void *integer, int64_t bytes) {
  uint64_t bits = 0;
  std::memcpy(&bits, integer, bytes);
  return bits;
}

/// What one rounding errs, relative to the number. Functions of the CPU's
/// backend err by a few bits of f32.
static double getRelativeError(FloatType type) {
  double ulp = std::ldexp(1.0, 1 - int(type.getFPMantissaWidth()));
  return type.isF64() ? std::max(ulp, 1e-14) : std::max(ulp, 5e-7);
}

namespace {

/// Computes with numbers that are all off by some of the rounding errors of
/// their types, but for integers: how far results move says how far another
/// order of sums or another way of rounding may move them.
class NoisyEvaluator final : public DoubleEvaluator {
public:
  explicit NoisyEvaluator(uint64_t seed)
      : DoubleEvaluator(Rounding::ToElementType), random(seed) {}

protected:
  Element round(Element value, FloatType type) override {
    Element rounded = DoubleEvaluator::round(value, type);
    if (rounded.real != std::nearbyint(rounded.real))
      rounded.real *= 1 + getRelativeError(type) * random.draw(-2, 2);
    return rounded;
  }

private:
  Random random;
};

/// What the whole program computes, and how near the compiled one must come.
struct Reference {
  SmallVector<TensorValue> results;
  /// For each result; 0 if every order gives the same bits.
  SmallVector<double> allowed;
  /// Whether floats have grown beyond what their types keep: then a jump may
  /// fall out differently, and nothing is said.
  bool isTooLarge = false;
};

/// Integers up to here are exact in `type` with room to spare for sums.
double getLargestExact(FloatType type) {
  return std::ldexp(1.0, int(type.getFPMantissaWidth()) - 2);
}

void observe(Reference &reference, ArrayRef<DeviceValues> results) {
  for (const DeviceValues &values : results)
    for (const TensorValue &value : values) {
      const DenseTensor &tensor = toDense(value);
      if (!tensor.isFloat())
        continue;
      double most =
          getLargestExact(cast<FloatType>(tensor.getType().getElementType()));
      for (int64_t i = 0; i < tensor.size(); ++i)
        reference.isTooLarge |= !(std::abs(tensor[i].real) <= most);
    }
}

/// How far a result may be off, if noise moves it like this.
double getAllowed(const DenseTensor &rounded, const DenseTensor &noisy) {
  if (!rounded.isFloat())
    return 0;
  double largest = 1, moved = 0;
  for (int64_t i = 0; i < rounded.size(); ++i) {
    largest = std::max(largest, std::abs(rounded[i].real));
    moved = std::max(moved, std::abs(rounded[i].real - noisy[i].real));
  }
  auto type = cast<FloatType>(rounded.getType().getElementType());
  return 16 * (moved + getRelativeError(type) * largest);
}

FailureOr<Reference> runWhole(func::FuncOp function,
                              ArrayRef<TensorValue> arguments) {
  FailureOr<Program> program = Program::analyze(function);
  if (failed(program))
    return failure();
  Reference reference;
  InterpreterOptions options;
  options.observer = [&](Operation *, ArrayRef<DeviceValues> results) {
    observe(reference, results);
  };
  DoubleEvaluator evaluator, rounding(Rounding::ToElementType);
  NoisyEvaluator noise(/*seed=*/1);
  auto unrounded = Interpreter(evaluator, options).run(*program, arguments);
  auto rounded = Interpreter(rounding).run(*program, arguments);
  InterpreterOptions loose;
  loose.tolerance = 1;
  auto noisy = Interpreter(noise, loose).run(*program, arguments);
  if (failed(unrounded) || failed(rounded) || failed(noisy))
    return failure();
  reference.results = *rounded;
  for (auto [result, other] : llvm::zip_equal(*rounded, *noisy))
    reference.allowed.push_back(
        evaluator.isExact() ? 0 : getAllowed(toDense(result), toDense(other)));
  return reference;
}

/// What is wrong with an output; empty if nothing is.
std::string compareOutput(const DenseTensor &wanted, tprt::DType dtype,
                          StringRef bytes, double allowed) {
  int64_t size = tprt::getSize(dtype);
  if (int64_t(bytes.size()) != wanted.size() * size)
    return "it has " + std::to_string(bytes.size()) + " bytes";
  for (int64_t i = 0; i < wanted.size(); ++i) {
    const char *at = bytes.data() + i * size;
    std::string is, should;
    if (wanted.isFloat()) {
      double value = decodeReal(dtype, at);
      if (std::abs(value - wanted[i].real) <= allowed)
        continue;
      is = std::to_string(value);
      should =
          std::to_string(wanted[i].real) + " within " + std::to_string(allowed);
    } else {
      uint64_t bits = getBits(at, size),
               wantedBits = getBits(&wanted[i].integer, size);
      if (bits == wantedBits)
        continue;
      is = llvm::utohexstr(bits);
      should = llvm::utohexstr(wantedBits) + " as bits";
    }
    return "at " + printIndex(i, wanted.getType().getShape()) + " it is " + is +
           ", but in the whole program it is " + should;
  }
  return "";
}

} // namespace

Ranks::Ranks() = default;
Ranks::Ranks(Ranks &&) = default;
Ranks &Ranks::operator=(Ranks &&) = default;
Ranks::~Ranks() = default;

Compiled::Compiled(Ranks overlapping, std::optional<Ranks> asWritten)
    : ranks(std::move(overlapping)), asWritten(std::move(asWritten)) {}

/// What a lowered module becomes. None, with an error, if it fails.
static std::optional<Ranks> start(ModuleOp lowered, bool overlaps) {
  PassManager manager(lowered.getContext());
  // Links that are slow beside steps as small as these move all collectives as
  // far as they may go.
  SchedulePassOptions schedule;
  schedule.machine = "h100";
  if (overlaps)
    manager.addPass(createSchedulePass(schedule));
  manager.addNestedPass<step::ProgramOp>(createAssignBuffersPass());
  if (failed(manager.run(lowered)))
    return std::nullopt;
  FailureOr<std::string> bytes =
      buildArtifact(lowered, *createCpuCode(lowered.getContext()));
  if (failed(bytes))
    return std::nullopt;
  auto artifact = tprt::Artifact::fromBytes(*bytes);
  if (!artifact.ok()) {
    emitError(lowered.getLoc(), artifact.status().ToString());
    return std::nullopt;
  }
  tprt::SessionOptions options;
  options.threads = 1;
  auto session = tprt::Session::open(options, *artifact);
  if (!session.ok()) {
    emitError(lowered.getLoc(), session.status().ToString());
    return std::nullopt;
  }
  Ranks ranks;
  ranks.artifact = *artifact;
  ranks.session = std::move(*session);
  return ranks;
}

std::unique_ptr<Compiled> Compiled::create(ModuleOp whole) {
  OwningOpRef<ModuleOp> module = whole.clone();
  PassManager manager(whole.getContext());
  ShardOptions options;
  options.verify = Verification::Off;
  options.stopAfter = Stage::Import;
  buildShardPipeline(manager, options);
  manager.addPass(createKeepDigestPass());
  manager.addPass(createPropagatePass());
  manager.addPass(createPartitionPass());
  manager.addPass(createPlanCollectivesPass());
  // Every product whose blocks can travel: so small ones would never pay.
  ChunkProductsPassOptions chunk;
  chunk.machine = "h100";
  chunk.force = true;
  manager.addPass(createChunkProductsPass(chunk));
  manager.addPass(createCombineCollectivesPass());
  manager.addPass(createVerifyShardingsPass());
  manager.addPass(createVerifyStructurePass());
  manager.addPass(createLocalizePass({/*keepGlobal=*/true}));
  manager.addPass(createVerifyPartitionPass());
  manager.addPass(createLowerToStepPass());
  if (failed(manager.run(*module)))
    return nullptr;
  OwningOpRef<ModuleOp> copy = module->clone();
  std::optional<Ranks> overlapping = start(*module, /*overlaps=*/true);
  if (!overlapping)
    return nullptr;
  std::optional<Ranks> asWritten;
  if (overlapping->artifact->overlaps()) {
    asWritten = start(*copy, /*overlaps=*/false);
    if (!asWritten)
      return nullptr;
  }
  return std::unique_ptr<Compiled>(
      new Compiled(std::move(*overlapping), std::move(asWritten)));
}

uint32_t Ranks::findEntry(StringRef name) const {
  return *artifact->findEntry(absl::string_view(name.data(), name.size()));
}

SmallVector<TensorValue>
Compiled::clearState(uint32_t entry, ArrayRef<TensorValue> arguments) const {
  SmallVector<TensorValue> cleared(arguments);
  const tprt::Artifact &artifact = *ranks.artifact;
  tprt::Range inputs = artifact.rows<tprt::EntryRow>()[entry].inputs;
  for (auto [value, index] :
       llvm::zip_equal(cleared, artifact.integers(inputs)))
    if (artifact.isKept(index))
      value = std::make_shared<DenseTensor>(value->getType());
  return cleared;
}

std::string Ranks::bind(uint32_t entry, ArrayRef<TensorValue> arguments) {
  tprt::Range inputs = artifact->rows<tprt::EntryRow>()[entry].inputs;
  for (auto [value, index] :
       llvm::zip_equal(arguments, artifact->integers(inputs))) {
    const auto &row = artifact->rows<tprt::InputRow>()[index];
    if (artifact->isKept(index))
      continue;
    ArrayRef<int64_t> shape = value->getType().getShape();
    absl::Status bound =
        session->bind(artifact->text(row.name), row.dtype,
                      absl::MakeConstSpan(shape.data(), shape.size()),
                      encode(row.dtype, toDense(value)));
    if (!bound.ok())
      return bound.ToString();
  }
  absl::Status cleared = session->resetState();
  return cleared.ok() ? "" : cleared.ToString();
}

std::string Compiled::compareBits(StringRef entry,
                                  ArrayRef<TensorValue> arguments) {
  if (!asWritten)
    return "";
  uint32_t index = asWritten->findEntry(entry);
  if (std::string error = asWritten->bind(index, arguments); !error.empty())
    return error;
  if (absl::Status ran = asWritten->session->run(entry.str()); !ran.ok())
    return ran.ToString();
  const tprt::Artifact &artifact = *asWritten->artifact;
  tprt::Range outputs = artifact.rows<tprt::EntryRow>()[index].outputs;
  for (auto [i, row] :
       llvm::enumerate(artifact.rows<tprt::OutputRow>(outputs))) {
    absl::string_view name = artifact.text(row.name);
    auto wanted = asWritten->session->read(name);
    auto got = ranks.session->read(name);
    if (!wanted.ok() || !got.ok())
      return "result #" + std::to_string(i) + " cannot be read";
    if (*wanted != *got)
      return "result #" + std::to_string(i) +
             " has other bits with overlap than without";
  }
  return "";
}

std::string Compiled::compare(func::FuncOp function,
                              ArrayRef<TensorValue> arguments) {
  StringRef name = function.getName();
  uint32_t entry = ranks.findEntry(name);
  SmallVector<TensorValue> given = clearState(entry, arguments);
  FailureOr<Reference> reference = runWhole(function, given);
  if (failed(reference))
    return "the whole program does not run";
  if (std::string error = ranks.bind(entry, given); !error.empty())
    return error;
  if (absl::Status ran = ranks.session->run(name.str()); !ran.ok())
    return ran.ToString();
  if (std::string differs = compareBits(name, given); !differs.empty())
    return "compiled function '" + name.str() + "': " + differs;
  if (reference->isTooLarge)
    return "";
  const tprt::Artifact &artifact = *ranks.artifact;
  tprt::Range outputs = artifact.rows<tprt::EntryRow>()[entry].outputs;
  for (auto [i, row] :
       llvm::enumerate(artifact.rows<tprt::OutputRow>(outputs))) {
    auto bytes = ranks.session->read(artifact.text(row.name));
    if (!bytes.ok())
      return bytes.status().ToString();
    std::string wrong = compareOutput(toDense(reference->results[i]), row.dtype,
                                      *bytes, reference->allowed[i]);
    if (!wrong.empty())
      return "compiled function '" + name.str() + "', result #" +
             std::to_string(i) + ": " + wrong;
  }
  return "";
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Shards a program, runs it whole and on all devices, and compares.

#include "Check.h"

#include "Compiled.h"

#include "lib/Codegen/ObjectCode.h"
#include "lib/Interpreter/Interpreter.h"
#include "lib/Report/BuildReport.h"
#include "lib/Support/Random.h"
#include "tpopt/InitAll.h"

#include "mlir/Dialect/Func/Extensions/InlinerExtension.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <ctime>

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::interp;
using namespace tp::fuzz;

StringRef tp::fuzz::stringify(Verdict verdict) {
  switch (verdict) {
  case Verdict::Right:
    return "right";
  case Verdict::Refused:
    return "refused";
  case Verdict::Discarded:
    return "discarded";
  case Verdict::Wrong:
    return "wrong";
  case Verdict::Unexplained:
    return "unexplained";
  case Verdict::Invalid:
    return "invalid";
  case Verdict::Slow:
    return "slow";
  case Verdict::Unequal:
    return "unequal";
  }
  llvm_unreachable("covered switch");
}

std::unique_ptr<MLIRContext> tp::fuzz::makeContext() {
  DialectRegistry registry;
  registerTPOptDialects(registry);
  registerKernelDialects(registry);
  registry.insert<func::FuncDialect>();
  func::registerInlinerExtension(registry);
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  // As in the tools. MLIR prints every element of a tensor of i0.
  context->printOpOnDiagnostic(false);
  return context;
}

std::string tp::fuzz::print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << '\n';
  return text;
}

namespace {

/// The largest magnitude up to which integers stay exact with room to spare,
/// and up to which rounding errors stay below the tolerance.
constexpr double kMaxExact = double(int64_t(1) << 46), kMaxInexact = 1e5;
constexpr double kTolerance = 1e-9;
/// Programs are small: whoever waits longer has found a bug, on a slow machine,
/// too. Sanitizers make all some twenty times slower.
constexpr double kMaxSeconds = LLVM_ADDRESS_SANITIZER_BUILD ? 200 : 10;

/// Integers, such as indices that are mostly within dimensions; some are not.
SmallVector<TensorValue> drawArguments(func::FuncOp function, uint64_t seed) {
  SmallVector<TensorValue> arguments;
  for (BlockArgument argument : function.getArguments()) {
    Random random(seed * 1000003 + argument.getArgNumber());
    auto type = cast<RankedTensorType>(argument.getType());
    auto integer = dyn_cast<IntegerType>(type.getElementType());
    if (!integer) {
      SmallVector<double> values(type.getNumElements());
      for (double &value : values)
        value = double(random.draw(-3, 3));
      arguments.push_back(makeRealTensor(type, values));
      continue;
    }
    SmallVector<int64_t> values(type.getNumElements());
    for (int64_t &value : values)
      value = wrapInteger(integer.getWidth() == 1 ? random.draw(0, 1)
                          : integer.isUnsigned()  ? random.draw(0, 9)
                                                  : random.draw(-2, 9),
                          integer);
    arguments.push_back(makeIntegerTensor(type, values));
  }
  return arguments;
}

/// The largest magnitude among floats; NaN if one is not a number.
double getMagnitude(const TensorValue &value) {
  const DenseTensor &tensor = toDense(value);
  double most = 0;
  if (!tensor.isFloat())
    return most;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    if (std::isnan(tensor[i].real))
      return tensor[i].real;
    most = std::max(most, std::abs(tensor[i].real));
  }
  return most;
}

class Checker {
public:
  Checker(MLIRContext &context, StringRef text, uint64_t seed,
          Execution execution)
      : seed(seed), execution(execution),
        handler(&context, [&](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
            llvm::raw_string_ostream(errors) << diagnostic.str() << '\n';
          return success();
        }) {
    whole = parseSourceString<ModuleOp>(text, &context);
  }

  Finding run() {
    if (!whole)
      return fail(Verdict::Invalid);
    for (auto function : whole->getOps<func::FuncOp>())
      if (function.isPublic())
        if (Verdict verdict = runWhole(function); verdict != Verdict::Right)
          return fail(verdict);
    local = whole->clone();
    PassManager manager(whole->getContext());
    buildShardPipeline(manager, ShardOptions());
    // Of this process: others may keep the machine busy.
    std::clock_t start = std::clock();
    bool isSharded = succeeded(manager.run(*local));
    double seconds = double(std::clock() - start) / CLOCKS_PER_SEC;
    if (!isSharded)
      return refuse();
    countOps();
    if (failed(buildReport(*local, /*machine=*/std::nullopt)))
      return fail(Verdict::Unexplained);
    for (Expected &expected : functions)
      if (!compare(expected))
        return fail(Verdict::Wrong);
    if (seconds > kMaxSeconds) {
      errors = "sharding took " + std::to_string(seconds) + " s";
      return fail(Verdict::Slow);
    }
    return execution == Execution::Compiled ? runCompiled() : finding;
  }

private:
  /// What a function of the whole program gives.
  struct Expected {
    func::FuncOp function;
    SmallVector<TensorValue> arguments, results;
    bool isExact;
  };

  Finding fail(Verdict verdict) {
    finding.verdict = verdict;
    finding.message = errors;
    if (size_t at = errors.find("[TP"); at != std::string::npos)
      finding.code = errors.substr(at + 1, 6);
    return finding;
  }

  /// Good programs that are not sharded or compiled get an error with a code.
  Finding refuse() {
    return fail(StringRef(errors).contains("[TP") ? Verdict::Refused
                                                  : Verdict::Unexplained);
  }

  Finding runCompiled() {
    std::unique_ptr<Compiled> compiled = Compiled::create(*whole);
    if (!compiled)
      return refuse();
    for (const Expected &expected : functions) {
      errors = compiled->compare(expected.function, expected.arguments);
      if (!errors.empty())
        return fail(Verdict::Wrong);
    }
    return finding;
  }

  Verdict runWhole(func::FuncOp function) {
    FailureOr<Program> program = Program::analyze(function);
    if (failed(program))
      return Verdict::Invalid;
    DoubleEvaluator evaluator;
    InterpreterOptions options;
    // Neither rounding nor 0 * inf: what is compared is what was computed.
    double most = 0;
    options.observer = [&](Operation *, ArrayRef<DeviceValues> results) {
      // What a device holds in a manual region may be padding.
      for (const DeviceValues &values : results)
        for (const TensorValue &value :
             values.size() == 1 ? ArrayRef(values) : ArrayRef<TensorValue>())
          if (double magnitude = getMagnitude(value); !(magnitude <= most))
            most = magnitude;
    };
    SmallVector<TensorValue> arguments = drawArguments(function, seed);
    auto results = Interpreter(evaluator, options).run(*program, arguments);
    if (failed(results))
      return Verdict::Invalid;
    bool isExact = evaluator.isExact();
    if (!(most <= (isExact ? kMaxExact : kMaxInexact)))
      return Verdict::Discarded;
    functions.push_back({function, arguments, *results, isExact});
    return Verdict::Right;
  }

  bool compare(Expected &expected) {
    auto function =
        local->lookupSymbol<func::FuncOp>(expected.function.getName());
    FailureOr<Program> program = Program::analyze(function);
    if (failed(program))
      return false;
    DoubleEvaluator evaluator;
    InterpreterOptions options;
    options.tolerance = expected.isExact ? 0 : kTolerance;
    auto results =
        Interpreter(evaluator, options).run(*program, expected.arguments);
    if (failed(results))
      return false;
    for (unsigned i = 0; i < results->size(); ++i) {
      const DenseTensor &is = toDense((*results)[i]),
                        &wanted = toDense(expected.results[i]);
      Type element = wanted.getType().getElementType();
      for (int64_t at = 0; at < wanted.size(); ++at)
        if (!evaluator.isClose(is[at], wanted[at], element,
                               options.tolerance)) {
          llvm::raw_string_ostream(errors)
              << "function '" << function.getName() << "', result #" << i
              << ", at " << printIndex(at, wanted.getType().getShape())
              << ": it is " << evaluator.print(is[at], element)
              << ", but in the whole program it is "
              << evaluator.print(wanted[at], element) << '\n';
          return false;
        }
    }
    return true;
  }

  void countOps() {
    auto isCut = [](Type type) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      auto encoding = dyn_cast_or_null<spmd::LocalAttr>(
          tensor ? tensor.getEncoding() : Attribute());
      return encoding && llvm::any_of(encoding.getSharding().getDims(),
                                      [](spmd::DimShardingAttr dim) {
                                        return !dim.getAxes().empty();
                                      });
    };
    local->walk([&](Operation *op) {
      auto &[times, cut] = finding.coverage[op->getName().getStringRef().str()];
      ++times;
      cut += llvm::any_of(op->getOperandTypes(), isCut) ||
             llvm::any_of(op->getResultTypes(), isCut);
    });
  }

  uint64_t seed;
  Execution execution;
  std::string errors;
  ScopedDiagnosticHandler handler;
  OwningOpRef<ModuleOp> whole, local;
  std::vector<Expected> functions;
  Finding finding;
};

} // namespace

Finding tp::fuzz::check(MLIRContext &context, StringRef program, uint64_t seed,
                        Execution execution) {
  return Checker(context, program, seed, execution).run();
}

/// What a program sends, as text; none if it is not sharded. Collectives are
/// counted one by one: plans of equal cost may differ in the place of an
/// exchange, and then other collectives are ready to share its launch.
static std::optional<std::string> getCost(MLIRContext &context,
                                          StringRef text) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  PassManager manager(&context);
  ShardOptions options;
  options.verify = Verification::Off;
  buildShardPipeline(manager, options);
  if (!module || failed(manager.run(*module)))
    return std::nullopt;
  FailureOr<Report> report = buildReport(*module, /*machine=*/std::nullopt);
  if (failed(report))
    return std::nullopt;
  double collectives = 0;
  int64_t bytes = 0;
  module->walk([&](spmd::CollectiveOpInterface op) {
    if (!isFree(spmd::getKind(op)))
      collectives += op->getNumOperands() * cost::getExpectedTimes(op);
  });
  for (const FunctionReport &function : report->functions)
    for (const CollectiveEntry &entry : function.collectives)
      bytes += entry.times * entry.wireBytes;
  return std::to_string(int64_t(collectives)) + " collectives, " +
         std::to_string(bytes) + " bytes";
}

Finding tp::fuzz::checkCosts(MLIRContext &context, StringRef program,
                             StringRef other) {
  Finding finding;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      finding.message += diagnostic.str() + "\n";
    return success();
  });
  std::optional<std::string> cost = getCost(context, program),
                             otherCost = getCost(context, other);
  if (!cost || !otherCost) {
    finding.verdict = Verdict::Invalid;
  } else if (*cost != *otherCost) {
    finding.verdict = Verdict::Unequal;
    finding.message = *cost + ", and written in another way " + *otherCost;
  }
  return finding;
}

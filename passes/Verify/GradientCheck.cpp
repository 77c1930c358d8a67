// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GradientCheck.h"

#include "RandomData.h"
#include "ShrunkProgram.h"

#include "dialects/TP/Interface.h"
#include "lib/Interpreter/DualEvaluator.h"
#include "lib/Interpreter/Interpreter.h"
#include "lib/Support/Random.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

namespace {

/// A result that is the gradient of the loss with respect to an argument.
struct GradientResult {
  unsigned argument, result;
  StringRef name; ///< The argument's name.
};

/// The change of the loss along a direction, and the change that the gradients
/// predict.
struct Change {
  double tangent = 0, inner = 0;
  /// The inner product of absolute values. Errors are measured relative to it.
  double size = 0;
  double loss = 0;

  bool isKnown() const {
    return std::isfinite(tangent) && std::isfinite(inner);
  }
  bool isEqual(double tolerance) const {
    // Where a function is flat, its derivative is only a rounding error: 1 -
    // tanh(x)^2 at a large x, for example, is nearly 0.
    double rounding = 1e-12 * (1 + (std::isfinite(loss) ? std::abs(loss) : 0));
    return std::abs(tangent - inner) <=
           tolerance * (size + std::abs(tangent)) + rounding;
  }
};

class GradientVerifier {
public:
  GradientVerifier(func::FuncOp function, unsigned loss,
                   ArrayRef<GradientResult> gradients, uint64_t seed,
                   double tolerance)
      : function(function), loss(loss), gradients(gradients), seed(seed),
        tolerance(tolerance) {}

  LogicalResult run();

private:
  FailureOr<Change> getChange(const Program &program, const DataSet &data,
                              ArrayRef<GradientResult> along);
  LogicalResult report(const Program &program, const DataSet &data);

  func::FuncOp function;
  unsigned loss;
  ArrayRef<GradientResult> gradients;
  uint64_t seed;
  double tolerance;
};

} // namespace

/// Draws a direction: numbers from 1/4 to 4 of either sign.
static TensorValue drawDirection(DenseEvaluator &evaluator,
                                 RankedTensorType type, Random &random) {
  auto tensor = std::make_shared<DenseTensor>(type);
  for (Element &element : tensor->getElements())
    element = evaluator.drawFloat(random.next(), -2, 1);
  return tensor;
}

FailureOr<Change> GradientVerifier::getChange(const Program &program,
                                              const DataSet &data,
                                              ArrayRef<GradientResult> along) {
  DualEvaluator evaluator;
  SmallVector<TensorValue> arguments = drawArguments(evaluator, function, data);
  if (data.number % 2 == 1)
    putComparedNumbers(function, arguments, data.seed + data.number);
  Random random(scramble(data.seed) + data.number);
  SmallVector<TensorValue> directions;
  for (const GradientResult &gradient : along) {
    const TensorValue &argument = arguments[gradient.argument];
    directions.push_back(drawDirection(evaluator, argument->getType(), random));
    evaluator.setTangent(argument, directions.back());
  }
  auto results = Interpreter(evaluator).run(program, arguments);
  if (failed(results))
    return failure();
  Change change;
  change.loss = toDense((*results)[loss])[0].real;
  if (TensorValue tangent = evaluator.getTangent((*results)[loss]))
    change.tangent = toDense(tangent)[0].real;
  for (auto [gradient, direction] : llvm::zip_equal(along, directions))
    for (int64_t i : llvm::seq(toDense(direction).size())) {
      double term = toDense((*results)[gradient.result])[i].real *
                    toDense(direction)[i].real;
      change.inner += term;
      change.size += std::abs(term);
    }
  return change;
}

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.8g", number);
  return text;
}

/// Tests the gradients one at a time. Emits an error for the first gradient
/// that is wrong by itself, or for all gradients together if there is no such
/// gradient.
LogicalResult GradientVerifier::report(const Program &program,
                                       const DataSet &data) {
  InFlightDiagnostic error = function.emitError()
                             << prefix(ErrorCode::WrongGradient);
  for (const GradientResult &gradient : gradients) {
    FailureOr<Change> change = getChange(program, data, gradient);
    if (failed(change) || change->isEqual(tolerance))
      continue;
    return error << "the gradient of '" << gradient.name
                 << "' is wrong: along a random direction the loss changes by "
                 << print(change->tangent) << ", but the gradient predicts "
                 << print(change->inner);
  }
  return error << "the gradients together do not predict the change of the "
                  "loss along a random direction";
}

LogicalResult GradientVerifier::run() {
  FailureOr<Program> program = Program::analyze(function);
  if (failed(program) || failed(checkArguments(*program, {})))
    return failure();
  static constexpr std::pair<Signs, Magnitudes> kinds[] = {
      {Signs::Any, Magnitudes::Small},
      {Signs::Positive, Magnitudes::Small},
      {Signs::PerArgument, Magnitudes::Moderate},
      {Signs::Positive, Magnitudes::Large},
      {Signs::Any, Magnitudes::Tiny}};
  bool isKnown = false;
  for (auto [number, kind] : llvm::enumerate(kinds)) {
    DataSet data{seed, unsigned(number), kind.first, kind.second};
    FailureOr<Change> change = getChange(*program, data, gradients);
    if (failed(change))
      return failure();
    // A change is unknown if it depends on, for example, the root of a negative
    // number. A data set with an unknown change proves nothing.
    if (!change->isKnown())
      continue;
    isKnown = true;
    if (!change->isEqual(tolerance))
      return report(*program, data);
  }
  if (!isKnown)
    return function.emitError()
           << prefix(ErrorCode::WrongGradient)
           << "the loss or its gradients are NaN or infinite on all data that "
              "was tried, so nothing could be verified";
  return success();
}

/// Checks the program with small sizes. A failure does not yet prove an error,
/// since the small program may differ from the large one.
static LogicalResult
checkShrunk(func::FuncOp function, ArrayRef<GradientResult> gradients,
            llvm::function_ref<LogicalResult(func::FuncOp)> check) {
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (const GradientResult &gradient : gradients)
    pairs.emplace_back(gradient.argument, gradient.result);
  OwningOpRef<ModuleOp> shrunk = shrinkProgram(function, pairs);
  ScopedDiagnosticHandler quiet(function.getContext(),
                                [](Diagnostic &) { return success(); });
  return check(*shrunk->getOps<func::FuncOp>().begin());
}

LogicalResult tp::checkGradients(func::FuncOp function,
                                 const GradientCheckOptions &options) {
  llvm::StringMap<unsigned> arguments;
  for (unsigned i : llvm::seq(function.getNumArguments()))
    arguments[getInputName(function, i)] = i;
  std::optional<unsigned> found;
  SmallVector<GradientResult> gradients;
  for (unsigned i : llvm::seq(function.getNumResults())) {
    StringRef name = getOutputName(function, i);
    if (name == options.loss)
      found = i;
    if (getResultRole(function, i) != Role::Gradient ||
        !name.consume_back(".grad"))
      continue;
    if (auto argument = arguments.find(name); argument != arguments.end())
      gradients.push_back({argument->second, i, argument->first()});
  }
  if (gradients.empty())
    return success();
  if (!found)
    return function.emitError()
           << prefix(ErrorCode::BadLoss) << "'" << function.getName()
           << "' has no result '" << options.loss << "': write loss=NAME";
  auto check = [&](func::FuncOp program) {
    return GradientVerifier(program, *found, gradients, options.seed,
                            options.tolerance)
        .run();
  };
  if (options.shrinks && succeeded(checkShrunk(function, gradients, check)))
    return success();
  return check(function);
}

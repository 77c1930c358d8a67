// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Divergence.h"

#include "Comparison.h"

#include "tpopt/Dialect/SPMD/SPMD.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;

/// The name that `loc("name")` gives, or an empty string.
static StringRef getSourceName(Location loc) {
  StringRef name;
  loc->walk([&](Location part) {
    auto named = dyn_cast<NameLoc>(part);
    if (!named)
      return WalkResult::advance();
    name = named.getName();
    return WalkResult::interrupt();
  });
  return name;
}

/// The file location of `op`, or that of its function if `op` has only a name.
static Location getPlace(Operation *op) {
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    return place;
  return op->getParentOfType<func::FuncOp>().getLoc();
}

std::optional<std::string>
tp::findDifference(DenseEvaluator &evaluator, const TensorValue &local,
                   const TensorValue &whole,
                   function_ref<bool(int64_t, Element, Element)> isEqual) {
  Type element = whole->getType().getElementType();
  const DenseTensor &a = toDense(local), &b = toDense(whole);
  int64_t first = -1, count = 0;
  for (int64_t i = 0; i < b.size(); ++i)
    if (!isEqual(i, a[i], b[i]) && count++ == 0)
      first = i;
  if (count == 0)
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream(text)
      << "element " << printIndex(first, b.getShape()) << " is "
      << evaluator.print(a[first], element)
      << ", but in the whole program it is "
      << evaluator.print(b[first], element) << " (" << count << " of "
      << b.size() << " elements differ)";
  return text;
}

std::optional<std::string> tp::findDifference(DenseEvaluator &evaluator,
                                              const TensorValue &local,
                                              const TensorValue &whole,
                                              double tolerance) {
  Type element = whole->getType().getElementType();
  return findDifference(evaluator, local, whole,
                        [&](int64_t, Element a, Element b) {
                          return evaluator.isClose(a, b, element, tolerance);
                        });
}

void Trace::record(Operation *op, ArrayRef<DeviceValues> results) {
  // Types in manual regions do not say how values are laid out.
  if (op->getParentOfType<spmd::ManualOp>())
    return;
  if (results.size() == 1 && !getSourceName(op->getLoc()).empty())
    runs[op].push_back(results.front());
}

llvm::MapVector<std::pair<StringRef, Type>, Operation *>
Trace::getFinalOps() const {
  llvm::MapVector<std::pair<StringRef, Type>, Operation *> last;
  for (const auto &[op, values] : runs) {
    Type type = Program::getWholeType(op->getResult(0).getType());
    std::pair<StringRef, Type> key(getSourceName(op->getLoc()), type);
    // Erase the old entry first, so that entries are in the order of the final
    // ops.
    last.erase(key);
    last.insert({key, op});
  }
  return last;
}

/// Runs `program` and keeps what its named ops compute.
static Trace traceRun(DenseEvaluator &evaluator, InterpreterOptions &options,
                      const Program &program, ArrayRef<TensorValue> arguments) {
  Trace trace;
  // The errors have been reported already.
  ScopedDiagnosticHandler silence(program.getFunction().getContext(),
                                  [](Diagnostic &) { return success(); });
  options.observer = [&](Operation *op, ArrayRef<DeviceValues> results) {
    trace.record(op, results);
  };
  Interpreter interpreter(evaluator, options);
  (void)interpreter.run(program, arguments);
  options.observer = nullptr;
  options.maxIterations = limitIterations(interpreter);
  return trace;
}

void tp::explainDifference(DenseEvaluator &evaluator,
                           InterpreterOptions options, const Program &local,
                           ArrayRef<TensorValue> localArguments,
                           const Program &whole,
                           ArrayRef<TensorValue> wholeArguments) {
  // Run the whole program first: it determines how long loops of the local
  // program may run.
  Trace wholeTrace = traceRun(evaluator, options, whole, wholeArguments);
  Trace localTrace = traceRun(evaluator, options, local, localArguments);
  Interpreter interpreter(evaluator, options);
  auto wholeOps = wholeTrace.getFinalOps();
  unsigned compared = 0;
  for (auto [key, op] : localTrace.getFinalOps()) {
    Operation *other = wholeOps.lookup(key);
    if (!other ||
        wholeTrace.getRuns(other).size() != localTrace.getRuns(op).size())
      continue;
    ++compared;
    for (auto [parts, expected] :
         llvm::zip_equal(localTrace.getRuns(op), wholeTrace.getRuns(other))) {
      std::optional<TensorValue> value =
          interpreter.gather(local, op->getResult(0).getType(), parts);
      std::string difference =
          "the copies of this value differ between devices";
      if (value) {
        auto text = findDifference(evaluator, *value, expected.front(),
                                   options.tolerance);
        if (!text)
          continue;
        difference = *text;
      }
      InFlightDiagnostic remark = emitRemark(getPlace(op))
                                  << "the programs first differ at \""
                                  << key.first << "\": " << difference;
      remark.attachNote(getPlace(other))
          << "this is the value in the whole program";
      return;
    }
  }
  InFlightDiagnostic remark = emitRemark(local.getFunction().getLoc());
  if (compared > 0)
    remark << "all " << compared
           << " values named in both programs agree: the programs differ only "
              "after the last of them";
  else
    remark << "to see where the programs first differ, name intermediate "
              "values in both with loc(\"name\")";
}

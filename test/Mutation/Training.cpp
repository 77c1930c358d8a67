// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Training.h"

#include "Mutations.h"

#include "dialects/TP/Interface.h"
#include "passes/Train/Accumulation.h"
#include "passes/Train/Step.h"
#include "passes/Train/WholeStep.h"
#include "passes/Verify/AccumulationCheck.h"
#include "passes/Verify/GradientCheck.h"
#include "passes/Verify/RandomData.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Differentiate/Passes.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/Sequence.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

//===----------------------------------------------------------------------===//
// What goes wrong in steps over micro-batches
//===----------------------------------------------------------------------===//

/// The loop over micro-batches: an op outside of all others.
static ForOp getLoop(Value value) {
  auto loop = value.getDefiningOp<ForOp>();
  return loop && isa<func::FuncOp>(loop->getParentOp()) ? loop : ForOp();
}

static bool isInLoop(Operation *op) {
  return isa<ForOp>(op->getParentOp()) &&
         getLoop(op->getParentOp()->getResult(0));
}

/// A mean of a mean.
static bool divideTwice(Operation *op, Random &) {
  if (!isa<MulOp, DivOp>(op) || !getLoop(op->getOperand(0)))
    return false;
  OpBuilder builder(op);
  op->setOperand(0, builder.clone(*op)->getResult(0));
  return true;
}

/// All micro-batches count the same.
static bool forgetWeight(Operation *op, Random &) {
  auto product = dyn_cast<MulOp>(op);
  if (!product || !isInLoop(op) || !product->hasOneUse())
    return false;
  auto sum = dyn_cast<AddOp>(*product->user_begin());
  if (!sum || !isa<BlockArgument>(sum.getLhs()))
    return false;
  product.getResult().replaceAllUsesWith(product.getLhs());
  return true;
}

/// The last micro-batch is all that is left.
static bool forgetSum(Operation *op, Random &) {
  auto sum = dyn_cast<AddOp>(op);
  if (!sum || !isInLoop(op) || !isa<BlockArgument>(sum.getLhs()))
    return false;
  sum.getResult().replaceAllUsesWith(sum.getRhs());
  return true;
}

/// A sum begins with what a parameter or state is.
static bool resetWrongly(Operation *op, Random &random) {
  auto loop = dyn_cast<ForOp>(op);
  if (!loop || !getLoop(loop->getResult(0)))
    return false;
  OpOperand &init = loop->getOpOperand(random.below(loop.getNumOperands()));
  for (BlockArgument argument : loop->getBlock()->getArguments())
    if (argument.getType() == init.get().getType() && argument != init.get()) {
      init.set(argument);
      return true;
    }
  return false;
}

/// One micro-batch is left out, and the others are as many as before.
static bool runShort(Operation *op, Random &) {
  auto loop = dyn_cast<ForOp>(op);
  if (!loop || !getLoop(loop->getResult(0)))
    return false;
  loop.setCount(loop.getCount() - 1);
  return true;
}

/// Every turn reads the first micro-batch.
static bool readFirst(Operation *op, Random &) {
  auto slice = dyn_cast<DynamicSliceOp>(op);
  if (!slice || !isInLoop(op) || slice.getStarts().size() < 2)
    return false;
  slice->setOperand(1, slice.getStarts()[1]);
  return true;
}

static constexpr Mutation kStepMutations[] = {
    {"divided twice", true, divideTwice},
    {"weight forgotten", true, forgetWeight},
    {"sum forgotten", true, forgetSum},
    {"reset wrongly", true, resetWrongly},
    {"one micro-batch short", true, runShort},
    {"first micro-batch again", true, readFirst},
};

//===----------------------------------------------------------------------===//
// What is proved
//===----------------------------------------------------------------------===//

namespace {

/// A right program of which mutants are made, and its proof.
class Proved {
public:
  virtual ~Proved() = default;

  /// Null if there is none, after an error.
  virtual func::FuncOp get() = 0;
  /// What may be damaged.
  virtual SmallVector<Operation *> getOps(func::FuncOp function) = 0;
  virtual LogicalResult prove(func::FuncOp function) = 0;
  /// What else can go wrong in it.
  virtual ArrayRef<Mutation> getOwnMutations() = 0;
};

/// The gradients of a loss.
class Gradients : public Proved {
public:
  explicit Gradients(ModuleOp loss) : module(loss.clone()) {
    QuietRun quiet(loss.getContext());
    isFine = quiet.run(*module, [](OpPassManager &manager) {
      manager.addPass(createDifferentiatePass());
    });
    llvm::errs() << quiet.message;
  }

  func::FuncOp get() override {
    return isFine ? *module->getOps<func::FuncOp>().begin() : func::FuncOp();
  }
  /// Those that only gradients need: the others are what is differentiated.
  SmallVector<Operation *> getOps(func::FuncOp function) override {
    DenseSet<Operation *> forward;
    SmallVector<Value> needed;
    Operation *end = function.front().getTerminator();
    for (unsigned i : llvm::seq(function.getNumResults()))
      if (getResultRole(function, i) != Role::Gradient)
        needed.push_back(end->getOperand(i));
    while (!needed.empty()) {
      Operation *op = needed.pop_back_val().getDefiningOp();
      if (!op || !forward.insert(op).second)
        continue;
      llvm::append_range(needed, op->getOperands());
      llvm::SetVector<Value> captured;
      getUsedValuesDefinedAbove(op->getRegions(), captured);
      llvm::append_range(needed, captured);
    }
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator())
      if (!forward.contains(&op))
        op.walk([&](Operation *inner) { ops.push_back(inner); });
    return ops;
  }
  LogicalResult prove(func::FuncOp function) override {
    return checkGradients(function, {});
  }
  ArrayRef<Mutation> getOwnMutations() override { return {}; }

private:
  OwningOpRef<ModuleOp> module;
  bool isFine;
};

/// A step over micro-batches, beside one over all of them.
class TrainingStep : public Proved {
public:
  TrainingStep(ModuleOp loss, const TrainingOptions &options)
      : module(loss.clone()), whole(loss.clone()) {
    isFine = succeeded(build(options));
  }

  func::FuncOp get() override {
    return isFine ? getFunction(*module) : func::FuncOp();
  }
  SmallVector<Operation *> getOps(func::FuncOp function) override {
    SmallVector<Operation *> ops;
    for (Operation &op : function.front().without_terminator())
      op.walk([&](Operation *inner) { ops.push_back(inner); });
    return ops;
  }
  LogicalResult prove(func::FuncOp function) override {
    return checkAccumulation(function, getFunction(*whole));
  }
  ArrayRef<Mutation> getOwnMutations() override { return kStepMutations; }

private:
  static func::FuncOp getFunction(ModuleOp module) {
    return *module.getOps<func::FuncOp>().begin();
  }
  LogicalResult build(const TrainingOptions &options) {
    RecipeText text;
    text.loss = "loss";
    text.optimizer = options.optimizer;
    text.weight = options.weight;
    text.accumulate = "3";
    func::FuncOp function = getFunction(*module);
    FailureOr<Recipe> recipe = Recipe::parse(text, function.getLoc());
    if (failed(recipe))
      return failure();
    FailureOr<Selection> selection = Selection::find(function, *recipe);
    if (failed(selection) ||
        failed(buildWholeStep(getFunction(*whole), *recipe, *selection)))
      return failure();
    auto gradients = buildGradients(function, *selection);
    if (failed(gradients))
      return failure();
    accumulate(function, *selection, recipe->accumulate, *gradients);
    return buildStep(function, *recipe, *selection, *gradients);
  }

  OwningOpRef<ModuleOp> module, whole;
  bool isFine;
};

} // namespace

//===----------------------------------------------------------------------===//
// Damage, and what becomes of it
//===----------------------------------------------------------------------===//

static double getLargest(ArrayRef<TensorValue> results) {
  double largest = 0;
  for (const TensorValue &result : results) {
    const DenseTensor &tensor = toDense(result);
    for (int64_t i : llvm::seq(tensor.size()))
      if (tensor.isFloat() && std::isfinite(tensor[i].real))
        largest = std::max(largest, std::abs(tensor[i].real));
  }
  return largest;
}

/// Whether two results differ by more than rounding, where both are numbers. A
/// gradient may be zero but for that: it is held against the largest of all.
static bool differs(const DenseTensor &own, const DenseTensor &other,
                    double largest) {
  return llvm::any_of(llvm::seq(own.size()), [&](int64_t i) {
    if (!own.isFloat())
      return own[i].integer != other[i].integer;
    return std::abs(own[i].real - other[i].real) > 1e-9 * largest &&
           std::isfinite(own[i].real) && std::isfinite(other[i].real);
  });
}

/// Whether a result differs on data that no proof has seen, where both programs
/// give numbers: what only overflows otherwise, as exp(x) / sum(exp(x)) without
/// the maximum taken off, is the same function.
static bool isWrong(func::FuncOp mutant, func::FuncOp right, uint64_t seed) {
  QuietRun quiet(right.getContext());
  FailureOr<Program> a = Program::analyze(mutant), b = Program::analyze(right);
  if (failed(a) || failed(b))
    return true;
  constexpr unsigned kNumDataSets = 12;
  for (unsigned number : llvm::seq(kNumDataSets)) {
    DoubleEvaluator evaluator;
    // Of large numbers, what cancels is rounding; a state of zero divides it.
    DataSet data{seed + 1000, number,
                 number % 2 ? Signs::Any : Signs::PerArgument,
                 number % 3 ? Magnitudes::Small : Magnitudes::Moderate};
    SmallVector<TensorValue> arguments = drawArguments(evaluator, right, data);
    if (number % 2)
      putComparedNumbers(right, arguments, seed + number);
    makeStates(right, arguments, /*scale=*/1);
    auto wanted = Interpreter(evaluator).run(*b, arguments);
    if (failed(wanted))
      continue;
    auto made = Interpreter(evaluator).run(*a, arguments);
    if (failed(made))
      return true;
    for (auto [x, y] : llvm::zip_equal(*made, *wanted))
      if (differs(toDense(x), toDense(y), getLargest(*wanted)))
        return true;
  }
  return false;
}

static void mutate(Proved &proved, func::FuncOp right, StringRef file,
                   const TrainingOptions &options,
                   llvm::MapVector<StringRef, Tally> &tallies) {
  Random random(options.seed);
  SmallVector<Mutation> mutations(proved.getOwnMutations());
  llvm::append_range(mutations, getLocalMutations());
  mutations = pickWays(mutations, options.ways);
  if (mutations.empty())
    return;
  // Ways that are possible nowhere in a program end in attempts.
  unsigned done = 0, attempts = 0;
  while (done < options.mutants && attempts++ < options.mutants * 400) {
    const Mutation &mutation = mutations[random.below(mutations.size())];
    OwningOpRef<ModuleOp> module(ModuleOp::create(right.getLoc()));
    func::FuncOp mutant = right.clone();
    module->push_back(mutant);
    std::optional<size_t> place = applySomewhere(
        mutation, proved.getOps(mutant), getNumDraws(options.ways), random);
    if (!place)
      continue;
    QuietRun quiet(right.getContext());
    if (failed(verify(*module)))
      continue;
    ++done;
    Tally &tally = tallies[mutation.name];
    if (failed(proved.prove(mutant)))
      ++tally.refused;
    else if (!isWrong(mutant, right, options.seed))
      ++tally.harmless;
    else {
      ++tally.missed;
      llvm::outs() << "MISSED: " << file << ": " << mutation.name << " at "
                   << print(proved.getOps(right)[*place]) << "\n";
    }
    if (options.show && !quiet.message.empty())
      llvm::outs() << mutation.name << ": " << quiet.message << "\n";
  }
}

bool tp::mutateTraining(const std::string &file, const TrainingOptions &options,
                        MLIRContext &context,
                        llvm::MapVector<StringRef, Tally> &tallies) {
  auto loss = parseSourceFile<ModuleOp>(file, &context);
  if (!loss)
    return false;
  Gradients gradients(*loss);
  TrainingStep step(*loss, options);
  for (Proved *proved :
       {static_cast<Proved *>(&gradients), static_cast<Proved *>(&step)}) {
    func::FuncOp right = proved->get();
    if (!right || failed(proved->prove(right))) {
      llvm::outs() << "REFUSED: " << file << "\n";
      return false;
    }
    mutate(*proved, right, file, options, tallies);
  }
  return true;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Imports a whole module and chooses a converter for each operation.

#include "Complex.h"
#include "Conversion.h"
#include "Inlining.h"
#include "ManualCalls.h"
#include "Partitioned.h"
#include "Signature.h"
#include "Tuples.h"
#include "Unused.h"

#include "lib/Support/NearName.h"
#include "passes/Import/Calls.h"
#include "passes/Import/StableHLO/StableHLO.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static bool isForeign(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return dialect == "stablehlo" || dialect == "chlo" || dialect == "mhlo" ||
         dialect == "sdy";
}

bool tp::hasStableHLO(ModuleOp module) {
  return module
      .walk([](Operation *op) {
        return isForeign(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Returns true for the terminator of a region, which is handled together with
/// the op that owns the region.
static bool isReturn(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return name == "stablehlo.return" || name == "sdy.return";
}

/// Removes attributes that only XLA uses. `op` may be of any dialect.
static void dropForeignAttributes(Operation *op) {
  SmallVector<StringAttr> names;
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef dialect = attribute.getName().getValue().split('.').first;
    if (dialect == "mhlo" || dialect == "jax" || dialect == "sdy" ||
        dialect == "tf" || dialect == "stablehlo")
      names.push_back(attribute.getName());
  }
  for (StringAttr name : names)
    op->removeDiscardableAttr(name);
}

namespace {

/// Records the ops that a converter builds, to verify them.
class Recorder : public OpBuilder::Listener {
public:
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    built.push_back(op);
  }
  SmallVector<Operation *> built;
};

class Importer {
public:
  Importer(MLIRContext *context, const ForeignShardings &shardings)
      : builder(context, &recorder), shardings(shardings) {
    for (ArrayRef<Row> rows :
         {getElementwiseRows(), getSpecialFunctionRows(), getShapeRows(),
          getContractionRows(), getConvolutionRows(), getReductionRows(),
          getNormalizationRows(), getSelectAndScatterRows(), getWindowRows(),
          getIndexingRows(), getSortRows(), getControlFlowRows(), getCallRows(),
          getAnnotationRows(), getManualRows(), getExchangeRows(),
          getPlaceRows(), getRandomRows()})
      for (const Row &row : rows)
        table[row.name] = &row;
  }

  LogicalResult convert(ModuleOp module);

private:
  bool computes(Operation *op) const;
  LogicalResult convert(Region &region);
  LogicalResult convert(Operation *op);
  LogicalResult convertUnused(Operation *op);
  LogicalResult checkTypes(Operation *op);
  LogicalResult refuse(const Conversion &c) const;
  bool onlyComputes(Operation *op) const;
  void eraseUnused(ModuleOp module);

  Recorder recorder;
  OpBuilder builder;
  const ForeignShardings &shardings;
  llvm::StringMap<const Row *> table;
  Unused unused;                    ///< Only operations not yet converted.
  llvm::DenseSet<Operation *> rest; ///< Unused ones that stay as they are.
};

} // namespace

/// Returns true if values of the type only order effects, as in
/// jax.debug.print(.., ordered=True).
static bool isToken(Type type) {
  auto opaque = dyn_cast<OpaqueType>(type);
  return opaque && opaque.getDialectNamespace() == "stablehlo" &&
         opaque.getTypeData() == "token";
}

/// Emits an error that says why tp cannot compute with a type.
static LogicalResult checkType(Operation *op, Type type) {
  if (isSupportedTensor(type))
    return success();
  auto shaped = dyn_cast<ShapedType>(type);
  if (shaped && isa<ComplexType>(shaped.getElementType()))
    return op->emitError() << prefix(ErrorCode::ComplexNumbers) << op->getName()
                           << " has the type " << type
                           << ": compute with real and imaginary parts";
  if (shaped && (!shaped.hasRank() || !shaped.hasStaticShape()))
    return op->emitError() << prefix(ErrorCode::DynamicShape) << op->getName()
                           << " has the type " << type
                           << ": export with static sizes";
  InFlightDiagnostic error = op->emitError()
                             << prefix(ErrorCode::UnsupportedStableHLO)
                             << op->getName() << " has the type " << type
                             << ", which is not supported: expects a tensor of "
                                "floats or integers of at most 64 bits";
  if (isToken(type))
    error << "; ordered effects are not supported either: write ordered=False, "
             "or leave the effects out";
  return error;
}

LogicalResult Importer::checkTypes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(checkType(op, type)))
      return failure();
  for (Type type : op->getResultTypes())
    if (failed(checkType(op, type)))
      return failure();
  return success();
}

/// Operations that are not in any table but that only compute their results.
static constexpr llvm::StringLiteral kUnsupported[] = {
    "stablehlo.after_all",
    "stablehlo.cholesky",
    "stablehlo.complex",
    "stablehlo.create_token",
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_conv",
    "stablehlo.dynamic_gather",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_pad",
    "stablehlo.dynamic_reshape",
    "stablehlo.fft",
    "stablehlo.get_dimension_size",
    "stablehlo.real_dynamic_slice",
    "stablehlo.set_dimension_size",
    "stablehlo.triangular_solve",
    "stablehlo.uniform_dequantize",
    "stablehlo.uniform_quantize",
};

/// Returns true if `op`, apart from its regions, only computes its results.
/// Unknown operations may do more.
bool Importer::computes(Operation *op) const {
  StringRef name = op->getName().getStringRef();
  if (llvm::is_contained(kUnsupported, name))
    return true;
  const Row *row = table.lookup(name);
  return row && !row->annotates && op->getNumResults() != 0 &&
         name != "stablehlo.custom_call" && name != "stablehlo.composite";
}

LogicalResult Importer::convert(ModuleOp module) {
  auto found = findUnused(module, [&](Operation *op) { return computes(op); });
  if (failed(found))
    return failure();
  unused = std::move(*found);
  if (failed(convert(module.getBodyRegion())))
    return failure();
  eraseUnused(module);
  return success();
}

LogicalResult Importer::convert(Region &region) {
  for (Block &block : region)
    for (Operation &op : llvm::make_early_inc_range(block))
      if (failed(unused.ops.erase(&op) ? convertUnused(&op) : convert(&op)))
        return failure();
  return success();
}

static bool isUnsupported(Diagnostic &error) {
  std::optional<ErrorCode> code = getErrorCode(error);
  return code == ErrorCode::UnsupportedStableHLO ||
         code == ErrorCode::ComplexNumbers || code == ErrorCode::DynamicShape;
}

/// Converts an operation whose results are not used. Fails with an error if the
/// operation is invalid. If it is merely unsupported, no error is emitted.
LogicalResult Importer::convertUnused(Operation *op) {
  MLIRContext *context = op->getContext();
  bool stays = isa<FunctionOpInterface, func::CallOp>(op);
  SmallVector<Diagnostic> errors;
  LogicalResult result = success();
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      errors.push_back(std::move(diagnostic));
    });
    result = convert(op);
  }
  if (failed(result) && !llvm::any_of(errors, isUnsupported)) {
    for (Diagnostic &error : errors)
      context->getDiagEngine().emit(std::move(error));
    return failure();
  }
  if (failed(result) || stays)
    rest.insert(op);
  return success();
}

/// Returns true if `op` only computes its results. MLIR itself assumes that
/// calls, and ops that contain calls, have effects.
bool Importer::onlyComputes(Operation *op) const {
  if (rest.contains(op) || isa<spmd::ManualOp>(op) ||
      wouldOpBeTriviallyDead(op))
    return true;
  if (auto call = dyn_cast<func::CallOp>(op))
    return unused.pure.contains(call.getCalleeAttr().getRootReference());
  if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>())
    return false;
  for (Region &region : op->getRegions())
    for (Operation &nested : region.getOps())
      if (!nested.hasTrait<OpTrait::IsTerminator>() && !onlyComputes(&nested))
        return false;
  return true;
}

/// Also erases unused ops that the conversion has built. A constraint without
/// uses stays if something else uses its input, whose sharding it determines.
void Importer::eraseUnused(ModuleOp module) {
  llvm::DenseSet<Operation *> loose;
  module.walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (!llvm::all_of(op->getUsers(),
                      [&](Operation *user) { return loose.contains(user); }))
      return;
    if (isa<spmd::ConstraintOp>(op)) {
      loose.insert(op);
      return;
    }
    if (!onlyComputes(op))
      return;
    llvm::SmallSetVector<Operation *, 4> dead;
    dead.insert(op);
    for (size_t i = 0; i < dead.size(); ++i)
      dead.insert_range(dead[i]->getUsers());
    for (Operation *last : llvm::reverse(dead)) {
      loose.erase(last);
      last->erase();
    }
  });
}

/// Returns what users can do about an unsupported operation of StableHLO; empty
/// for an unknown operation.
static StringRef getRemedy(StringRef operation) {
  return llvm::StringSwitch<StringRef>(operation)
      .Cases(
          {"stablehlo.cholesky", "stablehlo.fft", "stablehlo.triangular_solve"},
          "compute it outside of the program and pass its result as an "
          "argument")
      .Cases({"stablehlo.dynamic_broadcast_in_dim", "stablehlo.dynamic_conv",
              "stablehlo.dynamic_gather", "stablehlo.dynamic_iota",
              "stablehlo.dynamic_pad", "stablehlo.dynamic_reshape",
              "stablehlo.get_dimension_size", "stablehlo.real_dynamic_slice",
              "stablehlo.set_dimension_size"},
             "export the program with static sizes")
      .Cases({"stablehlo.uniform_dequantize", "stablehlo.uniform_quantize"},
             "export the model with floating-point weights")
      .Case("stablehlo.rng", "draw random numbers with jax.random, which is "
                             "exported as stablehlo.rng_bit_generator")
      .Cases({"stablehlo.infeed", "stablehlo.outfeed", "stablehlo.recv",
              "stablehlo.send"},
             "devices do not call the host: make the tensor an argument or a "
             "result")
      .Default("");
}

LogicalResult Importer::refuse(const Conversion &c) const {
  StringRef operation = c.op->getName().getStringRef();
  InFlightDiagnostic error = c.unsupported() << " is not supported: ";
  if (StringRef remedy = getRemedy(operation); !remedy.empty())
    return error << remedy;
  error << "express it with operations that docs/stablehlo.md lists, or "
           "compute it "
           "outside of the program";
  auto [dialect, own] = operation.split('.');
  SmallVector<StringRef> known;
  for (StringRef name : table.keys())
    if (name.split('.').first == dialect)
      known.push_back(name.split('.').second);
  llvm::sort(known);
  if (StringRef near = findNearName(own, known); !near.empty())
    error << "; did you mean " << dialect << "." << near << "?";
  return error;
}

LogicalResult Importer::convert(Operation *op) {
  const Row *row =
      isForeign(op) ? table.lookup(op->getName().getStringRef()) : nullptr;
  if (!row || row->regions == Regions::Before)
    for (Region &region : op->getRegions())
      if (failed(convert(region)))
        return failure();
  if (row && row->regions == Regions::Never)
    op->walk([&](Operation *nested) { unused.ops.erase(nested); });
  if (!isForeign(op))
    dropForeignAttributes(op);
  if (!isForeign(op) || isReturn(op))
    return success();
  Conversion c(op, builder, shardings);
  // If an operand is still complex, the error is reported at its user.
  bool isForUser =
      op->getName().getStringRef() == "stablehlo.complex" && !op->use_empty();
  if (failed(checkTypes(isForUser ? *op->user_begin() : op)))
    return failure();
  if (!row)
    return refuse(c);
  auto isOf = [](int wanted, unsigned number) {
    return wanted < 0 || unsigned(wanted) == number;
  };
  if (!isOf(row->numOperands, op->getNumOperands()) ||
      !isOf(row->numResults, op->getNumResults()) ||
      !isOf(row->numRegions, op->getNumRegions()))
    return c.invalid()
           << " has the wrong number of operands, results or regions";
  for (Region &region : op->getRegions())
    if (!region.hasOneBlock())
      return c.invalid() << " expects each region to be one block";
  builder.setInsertionPoint(op);
  recorder.built.clear();
  Results results = row->convert(c);
  if (failed(results))
    return failure();
  for (Operation *built : recorder.built)
    if (built != op && failed(verify(built, /*verifyRecursively=*/false)))
      return failure();
  if (TypeRange(ValueRange(*results)) != TypeRange(op->getResultTypes())) {
    InFlightDiagnostic diag = c.invalid() << " has the result types ("
                                          << op->getResultTypes() << ")";
    return diag << ", but computes results of the types ("
                << TypeRange(ValueRange(*results)) << ")";
  }
  // The operation may carry the shardings of its results.
  if (!row->annotates &&
      failed(results = constrain(c, *results, op->getAttrDictionary())))
    return failure();
  // Results without elements are not computed.
  if (op->getNumResults() != 0 && row->regions != Regions::After &&
      llvm::all_of(op->getResultTypes(), isEmpty)) {
    SmallVector<Operation *> dead = recorder.built;
    for (Value &result : *results)
      result = c.emit.constant(0, typeOf(result));
    for (Operation *built : llvm::reverse(dead))
      if (built->use_empty())
        built->erase();
  }
  llvm::SmallSetVector<Operation *, 4> numbers;
  for (Value operand : op->getOperands())
    if (auto constant = operand.getDefiningOp<ConstantOp>())
      numbers.insert(constant);
  op->replaceAllUsesWith(*results);
  op->erase();
  for (Operation *number : numbers)
    if (number->use_empty()) // folded into the replacement of `op`
      number->erase();
  if (row->regions != Regions::After)
    return success();
  for (Operation *built : SmallVector<Operation *>(recorder.built))
    for (Region &region : built->getRegions())
      if (failed(convert(region)))
        return failure();
  return success();
}

/// Values must be defined before they are used. MLIR's verifier checks this
/// only within registered operations.
static LogicalResult checkOrder(ModuleOp module) {
  auto isThere = [](Value value, Operation *user) {
    Block *block = value.getParentBlock();
    if (!isForeign(block->getParentOp()))
      return true;
    Operation *at = block->findAncestorOpInBlock(*user);
    Operation *definition = value.getDefiningOp();
    return at && (!definition || definition->isBeforeInBlock(at));
  };
  WalkResult walk = module.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (!isThere(operand, op)) {
        op->emitError() << prefix(ErrorCode::BadStableHLO) << op->getName()
                        << " uses a value before the value is computed";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Functions and regions must end in a return. MLIR's verifier accepts any
/// unknown operation as a terminator.
static LogicalResult checkEnds(ModuleOp module) {
  WalkResult walk = module.walk([](Block *block) {
    Operation *parent = block->getParentOp();
    if (block->empty() || !(isa<func::FuncOp>(parent) || isForeign(parent)))
      return WalkResult::advance();
    Operation *end = &block->back();
    if (isReturn(end) || end->hasTrait<OpTrait::IsTerminator>())
      return WalkResult::advance();
    end->emitError()
        << prefix(ErrorCode::BadStableHLO) << end->getName()
        << " is the last op of a block, which must end in a return";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Makes comparators private if a call refers to them. They are not entries,
/// although JAX leaves them public.
static llvm::SetVector<StringAttr> hideComparators(ModuleOp module) {
  llvm::SetVector<StringAttr> hidden;
  module.walk([&](Operation *op) {
    auto names = getCallTarget(op) == "ApproxTopK"
                     ? op->getAttrOfType<ArrayAttr>("called_computations")
                     : ArrayAttr();
    if (!names)
      return;
    for (Attribute entry : names) {
      auto name = dyn_cast<FlatSymbolRefAttr>(entry);
      auto function = name ? module.lookupSymbol<func::FuncOp>(name.getValue())
                           : func::FuncOp();
      if (!function || function.getNumResults() != 1 ||
          !getElementTypeOrSelf(function.getResultTypes()[0]).isInteger(1))
        continue;
      function.setPrivate();
      hidden.insert(function.getNameAttr());
    }
  });
  return hidden;
}

/// Erases each function in `functions` that is no longer referred to.
static void eraseUnnamed(ModuleOp module, ArrayRef<StringAttr> functions) {
  llvm::DenseSet<StringAttr> named;
  if (!functions.empty())
    module.walk([&](Operation *op) { collectSymbols(op, named); });
  for (StringAttr name : functions)
    if (auto function = module.lookupSymbol<func::FuncOp>(name);
        function && !named.contains(name))
      function.erase();
}

LogicalResult tp::importStableHLO(ModuleOp module) {
  if (failed(checkOrder(module)) || failed(checkEnds(module)))
    return failure();
  llvm::SetVector<StringAttr> comparators = hideComparators(module);
  unpackTuples(module);
  splitComplexNumbers(module);
  dropIdleExchanges(module);
  ForeignShardings shardings;
  bool isLocal = isPartitioned(module);
  if (failed(shardings.importMeshes(module)))
    return failure();
  if (failed(importManualCalls(module, shardings)))
    return failure();
  if (failed(inlineCalls(module)))
    return failure();
  if (isLocal && failed(importPartitioned(module, shardings)))
    return failure();
  for (auto function : module.getOps<func::FuncOp>())
    if (failed(importSignature(function, shardings)))
      return failure();
  Importer importer(module.getContext(), shardings);
  if (failed(importer.convert(module)))
    return failure();
  eraseUnnamed(module, comparators.getArrayRef());
  if (isLocal)
    dropOtherMeshes(module, shardings);
  else
    for (auto function : module.getOps<func::FuncOp>())
      moveResultConstraints(function);
  dropForeignAttributes(module);
  return success();
}

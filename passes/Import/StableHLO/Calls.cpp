// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Calls of functions that are defined elsewhere.

#include "Conversion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

/// Calls the decomposition, which is equivalent, unless `tp` has an op for the
/// composite.
static Results convertComposite(Conversion &c) {
  if (c.getWord("name") == "chlo.top_k" && c.op->getNumOperands() == 1 &&
      c.op->getNumResults() == 2 && c.inType().getRank() > 0)
    return SmallVector<Value>(TopKOp::create(c.builder, c.op->getLoc(),
                                             c.outType(0), c.outType(1), c.in())
                                  .getResults());
  auto callee = dyn_cast_or_null<FlatSymbolRefAttr>(c.get("decomposition"));
  auto function =
      callee ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(c.op, callee)
             : func::FuncOp();
  if (!function ||
      TypeRange(function.getArgumentTypes()) != c.op->getOperandTypes() ||
      TypeRange(function.getResultTypes()) != c.op->getResultTypes())
    return c.invalid() << " expects `decomposition` to name a function with "
                          "the operand and result types of the op";
  return SmallVector<Value>(func::CallOp::create(c.builder, c.op->getLoc(),
                                                 function, c.op->getOperands())
                                .getResults());
}

namespace {
struct CallRow {
  StringLiteral target;
  Converter convert;
};
} // namespace

static Results convertIdentity(Conversion &c) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 1)
    return c.invalid() << " expects one operand and one result";
  return c.one(c.in());
}

/// Converts calls that JAX exports for functions that StableHLO lacks, or
/// lacked in earlier versions: `@mhlo.erf` is `chlo.erf`.
static Results convertFunctionCall(Conversion &c, StringRef function) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 1)
    return c.invalid() << " expects one operand and one result";
  std::string name = ("chlo." + function).str();
  for (ArrayRef<Row> rows : {getElementwiseRows(), getSpecialFunctionRows()})
    for (const Row &row : rows)
      if (row.name == name && row.numOperands == 1)
        return row.convert(c);
  return c.unsupported() << " @mhlo." << function
                         << " is not supported: this function is not known";
}

static Results convertTopKCall(Conversion &c) {
  if (c.op->getNumOperands() != 1 || c.op->getNumResults() != 2)
    return c.invalid() << " expects one operand and two results";
  return SmallVector<Value>(TopKOp::create(c.builder, c.op->getLoc(),
                                           c.outType(0), c.outType(1), c.in())
                                .getResults());
}

/// Returns how a comparator orders rows, if it only compares its first two
/// arguments. The comparator may already be converted.
static std::optional<ComparePredicate> readComparator(func::FuncOp function) {
  if (!function || function.isExternal() || function.getNumArguments() < 2)
    return std::nullopt;
  Block &block = function.getBody().front();
  Operation &compare = block.front();
  if (compare.getNextNode() != block.getTerminator() ||
      compare.getNumOperands() != 2 ||
      compare.getOperand(0) != block.getArgument(0) ||
      compare.getOperand(1) != block.getArgument(1))
    return std::nullopt;
  if (auto known = dyn_cast<CompareOp>(compare))
    return known.getPredicate();
  if (compare.getName().getStringRef() != "stablehlo.compare")
    return std::nullopt;
  return symbolizeComparePredicate(
      Fields(&compare).getWord("comparison_direction").lower());
}

/// Computes the k best elements of each row and their positions, as in
/// jax.lax.approx_max_k. The exact k best satisfy any recall target.
static Results convertApproxTopK(Conversion &c) {
  if (c.op->getNumOperands() != 4 || c.op->getNumResults() != 2)
    return c.unsupported() << " @ApproxTopK is only supported for one tensor "
                              "and the indices of its elements";
  FailureOr<Fields> config = c.getStructure("mhlo.backend_config");
  if (failed(config))
    return failure();
  int64_t rank = c.inType().getRank();
  FailureOr<int64_t> dim = config->getInteger("reduction_dim", rank - 1),
                     k = config->getInteger("top_k");
  if (failed(dim) || failed(k))
    return failure();
  if (*dim < 0 || *dim >= rank || c.outType().getRank() != rank)
    return c.invalid() << " @ApproxTopK expects `reduction_dim` to be a "
                          "dimension of its operand";
  auto places = c.in(1).getDefiningOp<IotaOp>();
  if (!places || int64_t(places.getDim()) != *dim ||
      c.inShape(1) != c.inShape() || !c.outElement(1).isInteger(32) ||
      !isa<FloatType>(c.outElement(0)))
    return c.unsupported() << " @ApproxTopK is only supported for one tensor "
                              "of floats and the i32 indices of its elements";
  // Without aggregate_to_topk, the result has more than k elements, and their
  // number depends on the machine.
  if (!config->getFlag("aggregate_to_topk") || c.outShape()[*dim] != *k)
    return c.unsupported() << " @ApproxTopK is not supported unless it keeps "
                              "exactly k elements: set aggregate_to_topk";
  auto computations = dyn_cast_or_null<ArrayAttr>(c.get("called_computations"));
  auto name = computations && computations.size() == 1
                  ? dyn_cast<FlatSymbolRefAttr>(computations[0])
                  : FlatSymbolRefAttr();
  auto order = readComparator(
      name ? SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(c.op, name)
           : func::FuncOp());
  if (order != ComparePredicate::GT && order != ComparePredicate::LT)
    return c.unsupported()
           << " @ApproxTopK is only supported with a function "
              "that compares its first two arguments with < or >";
  SmallVector<int64_t> swap = llvm::to_vector(llvm::seq<int64_t>(rank));
  std::swap(swap[*dim], swap.back());
  auto turn = [&](Value x) {
    return *dim == rank - 1 ? x : c.emit.transpose(x, swap);
  };
  auto sign = [&](Value x) {
    return order == ComparePredicate::GT ? x : c.emit.unary<NegOp>(x);
  };
  Value x = turn(sign(c.in()));
  SmallVector<int64_t> shape(typeOf(x).getShape());
  shape.back() = *k;
  auto best = TopKOp::create(c.builder, c.op->getLoc(),
                             RankedTensorType::get(shape, c.outElement(0)),
                             RankedTensorType::get(shape, c.outElement(1)), x);
  return SmallVector<Value>{sign(turn(best.getValues())),
                            turn(best.getIndices())};
}

/// Gives the operands the sharding in the call's attributes.
static Results convertSharding(Conversion &c) {
  if (c.op->getNumOperands() != c.op->getNumResults())
    return c.invalid() << " expects as many operands as results";
  return constrain(c, c.op->getOperands(), c.op->getAttrDictionary());
}

/// Custom-call targets that compute nothing, or whose computation is known.
static constexpr CallRow kCalls[] = {
    {"ApproxTopK", convertApproxTopK},
    {"LayoutConstraint", convertIdentity},
    {"MoveToDevice", convertIdentity},
    {"MoveToHost", convertIdentity},
    {"Sharding", convertSharding},
    {"annotate_device_placement", convertIdentity},
    {"mhlo.topk", convertTopKCall},
    {"xla.sdy.FuncResultSharding", convertSharding},
};

static Results convertCustomCall(Conversion &c) {
  StringRef target = c.getWord("call_target_name");
  for (const CallRow &row : kCalls)
    if (row.target == target)
      return row.convert(c);
  if (StringRef function = target; function.consume_front("mhlo."))
    return convertFunctionCall(c, function);
  // The call affects only the host, as in jax.debug.print.
  if (c.op->getNumResults() == 0) {
    c.op->emitWarning() << "the call of @" << target
                        << " has no result and is left out of the program, "
                           "because devices do not call the host";
    return SmallVector<Value>{};
  }
  return c.unsupported()
         << " @" << target
         << " is not supported, because only its own library knows what it "
            "computes; compute it outside of the program and pass its result "
            "as "
            "an argument";
}

static constexpr Row kCallRows[] = {
    {"stablehlo.composite", -1, -1, -1, convertComposite},
    {"stablehlo.custom_call", -1, -1, -1, convertCustomCall, Regions::Before,
     /*annotates=*/true},
};

ArrayRef<Row> tp::stablehlo::getCallRows() { return kCallRows; }

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Contractions and reductions.

#include "dialects/TP/Einsum.h"

#include "dialects/OpError.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;
using spmd::Linearity;

//===----------------------------------------------------------------------===//
// EinsumOp
//===----------------------------------------------------------------------===//

EinsumTerms EinsumTerms::split(StringRef equation) {
  auto [operands, result] = equation.split("->");
  auto [lhs, rhs] = operands.split(',');
  return {lhs, rhs, result};
}

SmallVector<int64_t> EinsumTerms::inferShape(ArrayRef<int64_t> lhsShape,
                                             ArrayRef<int64_t> rhsShape) const {
  SmallVector<int64_t> shape;
  for (char letter : result) {
    size_t at = lhs.find(letter);
    shape.push_back(at != StringRef::npos ? lhsShape[at]
                                          : rhsShape[rhs.find(letter)]);
  }
  return shape;
}

std::optional<AxisList> tp::getSummedAxes(const EinsumTerms &terms,
                                          const TensorSharding &lhs,
                                          const TensorSharding &rhs) {
  AxisList summed;
  for (auto [i, letter] : llvm::enumerate(terms.lhs)) {
    if (terms.result.contains(letter))
      continue;
    const AxisList &axes = lhs.dims[i].axes;
    size_t other = terms.rhs.find(letter);
    if (other != StringRef::npos && rhs.dims[other].axes != axes)
      return std::nullopt;
    summed.append(axes.begin(), axes.end());
  }
  for (auto [i, letter] : llvm::enumerate(terms.rhs))
    if (!terms.result.contains(letter) && !terms.lhs.contains(letter))
      summed.append(rhs.dims[i].axes.begin(), rhs.dims[i].axes.end());
  return getMerged(summed);
}

/// Describes why an equation does not fit the shapes of its tensors; empty if
/// it fits them.
using EquationCheck = llvm::function_ref<std::string()>;

static LogicalResult verifyContraction(Operation *op, StringRef equation,
                                       Value lhs, Value rhs, Value result,
                                       EquationCheck check) {
  auto error = [&] {
    return tp::emitOpError(op, ErrorCode::BadEinsum)
           << "equation \"" << equation << "\": ";
  };
  if (equation.count("->") != 1 || equation.count(',') != 1 ||
      equation.find(',') > equation.find("->"))
    return error() << "expects an equation with two operands and one result, "
                      "as in \"ik,kj->ij\"";
  EinsumTerms terms = EinsumTerms::split(equation);
  for (StringRef term : {terms.lhs, terms.rhs, terms.result})
    for (char letter : term)
      if (!llvm::isAlpha(letter))
        return error() << "'" << Twine(letter) << "' is not a letter";
  std::string why = check();
  if (!why.empty())
    return tp::emitOpError(op, ErrorCode::BadEinsum) << why;
  for (char letter : terms.result)
    if (!terms.lhs.contains(letter) && !terms.rhs.contains(letter))
      return error()
             << "result letter '" << Twine(letter)
             << "' does not appear in an operand; broadcast an operand first";
  Type factor = typeOf(lhs).getElementType();
  Type made = typeOf(result).getElementType();
  if (factor != typeOf(rhs).getElementType())
    return tp::emitOpError(op, ErrorCode::BadEinsum)
           << "operands have element types " << factor << " and "
           << typeOf(rhs).getElementType()
           << ", which differ; convert one of them";
  if (factor != made &&
      (isa<FloatType>(factor) != isa<FloatType>(made) ||
       made.getIntOrFloatBitWidth() <= factor.getIntOrFloatBitWidth()))
    return tp::emitOpError(op, ErrorCode::BadEinsum)
           << "result element type " << made << " must be " << factor
           << " or a wider type of the same kind";
  return success();
}

LogicalResult tp::verifyEinsum(Operation *op, StringRef equation, Value lhs,
                               Value rhs, Value result) {
  return verifyContraction(op, equation, lhs, rhs, result, [&] {
    llvm::Expected<ShardingRule> rule = ShardingRule::parse(
        equation, {typeOf(lhs).getShape(), typeOf(rhs).getShape()},
        {typeOf(result).getShape()});
    return rule ? std::string() : llvm::toString(rule.takeError());
  });
}

LogicalResult EinsumOp::verify() {
  // Most programs have many einsums, so look up the rule in the cache.
  return verifyContraction(*this, getEquation(), getLhs(), getRhs(),
                           getResult(), [&] {
                             std::string why;
                             spmd::findShardingRule(*this, getEquation(), why);
                             return why;
                           });
}

ShardingRule EinsumOp::getShardingRule() {
  return spmd::parseShardingRule(*this, getEquation());
}

double EinsumOp::getFlops(ArrayRef<int64_t> sizes) {
  return 2 * getVolume(sizes);
}

Linearity EinsumOp::getLinearity(unsigned, ReduceKind kind) {
  return kind == ReduceKind::Sum ? Linearity::Each : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
EinsumOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.contract(getEquation(), operands[0], operands[1], getType())};
}

//===----------------------------------------------------------------------===//
// ReduceOp
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  RankedTensorType input = typeOf(getInput());
  int64_t last = -1;
  SmallVector<int64_t> shape(input.getShape());
  for (int64_t dim : getDims()) {
    if (dim <= last || dim >= input.getRank())
      return tp::emitOpError(*this, ErrorCode::BadAttribute)
             << "expects dims to be distinct dimensions of the input in "
                "ascending order, got ["
             << getDims() << "]";
    last = dim;
  }
  for (int64_t dim : llvm::reverse(getDims()))
    shape.erase(shape.begin() + dim);
  RankedTensorType result = getType();
  if (result.getShape() != ArrayRef<int64_t>(shape) ||
      result.getElementType() != input.getElementType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "result must be "
           << RankedTensorType::get(shape, input.getElementType())
           << ", the input's type without the dimensions in `dims`";
  return success();
}

static APFloat getIdentity(ReductionKind kind,
                           const llvm::fltSemantics &semantics) {
  switch (kind) {
  case ReductionKind::Sum:
    return APFloat::getZero(semantics);
  case ReductionKind::Prod:
    return APFloat::getOne(semantics);
  case ReductionKind::Max:
  case ReductionKind::Min:
    bool isNegative = kind == ReductionKind::Max;
    return APFloat::semanticsHasInf(semantics)
               ? APFloat::getInf(semantics, isNegative)
               : APFloat::getLargest(semantics, isNegative);
  }
  llvm_unreachable("covered switch");
}

static APInt getIdentity(ReductionKind kind, unsigned width, bool isUnsigned) {
  switch (kind) {
  case ReductionKind::Sum:
    return APInt::getZero(width);
  case ReductionKind::Prod:
    return APInt(width, 1);
  case ReductionKind::Max:
    return isUnsigned ? APInt::getMinValue(width)
                      : APInt::getSignedMinValue(width);
  case ReductionKind::Min:
    return isUnsigned ? APInt::getMaxValue(width)
                      : APInt::getSignedMaxValue(width);
  }
  llvm_unreachable("covered switch");
}

TypedAttr tp::getReductionIdentity(ReductionKind kind, Type element) {
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(type, getIdentity(kind, type.getFloatSemantics()));
  auto type = cast<IntegerType>(element);
  bool isUnsigned = type.isUnsigned() || type.getWidth() == 1;
  return IntegerAttr::get(type, getIdentity(kind, type.getWidth(), isUnsigned));
}

TypedAttr tp::getReductionIdentity(ReduceKind kind, Type element) {
  switch (kind) {
  case ReduceKind::Sum:
    return getReductionIdentity(ReductionKind::Sum, element);
  case ReduceKind::Max:
    return getReductionIdentity(ReductionKind::Max, element);
  case ReduceKind::Min:
    return getReductionIdentity(ReductionKind::Min, element);
  }
  llvm_unreachable("covered switch");
}

static ReduceKind toReduceKind(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Max:
    return ReduceKind::Max;
  case ReductionKind::Min:
    return ReduceKind::Min;
  case ReductionKind::Sum:
  case ReductionKind::Prod:
    return ReduceKind::Sum;
  }
  llvm_unreachable("covered switch");
}

ShardingRule ReduceOp::getShardingRule() {
  RuleBuilder rule(1, 1);
  for (auto [dim, size] : llvm::enumerate(typeOf(getInput()).getShape())) {
    bool reduced = llvm::is_contained(getDims(), int64_t(dim));
    // Partial products cannot be combined (ReduceKind has no product), so the
    // factor must not be sharded.
    FactorKind kind = reduced && getKind() == ReductionKind::Prod
                          ? FactorKind::Whole
                          : FactorKind::PassThrough;
    unsigned factor = rule.addFactor(size, kind, toReduceKind(getKind()));
    rule.addDim(0, factor);
    if (!reduced)
      rule.addDim(1, factor);
  }
  return rule.build();
}

double ReduceOp::getFlops(ArrayRef<int64_t> sizes) { return getVolume(sizes); }

Linearity ReduceOp::getLinearity(unsigned, ReduceKind kind) {
  bool same =
      getKind() != ReductionKind::Prod && toReduceKind(getKind()) == kind;
  return same ? Linearity::Joint : Linearity::None;
}

FailureOr<SmallVector<TensorValue>>
ReduceOp::evaluate(Evaluator &evaluator, ArrayRef<TensorValue> operands) {
  return SmallVector<TensorValue>{
      evaluator.reduce(getKind(), operands[0], getDims(), getType())};
}

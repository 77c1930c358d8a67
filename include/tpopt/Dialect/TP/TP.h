// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The `tp` dialect: the transformer graph, and its interfaces.

#ifndef TPOPT_DIALECT_TP_TP_H
#define TPOPT_DIALECT_TP_TP_H

#include "tpopt/Dialect/SPMD/RegionFlow.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"
#include "tpopt/Dialect/TP/Evaluator.h"
#include "tpopt/Sharding/Provenance.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tp {

/// Whether a type is a ranked static tensor with an element type that the
/// dialect supports.
bool isSupportedTensor(mlir::Type type);
bool isFloatTensor(mlir::Type type);
bool isIntegerTensor(mlir::Type type);
bool isBoolTensor(mlir::Type type);

/// The type of `value`, which must be a tensor. All operands and results of ops
/// of this dialect are tensors.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
inline llvm::ArrayRef<int64_t> shapeOf(mlir::Value value) {
  return typeOf(value).getShape();
}

/// Emits an error if a static tensor among operands and results has more than
/// 2^60 elements.
llvm::LogicalResult verifyBoundedTensors(mlir::Operation *op);

/// The trait that every op of the dialect has: tensors are bounded in size.
template <typename ConcreteOp>
class BoundedTensors
    : public mlir::OpTrait::TraitBase<ConcreteOp, BoundedTensors> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyBoundedTensors(op);
  }
};

/// Emits an error if operands and results, all of which are tensors, differ in
/// shape.
llvm::LogicalResult verifyOneShape(mlir::Operation *op);

/// Operands and results have the same shape, and an element of a result depends
/// only on the operands' elements at the same position. MLIR's trait of this
/// name also allows unranked and dynamic shapes, and takes ten times as long to
/// verify.
template <typename ConcreteOp>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteOp, Elementwise> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyOneShape(op);
  }
};

/// Checks that a `tp.source` fits a weight whose shape before sharding is
/// `shape`. `error` begins the error message.
mlir::LogicalResult
verifySource(mlir::Attribute source, llvm::ArrayRef<int64_t> shape,
             llvm::function_ref<mlir::InFlightDiagnostic()> error);

/// A result, which is a whole tensor or a part of one, and its external name.
struct ResultPart {
  llvm::StringRef name;
  mlir::Attribute source; ///< Its `tp.source`; null for a whole tensor.
  llvm::ArrayRef<int64_t> shape;
};

/// Checks the results that are parts of a tensor. They must be consecutive and
/// form the whole tensor, and no other result may have the tensor's name.
/// `error(i)` begins an error message about result number i.
mlir::LogicalResult
verifyParts(llvm::ArrayRef<ResultPart> results,
            llvm::function_ref<mlir::InFlightDiagnostic(unsigned)> error);

/// The product of sizes.
double getVolume(llvm::ArrayRef<int64_t> sizes);

/// The identity element of a reduction, which is also the result of reducing no
/// elements. If a float type has no infinity, its largest finite number is used
/// instead. An i1 is compared as unsigned, so its maximum is "or".
mlir::TypedAttr getReductionIdentity(ReductionKind kind, mlir::Type element);
mlir::TypedAttr getReductionIdentity(ReduceKind kind, mlir::Type element);

/// How element-wise functions commute with combining partial values.
spmd::Linearity getLinearity(UnaryKind unary, ReduceKind kind);
/// `type` is the type of the operands.
spmd::Linearity getLinearity(BinaryKind binary, unsigned operand,
                             ReduceKind kind, mlir::Type type);

/// Gives an op access to the gradients that reverse mode has built so far.
/// Defined in dialects/TP/ReverseMode.h.
class ReverseMode;
/// Adds the gradients of the operands of an element-wise function.
void addUnaryGradient(UnaryKind unary, mlir::Operation *op,
                      ReverseMode &reverse);
void addBinaryGradients(BinaryKind binary, mlir::Operation *op,
                        ReverseMode &reverse);

/// The terms of an einsum equation: "ik,kj->ij" has the terms "ik", "kj" and
/// "ij". A letter that `result` lacks is summed over.
struct EinsumTerms {
  llvm::StringRef lhs, rhs, result;
  static EinsumTerms split(llvm::StringRef equation);
  /// Returns the shape of the result for the shapes of the operands.
  llvm::SmallVector<int64_t> inferShape(llvm::ArrayRef<int64_t> lhsShape,
                                        llvm::ArrayRef<int64_t> rhsShape) const;
};

} // namespace tp

#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/TP/TPAttrs.h.inc"

#include "tpopt/Dialect/TP/TPDialect.h.inc"

namespace tp {

// The names of the attributes of ops, functions and modules; see the
// description of the dialect (TPBase.td).
inline constexpr llvm::StringLiteral
    kNameAttr = TPDialect::NameAttrHelper::getNameStr(),
    kRoleAttr = TPDialect::RoleAttrHelper::getNameStr(),
    kSourceAttr = TPDialect::SourceAttrHelper::getNameStr(),
    kDonatedAttr = TPDialect::DonatedAttrHelper::getNameStr(),
    kMicroBatchesAttr = TPDialect::MicroBatchesAttrHelper::getNameStr(),
    kWhyAttr = TPDialect::WhyAttrHelper::getNameStr(),
    kGlobalOpAttr = TPDialect::GlobalOpAttrHelper::getNameStr(),
    kCountedAttr = TPDialect::CountedAttrHelper::getNameStr(),
    kGradientAttr = TPDialect::GradientAttrHelper::getNameStr(),
    kMotionAttr = TPDialect::MotionAttrHelper::getNameStr(),
    kLocalFormAttr = TPDialect::LocalFormAttrHelper::getNameStr(),
    kExplanationsAttr = TPDialect::ExplanationsAttrHelper::getNameStr(),
    kDigestsAttr = TPDialect::DigestsAttrHelper::getNameStr(),
    kPricesAttr = TPDialect::PricesAttrHelper::getNameStr(),
    kAllocatedAttr = TPDialect::AllocatedAttrHelper::getNameStr(),
    kOverlapAttr = TPDialect::OverlapAttrHelper::getNameStr(),
    kPlanAttr = TPDialect::PlanAttrHelper::getNameStr(),
    kProgramsAttr = TPDialect::ProgramsAttrHelper::getNameStr(),
    kIdleEntriesAttr = TPDialect::IdleEntriesAttrHelper::getNameStr();

/// The entries of `tp.programs`.
inline constexpr llvm::StringLiteral kWholeProgram = "whole",
                                     kLocalProgram = "local";

/// Returns the number of the record in `tp.explanations` that explains the
/// sharding of `value`. The number is in the location of the value or of its
/// op. Returns none if propagation did not record explanations. A value that
/// replaces another one may keep the number of the replaced value.
std::optional<int64_t> getRecordId(mlir::Value value);
/// Returns `loc` with its record numbers replaced by `ids`. If `ids` is empty,
/// the result has no record numbers.
mlir::Location withRecordIds(mlir::Location loc, llvm::ArrayRef<int64_t> ids);

/// The plan of a module, `#tp.plan<..>`, to read and to change:
///
///     PlanRecord plan = PlanRecord::get(module); // empty if it has none
///     plan.target = "cuda";
///     plan.set(module);
///
/// For an empty plan, the module has no attribute.
struct PlanRecord {
  std::string machine, target; ///< Empty if not given.
  int64_t memory = 0;          ///< Bytes that a device may use; 0 if not given.
  bool fp8 = false;
  Verified verified = Verified::Off;
  double verifyMicroseconds = 0;

  static PlanRecord get(mlir::Operation *module);
  void set(mlir::Operation *module) const;
};

} // namespace tp

#include "tpopt/Dialect/TP/TPInterfaces.h.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/TP/TPOps.h.inc"

#endif // TPOPT_DIALECT_TP_TP_H

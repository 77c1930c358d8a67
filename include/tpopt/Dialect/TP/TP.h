// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The `tp` dialect: the transformer graph, and its interfaces.

#ifndef TPOPT_DIALECT_TP_TP_H
#define TPOPT_DIALECT_TP_TP_H

#include "tpopt/Dialect/SPMD/RegionFlow.h"
#include "tpopt/Dialect/SPMD/ShardingInterfaces.h"
#include "tpopt/Dialect/TP/Evaluator.h"

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

/// Whether a type is a ranked static tensor of an element type the dialect
/// computes with.
bool isSupportedTensor(mlir::Type type);
bool isFloatTensor(mlir::Type type);
bool isIntegerTensor(mlir::Type type);
bool isBoolTensor(mlir::Type type);

/// The error that a static tensor among operands and results has more than 2^60
/// elements.
llvm::LogicalResult verifyBoundedTensors(mlir::Operation *op);

/// Of every op of the dialect.
template <typename ConcreteOp>
class BoundedTensors
    : public mlir::OpTrait::TraitBase<ConcreteOp, BoundedTensors> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyBoundedTensors(op);
  }
};

/// The error that operands and results, all of them tensors, differ in shape.
llvm::LogicalResult verifyOneShape(mlir::Operation *op);

/// Operands and results have one shape, and an element of a result depends on
/// the operands' elements at its place alone. MLIR's trait of this name allows
/// for unranked and dynamic shapes, and takes ten times as long to verify.
template <typename ConcreteOp>
class Elementwise : public mlir::OpTrait::TraitBase<ConcreteOp, Elementwise> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifyOneShape(op);
  }
};

/// Checks a `tp.source` against the whole shape of its weight; `error` begins
/// the message.
mlir::LogicalResult
verifySource(mlir::Attribute source, llvm::ArrayRef<int64_t> shape,
             llvm::function_ref<mlir::InFlightDiagnostic()> error);

/// The product of sizes.
double getVolume(llvm::ArrayRef<int64_t> sizes);

/// The identity element of a reduction, which is also the result of reducing no
/// elements. Where a float type has no infinity, its largest finite number
/// takes that place. An i1 is compared as unsigned: its maximum is "or".
mlir::TypedAttr getReductionIdentity(ReductionKind kind, mlir::Type element);
mlir::TypedAttr getReductionIdentity(ReduceKind kind, mlir::Type element);

/// How element-wise functions commute with combining partial values.
spmd::Linearity getLinearity(UnaryKind unary, ReduceKind kind);
/// `type` is that of the operands.
spmd::Linearity getLinearity(BinaryKind binary, unsigned operand,
                             ReduceKind kind, mlir::Type type);

/// The equation of an einsum that contracts nothing away but what `result`
/// lacks, taken apart: "ik,kj->ij" into "ik", "kj", "ij".
struct EinsumTerms {
  llvm::StringRef lhs, rhs, result;
  static EinsumTerms split(llvm::StringRef equation);
};

} // namespace tp

#include "tpopt/Dialect/TP/TPDialect.h.inc"

namespace tp {

// The names of the attributes.
#define TP_ATTRIBUTE(constant, name, places)                                   \
  inline constexpr llvm::StringLiteral constant = name;
#include "tpopt/Dialect/TP/Attributes.def"

} // namespace tp
#include "tpopt/Dialect/TP/TPInterfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/TP/TPAttrs.h.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/TP/TPOps.h.inc"

#endif // TPOPT_DIALECT_TP_TP_H

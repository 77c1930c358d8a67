// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `tp` dialect: supported types, and attributes of arguments and results.

#include "dialects/OpError.h"
#include "dialects/SPMD/Directives.h"
#include "dialects/TP/ReverseMode.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/InliningUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;

#include "tpopt/Dialect/TP/TPDialect.cpp.inc"
#include "tpopt/Dialect/TP/TPEnums.cpp.inc"
#include "tpopt/Dialect/TP/TPInterfaces.cpp.inc"
#define GET_OP_CLASSES
#include "tpopt/Dialect/TP/TPOps.cpp.inc"

namespace {
/// Calls to private functions are inlined before any other pass.
struct TPInlinerInterface : DialectInlinerInterface {
  using DialectInlinerInterface::DialectInlinerInterface;
  bool isLegalToInline(Operation *, Region *, bool, IRMapping &) const final {
    return true;
  }
  bool isLegalToInline(Region *, Region *, bool, IRMapping &) const final {
    return true;
  }
};
} // namespace

void TPDialect::initialize() {
  addInterfaces<TPInlinerInterface>();
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "tpopt/Dialect/TP/TPOps.cpp.inc"
      >();
  registerIdentityGradients(getContext());
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// More elements than any machine holds; the limit keeps products of sizes in
/// range.
static constexpr double kMaxElements = 0x1p60;

/// Returns true if the product of any sizes of a static shape stays in range. A
/// size of 0 counts as 1, because products of the other sizes must stay in
/// range as well.
static bool isBounded(ArrayRef<int64_t> shape) {
  double elements = 1;
  for (int64_t size : shape)
    elements *= std::max<int64_t>(size, 1);
  return elements <= kMaxElements;
}

/// The element type of a tensor that tp ops support; null for other types.
/// Every verifier calls this for every operand.
static Type getElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !tensor.hasStaticShape() || !isBounded(tensor.getShape()))
    return Type();
  return tensor.getElementType();
}

static bool isFloatElement(Type element) {
  return isa<Float64Type, Float32Type, BFloat16Type, Float16Type,
             Float8E4M3FNType, Float8E5M2Type>(element);
}

static bool isIntegerElement(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  return integer && !integer.isSigned() &&
         (integer.getWidth() == 1 ||
          (integer.getWidth() >= 4 && integer.getWidth() <= 64));
}

bool tp::isFloatTensor(Type type) {
  Type element = getElement(type);
  return element && isFloatElement(element);
}

bool tp::isBoolTensor(Type type) {
  Type element = getElement(type);
  return element && element.isSignlessInteger(1);
}

bool tp::isIntegerTensor(Type type) {
  Type element = getElement(type);
  return element && isIntegerElement(element);
}

bool tp::isSupportedTensor(Type type) {
  Type element = getElement(type);
  return element && (isFloatElement(element) || isIntegerElement(element));
}

LogicalResult tp::verifyBoundedTensors(Operation *op) {
  auto isTooLarge = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape() && !isBounded(tensor.getShape());
  };
  for (TypeRange types :
       {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types)
      if (isTooLarge(type))
        return tp::emitOpError(op, ErrorCode::TensorTooLarge)
               << "expects tensors of at most 2^60 elements, got " << type;
  return success();
}

LogicalResult tp::verifyOneShape(Operation *op) {
  auto getShape = [](Type type) {
    return cast<RankedTensorType>(type).getShape();
  };
  ArrayRef<int64_t> shape = getShape(op->getResult(0).getType());
  auto differs = [&](Type type) { return getShape(type) != shape; };
  if (llvm::any_of(op->getOperandTypes(), differs) ||
      llvm::any_of(op->getResultTypes(), differs))
    return tp::emitOpError(op, ErrorCode::TypeMismatch)
           << "expects operands and results to have the same shape";
  return success();
}

double tp::getVolume(ArrayRef<int64_t> sizes) {
  double volume = 1;
  for (int64_t size : sizes)
    volume *= size;
  return volume;
}

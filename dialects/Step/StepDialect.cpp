// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The `step` dialect and the arithmetic of its buffers.

#include "tpopt/Dialect/Step/Step.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp::step;

#include "tpopt/Dialect/Step/StepDialect.cpp.inc"
#include "tpopt/Dialect/Step/StepEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "tpopt/Dialect/Step/StepAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "tpopt/Dialect/Step/StepTypes.cpp.inc"

void StepDialect::initialize() {
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "tpopt/Dialect/Step/StepOps.cpp.inc"
      >();
}

void StepDialect::registerAttributes() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "tpopt/Dialect/Step/StepAttrs.cpp.inc"
      >();
}

void StepDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tpopt/Dialect/Step/StepTypes.cpp.inc"
      >();
}

bool tp::step::isBuffer(Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  SmallVector<int64_t> strides;
  int64_t offset;
  if (!memref || !memref.hasStaticShape())
    return false;
  // MLIR computes no strides for a tensor without elements.
  if (memref.getNumElements() == 0)
    return memref.getLayout().isIdentity();
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return false;
  // ShapedType::kDynamic is negative.
  return offset >= 0 && llvm::all_of(strides, [](int64_t s) { return s >= 0; });
}

Strides::Strides(MemRefType type) {
  if (type.getNumElements() == 0) {
    strides = getDenseStrides(type.getShape());
    return;
  }
  bool isStrided = succeeded(type.getStridesAndOffset(strides, offset));
  (void)isStrided; // every buffer is strided
}

SmallVector<int64_t> tp::step::getDenseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return strides;
}

MemRefType tp::step::getBufferType(ArrayRef<int64_t> shape, Type element,
                                   ArrayRef<int64_t> strides, int64_t offset) {
  if (offset == 0 && strides == ArrayRef<int64_t>(getDenseStrides(shape)))
    return MemRefType::get(shape, element);
  return MemRefType::get(
      shape, element,
      StridedLayoutAttr::get(element.getContext(), offset, strides));
}

bool tp::step::isDense(MemRefType type) {
  Strides layout(type);
  return layout.offset == 0 &&
         layout.strides == getDenseStrides(type.getShape());
}

bool tp::step::isMoving(Value buffer) {
  auto view = buffer.getDefiningOp<ViewOp>();
  return view && view.getBy();
}

bool tp::step::isDense(Value buffer) {
  return isDense(bufferTypeOf(buffer)) && !isMoving(buffer);
}

int64_t tp::step::getElementBytes(Type element) {
  return llvm::divideCeil(element.getIntOrFloatBitWidth(), 8);
}

int64_t tp::step::getEndByte(MemRefType type) {
  if (type.getNumElements() == 0)
    return 0;
  Strides layout(type);
  int64_t last = layout.offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), layout.strides))
    last += (size - 1) * stride;
  return (last + 1) * getElementBytes(type.getElementType());
}

LoopOp tp::step::getLoop(Operation *op, uint64_t index) {
  auto loop = op->getParentOfType<LoopOp>();
  for (; loop && index > 0; --index)
    loop = loop->getParentOfType<LoopOp>();
  return loop;
}

Value tp::step::getRoot(Value buffer) {
  auto view = buffer.getDefiningOp<ViewOp>();
  return view ? view.getSource() : buffer;
}

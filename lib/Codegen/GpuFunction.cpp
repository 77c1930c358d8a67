// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "GpuFunction.h"

#include "lib/Codegen/KernelTable.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

gpu::GPUFuncOp tp::codegen::createGpuFunction(OpBuilder &builder,
                                              step::KernelOpInterface op,
                                              StringRef name, int64_t threads) {
  MLIRContext *context = builder.getContext();
  SmallVector<Type> types(op->getNumOperands(),
                          LLVM::LLVMPointerType::get(context, kGlobalSpace));
  types.append(op.getScalars().size(), builder.getI64Type());
  auto function = gpu::GPUFuncOp::create(builder, op->getLoc(), name,
                                         builder.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                    builder.getUnitAttr());
  function.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(threads), 1, 1}));
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    if (isReadAndWritten(op, i))
      continue;
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
    // Operands that are only read may use the read-only cache.
    if (i < op.getFirstWritten())
      function.setArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName(),
                          builder.getUnitAttr());
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(builder, op->getLoc());
  return function;
}

FailureOr<KernelLaunch> tp::codegen::getLaunch(Operation *op, int64_t items,
                                               int64_t perBlock,
                                               int64_t threads) {
  KernelLaunch launch;
  launch.blocks = llvm::divideCeil(items, perBlock);
  launch.threads = threads;
  if (launch.blocks <= INT32_MAX)
    return launch;
  return op->emitError() << prefix(ErrorCode::KernelTooLarge)
                         << "this kernel needs " << launch.blocks
                         << " blocks of " << threads
                         << " threads, but a launch may have at most "
                         << INT32_MAX << " blocks";
}

Value tp::codegen::getGlobalThread(OpBuilder &builder, Location loc,
                                   int64_t threads) {
  auto get = [&](auto op) -> Value {
    return arith::IndexCastUIOp::create(builder, loc, builder.getI64Type(), op);
  };
  BufferOffsets places(builder, loc);
  Value block = get(gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  return places.add(
      places.scale(block, threads),
      get(gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x)));
}

FailureOr<ItemKernel> tp::codegen::createItemKernel(OpBuilder &builder,
                                                    step::KernelOpInterface op,
                                                    StringRef name,
                                                    ArrayRef<int64_t> extents,
                                                    int64_t threads) {
  int64_t items = ShapedType::getNumElements(extents);
  FailureOr<KernelLaunch> launch = getLaunch(op, items, threads, threads);
  if (failed(launch))
    return failure();
  Location loc = op.getLoc();
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, threads);
  builder.setInsertionPointToStart(&function.getBody().front());
  BufferOffsets places(builder, loc);
  Value item = getGlobalThread(builder, loc, threads);
  auto isThere = scf::IfOp::create(builder, loc,
                                   places.isBelow(item, places.number(items)));
  builder.setInsertionPointToStart(&isThere.getThenRegion().front());
  return ItemKernel{function, places.split(item, extents), *launch};
}

Value BufferOffsets::number(int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getI64IntegerAttr(value));
}

Value BufferOffsets::add(Value a, Value b) {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value BufferOffsets::scale(Value a, int64_t factor) {
  return factor == 1 ? a
                     : arith::MulIOp::create(builder, loc, a, number(factor))
                           .getResult();
}

SmallVector<Value> BufferOffsets::split(Value place, ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (size_t dim = sizes.size(); dim-- > 1;) {
    Value size = number(sizes[dim]);
    indices[dim] = arith::RemUIOp::create(builder, loc, place, size);
    place = arith::DivUIOp::create(builder, loc, place, size);
  }
  indices.front() = place;
  return indices;
}

Value BufferOffsets::getOffset(ValueRange indices, ArrayRef<int64_t> strides) {
  Value offset = number(0);
  for (auto [index, stride] : llvm::zip_equal(indices, strides))
    if (stride != 0)
      offset = add(offset, scale(index, stride));
  return offset;
}

Value BufferOffsets::isBelow(Value a, Value b) {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

static Value getAddress(OpBuilder &builder, Location loc, Type type,
                        Value pointer, Value offset) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), type, pointer,
                             ArrayRef<LLVM::GEPArg>(offset));
}

Value BufferOffsets::load(Type type, Value pointer, Value offset) {
  return LLVM::LoadOp::create(builder, loc, type,
                              getAddress(builder, loc, type, pointer, offset),
                              step::getElementBytes(type));
}

void BufferOffsets::store(Value value, Value pointer, Value offset) {
  LLVM::StoreOp::create(
      builder, loc, value,
      getAddress(builder, loc, value.getType(), pointer, offset),
      step::getElementBytes(value.getType()));
}

Type tp::codegen::getStoredType(Type element) {
  if (isa<FloatType>(element) && element.getIntOrFloatBitWidth() >= 16)
    return element;
  return IntegerType::get(element.getContext(),
                          8 * step::getElementBytes(element));
}

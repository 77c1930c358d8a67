// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Random numbers on a GPU. They are bit-identical to those of the runtime's
// fillRandom.

#include "GpuFunction.h"
#include "IndexedKernels.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// This grid fills a GPU, whatever the number of elements.
static constexpr int64_t kRandomBlocks = 512, kRandomBlock = 256;

namespace {
/// 64-bit arithmetic, as in the runtime's mix and fillRandom.
class Bits {
public:
  Bits(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Value multiply(Value a, Value b) {
    return arith::MulIOp::create(builder, loc, a, b);
  }
  Value multiply(Value a, uint64_t b) { return multiply(a, number(b)); }
  Value exclusiveOr(Value a, Value b) {
    return arith::XOrIOp::create(builder, loc, a, b);
  }
  Value shiftRight(Value a, uint64_t by) {
    return arith::ShRUIOp::create(builder, loc, a, number(by));
  }
  Value mix(Value x) {
    x = multiply(exclusiveOr(x, shiftRight(x, 30)), 0xbf58476d1ce4e5b9);
    x = multiply(exclusiveOr(x, shiftRight(x, 27)), 0x94d049bb133111eb);
    return exclusiveOr(x, shiftRight(x, 31));
  }
  /// Converts a random word to a number of type `element`, in its stored form.
  Value makeNumber(Value random, Value scale, Type element);

private:
  Value number(uint64_t value) {
    return arith::ConstantOp::create(
        builder, loc, builder.getI64IntegerAttr(static_cast<int64_t>(value)));
  }
  Value narrow(Value value, Type type) {
    return value.getType() == type
               ? value
               : arith::TruncIOp::create(builder, loc, type, value).getResult();
  }

  OpBuilder &builder;
  Location loc;
};
} // namespace

Value Bits::makeNumber(Value random, Value scale, Type element) {
  Type stored = getStoredType(element);
  bool isFloat8 =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
  if (isFloat8) { // the same magnitude, with a random sign
    Value sign = multiply(shiftRight(random, 63), 0x80);
    return narrow(arith::OrIOp::create(builder, loc, sign, number(0x30)),
                  stored);
  }
  if (!isa<FloatType>(element))
    return narrow(shiftRight(random, element.isInteger(1) ? 63 : 61), stored);
  // All operations but the last product are exact, so fusing them does not
  // change the rounding.
  auto f32 = builder.getF32Type();
  auto real = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getFloatAttr(f32, value));
  };
  Value value = arith::UIToFPOp::create(
      builder, loc, f32, narrow(shiftRight(random, 40), builder.getI32Type()));
  value = arith::MulFOp::create(builder, loc, value, real(0x1p-23));
  value = arith::SubFOp::create(builder, loc, value, real(1));
  value = arith::MulFOp::create(builder, loc, value, scale);
  if (stored.isF64())
    return arith::ExtFOp::create(builder, loc, stored, value);
  if (stored != f32)
    return arith::TruncFOp::create(builder, loc, stored, value);
  return value;
}

FailureOr<KernelLaunch> tp::codegen::emitRandomForGpu(OpBuilder &builder,
                                                      step::RandomOp op,
                                                      StringRef name) {
  Location loc = op.getLoc();
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, kRandomBlock);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  ValueRange arguments = function.getArguments();
  Value rows = arguments[1], columns = arguments[2], rowStride = arguments[3],
        first = arguments[4], stride = arguments[5], seed = arguments[7];
  Value scale = arith::BitcastOp::create(
      builder, loc, builder.getF32Type(),
      arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                              arguments[6]));
  BufferOffsets places(builder, loc);
  Bits bits(builder, loc);
  auto loop = scf::ForOp::create(builder, loc,
                                 getGlobalThread(builder, loc, kRandomBlock),
                                 bits.multiply(rows, columns),
                                 places.number(kRandomBlocks * kRandomBlock));
  builder.setInsertionPointToStart(loop.getBody());
  Value row = arith::DivUIOp::create(builder, loc, loop.getInductionVar(),
                                     columns),
        column = arith::RemUIOp::create(builder, loc, loop.getInductionVar(),
                                        columns);
  Value place =
      places.add(places.add(first, bits.multiply(row, stride)), column);
  Value random = bits.mix(bits.exclusiveOr(seed, bits.mix(place)));
  Type element =
      cast<MemRefType>(op.getDestination().getType()).getElementType();
  places.store(bits.makeNumber(random, scale, element), arguments[0],
               places.add(bits.multiply(row, rowStride), column));
  KernelLaunch launch;
  launch.blocks = kRandomBlocks;
  launch.threads = kRandomBlock;
  return launch;
}

OwningOpRef<ModuleOp> tp::codegen::createRandoms(ModuleOp module) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(result->getBody());
  llvm::DenseSet<Type> known;
  for (auto program : module.getOps<step::ProgramOp>()) {
    size_t numInputs = program.getInputs().size();
    for (Value input :
         program.getBody().front().getArguments().take_front(numInputs)) {
      Type element = cast<MemRefType>(input.getType()).getElementType();
      if (!known.insert(element).second)
        continue;
      auto buffer = step::AllocOp::create(
          builder, program.getLoc(), MemRefType::get({1, 1}, element), nullptr);
      step::RandomOp::create(builder, program.getLoc(), buffer, /*seed=*/0,
                             APFloat(1.0f), /*first=*/0, /*stride=*/1);
    }
  }
  return result;
}

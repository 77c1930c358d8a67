// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-move-arguments: makes the program compute with slightly different
// arguments.

#include "dialects/TP/Interface.h"
#include "lib/Support/Random.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <cmath>

namespace tp {
#define GEN_PASS_DEF_MOVEARGUMENTSPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static unsigned getPrecision(FloatType type) {
  return APFloat::semanticsPrecision(type.getFloatSemantics());
}

/// The precision in bits of the narrowest float type that the module computes
/// with.
static unsigned getLeastPrecision(ModuleOp module) {
  unsigned least = APFloat::semanticsPrecision(APFloat::IEEEdouble());
  auto look = [&](TypeRange types) {
    for (Type type : types)
      if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type)))
        least = std::min(least, getPrecision(element));
  };
  module.walk([&](Operation *op) {
    look(op->getResultTypes());
    for (Region &region : op->getRegions())
      for (Block &block : region)
        look(block.getArgumentTypes());
  });
  return least;
}

namespace {
/// Adds ops at the start of a function. These ops move the function's arguments
/// by `step`.
class Mover {
public:
  Mover(func::FuncOp function, uint64_t seed, double step)
      : builder(function.getBody()), loc(function.getLoc()), seed(seed),
        step(step) {
    builder.setInsertionPointToStart(&function.front());
  }

  void move(BlockArgument argument);

private:
  Value splat(RankedTensorType type, Attribute value) {
    return ConstantOp::create(builder, loc, type,
                              DenseElementsAttr::get(type, value));
  }
  /// Emits a truth value for each element of `x`: true if the element is
  /// increased, false if it is decreased. The truth value is one bit of a hash
  /// of the element's bits.
  Value chooseSign(Value x, RankedTensorType type);

  OpBuilder builder;
  Location loc;
  uint64_t seed;
  double step;
};
} // namespace

Value Mover::chooseSign(Value x, RankedTensorType type) {
  auto integer = builder.getIntegerType(type.getElementTypeBitWidth());
  RankedTensorType bitsType = type.clone(integer);
  auto makeInteger = [&](uint64_t value) {
    return builder.getIntegerAttr(integer, APInt(integer.getWidth(), value,
                                                 /*isSigned=*/false,
                                                 /*implicitTrunc=*/true));
  };
  Value bits = BitcastOp::create(builder, loc, bitsType, x);
  Value factor = splat(bitsType, makeInteger(scramble(seed) | 1));
  Value mixed = MulOp::create(builder, loc, bitsType, bits, factor);
  return CompareOp::create(builder, loc, type.clone(builder.getI1Type()),
                           ComparePredicate::LT, mixed,
                           splat(bitsType, makeInteger(0)));
}

void Mover::move(BlockArgument argument) {
  if (!isFloatTensor(argument.getType()) || argument.use_empty())
    return;
  auto type = cast<RankedTensorType>(argument.getType());
  auto real = [&](double value) {
    return splat(type, builder.getFloatAttr(type.getElementType(), value));
  };
  Value up = chooseSign(argument, type);
  Value factor =
      SelectOp::create(builder, loc, type, up, real(1 + step), real(1 - step));
  Value moved = MulOp::create(builder, loc, type, argument, factor);
  // Counts and masks must stay exact.
  Value whole = RoundEvenOp::create(builder, loc, type, argument);
  Value isWhole =
      CompareOp::create(builder, loc, type.clone(builder.getI1Type()),
                        ComparePredicate::EQ, argument, whole);
  Value result = SelectOp::create(builder, loc, type, isWhole, argument, moved);
  llvm::SmallPtrSet<Operation *, 8> own;
  for (Operation &op : *builder.getInsertionBlock()) {
    own.insert(&op);
    if (&op == result.getDefiningOp())
      break;
  }
  argument.replaceAllUsesExcept(result, own);
}

namespace {
struct MoveArguments : tp::impl::MoveArgumentsPassBase<MoveArguments> {
  using MoveArgumentsPassBase::MoveArgumentsPassBase;

  void runOnOperation() override {
    double step = std::ldexp(1.0, 1 - int(getLeastPrecision(getOperation())));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!isEntry(function))
        continue;
      Mover mover(function, seed, step);
      for (BlockArgument argument : function.getArguments())
        mover.move(argument);
    }
  }
};
} // namespace

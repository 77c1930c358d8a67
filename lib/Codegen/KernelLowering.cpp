// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelLowering.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

/// Builds arithmetic on scalars, or on vectors of one shape.
class MathBuilder {
public:
  MathBuilder(PatternRewriter &rewriter, Location loc, Type like)
      : rewriter(rewriter), loc(loc), shape(dyn_cast<VectorType>(like)) {}

  Type get(Type element) {
    return shape ? Type(shape.clone(element)) : element;
  }
  Value number(double value, Type element) {
    TypedAttr number = isa<FloatType>(element)
                           ? TypedAttr(rewriter.getFloatAttr(element, value))
                           : rewriter.getIntegerAttr(element, int64_t(value));
    if (shape)
      number = DenseElementsAttr::get(cast<ShapedType>(get(element)),
                                      Attribute(number));
    return arith::ConstantOp::create(rewriter, loc, number);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(rewriter, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(rewriter, loc, a, b, c);
  }
  /// The polynomial with these coefficients, from the highest degree down.
  Value evaluate(Value x, ArrayRef<double> coefficients) {
    Type element = getElementTypeOrSelf(x.getType());
    Value sum = number(coefficients.front(), element);
    for (double coefficient : coefficients.drop_front())
      sum = fma(sum, x, number(coefficient, element));
    return sum;
  }

private:
  PatternRewriter &rewriter;
  Location loc;
  VectorType shape;
};

/// Sine and cosine. The angle is reduced by whole quarter turns in f64, which
/// is exact enough; a polynomial is applied to the remainder, and the quarter
/// determines which polynomial and which sign. Rotary tables have large angles.
template <typename OpT, int64_t kShift>
struct ExpandTrigonometric : OpRewritePattern<OpT> {
  using OpRewritePattern<OpT>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpT op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    Location loc = op.getLoc();
    MathBuilder math(rewriter, loc, op.getType());
    Type f32 = rewriter.getF32Type(), f64 = rewriter.getF64Type();
    Type i32 = rewriter.getI32Type();
    Value x =
        arith::ExtFOp::create(rewriter, loc, math.get(f64), op.getOperand());
    Value turns = math::RoundEvenOp::create(
        rewriter, loc, math.mul(x, math.number(0x1.45f306dc9c883p-1, f64)));
    // Pi / 2, in two parts.
    x = math.fma(turns, math.number(-0x1.921fb54442d18p+0, f64), x);
    x = math.fma(turns, math.number(-0x1.1a62633145c07p-54, f64), x);
    Value angle = arith::TruncFOp::create(rewriter, loc, math.get(f32), x);
    Value square = math.mul(angle, angle);
    Value sine = math.evaluate(
        square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
    sine = math.fma(math.mul(sine, square), angle, angle);
    Value cosine =
        math.evaluate(square, {2.443315711809948e-5, -1.388731625493765e-3,
                               4.166664568298827e-2, -0.5, 1.0});

    Value quarter =
        arith::FPToSIOp::create(rewriter, loc, math.get(i32), turns);
    if (kShift != 0)
      quarter = arith::AddIOp::create(rewriter, loc, quarter,
                                      math.number(kShift, i32));
    auto hasBit = [&](int64_t bit) -> Value {
      Value masked =
          arith::AndIOp::create(rewriter, loc, quarter, math.number(bit, i32));
      return arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                   masked, math.number(0, i32));
    };
    Value value =
        arith::SelectOp::create(rewriter, loc, hasBit(1), cosine, sine);
    Value negated = arith::NegFOp::create(rewriter, loc, value);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, hasBit(2), negated, value);
    return success();
  }
};

/// Cube roots. MLIR's polynomial is off by a few units of the last place, even
/// if the root is an integer. One step of Newton's method corrects that: y -
/// (y^3 - x) / (3 y^2). At 0 and at the infinities the step gives NaN, so x
/// itself, which is the root, is returned. Denormal numbers have too few bits
/// for either method, and are scaled first.
struct RefineCbrt : OpRewritePattern<math::CbrtOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::CbrtOp op,
                                PatternRewriter &rewriter) const override {
    // The op that this pattern creates is marked as an approximation.
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
      return failure();
    Location loc = op.getLoc();
    Type f32 = rewriter.getF32Type();
    MathBuilder math(rewriter, loc, op.getType());
    auto select = [&](Value condition, Value a, Value b) -> Value {
      return arith::SelectOp::create(rewriter, loc, condition, a, b);
    };
    Value whole = op.getOperand();
    Value isDenormal = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::OLT,
        math::AbsFOp::create(rewriter, loc, whole), math.number(0x1p-126, f32));
    Value x =
        select(isDenormal, math.mul(whole, math.number(0x1p24, f32)), whole);
    Value y = math::CbrtOp::create(rewriter, loc, x, arith::FastMathFlags::afn);
    Value square = math.mul(y, y);
    Value residue =
        math.fma(square, y, arith::NegFOp::create(rewriter, loc, x));
    Value step = arith::DivFOp::create(rewriter, loc, residue,
                                       math.mul(square, math.number(3, f32)));
    Value refined = arith::SubFOp::create(rewriter, loc, y, step);
    Value isNumber = arith::CmpFOp::create(
        rewriter, loc, arith::CmpFPredicate::ORD, refined, refined);
    Value root = select(isNumber, refined, x);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(
        op, isDenormal, math.mul(root, math.number(0x1p-8, f32)), root);
    return success();
  }
};

/// Rewrites e^x as 2^(x log2(e)), if the hardware has 2^x.
struct ExpandExp : OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return failure();
    MathBuilder math(rewriter, op.getLoc(), op.getType());
    Value scaled =
        math.mul(op.getOperand(),
                 math.number(1.4426950408889634, rewriter.getF32Type()));
    rewriter.replaceOpWithNewOp<math::Exp2Op>(op, scaled,
                                              arith::FastMathFlags::afn);
    return success();
  }
};

/// Computes quotients of vector elements with the instruction whose error is
/// two units of the last place; an exact division would take a branch per
/// element.
struct ExpandDivision : OpRewritePattern<arith::DivFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::DivFOp op,
                                PatternRewriter &rewriter) const override {
    auto type = dyn_cast<VectorType>(op.getType());
    if (!type || !type.getElementType().isF32())
      return failure();
    Location loc = op.getLoc();
    SmallVector<Value> quotients;
    for (int64_t i = 0; i < type.getNumElements(); ++i) {
      Value a = vector::ExtractOp::create(rewriter, loc, op.getLhs(), i);
      Value b = vector::ExtractOp::create(rewriter, loc, op.getRhs(), i);
      quotients.push_back(LLVM::CallIntrinsicOp::create(
                              rewriter, loc, rewriter.getF32Type(),
                              rewriter.getStringAttr("llvm.nvvm.div.full"),
                              ValueRange{a, b})
                              .getResult(0));
    }
    rewriter.replaceOpWithNewOp<vector::FromElementsOp>(op, type, quotients);
    return success();
  }
};

} // namespace

LogicalResult tp::codegen::expandMath(Operation *module,
                                      const MathSupport &support) {
  RewritePatternSet patterns(module->getContext());
  auto isUsed = [&](StringRef name) {
    bool isExp = name == math::ExpOp::getOperationName();
    return name != math::SinOp::getOperationName() &&
           name != math::CosOp::getOperationName() &&
           !(isExp && support.hasExp2);
  };
  populateMathPolynomialApproximationPatterns(patterns, isUsed);
  patterns.add<ExpandTrigonometric<math::SinOp, 0>,
               ExpandTrigonometric<math::CosOp, 1>>(module->getContext());
  // The benefit makes RefineCbrt match before MLIR's polynomial.
  patterns.add<RefineCbrt>(module->getContext(), /*benefit=*/2);
  if (support.hasExp2)
    patterns.add<ExpandExp>(module->getContext());
  if (support.hasQuickDivision)
    patterns.add<ExpandDivision>(module->getContext());
  if (!support.hasBFloat16)
    arith::populateExpandBFloat16Patterns(patterns);
  return applyPatternsGreedily(module, std::move(patterns));
}

void tp::codegen::addKernelLowering(OpPassManager &manager,
                                    const MathSupport &support) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(createConvertMathToLLVMPass());
  if (support.hasLibrary)
    manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createArithToLLVMConversionPass());
}

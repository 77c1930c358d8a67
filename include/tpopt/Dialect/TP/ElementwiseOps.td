// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Element-wise ops, conversions and activations.

#ifndef TPOPT_DIALECT_TP_ELEMENTWISEOPS
#define TPOPT_DIALECT_TP_ELEMENTWISEOPS

include "tpopt/Dialect/TP/TPBase.td"

def TP_Elementwise : NativeOpTrait<"Elementwise"> { let cppNamespace = "::tp"; }

defvar elementwise = [Pure, TP_Elementwise,
    DeclareOpInterfaceMethods<CostOpInterface>,
    DeclareOpInterfaceMethods<ShardingRuleOpInterface, ["getPropagationClass"]>];

/// The methods that are the same for all element-wise ops. $cppClass is the
/// class of the op.
defvar elementwiseMethods = [{
  double $cppClass::getFlops(::llvm::ArrayRef<int64_t> sizes) {
    return ::tp::getVolume(sizes);
  }
  ::tp::spmd::PropagationClass $cppClass::getPropagationClass() {
    return ::tp::spmd::PropagationClass::Elementwise;
  }
}];

class TP_UnaryOp<string mnemonic, string kind, string what,
                 Type type = TP_FloatTensor, string element = "f32">
    : TP_Op<mnemonic, "...->...", elementwise # linear # evaluated # differentiable
            # [SameOperandsAndResultType]> {
  let summary = what # ", element by element";
  let meaning = what # " of every element.";
  let constraints = "1. Input and result have one shape and element type.";
  let example = "%y = tp." # mnemonic # " %x : tensor<4x16x" # element # ">";
  let arguments = (ins type:$input);
  let results = (outs type:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let extraClassDeclaration = equationMethod #
      "static constexpr ::tp::UnaryKind kKind = ::tp::UnaryKind::" # kind # ";";
  let extraClassDefinition = !strconcat(elementwiseMethods, [{
    ::tp::spmd::Linearity $cppClass::getLinearity(unsigned, ::tp::ReduceKind kind) {
      return ::tp::getLinearity(kKind, kind);
    }
    ::mlir::FailureOr<::llvm::SmallVector<::tp::TensorValue>>
    $cppClass::evaluate(::tp::Evaluator &evaluator, ::llvm::ArrayRef<::tp::TensorValue> operands) {
      return ::llvm::SmallVector<::tp::TensorValue>{
          evaluator.unary(kKind, operands[0], getType())};
    }
    ::llvm::LogicalResult $cppClass::addGradients(::tp::ReverseMode &reverse) {
      ::tp::addUnaryGradient(kKind, getOperation(), reverse);
      return ::llvm::success();
    }
  }]);
}

def TP_NegOp : TP_UnaryOp<"neg", "Neg", "The negative", TP_NumberTensor>;
def TP_AbsOp : TP_UnaryOp<"abs", "Abs", "The absolute value", TP_NumberTensor>;
def TP_SignOp : TP_UnaryOp<"sign", "Sign", "The sign (-1, 0 or 1)", TP_NumberTensor>;
def TP_ExpOp : TP_UnaryOp<"exp", "Exp", "The exponential">;
def TP_Expm1Op : TP_UnaryOp<"expm1", "Expm1", "The exponential minus one">;
def TP_LogOp : TP_UnaryOp<"log", "Log", "The natural logarithm">;
def TP_Log1pOp : TP_UnaryOp<"log1p", "Log1p", "The natural logarithm of one plus the value">;
def TP_SqrtOp : TP_UnaryOp<"sqrt", "Sqrt", "The square root">;
def TP_RsqrtOp : TP_UnaryOp<"rsqrt", "Rsqrt", "The inverse square root">;
def TP_CbrtOp : TP_UnaryOp<"cbrt", "Cbrt", "The cube root">;
def TP_SinOp : TP_UnaryOp<"sin", "Sin", "The sine">;
def TP_CosOp : TP_UnaryOp<"cos", "Cos", "The cosine">;
def TP_TanOp : TP_UnaryOp<"tan", "Tan", "The tangent">;
def TP_TanhOp : TP_UnaryOp<"tanh", "Tanh", "The hyperbolic tangent">;
def TP_ErfOp : TP_UnaryOp<"erf", "Erf", "The error function">;
def TP_LogisticOp : TP_UnaryOp<"logistic", "Logistic", "1 / (1 + exp(-x))">;
def TP_FloorOp : TP_UnaryOp<"floor", "Floor", "The largest integer not above">;
def TP_CeilOp : TP_UnaryOp<"ceil", "Ceil", "The smallest integer not below">;
def TP_RoundEvenOp : TP_UnaryOp<"round_even", "RoundEven", "The nearest integer, ties to even">;
def TP_StopGradientOp : TP_UnaryOp<"stop_gradient", "StopGradient", "The value, through which no gradient passes">;
def TP_NotOp : TP_UnaryOp<"not", "Not", "The bitwise complement", TP_IntegerTensor, "i32">;
def TP_PopcountOp : TP_UnaryOp<"popcount", "Popcount", "The number of bits set", TP_IntegerTensor, "i32">;
def TP_CountLeadingZerosOp : TP_UnaryOp<"count_leading_zeros", "CountLeadingZeros", "The number of zero bits above the highest one", TP_IntegerTensor, "i32">;

class TP_BinaryOp<string mnemonic, string kind, string what,
                  Type type = TP_NumberTensor, list<Trait> traits = [],
                  string element = "f32">
    : TP_Op<mnemonic, "...,...->...", elementwise # linear # evaluated # differentiable
            # [SameOperandsAndResultElementType] # traits> {
  let summary = what # ", element by element";
  let meaning = what # " of every pair of elements.";
  let constraints = "1. Operands and result have one shape and element type.";
  let example = "%y = tp." # mnemonic # " %a, %b : tensor<4x16x" # element # ">";
  let arguments = (ins type:$lhs, type:$rhs);
  let results = (outs type:$result);
  // On a device, one of the operands may be a partial sum while the other is
  // not. Then their types differ in the encoding.
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` custom<EqualTypes>(type($lhs), type($rhs), type($result))";
  let extraClassDeclaration = equationMethod #
      "static constexpr ::tp::BinaryKind kKind = ::tp::BinaryKind::" # kind # ";";
  let extraClassDefinition = !strconcat(elementwiseMethods, [{
    ::tp::spmd::Linearity $cppClass::getLinearity(unsigned operand, ::tp::ReduceKind kind) {
      return ::tp::getLinearity(kKind, operand, kind, getType());
    }
    ::mlir::FailureOr<::llvm::SmallVector<::tp::TensorValue>>
    $cppClass::evaluate(::tp::Evaluator &evaluator, ::llvm::ArrayRef<::tp::TensorValue> operands) {
      return ::llvm::SmallVector<::tp::TensorValue>{
          evaluator.binary(kKind, operands[0], operands[1], getType())};
    }
    ::llvm::LogicalResult $cppClass::addGradients(::tp::ReverseMode &reverse) {
      ::tp::addBinaryGradients(kKind, getOperation(), reverse);
      return ::llvm::success();
    }
  }]);
}

def TP_AddOp : TP_BinaryOp<"add", "Add", "The sum", TP_NumberTensor, [Commutative]>;
def TP_SubOp : TP_BinaryOp<"sub", "Sub", "The difference">;
def TP_MulOp : TP_BinaryOp<"mul", "Mul", "The product", TP_NumberTensor, [Commutative]>;
def TP_DivOp : TP_BinaryOp<"div", "Div", "The quotient (truncating for integers)">;
def TP_MaxOp : TP_BinaryOp<"max", "Max", "The maximum", TP_NumberTensor, [Commutative]>;
def TP_MinOp : TP_BinaryOp<"min", "Min", "The minimum", TP_NumberTensor, [Commutative]>;
def TP_PowOp : TP_BinaryOp<"pow", "Pow", "The power">;
def TP_RemOp : TP_BinaryOp<"rem", "Rem", "The remainder, with the sign of the dividend">;
def TP_Atan2Op : TP_BinaryOp<"atan2", "Atan2", "The angle of the point (rhs, lhs)", TP_FloatTensor>;
def TP_AndOp : TP_BinaryOp<"and", "And", "The bitwise and", TP_IntegerTensor, [Commutative], "i32">;
def TP_OrOp : TP_BinaryOp<"or", "Or", "The bitwise or", TP_IntegerTensor, [Commutative], "i32">;
def TP_XorOp : TP_BinaryOp<"xor", "Xor", "The bitwise exclusive or", TP_IntegerTensor, [Commutative], "i32">;

// A shift by a negative number, or by at least the number of bits, shifts every
// bit out.
def TP_ShiftLeftOp : TP_BinaryOp<"shift_left", "ShiftLeft", "The left shift", TP_IntegerTensor, [], "i32">;
def TP_ShiftRightArithmeticOp : TP_BinaryOp<"shift_right_arithmetic", "ShiftRightArithmetic", "The right shift that repeats the highest bit", TP_IntegerTensor, [], "i32">;
def TP_ShiftRightLogicalOp : TP_BinaryOp<"shift_right_logical", "ShiftRightLogical", "The right shift that fills with zeros", TP_IntegerTensor, [], "i32">;

def TP_ComparePredicate : I32EnumAttr<"ComparePredicate", "how to compare", [
    I32EnumAttrCase<"EQ", 0, "eq">, I32EnumAttrCase<"NE", 1, "ne">,
    I32EnumAttrCase<"LT", 2, "lt">, I32EnumAttrCase<"LE", 3, "le">,
    I32EnumAttrCase<"GT", 4, "gt">, I32EnumAttrCase<"GE", 5, "ge">]> {
  let cppNamespace = "::tp";
}

def TP_CompareOp : TP_Op<"compare", "...,...->...", elementwise # evaluated> {
  let summary = "Compare element by element";
  let meaning = [{whether the comparison holds for every pair of elements.
    Integers are signed unless their type is unsigned; a NaN is only `ne`.}];
  let constraints = [{
    1. Operands and result have one shape; the operands have one element type; the
       result is i1.}];
  let example = "%m = tp.compare lt %a, %b : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>";
  let arguments = (ins TP_ComparePredicate:$predicate, TP_Tensor:$lhs, TP_Tensor:$rhs);
  let results = (outs TP_BoolTensor:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = elementwiseMethods;
}

def TP_SelectOp : TP_Op<"select", "...,...,...->...", elementwise # linear # evaluated # differentiable> {
  let summary = "Choose element by element";
  let meaning = "`on_true` where the condition holds, `on_false` elsewhere.";
  let constraints = [{
    1. All have one shape; the condition is i1; the rest have one element type.}];
  let example = "%y = tp.select %m, %a, %b : (tensor<4xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>";
  let arguments = (ins TP_BoolTensor:$condition, TP_Tensor:$on_true, TP_Tensor:$on_false);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$condition `,` $on_true `,` $on_false attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  let extraClassDefinition = elementwiseMethods;
}

def TP_ConvertOp : TP_Op<"convert", "...->...", elementwise # linear # evaluated # differentiable> {
  let summary = "Change the element type";
  let meaning = [{every element in the result's element type, rounded to nearest
    even. A float that becomes an integer is truncated towards zero; outside of the
    integer's range it becomes the nearest integer of the type, and a NaN becomes 0. An
    integer that is converted to a narrower one keeps its low bits. Conversion to i1 is
    `!= 0`.}];
  let constraints = "1. Input and result have one shape.";
  let example = "%y = tp.convert %x : tensor<4xbf16> -> tensor<4xf32>";
  let arguments = (ins TP_Tensor:$input);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let extraClassDefinition = elementwiseMethods;
}

def TP_BitcastOp : TP_Op<"bitcast", "...->...", elementwise # evaluated # differentiable> {
  let summary = "Read the bits of every element as another type";
  let meaning = [{the element of the result's type that has the same bits. The bits of a
    NaN are not specified.}];
  let constraints = [{
    1. Input and result have one shape.
    2. Their element types have the same number of bits.}];
  let example = "%y = tp.bitcast %x : tensor<4xf32> -> tensor<4xi32>";
  let arguments = (ins TP_Tensor:$input);
  let results = (outs TP_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let extraClassDefinition = elementwiseMethods;
}

def TP_GeluOp : TP_Op<"gelu", "...->...", elementwise # decomposed # [SameOperandsAndResultType]> {
  let summary = "Gaussian error linear unit";
  let meaning = [{x * Phi(x) (arXiv:1606.08415): exactly through erf, or with
    `tanh` by the usual approximation.}];
  let constraints = "1. Input and result have one shape and element type.";
  let example = "%y = tp.gelu tanh %x : tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input, UnitAttr:$tanh);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "(`tanh` $tanh^)? $input attr-dict `:` type($result)";
  let extraClassDefinition = elementwiseMethods;
}

def TP_SiluOp : TP_Op<"silu", "...->...", elementwise # decomposed # [SameOperandsAndResultType]> {
  let summary = "Sigmoid linear unit, or swish";
  let meaning = "x / (1 + exp(-x)) (arXiv:1702.03118).";
  let constraints = "1. Input and result have one shape and element type.";
  let example = "%y = tp.silu %x : tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let extraClassDefinition = elementwiseMethods;
}

def TP_ReluOp : TP_Op<"relu", "...->...", elementwise # decomposed # differentiable # [SameOperandsAndResultType]> {
  let summary = "Rectified linear unit";
  let meaning = "max(x, 0).";
  let constraints = "1. Input and result have one shape and element type.";
  let example = "%y = tp.relu %x : tensor<4x16xf32>";
  let arguments = (ins TP_FloatTensor:$input);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($result)";
  let extraClassDefinition = elementwiseMethods;
}

def TP_Activation : I32EnumAttr<"Activation", "what gates", [
    I32EnumAttrCase<"Silu", 0, "silu">, I32EnumAttrCase<"Gelu", 1, "gelu">,
    I32EnumAttrCase<"GeluTanh", 2, "gelu_tanh">, I32EnumAttrCase<"Relu", 3, "relu">]> {
  let cppNamespace = "::tp";
}

def TP_GatedOp : TP_Op<"gated", "...,...->...", elementwise # decomposed # [SameOperandsAndResultType]> {
  let summary = "Gated linear unit";
  let meaning = "activation(gate) * up: SwiGLU with silu (arXiv:2002.05202).";
  let constraints = "1. Operands and result have one shape and element type.";
  let example = "%y = tp.gated silu %gate, %up : tensor<4x16xf32>";
  let arguments = (ins TP_Activation:$activation, TP_FloatTensor:$gate, TP_FloatTensor:$up);
  let results = (outs TP_FloatTensor:$result);
  let assemblyFormat = "$activation $gate `,` $up attr-dict `:` type($result)";
  let extraClassDefinition = elementwiseMethods;
}

#endif // TPOPT_DIALECT_TP_ELEMENTWISEOPS

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Complex.h"

#include "Shardings.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

#include <array>
#include <complex>

using namespace mlir;
using namespace tp::stablehlo;

/// Operations that apply to each part separately.
static constexpr llvm::StringLiteral kByPart[] = {
    "sdy.sharding_constraint",
    "stablehlo.add",
    "stablehlo.broadcast_in_dim",
    "stablehlo.concatenate",
    "stablehlo.dynamic_slice",
    "stablehlo.dynamic_update_slice",
    "stablehlo.gather",
    "stablehlo.negate",
    "stablehlo.pad",
    "stablehlo.reshape",
    "stablehlo.reverse",
    "stablehlo.select",
    "stablehlo.slice",
    "stablehlo.subtract",
    "stablehlo.transpose"};

static constexpr llvm::StringLiteral kProducts[] = {
    "stablehlo.convolution", "stablehlo.dot_general", "stablehlo.multiply"};

/// Returns the type of the parts; null if `type` is not complex.
static RankedTensorType getPartType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto complex =
      tensor ? dyn_cast<ComplexType>(tensor.getElementType()) : ComplexType();
  return complex ? tensor.clone(complex.getElementType()) : RankedTensorType();
}

static bool isComplex(Value value) {
  return bool(getPartType(value.getType()));
}

namespace {
class ComplexSplitter {
public:
  void run(ModuleOp module);

private:
  using Parts = std::array<Value, 2>;

  bool split(Operation *op);
  std::optional<Parts> getParts(Operation *op);
  std::optional<Parts> getNumbers(Operation *constant);
  Parts multiply(Operation *op);
  Value make(Operation *op, StringRef name, Type type, ValueRange operands);
  /// Creates a copy of `op` with these operands.
  Value repeat(Operation *op, ValueRange operands);

  llvm::DenseMap<Value, Parts> parts;
  llvm::SetVector<Operation *> done;
};
} // namespace

/// Creates an operation before `op`, with the sharding attributes of `op`.
Value ComplexSplitter::make(Operation *op, StringRef name, Type type,
                            ValueRange operands) {
  OperationState state(op->getLoc(), name, operands, type);
  for (NamedAttribute attribute : op->getDiscardableAttrs())
    if (attribute.getName().getValue().contains('.'))
      state.attributes.push_back(attribute);
  return OpBuilder(op).create(state)->getResult(0);
}

/// Creates a constant before `op`.
static Value makeConstant(Operation *op, DenseElementsAttr numbers) {
  OperationState state(op->getLoc(), "stablehlo.constant", {},
                       numbers.getType());
  state.addAttribute("value", numbers);
  return OpBuilder(op).create(state)->getResult(0);
}

Value ComplexSplitter::repeat(Operation *op, ValueRange operands) {
  Operation *other = Operation::create(
      op->getLoc(), op->getName(), getPartType(op->getResult(0).getType()),
      operands, op->getDiscardableAttrDictionary(), op->getPropertiesStorage(),
      op->getSuccessors(), /*numRegions=*/0);
  OpBuilder(op).insert(other);
  return other->getResult(0);
}

/// (a + bi) (c + di) = ac - bd + (ad + bc) i, for any operation that is linear
/// in both operands.
ComplexSplitter::Parts ComplexSplitter::multiply(Operation *op) {
  auto [a, b] = parts.lookup(op->getOperand(0));
  auto [c, d] = parts.lookup(op->getOperand(1));
  Type type = getPartType(op->getResult(0).getType());
  Value ac = repeat(op, {a, c}), bd = repeat(op, {b, d}),
        ad = repeat(op, {a, d}), bc = repeat(op, {b, c});
  return {make(op, "stablehlo.subtract", type, {ac, bd}),
          make(op, "stablehlo.add", type, {ad, bc})};
}

std::optional<ComplexSplitter::Parts>
ComplexSplitter::getNumbers(Operation *constant) {
  RankedTensorType type = getPartType(constant->getResult(0).getType());
  auto numbers =
      dyn_cast_or_null<DenseElementsAttr>(constant->getAttr("value"));
  if (!numbers || numbers.getType() != constant->getResult(0).getType() ||
      !isa<FloatType>(type.getElementType()))
    return std::nullopt;
  std::array<SmallVector<APFloat>, 2> values;
  auto add = [&](const std::complex<APFloat> &number) {
    values[0].push_back(number.real());
    values[1].push_back(number.imag());
  };
  if (numbers.isSplat())
    add(numbers.getSplatValue<std::complex<APFloat>>());
  else
    llvm::for_each(numbers.getValues<std::complex<APFloat>>(), add);
  Parts made;
  for (auto [part, list] : llvm::zip_equal(made, values))
    part = makeConstant(constant, DenseElementsAttr::get(type, list));
  return made;
}

/// Returns the real and imaginary parts of an operation's result; nullopt if
/// the operation cannot be split.
std::optional<ComplexSplitter::Parts> ComplexSplitter::getParts(Operation *op) {
  StringRef name = op->getName().getStringRef();
  unsigned numOperands = op->getNumOperands();
  RankedTensorType type = getPartType(op->getResult(0).getType());
  if (name == "stablehlo.constant")
    return getNumbers(op);
  if (name == "stablehlo.complex") {
    if (numOperands != 2 || op->getOperandTypes() != TypeRange{type, type})
      return std::nullopt;
    return Parts{op->getOperand(0), op->getOperand(1)};
  }
  bool isReal = llvm::none_of(op->getOperands(), isComplex);
  if (name == "stablehlo.convert" && numOperands == 1 && isReal) {
    if (!isa<FloatType>(type.getElementType()))
      return std::nullopt;
    auto zero = DenseElementsAttr::get(
        type, FloatAttr::get(type.getElementType(), 0).getValue());
    return Parts{repeat(op, op->getOperands()), makeConstant(op, zero)};
  }
  if (isReal)
    return std::nullopt;
  if (name == "stablehlo.exponential" && numOperands == 1) {
    auto [real, imaginary] = parts.lookup(op->getOperand(0));
    Value size = repeat(op, real);
    Parts direction{make(op, "stablehlo.cosine", type, imaginary),
                    make(op, "stablehlo.sine", type, imaginary)};
    for (Value &part : direction)
      part = make(op, "stablehlo.multiply", type, {size, part});
    return direction;
  }
  if (llvm::is_contained(kProducts, name) && numOperands == 2 &&
      llvm::all_of(op->getOperands(), isComplex))
    return multiply(op);
  if (!llvm::is_contained(kByPart, name) && name != "stablehlo.convert" &&
      getCallTarget(op) != "Sharding")
    return std::nullopt;
  Parts made;
  for (unsigned part : {0, 1}) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isComplex(operand) ? parts.lookup(operand)[part]
                                            : operand);
    made[part] = repeat(op, operands);
  }
  return made;
}

/// Returns true if the operation is no longer needed.
bool ComplexSplitter::split(Operation *op) {
  if (op->getNumResults() != 1 || op->getNumRegions() != 0 ||
      op->getNumSuccessors() != 0 ||
      llvm::any_of(op->getOperands(), [&](Value operand) {
        return isComplex(operand) && !parts.contains(operand);
      }))
    return false;
  Value result = op->getResult(0);
  if (isComplex(result)) {
    std::optional<Parts> made = getParts(op);
    if (made)
      parts[result] = *made;
    return made.has_value();
  }
  StringRef name = op->getName().getStringRef();
  bool isReal = name == "stablehlo.real";
  if ((!isReal && name != "stablehlo.imag") || op->getNumOperands() != 1)
    return false;
  Value part = parts.lookup(op->getOperand(0))[isReal ? 0 : 1];
  if (part.getType() != result.getType())
    return false;
  result.replaceAllUsesWith(part);
  return true;
}

void ComplexSplitter::run(ModuleOp module) {
  SmallVector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (llvm::any_of(op->getOperands(), isComplex) ||
        llvm::any_of(op->getResults(), isComplex))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    if (split(op))
      done.insert(op);
  for (Operation *op : llvm::reverse(done)) {
    for (OpOperand &use : llvm::make_early_inc_range(op->getUses())) {
      OperationState state(use.getOwner()->getLoc(), "stablehlo.complex",
                           parts.lookup(use.get()), use.get().getType());
      use.set(OpBuilder(use.getOwner()).create(state)->getResult(0));
    }
    op->erase();
  }
}

void tp::stablehlo::splitComplexNumbers(ModuleOp module) {
  ComplexSplitter().run(module);
}

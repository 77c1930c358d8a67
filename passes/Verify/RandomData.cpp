// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomData.h"

#include "IndexUses.h"

#include "dialects/TP/Interface.h"
#include "lib/Support/Random.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallBitVector.h"

#include <cmath>
#include <optional>

using namespace mlir;
using namespace tp;
using namespace tp::interp;

DataSet tp::getDataSet(uint64_t seed, unsigned number) {
  static constexpr std::pair<Signs, Magnitudes> first[] = {
      {Signs::Any, Magnitudes::Integers},
      {Signs::Negative, Magnitudes::Wide},
      {Signs::Alternating, Magnitudes::Wide},
      {Signs::Any, Magnitudes::Small},
      {Signs::PerArgument, Magnitudes::Moderate}};
  DataSet data{seed, number};
  if (number < std::size(first)) {
    std::tie(data.signs, data.magnitudes) = first[number];
    return data;
  }
  Random random(seed * 1000003 + number);
  data.signs = random.pick(
      {Signs::PerLine, Signs::PerLine, Signs::Alternating, Signs::PerArgument});
  data.magnitudes =
      random.pick({Magnitudes::Integers, Magnitudes::Small,
                   Magnitudes::Moderate, Magnitudes::Large, Magnitudes::Wide});
  data.narrows = true;
  return data;
}

namespace {

/// The properties of an element that is to be drawn.
struct ElementKind {
  Signs sign; ///< One of the first three.
  bool isLarge = false;
  bool isZero = false; ///< Numbers only; a truth value depends on `sign`.
};

/// Divides a tensor into lines: sets of elements whose indices agree in some
/// dimensions. With the same seed, tensors of equal shapes are divided into the
/// same lines.
class LineCutter {
public:
  LineCutter(ArrayRef<int64_t> shape, uint64_t seed)
      : shape(shape), seed(seed), isAlong(shape.size()) {
    // Most reductions are along one dimension.
    Random random(seed);
    if (!shape.empty())
      isAlong.set(random.below(shape.size()));
    if (random.percent(50))
      for (unsigned dim = 0; dim < shape.size(); ++dim)
        if (random.percent(50))
          isAlong.set(dim);
  }

  /// Returns the kind of element `i`. The seed `argument` determines the sign
  /// of the element's line, and whether the line contains large numbers.
  ElementKind getKind(int64_t i, uint64_t argument) const {
    int64_t line = 0, place = 0, length = 1;
    for (unsigned dim = shape.size(); dim-- > 0; i /= shape[dim]) {
      int64_t at = i % shape[dim];
      if (isAlong.test(dim)) {
        place += at * length;
        length *= shape[dim];
      } else {
        line = line * shape[dim] + at;
      }
    }
    Random ofLine(scramble(argument) + line), shared(scramble(seed) + line);
    bool isNegative = ofLine.percent(50);
    ElementKind kind{Signs::Any, ofLine.percent(75)};
    if (shared.percent(50) && int64_t(shared.below(length)) == place) {
      isNegative = !isNegative;
      kind.isZero = shared.percent(50);
    }
    kind.sign = isNegative ? Signs::Negative : Signs::Positive;
    return kind;
  }

private:
  ArrayRef<int64_t> shape;
  uint64_t seed;
  llvm::SmallBitVector isAlong; ///< The dimensions that a line runs along.
};

/// Draws one argument.
class ArgumentDrawer {
public:
  ArgumentDrawer(DenseEvaluator &evaluator, const DataSet &data,
                 BlockArgument argument)
      : evaluator(evaluator), data(data), argument(argument),
        type(cast<RankedTensorType>(argument.getType())),
        orderSeed(data.seed * 1000003 + argument.getArgNumber()),
        setSeed(orderSeed + (uint64_t(data.number) << 32)), random(setSeed),
        signs(data.signs), isLarge(data.magnitudes == Magnitudes::Large) {
    if (signs == Signs::PerArgument)
      signs = Random(~orderSeed - data.number)
                  .pick({Signs::Any, Signs::Negative, Signs::Positive});
    if (signs == Signs::Alternating)
      signs = argument.getArgNumber() % 2 ? Signs::Negative : Signs::Positive;
    if (signs == Signs::PerLine) {
      // Tensors that are compared often have equal shapes, and should differ in
      // the same lines; tensors that are multiplied need not.
      uint64_t ofAll = data.seed * 1000003 - data.number;
      lines.emplace(type.getShape(),
                    Random(ofAll).percent(75) ? ofAll : ~setSeed);
    }
  }

  TensorValue draw() {
    if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
      return drawIntegers(integer);
    return drawFloats();
  }

private:
  ElementKind getKind(int64_t i) const {
    return lines ? lines->getKind(i, setSeed) : ElementKind{signs, isLarge};
  }
  TensorValue drawFloats();
  TensorValue drawIntegers(IntegerType integer);
  void drawIndices(int64_t extent, bool isUnsigned,
                   MutableArrayRef<int64_t> indices);
  int64_t drawNumber(IntegerType integer, ElementKind kind);

  DenseEvaluator &evaluator;
  const DataSet &data;
  BlockArgument argument;
  RankedTensorType type;
  uint64_t orderSeed; ///< The same for all data set numbers.
  uint64_t setSeed;
  Random random;
  Signs signs;
  bool isLarge;
  std::optional<LineCutter> lines; ///< Set if each line has a sign.
};

} // namespace

TensorValue ArgumentDrawer::drawFloats() {
  // If one argument is much larger than another, it alone determines the signs
  // of sums.
  int least = -2, greatest = 1;
  if (data.magnitudes == Magnitudes::Small) {
    least = -6;
    greatest = -3;
  }
  if (data.magnitudes == Magnitudes::Tiny) {
    least = -13;
    greatest = -8;
  }
  if (data.magnitudes == Magnitudes::Wide) {
    // In the first data sets, numbers reach at least 2^11, so that programs may
    // overflow.
    least = data.narrows ? random.pick({-16, -11, -6}) : random.pick({-11, -6});
    greatest = least + 22;
  }
  auto tensor = std::make_shared<DenseTensor>(type);
  SmallVector<int64_t> isNegative(tensor->size());
  for (int64_t i = 0; i < tensor->size(); ++i) {
    ElementKind kind = getKind(i);
    isNegative[i] = kind.sign == Signs::Negative;
    uint64_t number = random.next();
    Element &element = (*tensor)[i];
    if (kind.isZero)
      element = evaluator.getIdentity(ReduceKind::Sum, type.getElementType());
    else if (kind.isLarge)
      element = evaluator.drawFloat(number, 2, 3);
    else if (data.magnitudes == Magnitudes::Integers)
      element = evaluator.drawFloat(number);
    else
      element = evaluator.drawFloat(number, least, greatest);
  }
  if (signs == Signs::Any)
    return tensor;
  TensorValue opposite = evaluator.unary(UnaryKind::Neg, tensor, type);
  auto pick = [&](BinaryKind kind) {
    return evaluator.binary(kind, tensor, opposite, type);
  };
  if (!lines)
    return pick(signs == Signs::Negative ? BinaryKind::Min : BinaryKind::Max);
  auto truth = type.clone(IntegerType::get(type.getContext(), 1));
  return evaluator.select(makeIntegerTensor(truth, isNegative),
                          pick(BinaryKind::Min), pick(BinaryKind::Max), type);
}

/// Counts through a permutation of 0..extent-1.
void ArgumentDrawer::drawIndices(int64_t extent, bool isUnsigned,
                                 MutableArrayRef<int64_t> indices) {
  int64_t part = extent, first = int64_t(data.number) * indices.size();
  // Half of the time, narrow the range to a half, a quarter, and so on, each
  // equally likely. Indices that select one of a few branches should still
  // reach every branch.
  if (data.narrows && extent > 1 && random.percent(50))
    part = llvm::divideCeil(
        extent, int64_t(1) << random.draw(1, llvm::Log2_64_Ceil(extent)));
  // The permutation depends only on the seed, the argument and `part`, so that
  // a data set continues where the previous one ended.
  SmallVector<int64_t> order = Random(orderSeed).permutation(part);
  Random outside(orderSeed + extent + first);
  for (auto [i, index] : llvm::enumerate(indices)) {
    index = order[(first + int64_t(i)) % part];
    if (outside.draw(0, data.narrows ? 2 : 7) == 0)
      index = !isUnsigned && outside.draw(0, 1)
                  ? -outside.draw(1, outside.draw(0, 1) ? 2 : 2 * extent)
                  : extent + outside.draw(0, 2);
  }
}

/// Draws an integer that is not an index. The sign of a scalar is random: it
/// has no padding, and it may be a loop's number of iterations, which must not
/// depend on the signs of the data that the loop computes with.
int64_t ArgumentDrawer::drawNumber(IntegerType integer, ElementKind kind) {
  bool isAny = kind.sign == Signs::Any || type.getRank() == 0,
       isPositive = !isAny && kind.sign == Signs::Positive;
  if (integer.getWidth() == 1)
    return isAny ? random.draw(0, 1) : isPositive;
  if (kind.isZero)
    return 0;
  if (integer.isUnsigned())
    return random.draw(isPositive ? 1 : 0, 8);
  if (isAny)
    return random.draw(-4, 4);
  int64_t size = kind.isLarge ? random.draw(5, 8) : random.draw(1, 4);
  return isPositive ? size : -size;
}

TensorValue ArgumentDrawer::drawIntegers(IntegerType integer) {
  SmallVector<int64_t> values(type.getNumElements());
  std::optional<int64_t> extent;
  if (integer.getWidth() > 1)
    extent = getIndexedExtent(argument);
  if (extent)
    drawIndices(*extent, integer.isUnsigned(), values);
  else
    for (auto [i, value] : llvm::enumerate(values))
      value = drawNumber(integer, getKind(i));
  for (int64_t &value : values)
    value = wrapInteger(value, integer);
  return makeIntegerTensor(type, values);
}

SmallVector<TensorValue> tp::drawArguments(DenseEvaluator &evaluator,
                                           func::FuncOp function,
                                           const DataSet &data) {
  SmallVector<TensorValue> arguments;
  for (BlockArgument argument : function.getArguments())
    arguments.push_back(ArgumentDrawer(evaluator, data, argument).draw());
  return arguments;
}

void tp::putComparedNumbers(func::FuncOp function,
                            MutableArrayRef<TensorValue> arguments,
                            uint64_t seed) {
  llvm::MapVector<Type, SmallVector<int64_t>> numbers;
  function.walk([&](CompareOp compare) {
    for (Value operand : compare->getOperands()) {
      auto constant = operand.getDefiningOp<ConstantOp>();
      auto splat = constant ? dyn_cast<SplatElementsAttr>(constant.getValue())
                            : SplatElementsAttr();
      if (splat && isa<IntegerType>(splat.getElementType()))
        numbers[splat.getElementType()].push_back(
            splat.getSplatValue<APInt>().getSExtValue());
    }
  });
  Random random(scramble(seed));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    auto own = numbers.find(argument->getType().getElementType());
    if (getRole(function, i) != Role::Input || own == numbers.end())
      continue;
    auto tensor = std::make_shared<DenseTensor>(toDense(argument));
    for (Element &element : tensor->getElements())
      if (random.percent(25))
        element.integer = own->second[random.below(own->second.size())];
    argument = tensor;
  }
}

void tp::makeStates(func::FuncOp function,
                    MutableArrayRef<TensorValue> arguments, double scale) {
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (getRole(function, i) != Role::OptimizerState)
      continue;
    auto state = std::make_shared<DenseTensor>(toDense(argument));
    for (Element &element : state->getElements()) {
      if (state->isFloat())
        element.real = scale * std::abs(element.real);
      else
        element.integer = 1 + std::abs(element.integer);
    }
    argument = state;
  }
}

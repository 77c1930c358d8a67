// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RandomData.h"

#include "IndexUses.h"

#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/Random.h"

using namespace mlir;
using namespace tp;

DataSet tp::getDataSet(uint64_t seed, unsigned number) {
  static constexpr std::pair<Signs, Magnitudes> first[] = {
      {Signs::Any, Magnitudes::Integers},
      {Signs::Negative, Magnitudes::Wide},
      {Signs::Alternating, Magnitudes::Wide},
      {Signs::PerArgument, Magnitudes::Moderate}};
  DataSet data{seed, number};
  if (number < std::size(first)) {
    std::tie(data.signs, data.magnitudes) = first[number];
    return data;
  }
  Random random(seed * 1000003 + number);
  data.signs = random.pick({Signs::Alternating, Signs::PerArgument});
  data.magnitudes = random.pick(
      {Magnitudes::Integers, Magnitudes::Moderate, Magnitudes::Wide});
  data.narrows = true;
  return data;
}

namespace {

/// Draws one argument.
class ArgumentDrawer {
public:
  ArgumentDrawer(DenseEvaluator &evaluator, const DataSet &data,
                 BlockArgument argument)
      : evaluator(evaluator), data(data), argument(argument),
        type(cast<RankedTensorType>(argument.getType())),
        orderSeed(data.seed * 1000003 + argument.getArgNumber()),
        random(orderSeed + (uint64_t(data.number) << 32)), signs(data.signs) {
    if (signs == Signs::PerArgument)
      signs = Random(~orderSeed - data.number)
                  .pick({Signs::Any, Signs::Negative, Signs::Positive});
    if (signs == Signs::Alternating)
      signs = argument.getArgNumber() % 2 ? Signs::Negative : Signs::Positive;
  }

  TensorValue draw() {
    if (auto integer = dyn_cast<IntegerType>(type.getElementType()))
      return drawIntegers(integer);
    return drawFloats();
  }

private:
  TensorValue drawFloats();
  TensorValue drawIntegers(IntegerType integer);
  void drawIndices(int64_t extent, bool isUnsigned,
                   MutableArrayRef<int64_t> indices);
  int64_t drawNumber(IntegerType integer);

  DenseEvaluator &evaluator;
  const DataSet &data;
  BlockArgument argument;
  RankedTensorType type;
  uint64_t orderSeed; ///< The same for all numbers.
  Random random;
  Signs signs;
};

} // namespace

TensorValue ArgumentDrawer::drawFloats() {
  // Where one argument is large beside another, signs are those of the first.
  int least = -2, greatest = 1;
  if (data.magnitudes == Magnitudes::Wide) {
    // What may overflow does so on the first sets.
    least = data.narrows ? random.pick({-16, -11, -6}) : random.pick({-11, -6});
    greatest = least + 22;
  }
  auto tensor = std::make_shared<DenseTensor>(type);
  for (int64_t i = 0; i < tensor->size(); ++i)
    (*tensor)[i] = data.magnitudes == Magnitudes::Integers
                       ? evaluator.drawFloat(random.next())
                       : evaluator.drawFloat(random.next(), least, greatest);
  if (signs == Signs::Any)
    return tensor;
  TensorValue negative = evaluator.unary(UnaryKind::Neg, tensor, type);
  return evaluator.binary(signs == Signs::Negative ? BinaryKind::Min
                                                   : BinaryKind::Max,
                          tensor, negative, type);
}

/// Counts through a permutation of 0..extent-1.
void ArgumentDrawer::drawIndices(int64_t extent, bool isUnsigned,
                                 MutableArrayRef<int64_t> indices) {
  int64_t part = extent, first = int64_t(data.number) * indices.size();
  if (data.narrows) // to a power of two as likely as to any other
    part = std::max<int64_t>(1, extent >>
                                    random.draw(0, llvm::Log2_64_Ceil(extent)));
  // The order is that of all numbers; what is outside differs.
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

/// One that is no index. A scalar has no padding; it may be the turns of a
/// loop, which are not to depend on the signs of what that computes.
int64_t ArgumentDrawer::drawNumber(IntegerType integer) {
  bool isAny = signs == Signs::Any || type.getRank() == 0,
       isPositive = !isAny && signs == Signs::Positive;
  if (integer.getWidth() == 1)
    return isAny ? random.draw(0, 1) : isPositive;
  if (integer.isUnsigned())
    return random.draw(isPositive ? 1 : 0, 8);
  return random.draw(isPositive ? 1 : -4, isAny || isPositive ? 4 : -1);
}

TensorValue ArgumentDrawer::drawIntegers(IntegerType integer) {
  SmallVector<int64_t> values(type.getNumElements());
  std::optional<int64_t> extent;
  if (integer.getWidth() > 1)
    extent = getIndexedExtent(argument);
  if (extent)
    drawIndices(*extent, integer.isUnsigned(), values);
  else
    for (int64_t &value : values)
      value = drawNumber(integer);
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

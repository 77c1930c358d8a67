// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Products whose blocks are sent while others are multiplied.
//
// Four devices hold x sharded by rows, and each device needs all rows of x w.
// Each multiplies its own rows first, while the rows of the next device arrive:
//
//     device 1    multiplies  x1 w    x2 w    x3 w    x0 w
//                 receives    x2      x3      x0
//
// Blocks are sent directly from their owners to the devices that need them.
// Each link of a ring carries the same amount in both directions. The nearest
// blocks come first, alternating between both sides. In the opposite case, in
// which products are partial sums and each device needs the complete sums for
// its own rows, the rows for other devices are multiplied first.
//
// Based on Wang et al., Overlap Communication with Dependent Computation via
// Decomposition in Large Deep Learning Models, ASPLOS 2023.

#include "dialects/OpError.h"
#include "dialects/TP/Einsum.h"
#include "dialects/TP/Emitter.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Sharding/Projection.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

//===----------------------------------------------------------------------===//
// Common parts
//===----------------------------------------------------------------------===//

/// Returns the axes along which blocks of a dimension are sent. On one side of
/// the exchange, the dimension is sharded along the axes `cut`. On the other
/// side, it is sharded along `whole`, which must be a prefix of `cut`. Blocks
/// are sent along the axes of `cut` that are not in `whole`. Returns nullopt if
/// `whole` is not a prefix, or if the `size` elements of the dimension do not
/// divide into equal blocks of `pieces` equal pieces.
static std::optional<AxisList> getTravel(const AxisList &cut,
                                         const AxisList &whole, int64_t size,
                                         int64_t pieces) {
  if (!startsWith(cut, whole))
    return std::nullopt;
  AxisList travel = dropPrefix(cut, whole);
  if (getSize(travel) > 1 &&
      (size % getSize(cut) != 0 || size / getSize(cut) % pieces != 0))
    return std::nullopt;
  return travel;
}

/// The distances over which blocks are sent, modulo the number of positions: 1,
/// -1, 2, -2 and so on.
static SmallVector<int64_t> getDistances(int64_t places) {
  SmallVector<int64_t> distances;
  for (int64_t near = 1; near <= places / 2; ++near) {
    distances.push_back(near);
    if (near != places - near)
      distances.push_back(places - near);
  }
  return distances;
}

static SmallVector<spmd::Exchange> getTravels(const AxisList &axes,
                                              int64_t pieces, double bytes) {
  return SmallVector<spmd::Exchange>(
      (getSize(axes) - 1) * pieces,
      {CollectiveKind::CollectivePermute, axes, int64_t(bytes / pieces)});
}

static double getBytes(RankedTensorType type, ArrayRef<int64_t> shape) {
  return getVolume(shape) *
         double(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

namespace {
/// Builds the code that each device runs. `axes` are the axes along which
/// blocks are sent.
class ChunkBuilder {
public:
  ChunkBuilder(spmd::Localizer &localizer, Location loc, AxisList axes,
               int64_t pieces)
      : emit(localizer.getBuilder(), loc), builder(localizer.getBuilder()),
        loc(loc), mesh(localizer.getMesh().name),
        axes(spmd::toAttr(builder.getContext(), localizer.getMesh(), axes)),
        places(getSize(axes)), pieces(pieces) {}

  /// Returns `factor` with zeros in the padding of the dimensions that are
  /// summed over. `term` has a letter for each dimension of `factor`, and
  /// `kept` has the letters of the result. A dimension is summed over if `kept`
  /// lacks its letter.
  static Value mask(spmd::Localizer &localizer, Value factor, StringRef term,
                    StringRef kept) {
    SmallVector<int64_t> dims;
    for (auto [i, letter] : llvm::enumerate(term))
      if (!kept.contains(letter))
        dims.push_back(i);
    return localizer.maskPadding(factor, dims, ReduceKind::Sum);
  }

  /// Returns piece number `piece` of a block, which is cut into `pieces`
  /// pieces.
  Value getPiece(Value block, int64_t dim, int64_t piece) {
    if (pieces == 1)
      return block;
    SmallVector<int64_t> sizes(typeOf(block).getShape()),
        starts(sizes.size(), 0);
    sizes[dim] /= pieces;
    starts[dim] = piece * sizes[dim];
    return emit.slice(block, starts, sizes);
  }

  Value join(ArrayRef<Value> parts, int64_t dim) {
    return parts.size() == 1 ? parts.front() : emit.concat(parts, dim);
  }

  /// Shifts `value` along the axes: returns the value of the device `by`
  /// positions before this one.
  Value shift(Value value, int64_t by) {
    // Another device receives the value. There, the value is not the local part
    // that its encoding describes, so remove the encoding.
    RankedTensorType type = typeOf(value);
    if (type.getEncoding())
      value = ReshapeOp::create(
          builder, loc,
          RankedTensorType::get(type.getShape(), type.getElementType()), value);
    return spmd::ShiftOp::create(builder, loc, value.getType(), value, mesh,
                                 axes, by, "wrap");
  }

  Value getBlock(Value whole, int64_t dim, int64_t plus) {
    SmallVector<int64_t> shape(typeOf(whole).getShape());
    shape[dim] /= places;
    return spmd::BlockOp::create(builder, loc, Emitter::withShape(whole, shape),
                                 whole, dim, mesh, axes, plus);
  }

  Value assemble(ArrayRef<Value> blocks, int64_t dim, RankedTensorType type) {
    return spmd::AssembleOp::create(builder, loc, type, blocks, dim, mesh,
                                    axes);
  }

  /// The contraction of two local tensors. The result has elements of type
  /// `element`.
  Value contract(StringRef equation, Value lhs, Value rhs, Type element) {
    SmallVector<int64_t> shape = EinsumTerms::split(equation).inferShape(
        typeOf(lhs).getShape(), typeOf(rhs).getShape());
    return EinsumOp::create(builder, loc, RankedTensorType::get(shape, element),
                            equation, lhs, rhs);
  }

  Emitter emit;
  OpBuilder &builder;
  Location loc;
  StringRef mesh;
  spmd::AxisListAttr axes;
  int64_t places, pieces;
};
} // namespace

//===----------------------------------------------------------------------===//
// GatherEinsumOp
//===----------------------------------------------------------------------===//

static EinsumTerms getTerms(GatherEinsumOp op, unsigned i) {
  return EinsumTerms::split(cast<StringAttr>(op.getEquations()[i]).getValue());
}

StringRef GatherEinsumOp::getInputTerm(unsigned i) {
  EinsumTerms terms = getTerms(*this, i);
  return getSides()[i] == 0 ? terms.lhs : terms.rhs;
}

StringRef GatherEinsumOp::getOtherTerm(unsigned i) {
  EinsumTerms terms = getTerms(*this, i);
  return getSides()[i] == 0 ? terms.rhs : terms.lhs;
}

int64_t GatherEinsumOp::getGatheredDim(unsigned i) {
  return getTerms(*this, i).result.find(getInputTerm(i)[getDim()]);
}

/// The operands of product `i` in the order of its equation.
static std::pair<Value, Value> inOrder(GatherEinsumOp op, unsigned i,
                                       Value input, Value other) {
  return op.getSides()[i] == 0 ? std::pair(input, other)
                               : std::pair(other, input);
}

LogicalResult GatherEinsumOp::verify() {
  size_t count = getOthers().size();
  bool keepsInput = getNumResults() == count + 1;
  if (count == 0 || getEquations().size() != count ||
      getSides().size() != count || (getNumResults() != count && !keepsInput))
    return tp::emitOpError(*this, ErrorCode::BadEinsum)
           << "has " << count << " other operands, " << getEquations().size()
           << " equations, " << getSides().size() << " sides and "
           << getNumResults()
           << " results: expects one of each for each product";
  if (!llvm::all_of(getSides(), [](int64_t side) { return side >> 1 == 0; }))
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "has sides [" << getSides() << "]: expects 0 (left) or 1 (right)";
  if (keepsInput && getResult(count).getType() != getInput().getType())
    return tp::emitOpError(*this, ErrorCode::TypeMismatch)
           << "has an input of type " << getInput().getType()
           << ": expects the last result to have the same type, got "
           << getResult(count).getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= typeOf(getInput()).getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for an input of rank "
           << typeOf(getInput()).getRank();
  for (unsigned i = 0; i < count; ++i) {
    auto equation = cast<StringAttr>(getEquations()[i]);
    auto [lhs, rhs] = inOrder(*this, i, getInput(), getOthers()[i]);
    if (failed(verifyEinsum(*this, equation, lhs, rhs, getResult(i))))
      return failure();
    char letter = getInputTerm(i)[dim];
    if (getOtherTerm(i).contains(letter) || getGatheredDim(i) < 0)
      return tp::emitOpError(*this, ErrorCode::BadEinsum)
             << "equation " << equation << " gathers '" << Twine(letter)
             << "': expects this letter in the result and not in the other "
                "operand";
  }
  if (int64_t(getPieces()) < 1)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "sends blocks in " << int64_t(getPieces())
           << " pieces: expects at least 1";
  return success();
}

ShardingRule GatherEinsumOp::getShardingRule() {
  unsigned count = getOthers().size();
  RuleBuilder rule(1 + count, getNumResults());
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  unsigned gathered = rule.addFactor(shape[getDim()], FactorKind::Exchanged);
  SmallVector<unsigned> input, whole;
  for (auto [i, size] : llvm::enumerate(shape)) {
    bool isCut = i == size_t(getDim());
    input.push_back(rule.addFactor(size, isCut ? FactorKind::Exchanged
                                               : FactorKind::PassThrough));
    whole.push_back(isCut ? gathered : input.back());
    rule.addDim(0, input.back());
  }
  for (unsigned i = 0; i < count; ++i) {
    llvm::DenseMap<char, unsigned> factors;
    for (auto [letter, factor] : llvm::zip_equal(getInputTerm(i), whole))
      factors[letter] = factor;
    auto add = [&](unsigned tensor, StringRef term, Value value) {
      for (auto [letter, size] :
           llvm::zip_equal(term, typeOf(value).getShape())) {
        auto [it, isNew] = factors.try_emplace(letter);
        if (isNew)
          it->second = rule.addFactor(size);
        rule.addDim(tensor, it->second);
      }
    };
    add(1 + i, getOtherTerm(i), getOthers()[i]);
    add(1 + count + i, getTerms(*this, i).result, getResult(i));
  }
  if (getNumResults() > count)
    for (unsigned factor : whole)
      rule.addDim(1 + 2 * count, factor);
  return rule.build();
}

double GatherEinsumOp::getFlops(ArrayRef<int64_t> sizes) {
  ShardingRule rule = getShardingRule();
  unsigned count = getOthers().size();
  double flops = 0;
  for (unsigned i = 0; i < count; ++i) {
    // Multiply the sizes of the factors of product i. The gathered rows have a
    // factor of their own, so leave out the factor of the input's rows.
    llvm::SmallDenseSet<unsigned> factors;
    auto add = [&](const TensorFactors &tensor) {
      for (const DimFactors &dim : tensor)
        factors.insert(dim.begin(), dim.end());
    };
    add(rule.operands[0]);
    factors.erase(rule.operands[0][getDim()].front());
    add(rule.operands[1 + i]);
    add(rule.results[i]);
    double volume = 2;
    for (unsigned factor : factors)
      volume *= sizes[factor];
    flops += volume;
  }
  return flops;
}

SmallVector<Value> GatherEinsumOp::decompose(OpBuilder &builder) {
  SmallVector<Value> results;
  for (auto [i, other] : llvm::enumerate(getOthers())) {
    auto [lhs, rhs] = inOrder(*this, i, getInput(), other);
    results.push_back(EinsumOp::create(
        builder, getLoc(), typeOf(getResult(i)),
        cast<StringAttr>(getEquations()[i]).getValue(), lhs, rhs));
  }
  if (getNumResults() > results.size())
    results.push_back(getInput());
  return results;
}

std::optional<SmallVector<spmd::Exchange>>
GatherEinsumOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  ArrayRef<int64_t> shape = typeOf(getInput()).getShape();
  unsigned count = getOthers().size();
  const AxisList &cut = layouts[0].dims[getDim()].axes;
  std::optional<AxisList> travel;
  for (unsigned i = 0; i < getNumResults(); ++i) {
    int64_t dim = i < count ? getGatheredDim(i) : int64_t(getDim());
    auto own = getTravel(cut, layouts[1 + count + i].dims[dim].axes,
                         shape[getDim()], getPieces());
    if (!own || (travel && *travel != *own))
      return std::nullopt;
    travel = own;
  }
  return getTravels(
      *travel, getPieces(),
      getBytes(typeOf(getInput()), getLocalShape(layouts[0], shape)));
}

FailureOr<SmallVector<Value>>
GatherEinsumOp::localize(spmd::Localizer &localizer, ValueRange operands) {
  unsigned count = getOthers().size();
  int64_t dim = getDim();
  SmallVector<RankedTensorType> types;
  for (Value result : getResults())
    types.push_back(localizer.getLocalType(result));
  std::optional<AxisList> travel = getTravel(
      localizer.getSharding(getInput()).dims[dim].axes,
      localizer.getSharding(getResult(0)).dims[getGatheredDim(0)].axes,
      typeOf(getInput()).getDimSize(dim), getPieces());
  if (!travel)
    return tp::emitOpError(*this, ErrorCode::RuleViolated)
           << "cannot gather dimension " << dim
           << " of its input: its results are not all sharded the same way, or "
              "its blocks differ in size";
  Value own = operands[0];
  SmallVector<Value> others(operands.drop_front());
  for (auto [i, other] : llvm::enumerate(others)) {
    StringRef kept = getTerms(*this, i).result;
    own = ChunkBuilder::mask(localizer, own, getInputTerm(i), kept);
    other = ChunkBuilder::mask(localizer, other, getOtherTerm(i), kept);
  }
  ChunkBuilder build(localizer, getLoc(), *travel, getPieces());
  auto multiply = [&](Value block, unsigned i) {
    auto [lhs, rhs] = inOrder(*this, i, block, others[i]);
    return build.contract(cast<StringAttr>(getEquations()[i]).getValue(), lhs,
                          rhs, typeOf(getResult(i)).getElementType());
  };
  // blocks[k] comes from the device k positions after this one.
  std::vector<SmallVector<Value>> products(count);
  for (auto &list : products)
    list.resize(build.places);
  SmallVector<Value> blocks(build.places);
  blocks[0] = own;
  SmallVector<int64_t> distances = getDistances(build.places);
  std::vector<SmallVector<Value>> arriving;
  for (int64_t distance : distances) {
    SmallVector<Value> &pieces = arriving.emplace_back();
    for (int64_t piece = 0; piece < build.pieces; ++piece)
      pieces.push_back(build.shift(build.getPiece(own, dim, piece), -distance));
  }
  for (unsigned i = 0; i < count; ++i)
    products[i][0] = multiply(own, i);
  for (auto [distance, pieces] : llvm::zip_equal(distances, arriving)) {
    std::vector<SmallVector<Value>> parts(count);
    for (Value piece : pieces)
      for (unsigned i = 0; i < count; ++i)
        parts[i].push_back(multiply(piece, i));
    for (unsigned i = 0; i < count; ++i)
      products[i][distance] = build.join(parts[i], getGatheredDim(i));
    if (getNumResults() > count)
      blocks[distance] = build.join(pieces, dim);
  }
  SmallVector<Value> results;
  for (unsigned i = 0; i < count; ++i)
    results.push_back(build.assemble(products[i], getGatheredDim(i), types[i]));
  if (getNumResults() > count) {
    RankedTensorType block = typeOf(arriving.empty() ? own : blocks.back());
    blocks[0] = ReshapeOp::create(
        build.builder, getLoc(),
        RankedTensorType::get(typeOf(own).getShape(), block.getElementType()),
        own);
    results.push_back(build.assemble(blocks, dim, types[count]));
  }
  return results;
}

//===----------------------------------------------------------------------===//
// EinsumScatterOp
//===----------------------------------------------------------------------===//

unsigned EinsumScatterOp::getRowsOperand() {
  EinsumTerms terms = EinsumTerms::split(getEquation());
  return terms.lhs.contains(terms.result[getDim()]) ? 0 : 1;
}

int64_t EinsumScatterOp::getScatteredDim() {
  EinsumTerms terms = EinsumTerms::split(getEquation());
  return (getRowsOperand() == 0 ? terms.lhs : terms.rhs)
      .find(terms.result[getDim()]);
}

LogicalResult EinsumScatterOp::verify() {
  if (failed(
          verifyEinsum(*this, getEquation(), getLhs(), getRhs(), getResult())))
    return failure();
  int64_t dim = getDim();
  if (dim < 0 || dim >= getType().getRank())
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "dim " << dim << " is out of range for the result " << getType();
  EinsumTerms terms = EinsumTerms::split(getEquation());
  char letter = terms.result[dim];
  if (terms.lhs.contains(letter) == terms.rhs.contains(letter))
    return tp::emitOpError(*this, ErrorCode::BadEinsum)
           << "scatters '" << Twine(letter)
           << "', which is in both operands: expects this letter in only one "
              "operand";
  if (int64_t(getPieces()) < 1)
    return tp::emitOpError(*this, ErrorCode::BadAttribute)
           << "sends blocks in " << int64_t(getPieces())
           << " pieces: expects at least 1";
  return success();
}

ShardingRule EinsumScatterOp::getShardingRule() {
  EinsumTerms terms = EinsumTerms::split(getEquation());
  RuleBuilder builder(2, 1);
  char letter = terms.result[getDim()];
  llvm::DenseMap<char, unsigned> factors;
  auto add = [&](unsigned tensor, StringRef term, Value value) {
    for (auto [name, size] : llvm::zip_equal(term, typeOf(value).getShape())) {
      auto [it, isNew] = factors.try_emplace(name);
      if (isNew || (tensor == 2 && name == letter))
        it->second =
            builder.addFactor(size, name == letter ? FactorKind::Exchanged
                                                   : FactorKind::PassThrough);
      builder.addDim(tensor, it->second);
    }
  };
  add(0, terms.lhs, getLhs());
  add(1, terms.rhs, getRhs());
  add(2, terms.result, getResult());
  ShardingRule rule = builder.build();
  // The op itself adds up the partial sums of the devices.
  for (Factor &factor : rule.factors)
    if (factor.kind == FactorKind::Reduction)
      factor.kind = FactorKind::PassThrough;
  return rule;
}

double EinsumScatterOp::getFlops(ArrayRef<int64_t> sizes) {
  // Multiply the sizes of all factors except that of the result's own rows: the
  // rows that a device multiplies are another factor.
  ShardingRule rule = getShardingRule();
  unsigned own = rule.results[0][getDim()].front();
  double volume = 2;
  for (auto [factor, size] : llvm::enumerate(sizes))
    volume *= factor == own ? 1 : double(size);
  return volume;
}

SmallVector<Value> EinsumScatterOp::decompose(OpBuilder &builder) {
  return {EinsumOp::create(builder, getLoc(), getType(), getEquation(),
                           getLhs(), getRhs())};
}

std::optional<SmallVector<spmd::Exchange>>
EinsumScatterOp::getExchanges(ArrayRef<TensorSharding> layouts) {
  auto travel =
      getTravel(layouts[2].dims[getDim()].axes,
                layouts[getRowsOperand()].dims[getScatteredDim()].axes,
                getType().getDimSize(getDim()), getPieces());
  auto summed =
      getSummedAxes(EinsumTerms::split(getEquation()), layouts[0], layouts[1]);
  if (!travel || !summed || getMerged(*travel) != *summed)
    return std::nullopt;
  return getTravels(
      *travel, getPieces(),
      getBytes(getType(), getLocalShape(layouts[2], getType().getShape())));
}

FailureOr<SmallVector<Value>>
EinsumScatterOp::localize(spmd::Localizer &localizer, ValueRange operands) {
  int64_t dim = getDim(), from = getScatteredDim();
  unsigned side = getRowsOperand();
  RankedTensorType result = localizer.getLocalType(getResult());
  auto travel =
      getTravel(localizer.getSharding(getResult()).dims[dim].axes,
                localizer.getSharding(getOperand(side)).dims[from].axes,
                getType().getDimSize(dim), getPieces());
  EinsumTerms terms = EinsumTerms::split(getEquation());
  auto summed = getSummedAxes(terms, localizer.getSharding(getLhs()),
                              localizer.getSharding(getRhs()));
  if (!travel || !summed || getMerged(*travel) != *summed)
    return tp::emitOpError(*this, ErrorCode::RuleViolated)
           << "must scatter dimension " << dim
           << " along the axes that cut the summed dimensions";
  SmallVector<Value> factors(operands);
  factors[0] =
      ChunkBuilder::mask(localizer, factors[0], terms.lhs, terms.result);
  factors[1] =
      ChunkBuilder::mask(localizer, factors[1], terms.rhs, terms.result);
  ChunkBuilder build(localizer, getLoc(), *travel, getPieces());
  Type element = getType().getElementType();
  auto multiply = [&](Value rows) {
    return build.contract(getEquation(), side == 0 ? rows : factors[0],
                          side == 0 ? factors[1] : rows, element);
  };
  // addends[k] comes from the device k positions after this one. The stack has
  // the addends in the order of the devices, and they are added in that order.
  SmallVector<Value> addends(build.places);
  for (int64_t distance : getDistances(build.places)) {
    Value rows = build.getBlock(factors[side], from, distance);
    SmallVector<Value> pieces;
    for (int64_t piece = 0; piece < build.pieces; ++piece)
      pieces.push_back(
          build.shift(multiply(build.getPiece(rows, from, piece)), distance));
    addends[build.places - distance] = build.join(pieces, dim);
  }
  addends[0] = multiply(build.getBlock(factors[side], from, 0));
  SmallVector<int64_t> shape(result.getShape());
  shape[0] *= build.places;
  Value stack =
      build.assemble(addends, 0, RankedTensorType::get(shape, element));
  Value sum;
  for (int64_t place = 0; place < build.places; ++place) {
    SmallVector<int64_t> starts(shape.size(), 0);
    starts[0] = place * result.getDimSize(0);
    Value addend = build.emit.slice(stack, starts, result.getShape());
    if (isa<FloatType>(element))
      addend = build.emit.widen(addend);
    sum = sum ? build.emit.binary<AddOp>(sum, addend) : addend;
  }
  return SmallVector<Value>{
      ConvertOp::create(build.builder, getLoc(), result, sum)};
}

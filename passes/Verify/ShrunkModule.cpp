// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ShrunkModule.h"

#include "ChunkShrinker.h"
#include "PartShrinker.h"
#include "SpliceShrinker.h"
#include "WindowShrinker.h"

#include "dialects/TP/Restack.h"
#include "lib/Sharding/Algebra/Shrink.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::interp;

using Shape = SmallVector<int64_t>;

TensorSharding tp::getLocalSharding(RankedTensorType type, const Mesh &mesh) {
  auto local = dyn_cast_or_null<LocalAttr>(type.getEncoding());
  if (!local)
    return TensorSharding::replicate(type.getRank());
  return std::get<TensorSharding>(
      local.getSharding().resolve(mesh, type.getRank()));
}

namespace {

class ScratchBuilder {
public:
  ScratchBuilder(const Segment &segment, const Mesh &mesh, Sizes sizes)
      : segment(segment), mesh(mesh), sizes(sizes), meshShrinker(mesh),
        context(segment.whole->getContext()), builder(context) {}

  OwningOpRef<ModuleOp> build(std::string &reason);

private:
  Value getWholeTensor(unsigned t) {
    unsigned operands = segment.whole->getNumOperands();
    return t < operands ? segment.whole->getOperand(t)
                        : segment.whole->getResult(t - operands);
  }
  Value getLocalTensor(unsigned t) {
    return t < segment.operands.size()
               ? segment.operands[t]
               : segment.results[t - segment.operands.size()];
  }

  /// A constant that the local form multiplies by the device's position along
  /// `axes`. It is the block size of a dimension that these axes split.
  struct Offset {
    ConstantOp constant;
    AxisList axes;
    int64_t block;
  };
  bool findOffsets();
  bool countsNarrowly();
  std::optional<int64_t> shrinkOffset(const Offset &offset);

  void shrinkCounts();
  bool isCounted(unsigned tensor, unsigned dim) const {
    return counts && counts->getSize(tensor, dim);
  }
  std::optional<Shape> inferCounted(RankedTensorType type);

  ShardingRule getRule();
  bool indexesAlong(const ShardingRule &rule, unsigned factor);
  bool countsAlong(const ShardingRule &rule, unsigned factor);
  void chooseMesh(const ShardingRule &rule);
  void chooseShapes(const ShardingRule &rule);
  RankedTensorType shrink(RankedTensorType type, ArrayRef<int64_t> shape);
  std::optional<Shape> inferRestacked(const Shape &old);
  std::optional<Shape> inferShape(Operation *op, RankedTensorType type);
  void buildMesh();
  void beginFunction(StringRef name, ValueRange values, ArrayRef<Type> types,
                     IRMapping &mapping);
  void endFunction(ValueRange results);
  void buildWhole();
  bool buildLocal();
  Operation *cloneOp(Operation *op, ArrayRef<Type> types, IRMapping &mapping);

  const Segment &segment;
  const Mesh &mesh;
  Sizes sizes;
  MeshShrinker meshShrinker;
  MLIRContext *context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> scratch;
  SmallVector<Offset> offsets;
  bool keepsOffsets = false;
  std::unique_ptr<CountShrinker> counts;
  SmallVector<Shape> shapes; ///< New whole shapes, operands first.
  /// New whole shapes of local values.
  llvm::DenseMap<Value, Shape> localShapes;
};

} // namespace

/// Returns true if `value` is of an integer type that can hold only small
/// positions.
static bool isNarrow(Value value) {
  return isIntegerTensor(value.getType()) && !isBoolTensor(value.getType()) &&
         getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth() < 32;
}

/// Returns true if the local form computes positions in an integer type that
/// may overflow on the true sizes, but not on the small ones. A value is
/// assumed to contain positions if it has at most one dimension, as indices do,
/// or if its element type is not that of the op's first result.
static bool countsNarrowly(const Segment &segment) {
  Type own = getElementTypeOrSelf(segment.whole->getResult(0).getType());
  for (Operation *inner : segment.local)
    for (Value result : inner->getResults()) {
      auto type = cast<RankedTensorType>(result.getType());
      bool isPlace = type.getRank() <= 1 || type.getElementType() != own;
      if (isPlace && isNarrow(result) && !isa<ConstantOp>(inner))
        return true;
    }
  return false;
}

/// Creates the shrinker for a local form that contains counts; null if it
/// contains none, or if they cannot be made smaller.
static std::unique_ptr<CountShrinker>
createShrinker(const Segment &segment, ArrayRef<TensorSharding> layouts,
               const Mesh &mesh) {
  auto make = [](auto shrinker) -> std::unique_ptr<CountShrinker> {
    using Shrinker = typename decltype(shrinker)::value_type;
    return shrinker ? std::make_unique<Shrinker>(std::move(*shrinker))
                    : nullptr;
  };
  Operation *op = segment.whole;
  if (!isa<SpliceOp, WindowOp, DynamicSliceOp, DynamicUpdateSliceOp>(op) ||
      countsNarrowly(segment))
    return nullptr;
  if (auto splice = dyn_cast<SpliceOp>(op))
    return make(SpliceShrinker::create(splice, layouts, mesh));
  if (auto window = dyn_cast<WindowOp>(op))
    return make(
        WindowShrinker::create(window, layouts.front(), layouts.back(), mesh));
  return make(PartShrinker::create(op, layouts.front(), mesh));
}

/// If the local form contains counts, creates the shrinker `counts` and resizes
/// the axes that split the counted dimensions.
void ScratchBuilder::shrinkCounts() {
  if (!sizes.parts)
    return;
  std::vector<TensorSharding> layouts;
  for (unsigned t = 0; t < segment.operands.size() + segment.results.size();
       ++t) {
    layouts.push_back(getLocalSharding(typeOf(getLocalTensor(t)), mesh));
    // Give up on a sub-axis: the chosen size would be that of the sub-axis, not
    // that of the whole axis.
    for (const AxisRef &axis : layouts.back().getDimAxes())
      if (!axis.isFull(mesh))
        return;
  }
  counts = createShrinker(segment, layouts, mesh);
  if (counts)
    for (auto [axis, size] : counts->getAxes())
      meshShrinker.resize(axis, size);
}

/// Returns the new shape of a helper value, which is an intermediate result on
/// a device. The helper value consists of rows of a tensor or of a part of it,
/// or is a list of row indices.
std::optional<Shape> ScratchBuilder::inferCounted(RankedTensorType type) {
  unsigned t = counts->getReference();
  RankedTensorType large = typeOf(getLocalTensor(t));
  if (type.getRank() == 1 && large.getRank() != 1) {
    std::optional<int64_t> count = counts->mapIndices(type.getDimSize(0));
    return count ? std::optional<Shape>({*count}) : std::nullopt;
  }
  if (type.getRank() != large.getRank())
    return std::nullopt;
  RankedTensorType small = shrink(large, shapes[t]);
  Shape shape;
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    std::optional<int64_t> rows;
    if (isCounted(t, dim))
      rows = counts->mapRows(size, dim);
    else if (size == large.getDimSize(dim))
      rows = small.getDimSize(dim);
    if (!rows)
      return std::nullopt;
    shape.push_back(*rows);
  }
  return shape;
}

/// The op's own rule. For a collective, each dimension of an operand
/// corresponds to the same dimension of the result. For any other op without a
/// rule, all dimensions are independent of each other.
ShardingRule ScratchBuilder::getRule() {
  Operation *op = segment.whole;
  bool isCollective = isa<CollectiveOpInterface>(op);
  if (auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
      ruled && !isCollective)
    return ruled.getShardingRule();
  RuleBuilder rule(op->getNumOperands(), op->getNumResults());
  unsigned operands = op->getNumOperands(), count = 0;
  SmallVector<unsigned> first; // factor of every tensor
  for (unsigned t = 0; t < operands + op->getNumResults(); ++t) {
    bool isPart = isCollective && t >= operands;
    first.push_back(isPart ? first[t - operands] : count);
    for (auto [dim, size] :
         llvm::enumerate(typeOf(getWholeTensor(t)).getShape()))
      rule.addDim(t,
                  isPart ? first.back() + unsigned(dim) : rule.addFactor(size));
    count += isPart ? 0 : typeOf(getWholeTensor(t)).getRank();
  }
  return rule.build();
}

/// Returns true if all constants of the local form are offsets.
bool ScratchBuilder::findOffsets() {
  for (Operation *op : segment.local) {
    auto constant = dyn_cast<ConstantOp>(op);
    if (!constant)
      continue;
    auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!value || !constant.getType().getElementType().isInteger(32))
      return false;
    for (Operation *user : constant->getUsers()) {
      AxisIndexOp place;
      if (isa<MulOp>(user))
        for (Value factor : user->getOperands())
          if (auto index = factor.getDefiningOp<AxisIndexOp>())
            place = index;
      if (!place)
        return false;
      offsets.push_back({constant, resolveAxes(place.getAxes().getAxes(), mesh),
                         value.getSplatValue<APInt>().getSExtValue()});
    }
  }
  return true;
}

/// Returns true if the local form computes offsets in an integer type that may
/// overflow on the true sizes, but not on the small ones.
bool ScratchBuilder::countsNarrowly() {
  return llvm::any_of(segment.local, [](Operation *op) {
    return llvm::any_of(op->getResults(), isNarrow);
  });
}

/// Returns the block size, after shrinking, of the dimensions that are split
/// along the axes of `offset` into blocks of the size in `offset`. Returns none
/// if there is no such dimension, or if their new block sizes differ.
std::optional<int64_t> ScratchBuilder::shrinkOffset(const Offset &offset) {
  std::optional<int64_t> found;
  for (unsigned t = 0; t < shapes.size(); ++t) {
    TensorSharding sharding = getLocalSharding(typeOf(getLocalTensor(t)), mesh);
    for (auto [dim, part] : llvm::enumerate(sharding.dims)) {
      int64_t devices = getSize(offset.axes);
      if (part.axes != offset.axes ||
          BlockLayout{typeOf(getWholeTensor(t)).getDimSize(dim), devices}
                  .block() != offset.block)
        continue;
      int64_t small = 1;
      for (const AxisRef &axis : offset.axes)
        small *= meshShrinker.map(axis).size;
      int64_t block = BlockLayout{shapes[t][dim], small}.block();
      if (found && *found != block)
        return std::nullopt;
      found = block;
    }
  }
  return found;
}

/// Returns true if the op has a float result and an integer operand with a
/// dimension along `factor`. Such an operand may contain indices.
bool ScratchBuilder::indexesAlong(const ShardingRule &rule, unsigned factor) {
  Operation *op = segment.whole;
  if (!llvm::any_of(op->getResultTypes(), isFloatTensor))
    return false;
  for (auto [t, operand] : llvm::enumerate(op->getOperands()))
    if (isIntegerTensor(operand.getType()) &&
        !isBoolTensor(operand.getType()) && rule.hasFactor(t, factor))
      return true;
  return false;
}

/// Returns true if a result is not sharded along `factor` and the local form
/// numbers the positions along it. The local form then compares these positions
/// with positions along another dimension.
bool ScratchBuilder::countsAlong(const ShardingRule &rule, unsigned factor) {
  unsigned operands = segment.whole->getNumOperands();
  return llvm::any_of(segment.local, [&](Operation *op) {
    auto iota = dyn_cast<IotaOp>(op);
    if (!iota)
      return false;
    for (auto [i, result] : llvm::enumerate(segment.results)) {
      RankedTensorType type = typeOf(result);
      auto dim = unsigned(iota.getDim());
      if (type.getEncoding() == iota.getType().getEncoding() &&
          type.getShape() == iota.getType().getShape() &&
          llvm::is_contained(rule.getTensor(operands + i)[dim], factor) &&
          type.getDimSize(dim) == Program::getWholeType(type).getDimSize(dim))
        return true;
    }
    return false;
  });
}

static bool isExchanged(const ShardingRule &rule, ArrayRef<unsigned> factors) {
  return llvm::any_of(factors, [&](unsigned factor) {
    return rule.factors[factor].kind == FactorKind::Exchanged;
  });
}

void ScratchBuilder::chooseMesh(const ShardingRule &rule) {
  auto pin = [&](ArrayRef<AxisRef> axes) {
    for (const AxisRef &axis : axes)
      meshShrinker.pin(axis.axis);
  };
  auto use = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      meshShrinker.use(getLocalSharding(tensor, mesh));
  };
  for (unsigned t = 0; t < rule.getNumTensors(); ++t) {
    TensorSharding sharding = getLocalSharding(typeOf(getLocalTensor(t)), mesh);
    meshShrinker.use(sharding);
    // Keep the sizes of the axes that split these dimensions: a dimension of
    // several factors, since its factors have related sizes, and an exchanged
    // dimension, since the local form counts the dimension's elements or
    // positions.
    for (auto [dim, part] : llvm::enumerate(sharding.dims)) {
      ArrayRef<unsigned> factors = rule.getTensor(t)[dim];
      if (!isCounted(t, dim) &&
          (factors.size() > 1 || isExchanged(rule, factors)))
        pin(part.axes);
    }
  }
  for (Operation *op : segment.local) {
    for (Type type : op->getResultTypes())
      use(type);
    if (auto index = dyn_cast<AxisIndexOp>(op); index && keepsOffsets)
      pin(resolveAxes(index.getAxes().getAxes(), mesh));
    if (op->getNumRegions() > 0)
      for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
        meshShrinker.pin(axis);
  }
  if (!sizes.mesh)
    for (unsigned axis = 0; axis < mesh.axes.size(); ++axis)
      meshShrinker.pin(axis);
}

void ScratchBuilder::chooseShapes(const ShardingRule &rule) {
  // The local form computes positions from block numbers, such as positions of
  // queries, and compares them with indices along another dimension, such as
  // the keys. The other dimension must stay the longer one.
  bool countsBlocks = llvm::any_of(segment.local, llvm::IsaPred<AxisIndexOp>);
  int64_t longest = 0;
  SmallVector<int64_t> extents(rule.factors.size());
  auto isLonger = [&](unsigned index) {
    return rule.factors[index].kind == FactorKind::Whole ||
           countsAlong(rule, index);
  };
  SmallVector<unsigned> order;
  for (bool isLast : {false, true})
    for (unsigned index = 0; index < rule.factors.size(); ++index)
      if (isLonger(index) == isLast)
        order.push_back(index);
  for (unsigned index : order) {
    const Factor &factor = rule.factors[index];
    SmallVector<ExtentCut> cuts;
    bool keep =
        !sizes.extents || segment.whole->getNumRegions() > 0 ||
        factor.kind == FactorKind::Exchanged ||
        (factor.kind == FactorKind::Whole &&
         (!sizes.whole || keepsOffsets || isa<WindowOp>(segment.whole)));
    for (unsigned t = 0; t < rule.getNumTensors(); ++t) {
      TensorSharding sharding =
          getLocalSharding(typeOf(getLocalTensor(t)), mesh);
      for (auto [dim, factors] :
           llvm::zip_equal(sharding.dims, rule.getTensor(t))) {
        if (!llvm::is_contained(factors, index) || getSize(dim.axes) == 1)
          continue;
        int64_t small = 1;
        for (const AxisRef &axis : dim.axes)
          small *= meshShrinker.map(axis).size;
        cuts.push_back({getSize(dim.axes), small});
        keep |= factors.size() > 1 || keepsOffsets;
      }
    }
    // Sizes alternate between two and three, so that confused factors cause
    // type errors. Dimensions of index tensors get larger sizes, since an error
    // may show at only one of the indices.
    int64_t least = indexesAlong(rule, index) ? 8 : 2 + index % 2;
    if (countsBlocks && isLonger(index))
      least = longest + 2;
    extents[index] =
        keep ? factor.size : shrinkExtent(factor.size, cuts, least);
    longest = std::max(longest, extents[index]);
  }
  for (unsigned t = 0; t < rule.getNumTensors(); ++t) {
    Shape shape;
    for (auto [dim, size] :
         llvm::enumerate(typeOf(getWholeTensor(t)).getShape())) {
      if (isCounted(t, dim)) {
        shape.push_back(*counts->getSize(t, dim));
        continue;
      }
      const DimFactors &factors = rule.getTensor(t)[dim];
      int64_t extent = factors.empty() ? size : 1;
      for (unsigned factor : factors)
        extent *= extents[factor];
      // Sizes along an exchanged factor may differ between tensors: keep them.
      shape.push_back(isExchanged(rule, factors) ? size : extent);
    }
    localShapes[getLocalTensor(t)] = shape;
    shapes.push_back(std::move(shape));
  }
}

RankedTensorType ScratchBuilder::shrink(RankedTensorType type,
                                        ArrayRef<int64_t> shape) {
  auto whole = RankedTensorType::get(shape, type.getElementType());
  if (!type.getEncoding())
    return whole;
  TensorSharding sharding = meshShrinker.map(getLocalSharding(type, mesh));
  return spmd::getLocalType(
      whole, ShardingAttr::get(context, meshShrinker.getMesh(), sharding),
      meshShrinker.getMesh());
}

/// Returns the new shape of an intermediate result of a reshape that sends
/// data. The dimensions that the reshape changes keep their sizes. The
/// dimensions around them get the operand's new sizes.
std::optional<Shape> ScratchBuilder::inferRestacked(const Shape &old) {
  RankedTensorType input = typeOf(segment.operands.front());
  auto restacks = getRestacks(
      typeOf(getWholeTensor(0)).getShape(), getLocalSharding(input, mesh),
      typeOf(getWholeTensor(1)).getShape(),
      getLocalSharding(typeOf(segment.results.front()), mesh));
  if (restacks.size() != 1)
    return std::nullopt;
  RankedTensorType small = shrink(input, shapes.front());
  size_t before = restacks[0].inputBegin;
  size_t behind = input.getRank() - restacks[0].inputEnd;
  if (old.size() < before + behind)
    return std::nullopt;
  Shape shape(small.getShape().take_front(before));
  llvm::append_range(shape, ArrayRef(old).drop_front(before).drop_back(behind));
  llvm::append_range(shape, small.getShape().take_back(behind));
  return shape;
}

/// Returns the new whole shape of an intermediate result of type `type`, which
/// `op` computes. If an operand of `op`, or an operand or result of the
/// segment, has the same type, this is the new shape of that value. Otherwise,
/// if the segment's op exchanges data, the intermediate result may be a part of
/// the op's result: it then gets the new sizes of the op's result, except along
/// dimensions in which it is shorter, which keep their sizes.
std::optional<Shape> ScratchBuilder::inferShape(Operation *op,
                                                RankedTensorType type) {
  Shape old(Program::getWholeType(type).getShape());
  if (!sizes.extents || old.empty())
    return old;
  if (counts && !type.getEncoding())
    return inferCounted(type);
  if (isa<GatherEinsumOp, EinsumScatterOp>(segment.whole)) {
    SmallVector<Shape> operands;
    for (Value operand : op->getOperands())
      operands.push_back(Shape(
          shrink(typeOf(operand), localShapes.lookup(operand)).getShape()));
    if (!type.getEncoding())
      return inferChunkShape(op, operands);
  }
  for (Value operand : op->getOperands()) {
    RankedTensorType other = typeOf(operand);
    if (other.getShape() == type.getShape() &&
        other.getEncoding() == type.getEncoding())
      return localShapes.lookup(operand);
  }
  std::optional<Shape> found;
  for (unsigned t = 0; t < shapes.size(); ++t) {
    RankedTensorType other = typeOf(getLocalTensor(t));
    if (other.getShape() != type.getShape() ||
        other.getEncoding() != type.getEncoding())
      continue;
    if (found && *found != shapes[t])
      return std::nullopt;
    found = shapes[t];
  }
  RankedTensorType result = typeOf(segment.results.front());
  if (found || !isa<ExchangeOpInterface>(segment.whole))
    return found;
  if (isa<ReshapeOp>(segment.whole))
    return inferRestacked(old);
  // A reversed read of the exchanged dimension uses a list of its indices.
  if (isa<SpliceOp>(segment.whole) && !type.getEncoding() &&
      type.getRank() == 1 && isIntegerTensor(type))
    return old;
  Shape small = localShapes.find(segment.results.front())->second;
  Shape whole(Program::getWholeType(result).getShape());
  if (!type.getEncoding()) {
    whole.assign(result.getShape().begin(), result.getShape().end());
    small = Shape(shrink(result, small).getShape());
  }
  // The total of a block lacks the dimension that is accumulated.
  if (auto op = dyn_cast<CumulativeOp>(segment.whole);
      op && type.getRank() + 1 == result.getRank()) {
    whole.erase(whole.begin() + op.getDim());
    small.erase(small.begin() + op.getDim());
  }
  if (int64_t(whole.size()) != type.getRank())
    return std::nullopt;
  for (auto [dim, size] : llvm::enumerate(old))
    if (size == whole[dim])
      size = small[dim];
  return old;
}

/// Copies `op` with results of other types, without the attributes that only
/// passes read.
Operation *ScratchBuilder::cloneOp(Operation *op, ArrayRef<Type> types,
                                   IRMapping &mapping) {
  Operation *copy = op->clone(mapping);
  copy->setDiscardableAttrs(ArrayRef<NamedAttribute>());
  for (auto [result, type] : llvm::zip_equal(copy->getResults(), types))
    result.setType(cast<RankedTensorType>(type));
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](AxisRefAttr axis) -> Attribute {
    if (axis.getSize() == 0)
      return axis;
    AxisList old = resolveAxes(axis, mesh);
    if (old.empty())
      return axis;
    AxisRef small = meshShrinker.map(old.front());
    return AxisRefAttr::get(context, axis.getName(), small.pre, small.size);
  });
  replacer.addReplacement(
      [&](SplatElementsAttr splat) -> std::pair<Attribute, WalkResult> {
        auto type = cast<RankedTensorType>(types.front());
        if (splat.getType().getShape() != typeOf(op->getResult(0)).getShape())
          return {splat, WalkResult::skip()};
        return {splat.resizeSplat(RankedTensorType::get(type.getShape(),
                                                        type.getElementType())),
                WalkResult::skip()};
      });
  replacer.replaceElementsIn(copy);
  builder.insert(copy);
  return copy;
}

void ScratchBuilder::buildMesh() {
  const Mesh &small = meshShrinker.getMesh();
  SmallVector<StringAttr> names;
  SmallVector<int64_t> extents;
  for (const Axis &axis : small.axes) {
    names.push_back(builder.getStringAttr(axis.name));
    extents.push_back(axis.size);
  }
  MeshOp::create(builder, builder.getUnknownLoc(), small.name,
                 MeshAttr::get(context, names, extents, {}), ArrayAttr());
}

/// Starts a new function whose arguments have these types and replace `values`.
void ScratchBuilder::beginFunction(StringRef name, ValueRange values,
                                   ArrayRef<Type> types, IRMapping &mapping) {
  auto function = func::FuncOp::create(builder, segment.whole->getLoc(), name,
                                       builder.getFunctionType(types, {}));
  Block *block = function.addEntryBlock();
  builder.setInsertionPointToStart(block);
  for (auto [value, argument] : llvm::zip_equal(values, block->getArguments()))
    if (!mapping.contains(value))
      mapping.map(value, argument);
}

void ScratchBuilder::endFunction(ValueRange results) {
  auto end = func::ReturnOp::create(builder, segment.whole->getLoc(), results);
  auto function = cast<func::FuncOp>(end->getParentOp());
  function.setType(
      builder.getFunctionType(function.getArgumentTypes(), results.getTypes()));
}

void ScratchBuilder::buildWhole() {
  Operation *whole = segment.whole;
  unsigned operands = whole->getNumOperands();
  SmallVector<Type> types;
  for (unsigned t = 0; t < shapes.size(); ++t)
    types.push_back(RankedTensorType::get(
        shapes[t], typeOf(getWholeTensor(t)).getElementType()));
  ArrayRef<Type> inputs = ArrayRef<Type>(types).take_front(operands);
  ArrayRef<Type> outputs = ArrayRef<Type>(types).drop_front(operands);
  OpBuilder::InsertionGuard guard(builder);
  IRMapping mapping;
  beginFunction("whole", whole->getOperands(), inputs, mapping);
  Operation *copy = cloneOp(whole, outputs, mapping);
  if (counts)
    counts->mapWhole(copy);
  endFunction(copy->getResults());
}

/// Gives each use of a constant its own copy. How a number shrinks depends on
/// its use: a 5 that counts rows of a block shrinks differently from a 5 that
/// is a position.
static void splitConstants(SmallVectorImpl<Operation *> &ops) {
  for (size_t i = 0, end = ops.size(); i < end; ++i) {
    if (!isa<ConstantOp>(ops[i]))
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : ops[i]->getUses())
      uses.push_back(&use);
    for (OpOperand *use : ArrayRef(uses).drop_front(uses.empty() ? 0 : 1)) {
      Operation *own = ops[i]->clone();
      ops[i]->getBlock()->getOperations().insertAfter(ops[i]->getIterator(),
                                                      own);
      use->set(own->getResult(0));
      ops.push_back(own);
    }
  }
}

bool ScratchBuilder::buildLocal() {
  SmallVector<Type> inputs;
  for (auto [t, operand] : llvm::enumerate(segment.operands))
    inputs.push_back(shrink(typeOf(operand), shapes[t]));
  OpBuilder::InsertionGuard guard(builder);
  IRMapping mapping;
  beginFunction("local", segment.operands, inputs, mapping);
  SmallVector<Operation *> copies;
  for (Operation *op : segment.local) {
    SmallVector<Type> types;
    for (Value result : op->getResults()) {
      auto known = localShapes.find(result);
      std::optional<Shape> shape = known != localShapes.end()
                                       ? known->second
                                       : inferShape(op, typeOf(result));
      if (!shape)
        return false;
      localShapes[result] = *shape;
      types.push_back(shrink(typeOf(result), *shape));
    }
    Operation *copy = cloneOp(op, types, mapping); // also maps the results
    if (counts)
      copies.push_back(copy);
  }
  splitConstants(copies);
  for (Operation *copy : copies) // once all copies have their users
    counts->mapNumbers(copy);
  for (Offset &offset : offsets) {
    std::optional<int64_t> block = shrinkOffset(offset);
    if (!block)
      return false;
    auto copy =
        mapping.lookup(offset.constant.getResult()).getDefiningOp<ConstantOp>();
    auto value = cast<DenseElementsAttr>(copy.getValue());
    copy.setValueAttr(DenseElementsAttr::get(
        value.getType(), builder.getI32IntegerAttr(*block)));
  }
  SmallVector<Value> results;
  for (Value result : segment.results)
    results.push_back(mapping.lookup(result));
  endFunction(results);
  return true;
}

OwningOpRef<ModuleOp> ScratchBuilder::build(std::string &reason) {
  ShardingRule rule = getRule();
  shrinkCounts();
  if (!counts && sizes.parts &&
      isa<DynamicSliceOp, DynamicUpdateSliceOp>(segment.whole))
    return nullptr;
  keepsOffsets = !counts &&
                 llvm::any_of(segment.local, llvm::IsaPred<AxisIndexOp>) &&
                 !(sizes.offsets && !countsNarrowly() && findOffsets());
  if (keepsOffsets)
    offsets.clear();
  chooseMesh(rule);
  chooseShapes(rule);
  scratch = ModuleOp::create(segment.whole->getLoc());
  builder.setInsertionPointToStart(scratch->getBody());
  buildMesh();
  buildWhole();
  if (!buildLocal())
    return nullptr;
  ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
    if (reason.empty())
      reason = diagnostic.str();
    return success();
  });
  // Verify one by one: verifying all at once uses threads, which takes longer.
  for (Operation &op : *scratch->getBody())
    if (failed(verify(&op)))
      return nullptr;
  if (failed(verify(*scratch, /*verifyRecursively=*/false)))
    return nullptr;
  return std::move(scratch);
}

OwningOpRef<ModuleOp> tp::buildShrunkModule(const Segment &segment,
                                            const Mesh &mesh, Sizes sizes,
                                            std::string &reason) {
  return ScratchBuilder(segment, mesh, sizes).build(reason);
}

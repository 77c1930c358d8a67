// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LegalizeForStep.h"

#include "FusionGroups.h"
#include "ScalarOps.h"

#include "dialects/SPMD/Nesting.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SmallPtrSet.h"

#include <map>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::codegen;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static RankedTensorType withElement(Value like, Type element) {
  return RankedTensorType::get(typeOf(like).getShape(), element);
}

static bool isKnownAtCompileTime(Value value) {
  if (auto broadcast = value.getDefiningOp<BroadcastOp>())
    return isKnownAtCompileTime(broadcast.getInput());
  return value.getDefiningOp<ConstantOp>() || value.getDefiningOp<IotaOp>();
}

static bool sumsProducts(const EinsumTerms &terms) {
  return llvm::any_of(terms.lhs, [&](char letter) {
    return terms.rhs.contains(letter) && !terms.result.contains(letter);
  });
}

bool tp::isMatmul(EinsumOp op, const Target &target) {
  Type element = typeOf(op.getLhs()).getElementType();
  return sumsProducts(EinsumTerms::split(op.getEquation())) &&
         isa<FloatType>(element) &&
         target.getFactorType(element, getProductSize(op)).type == element &&
         target.writes(element, op.getType().getElementType());
}

char tp::getColumnLetter(EinsumOp op) {
  StringRef letters = EinsumTerms::split(op.getEquation()).result;
  ArrayRef<int64_t> shape = op.getType().getShape();
  while (!letters.empty() && shape[letters.size() - 1] == 1)
    letters = letters.drop_back();
  return letters.empty() ? 0 : letters.back();
}

bool tp::takesColumnsFromLeft(EinsumOp op) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  char column = getColumnLetter(op);
  return column && terms.lhs.contains(column) && !terms.rhs.contains(column);
}

ProductSize tp::getProductSize(EinsumOp op) {
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  ProductSize size{1, 1, 1};
  for (auto [letter, extent] :
       llvm::zip_equal(terms.lhs, typeOf(op.getLhs()).getShape())) {
    bool isShared = terms.rhs.contains(letter);
    if (isShared != terms.result.contains(letter))
      (isShared ? size.k : size.m) *= extent;
  }
  for (auto [letter, extent] :
       llvm::zip_equal(terms.rhs, typeOf(op.getRhs()).getShape()))
    if (terms.result.contains(letter) && !terms.lhs.contains(letter))
      size.n *= extent;
  if (takesColumnsFromLeft(op))
    std::swap(size.m, size.n);
  return size;
}

Value tp::getOther(Operation *op, Value value) {
  return op->getOperand(op->getOperand(0) == value ? 1 : 0);
}

/// Which values `other`, of the shape of the contraction's result, has.
static PostOpPattern::Operand classify(EinsumOp op, Value other) {
  auto broadcast = other.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return PostOpPattern::Operand::Full;
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  StringRef columns =
      terms.rhs.contains(getColumnLetter(op)) ? terms.rhs : terms.lhs;
  bool hasRows = llvm::any_of(broadcast.getDims(), [&](int64_t dim) {
    return op.getType().getDimSize(dim) != 1 &&
           !columns.contains(terms.result[dim]);
  });
  return hasRows ? PostOpPattern::Operand::Other : PostOpPattern::Operand::Row;
}

PostOpPattern tp::getPost(EinsumOp op, Value value, Operation *next) {
  if (isa<AddOp, MulOp>(next))
    return {isa<AddOp>(next) ? step::PostOp::Add : step::PostOp::Multiply,
            classify(op, getOther(next, value))};
  if (auto gelu = dyn_cast<GeluOp>(next))
    return {gelu.getTanh() ? step::PostOp::GeluTanh : step::PostOp::GeluErf};
  return {isa<SiluOp>(next) ? step::PostOp::Silu : step::PostOp::Relu};
}

SmallVector<unsigned> tp::orderPosts(ArrayRef<PostOpPattern> posts,
                                     const Target &target) {
  SmallVector<unsigned> order;
  size_t numSums = 0;
  if (target.hasFixedEpilogue())
    while (numSums < posts.size() && posts[numSums].kind == step::PostOp::Add)
      ++numSums;
  for (bool takesFull : {true, false})
    for (size_t i = 0; i < numSums; ++i)
      if ((posts[i].operand == PostOpPattern::Operand::Full) == takesFull)
        order.push_back(i);
  for (size_t i = numSums; i < posts.size(); ++i)
    order.push_back(i);
  return order;
}

SmallVector<Operation *> tp::getEpilogue(EinsumOp op, const Target &target) {
  SmallVector<Operation *> chain;
  EinsumTerms terms = EinsumTerms::split(op.getEquation());
  // In batches the matrix library is faster without an epilogue.
  bool isBatched = llvm::any_of(terms.result, [&](char letter) {
    return terms.lhs.contains(letter) && terms.rhs.contains(letter);
  });
  if (!isMatmul(op, target) || isBatched)
    return chain;
  Value value = op.getResult();
  Type factor = typeOf(op.getLhs()).getElementType(),
       result = op.getType().getElementType();
  SmallVector<PostOpPattern> posts;
  while (value.hasOneUse()) {
    Operation *user = *value.getUsers().begin();
    if (user->getBlock() != op->getBlock())
      break; // in a loop, for every turn
    if (!isa<AddOp, MulOp, ReluOp, GeluOp, SiluOp>(user))
      break;
    // Scaling by a number is cheaper in a row program than from memory.
    if (isa<AddOp, MulOp>(user) && isKnownAtCompileTime(getOther(user, value)))
      break;
    posts.push_back(getPost(op, value, user));
    SmallVector<PostOpPattern> ordered;
    for (unsigned index : orderPosts(posts, target))
      ordered.push_back(posts[index]);
    if (!target.canFollow(factor, result, ordered))
      break;
    chain.push_back(user);
    value = user->getResult(0);
  }
  return chain;
}

//===----------------------------------------------------------------------===//
// Encodings and manual regions
//===----------------------------------------------------------------------===//

/// Remembers what `op`'s encodings, or the shardings of a collective in a
/// manual region, say about it, if it needs them later.
static LogicalResult remember(Operation *op, const Mesh *mesh,
                              LocalInfos &infos) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (!collective && !isa<MaskOp>(op))
    return success();
  for (auto [part, operand] : llvm::enumerate(op->getOperands())) {
    RankedTensorType type = typeOf(operand), global = getGlobalType(type);
    auto local = dyn_cast_if_present<LocalAttr>(type.getEncoding());
    ShardingAttr sharding = local ? local.getSharding() : ShardingAttr();
    if (!local && collective && op->getParentOfType<ManualOp>()) {
      sharding = collective.getPartInSharding(part);
      global = getGlobalType(collective, part);
    }
    if (!sharding || !mesh)
      return op->emitError() << prefix(ErrorCode::NotLocal) << op->getName()
                             << " is on a whole tensor: run tp-localize first";
    LocalInfo info;
    info.sharding =
        std::get<TensorSharding>(sharding.resolve(*mesh, type.getRank()))
            .getLayout();
    info.global.assign(global.getShape().begin(), global.getShape().end());
    if (collective) {
      info.step = getStep(collective, part);
      info.sharding.kind = isa<ToPartialOp>(op)
                               ? collective.getPartOutSharding(part).getKind()
                               : collective.getPartInSharding(part).getKind();
    }
    infos[op].push_back(std::move(info));
  }
  return success();
}

static void stripEncoding(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (type && type.getEncoding())
    value.setType(
        RankedTensorType::get(type.getShape(), type.getElementType()));
}

//===----------------------------------------------------------------------===//
// Basic forms
//===----------------------------------------------------------------------===//

static void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

static void decomposeAll(Block &block,
                         const llvm::SmallPtrSetImpl<Operation *> &keep) {
  for (auto it = block.begin(); it != block.end();) {
    auto op = dyn_cast<DecomposeOpInterface>(*it);
    if (!op || keep.contains(op)) {
      ++it;
      continue;
    }
    OpBuilder builder(op);
    Operation *before = op->getPrevNode();
    SmallVector<Value> values = op.decompose(builder);
    replace(op, values);
    // What it is made of may be made of something, too.
    it = before ? std::next(before->getIterator()) : block.begin();
  }
}

/// Fill is written around the input once, whatever windows read of it.
static void fillAround(WindowOp op) {
  if (!op.getFill())
    return;
  RankedTensorType input = typeOf(op.getInput());
  SmallVector<int64_t> shape(input.getShape()), before(shape.size(), 0),
      low(op.getLow());
  for (auto [i, dim] : llvm::enumerate(op.getDims())) {
    auto [first, end] = op.getReach(i);
    before[dim] = std::max<int64_t>(0, -first);
    shape[dim] = before[dim] + std::max(shape[dim], end);
    low[i] -= before[dim];
  }
  OpBuilder builder(op);
  Value value = PadOp::create(builder, op.getLoc(), input.clone(shape),
                              op.getInput(), op.getFill(), before);
  op.getInputMutable().assign(value);
  op.getFillMutable().clear();
  op.setLow(low);
}

/// Reduces over one dimension, the last: others move there and merge. Returns
/// the result.
static Value simplifyReduce(ReduceOp op) {
  int64_t rank = typeOf(op.getInput()).getRank();
  ArrayRef<int64_t> dims = op.getDims();
  if (dims.size() == 1 && dims[0] == rank - 1)
    return op.getResult();
  OpBuilder builder(op);
  Location loc = op.getLoc();
  Type element = op.getType().getElementType();
  SmallVector<int64_t> permutation, permuted;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(dims, dim))
      permutation.push_back(dim);
  permutation.append(dims.begin(), dims.end());
  int64_t merged = 1;
  for (int64_t dim : permutation)
    permuted.push_back(typeOf(op.getInput()).getDimSize(dim));
  for (int64_t dim : dims)
    merged *= typeOf(op.getInput()).getDimSize(dim);
  SmallVector<int64_t> shape(op.getType().getShape());
  shape.push_back(merged);
  Value value = op.getInput();
  if (!llvm::is_sorted(permutation))
    value = TransposeOp::create(builder, loc,
                                RankedTensorType::get(permuted, element), value,
                                permutation);
  if (dims.size() != 1)
    value = ReshapeOp::create(builder, loc,
                              RankedTensorType::get(shape, element), value);
  Value result =
      ReduceOp::create(builder, loc, op.getType(), op.getKind(), value,
                       ArrayRef<int64_t>(int64_t(shape.size()) - 1));
  replace(op, result);
  return result;
}

/// Whether only row programs read a view, perhaps by way of other views.
static bool isReadByRows(Operation *view) {
  return llvm::all_of(view->getUsers(), [](Operation *user) {
    return isViewOp(user) ? isReadByRows(user)
                          : isScalarOp(user) || isa<ReduceOp>(user);
  });
}

/// Widening a value before it is sliced or spread would write it to memory;
/// behind, it is done where elements are read.
static void widenBehindView(Operation *view) {
  auto convert = view->getOperand(0).getDefiningOp<ConvertOp>();
  if (!convert || !isReadByRows(view))
    return;
  Type from = typeOf(convert.getInput()).getElementType(),
       to = convert.getType().getElementType();
  if (!isa<FloatType>(from) || !isa<FloatType>(to) ||
      from.getIntOrFloatBitWidth() >= to.getIntOrFloatBitWidth())
    return;
  OpBuilder builder(view);
  Value result = view->getResult(0);
  auto widened =
      ConvertOp::create(builder, convert.getLoc(),
                        cast<RankedTensorType>(result.getType()), result);
  result.replaceAllUsesExcept(widened, widened);
  widened->moveAfter(view);
  view->setOperand(0, convert.getInput());
  result.setType(withElement(result, from));
}

/// Parts are narrowed where they are computed, and not once more behind.
static void narrowParts(ConcatOp concat) {
  auto convert = concat->hasOneUse()
                     ? dyn_cast<ConvertOp>(*concat->getUsers().begin())
                     : ConvertOp();
  if (!convert)
    return;
  Type element = convert.getType().getElementType();
  OpBuilder builder(concat);
  for (OpOperand &part : concat->getOpOperands())
    part.set(ConvertOp::create(builder, convert.getLoc(),
                               withElement(part.get(), element), part.get()));
  concat.getResult().setType(convert.getType());
  replace(convert, concat->getResults());
}

namespace {
/// Brings a contraction into a form that has a step.
class EinsumSimplifier {
public:
  EinsumSimplifier(EinsumOp op, const Target &target)
      : op(op), target(target), builder(op), loc(op.getLoc()), lhs(op.getLhs()),
        rhs(op.getRhs()) {
    EinsumTerms terms = EinsumTerms::split(op.getEquation());
    left = terms.lhs.str();
    right = terms.rhs.str();
    result = terms.result.str();
  }

  void run() {
    bool changed = sumAlone(lhs, left, right);
    changed |= sumAlone(rhs, right, left);
    changed |= useNarrowOperands() || widenOperands();
    Type factor = typeOf(lhs).getElementType(),
         element = op.getType().getElementType();
    bool isWritten = !isNarrow(element) || target.writes(factor, element);
    if (changed || !isWritten) {
      Type computed =
          factor.isF32() || !isWritten ? builder.getF32Type() : element;
      auto equation = left + "," + right + "->" + result;
      auto changedOp =
          EinsumOp::create(builder, loc, withElement(op.getResult(), computed),
                           equation, lhs, rhs);
      Value value = changedOp.getResult();
      if (computed != element)
        value = ConvertOp::create(builder, loc, op.getType(), value);
      replace(op, value);
      op = changedOp;
      builder.setInsertionPoint(op);
    }
    if (isDepthwise())
      addProducts();
    else if (!isMatmul(op, target))
      multiplyAndSum();
  }

private:
  /// Sums over the letters that `value` alone has.
  bool sumAlone(Value &value, std::string &letters, StringRef others) {
    SmallVector<int64_t> dims, shape;
    std::string rest;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      if (!StringRef(result).contains(letter) && !others.contains(letter)) {
        dims.push_back(dim);
        continue;
      }
      rest += letter;
      shape.push_back(typeOf(value).getDimSize(dim));
    }
    if (dims.empty())
      return false;
    // The result alone is rounded.
    if (isNarrow(typeOf(value).getElementType()))
      convertOperands(builder.getF32Type());
    auto type = RankedTensorType::get(shape, typeOf(value).getElementType());
    letters = rest;
    value = simplifyReduce(
        ReduceOp::create(builder, loc, type, ReductionKind::Sum, value, dims));
    return true;
  }

  /// A float of less than 32 bits.
  static bool isNarrow(Type element) {
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  }

  /// What the matrix library multiplies elements as, here. Remarks if the user
  /// asked for more.
  Type getFactorType(Type element) {
    FactorType factor = target.getFactorType(element, getProductSize(op));
    bool isProduct = sumsProducts(EinsumTerms::split(op.getEquation()));
    if (isProduct && !factor.obstacle.empty())
      op.emitRemark() << element
                      << " is not multiplied as such: " << factor.obstacle;
    return factor.type;
  }

  /// Operands that were widened from bf16 are contracted as they were: products
  /// of two bf16 are exact in f32, where both ways add. So are those of f16.
  bool useNarrowOperands() {
    auto a = lhs.getDefiningOp<ConvertOp>(), b = rhs.getDefiningOp<ConvertOp>();
    if (!a || !b || !typeOf(lhs).getElementType().isF32())
      return false;
    Type from = typeOf(a.getInput()).getElementType();
    if (from != typeOf(b.getInput()).getElementType() || !isNarrow(from) ||
        getFactorType(from) != from)
      return false;
    lhs = a.getInput();
    rhs = b.getInput();
    return true;
  }

  /// What the matrix library does not know is contracted in what it does.
  bool widenOperands() {
    Type element = typeOf(lhs).getElementType();
    if (!isNarrow(element))
      return false;
    Type factor = getFactorType(element);
    if (factor == element)
      return false;
    convertOperands(factor);
    return true;
  }

  void convertOperands(Type element) {
    for (Value *value : {&lhs, &rhs})
      *value =
          ConvertOp::create(builder, loc, withElement(*value, element), *value);
  }

  static bool seesWindows(Value value) {
    while (isa_and_nonnull<ReshapeOp, TransposeOp>(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value.getDefiningOp<WindowOp>() != nullptr;
  }

  /// Whether it is a convolution of every feature by itself: to the matrix
  /// library, a product of a matrix and a vector for each feature, whose
  /// windows would have to be copied. Longer kernels would make long programs.
  bool isDepthwise() {
    constexpr int64_t kMostProducts = 64;
    ProductSize size = getProductSize(op);
    return isa<FloatType>(op.getType().getElementType()) &&
           (seesWindows(lhs) || seesWindows(rhs)) && size.k > 1 &&
           size.k <= kMostProducts && (size.m == 1 || size.n == 1);
  }

  /// `value` as the operand of a row program over `letters` of the shape of the
  /// loops: dimensions in order, and repeated where it has none.
  Value spread(Value value, StringRef letters, StringRef all,
               ArrayRef<int64_t> shape, Type element) {
    if (typeOf(value).getElementType() != element)
      value =
          ConvertOp::create(builder, loc, withElement(value, element), value);
    // Broadcasting keeps the order of dimensions, so they come in order first.
    SmallVector<int64_t> permutation =
        llvm::to_vector(llvm::seq<int64_t>(0, letters.size()));
    llvm::sort(permutation, [&](int64_t a, int64_t b) {
      return all.find(letters[a]) < all.find(letters[b]);
    });
    SmallVector<int64_t> dims, permuted;
    for (int64_t dim : permutation) {
      dims.push_back(all.find(letters[dim]));
      permuted.push_back(typeOf(value).getDimSize(dim));
    }
    value = TransposeOp::create(builder, loc,
                                RankedTensorType::get(permuted, element), value,
                                permutation);
    return BroadcastOp::create(
        builder, loc, RankedTensorType::get(shape, element), value, dims);
  }

  /// What `value` has at `places` of the letters that are summed.
  Value takeAt(Value value, StringRef letters,
               const std::map<char, int64_t> &places) {
    SmallVector<int64_t> starts, sizes, kept,
        strides(typeOf(value).getRank(), 1);
    for (auto [letter, size] :
         llvm::zip_equal(letters, typeOf(value).getShape())) {
      auto place = places.find(letter);
      bool isSummed = place != places.end();
      starts.push_back(isSummed ? place->second : 0);
      sizes.push_back(isSummed ? 1 : size);
      if (!isSummed)
        kept.push_back(size);
    }
    Type element = typeOf(value).getElementType();
    value = SliceOp::create(builder, loc, RankedTensorType::get(sizes, element),
                            value, starts, strides);
    return ReshapeOp::create(builder, loc, RankedTensorType::get(kept, element),
                             value);
  }

  /// A few products added one by one, as a row program that reads windows where
  /// they are. Narrow floats are added in f32.
  void addProducts() {
    Type element = op.getType().getElementType();
    Type wide = isNarrow(element) ? builder.getF32Type() : element;
    std::map<char, int64_t> sizes, places;
    // What has one element is no loop.
    std::string kept;
    SmallVector<int64_t> shape;
    for (auto [letter, size] : llvm::zip_equal(result, op.getType().getShape()))
      if (size != 1) {
        kept += letter;
        shape.push_back(size);
      }
    auto read = [&](StringRef letters, Value value) {
      std::string rest;
      for (auto [letter, size] :
           llvm::zip_equal(letters, typeOf(value).getShape())) {
        if (kept.find(letter) != std::string::npos)
          rest += letter;
        else
          sizes[letter] = size;
      }
      return rest;
    };
    std::string leftRest = read(left, lhs), rightRest = read(right, rhs);
    for (auto [letter, size] : sizes)
      places[letter] = 0;
    auto advance = [&] {
      for (auto it = places.rbegin(); it != places.rend(); ++it) {
        if (++it->second < sizes[it->first])
          return true;
        it->second = 0;
      }
      return false;
    };
    Value sum;
    do {
      Value a = spread(takeAt(lhs, left, places), leftRest, kept, shape, wide);
      Value b =
          spread(takeAt(rhs, right, places), rightRest, kept, shape, wide);
      Value product = MulOp::create(builder, loc, a.getType(), a, b);
      sum = sum ? Value(AddOp::create(builder, loc, a.getType(), sum, product))
                : product;
    } while (advance());
    if (wide != element)
      sum = ConvertOp::create(builder, loc, withElement(sum, element), sum);
    if (sum.getType() != op.getType())
      sum = ReshapeOp::create(builder, loc, op.getType(), sum);
    replace(op, sum);
  }

  /// A sum of products, as a row program: for types that the matrix library
  /// does not know, and where nothing is summed.
  void multiplyAndSum() {
    std::string all = result;
    SmallVector<int64_t> shape(op.getType().getShape());
    for (auto [dim, letter] : llvm::enumerate(left))
      if (!StringRef(result).contains(letter)) {
        all += letter;
        shape.push_back(typeOf(lhs).getDimSize(dim));
      }
    Type element = op.getType().getElementType();
    Value a = spread(lhs, left, all, shape, element),
          b = spread(rhs, right, all, shape, element);
    Value product = MulOp::create(builder, loc, a.getType(), a, b);
    if (all.size() == result.size())
      return replace(op, product);
    SmallVector<int64_t> dims =
        llvm::to_vector(llvm::seq<int64_t>(result.size(), all.size()));
    auto sum = ReduceOp::create(builder, loc, op.getType(), ReductionKind::Sum,
                                product, dims);
    replace(op, sum->getResults());
    simplifyReduce(sum);
  }

  EinsumOp op;
  const Target &target;
  OpBuilder builder;
  Location loc;
  Value lhs, rhs;
  std::string left, right, result;
};
} // namespace

/// What a loop carries unchanged is taken from outside.
static void freeInvariants(Operation *op) {
  auto loop = dyn_cast<RegionFlowOpInterface>(op);
  if (!loop || !loop.isLoop())
    return;
  for (Channel channel : getChannels(loop)) {
    Value init = channel.getSources().front()->get();
    SmallVector<Value> same = channel.getTargets();
    same.push_back(init);
    if (llvm::all_of(channel.getSources(), [&](OpOperand *source) {
          return llvm::is_contained(same, source->get());
        }))
      for (Value target : channel.getTargets())
        target.replaceAllUsesWith(init);
  }
}

static Value convertTo(OpBuilder &builder, Value value, Type element) {
  if (typeOf(value).getElementType() == element)
    return value;
  return ConvertOp::create(builder, value.getLoc(), withElement(value, element),
                           value);
}

/// Has `op` take those of its operands, and give those of its results, in 32
/// bits.
static void computeWide(Operation *op, ArrayRef<unsigned> operands,
                        ArrayRef<unsigned> results) {
  OpBuilder builder(op);
  auto integer = dyn_cast<IntegerType>(
      typeOf(op->getOperand(operands[0])).getElementType());
  Type wide = integer ? Type(IntegerType::get(op->getContext(), 32,
                                              integer.getSignedness()))
                      : Type(builder.getF32Type());
  for (unsigned i : operands)
    op->setOperand(i, convertTo(builder, op->getOperand(i), wide));
  builder.setInsertionPointAfter(op);
  for (unsigned i : results) {
    Value result = op->getResult(i);
    Type element = typeOf(result).getElementType();
    result.setType(withElement(result, wide));
    Value narrow = convertTo(builder, result, element);
    result.replaceAllUsesExcept(narrow, narrow.getDefiningOp());
  }
}

/// Brings ops that the runtime computes to types that it computes in. Sums are
/// rounded once.
static void widenForRuntime(Operation *op, const Target &target) {
  auto isBelow = [](Value value, unsigned width) {
    Type element = typeOf(value).getElementType();
    return isa<FloatType>(element) && element.getIntOrFloatBitWidth() < width;
  };
  if (auto scatter = dyn_cast<ScatterOp>(op)) {
    OpBuilder builder(op);
    scatter.getIndicesMutable().assign(
        convertTo(builder, scatter.getIndices(), builder.getI64Type()));
    if (scatter.getKind() != ScatterKind::Set &&
        isBelow(scatter.getResult(), 32))
      computeWide(op, {0, 2}, 0u);
  } else if (isa<SortOp, TopKOp>(op)) {
    if (isBelow(op->getOperand(0), 16))
      computeWide(op, 0u, 0u);
  } else if (isa<AllReduceOp, ReduceScatterOp>(op)) {
    for (unsigned i = 0; i < op->getNumOperands(); ++i)
      if (!target.combines(typeOf(op->getOperand(i)).getElementType()))
        computeWide(op, i, i);
  }
}

/// Moves the layouts of all tensors from their types to `infos`: then all of
/// `function` is written for one device, as the bodies of manual regions are.
static LogicalResult takeEncodings(func::FuncOp function, const Mesh *mesh,
                                   LocalInfos &infos) {
  if (function
          .walk([&](Operation *op) {
            return succeeded(remember(op, mesh, infos))
                       ? WalkResult::advance()
                       : WalkResult::interrupt();
          })
          .wasInterrupted())
    return failure();
  function.walk([](Block *inner) {
    for (Value argument : inner->getArguments())
      stripEncoding(argument);
    for (Operation &op : *inner)
      for (Value result : op.getResults())
        stripEncoding(result);
  });
  SmallVector<ManualOp> regions;
  function.walk([&](ManualOp manual) { regions.push_back(manual); });
  for (ManualOp manual : regions)
    inlineBody(manual);
  return success();
}

static void eraseDead(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block.without_terminator())
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops))
    if (isOpTriviallyDead(op))
      op->erase();
}

FailureOr<LocalInfos> tp::legalizeForStep(func::FuncOp function,
                                          const Mesh *mesh,
                                          const Target &target) {
  LocalInfos infos;
  if (failed(takeEncodings(function, mesh, infos)))
    return failure();
  dropEmpty(function, infos);
  function.walk([](Operation *op) { freeInvariants(op); });

  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance;
  auto shareEqual = [&] {
    eliminateCommonSubExpressions(rewriter, dominance, function);
  };
  // Inner blocks first. They are collected each time: a dead branch or loop
  // goes with its blocks.
  auto forEach = [&](auto change) {
    SmallVector<Block *> blocks;
    function.walk([&](Block *block) { blocks.push_back(block); });
    for (Block *block : blocks)
      change(*block);
  };
  auto decomposeBlocks = [&] {
    forEach([&](Block &block) {
      llvm::SmallPtrSet<Operation *, 16> keep;
      for (auto einsum : block.getOps<EinsumOp>())
        for (Operation *op : getEpilogue(einsum, target))
          keep.insert(op);
      for (auto topK : block.getOps<TopKOp>())
        keep.insert(topK); // a sort that stops early
      for (auto attention : block.getOps<AttentionOp>())
        if (hasAttentionKernel(attention, target))
          keep.insert(attention);
      decomposeAll(block, keep);
    });
  };
  forEach([&](Block &block) {
    for (auto op : llvm::make_early_inc_range(block.getOps<AttentionOp>()))
      prepareAttention(op, target);
  });
  // Twice: what decompositions have in common may end an epilogue early.
  for (int round = 0; round < 2; ++round) {
    shareEqual();
    decomposeBlocks();
  }
  dropEmpty(function, infos);
  forEach([&](Block &block) {
    for (auto window : block.getOps<WindowOp>())
      fillAround(window);
    for (auto reduce : llvm::make_early_inc_range(block.getOps<ReduceOp>()))
      simplifyReduce(reduce);
    for (auto einsum : llvm::make_early_inc_range(block.getOps<EinsumOp>()))
      EinsumSimplifier(einsum, target).run();
    for (Operation &op : llvm::make_early_inc_range(block))
      widenForRuntime(&op, target);
  });
  shareEqual();
  decomposeBlocks();
  function.walk([](Operation *op) { freeInvariants(op); });
  forEach([](Block &block) {
    for (auto concat : llvm::to_vector(block.getOps<ConcatOp>()))
      narrowParts(concat);
    findMotions(block);
    for (Operation &op : block)
      if (isViewOp(&op))
        widenBehindView(&op);
    eraseDead(block);
  });
  return infos;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-split-packed: splits a weight that packs several weights, such as q and k.
//
//     %y = einsum %x, %w       : .. x 12        %q = einsum %x, %w0 : .. x 8
//     %q = slice %y [0, 8)                  ->  %k = einsum %x, %w1 : .. x 4
//     %k = slice %y [8, 12)
//
// If %w were sharded into blocks of columns, some device would hold columns of
// both q and k, and the slices would have to communicate. With one argument for
// q and one for k, the slices disappear. Ops of the backward pass are split,
// too, if their operands or results consist of the same parts:
//
//     %dy = concat %dq, %dk, %dv       %0 = einsum %dq, %w0 ..
//     %dx = einsum %dy, %w         ->  %dx = %0 + (einsum %dk, %w1) + ..
//     %dw = einsum %x, %dy             %dw0 = einsum %x, %dq ..
//
// and the gradient, or the updated weight, becomes one result for each part.

#include "PackedParts.h"

#include "dialects/TP/Interface.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Import/Passes.h"

#include "llvm/ADT/SmallVectorExtras.h"

#include <map>

namespace tp {
#define GEN_PASS_DEF_SPLITPACKEDPASS
#include "tpopt/Passes/Import/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// The values of one function that are to be split, and the ops that are
/// affected.
struct Splits {
  llvm::MapVector<Value, Split> arguments;
  std::map<unsigned, Split> results;
  llvm::MapVector<Operation *, unsigned> slices;
  llvm::SetVector<Operation *> between;
  /// For every op that sums over a split dimension: which dimension this is,
  /// and how it is split.
  llvm::MapVector<Operation *, std::pair<PackedSum, Split>> sums;
};

/// Finds what can be split in one function.
class Finder {
public:
  explicit Finder(func::FuncOp function) : function(function) {}

  /// Finds the arguments and results that can be split, and the ops that this
  /// affects. Arguments that are named in `whole` are not split.
  Splits find(const llvm::DenseSet<StringAttr> &whole);

private:
  using Trackers = llvm::MapVector<Value, Tracker>;

  void addUpdated(Trackers &trackers, const Split &split);
  bool addGroup(Trackers group, const Split &split, Splits &splits,
                bool isForward);
  Parting shrink(Trackers &group, const Split &split, const Splits &splits,
                 bool isForward);
  bool addGradients(const Split &split, Parting &parting, Splits &splits);
  bool isSplit(const Tracker &tracker, BlockArgument argument,
               const Split &split, const Trackers &group, Parting &parting,
               const Splits &splits);
  bool isResultSplit(unsigned result, ArrayRef<int64_t> shape,
                     const Split &split, const Trackers &group,
                     Parting &parting, const Splits &splits);

  func::FuncOp function;
  SmallVector<BlockArgument> weights;
};

/// Rewrites one function.
class Splitter {
public:
  Splitter(func::FuncOp function, Splits splits)
      : function(function), splits(std::move(splits)) {}

  void run();

private:
  void keepNames();
  void moveDonations();
  void addParts(BlockArgument whole, const Split &split);
  void replace(SliceOp slice, unsigned dim);
  void replace(const PackedSum &sum, const Split &split);
  void splitResults();
  void eraseWhole();
  /// Returns the elements `interval` of dimension `dim` of a value. If the
  /// value's op is between a weight and a slice, or only moves or converts
  /// data, computes only these elements; otherwise slices the value.
  Value cut(Value value, unsigned dim, Interval interval);
  Value cutOp(Operation *op, unsigned dim, Interval interval);
  Value cutConcat(ConcatOp concat, Interval interval);

  func::FuncOp function;
  Splits splits;
  llvm::DenseMap<Value, SmallVector<Value>> parts;
  std::map<std::tuple<void *, unsigned, Interval>, Value> known;
};

} // namespace

static Operation *getReturn(func::FuncOp function) {
  return function.front().getTerminator();
}

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

/// Returns true if an argument is a complete stored tensor in its stored
/// layout, so that its parts can be loaded separately, and has no sharding. A
/// sharding would have to be split, too.
static bool isWholeWeight(func::FuncOp function, unsigned index) {
  auto source = function.getArgAttrOfType<SourceAttr>(index, kSourceAttr);
  auto name = function.getArgAttrOfType<StringAttr>(index, kNameAttr);
  auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[index]);
  if (!source || !name || !type || source.getTensor() != name ||
      function.getArgAttr(index, spmd::kShardingAttr))
    return false;
  return source.getStored() == type.getShape() &&
         source.getSize() == type.getShape() &&
         source.getView() == type.getShape() &&
         llvm::equal(source.getPermutation(),
                     llvm::seq<int64_t>(0, type.getRank()));
}

static std::optional<unsigned> getDonated(BlockArgument argument) {
  auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
  auto donated = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                        kDonatedAttr);
  if (!donated)
    return std::nullopt;
  return unsigned(donated.getInt());
}

static void setDonated(func::FuncOp function, unsigned index, int64_t result) {
  auto old = function.getArgAttrOfType<IntegerAttr>(index, kDonatedAttr);
  function.setArgAttr(index, kDonatedAttr,
                      IntegerAttr::get(old.getType(), result));
}

Splits Finder::find(const llvm::DenseSet<StringAttr> &whole) {
  weights.clear();
  for (BlockArgument argument : function.getArguments())
    if (unsigned index = argument.getArgNumber();
        isWholeWeight(function, index) &&
        !whole.contains(getInputName(function, index)))
      weights.push_back(argument);
  // Arguments with the same shape and the same split are handled together.
  SmallVector<std::pair<Split, Trackers>> groups;
  for (BlockArgument argument : weights)
    for (int64_t dim = 0, e = typeOf(argument).getRank(); dim < e; ++dim) {
      Tracker tracker;
      if (!tracker.follow(argument, dim))
        continue;
      std::optional<Split> split = tracker.getSplit();
      if (!split)
        continue;
      auto *group = llvm::find_if(groups, [&](const auto &each) {
        return each.first == *split &&
               typeOf(each.second.front().first).getShape() ==
                   typeOf(argument).getShape();
      });
      if (group == groups.end())
        group = &groups.emplace_back(*split, Trackers());
      group->second.insert({argument, std::move(tracker)});
      break;
    }
  Splits splits;
  for (auto &[split, trackers] : groups) {
    Splits more = splits;
    Trackers updated = trackers;
    addUpdated(updated, split);
    if (addGroup(std::move(updated), split, more, /*isForward=*/false))
      splits = std::move(more);
    else
      (void)addGroup(std::move(trackers), split, splits, /*isForward=*/true);
  }
  return splits;
}

/// Adds the arguments that the program only updates, such as the moments of a
/// weight.
void Finder::addUpdated(Trackers &trackers, const Split &split) {
  ArrayRef<int64_t> shape = typeOf(trackers.front().first).getShape();
  for (BlockArgument argument : weights) {
    Tracker tracker;
    if (typeOf(argument).getShape() == shape && !trackers.contains(argument) &&
        tracker.follow(argument, split.dim) && tracker.slices.empty() &&
        !tracker.results.empty())
      trackers.insert({argument, std::move(tracker)});
  }
}

bool Finder::isResultSplit(unsigned result, ArrayRef<int64_t> shape,
                           const Split &split, const Trackers &group,
                           Parting &parting, const Splits &splits) {
  Value value = getReturn(function)->getOperand(result);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || type.getShape() != shape ||
      function.getResultAttr(result, spmd::kShardingAttr) ||
      function.getResultAttr(result, kSourceAttr) ||
      splits.results.count(result) || !parting.has(value, split.dim))
    return false;
  // Arguments outside the group must not be donated to this result, because
  // they would stay whole.
  return llvm::none_of(function.getArguments(), [&](BlockArgument argument) {
    return getDonated(argument) == result && !group.contains(argument);
  });
}

/// Returns true if all results and sums that depend on the argument can be
/// computed from its parts.
bool Finder::isSplit(const Tracker &tracker, BlockArgument argument,
                     const Split &split, const Trackers &group,
                     Parting &parting, const Splits &splits) {
  SmallVector<unsigned> results(llvm::make_first_range(tracker.results));
  if (std::optional<unsigned> donated = getDonated(argument))
    results.push_back(*donated);
  return llvm::all_of(results,
                      [&](unsigned result) {
                        return isResultSplit(result,
                                             typeOf(argument).getShape(), split,
                                             group, parting, splits);
                      }) &&
         llvm::all_of(tracker.sums,
                      [&](const PackedSum &sum) { return parting.has(sum); });
}

/// Removes from `group` the arguments that cannot be split. If `isForward`, an
/// argument cannot be split if it is donated, if a result of the function is
/// computed from it, or if an op sums over the dimension to split. Otherwise,
/// an argument cannot be split if isSplit() returns false.
Parting Finder::shrink(Trackers &group, const Split &split,
                       const Splits &splits, bool isForward) {
  while (true) {
    llvm::SetVector<Value> arguments;
    for (const auto &entry : group)
      arguments.insert(entry.first);
    Parting parting(split, std::move(arguments));
    auto *stays = llvm::find_if(group, [&](const auto &entry) {
      const auto &[value, tracker] = entry;
      auto argument = cast<BlockArgument>(value);
      if (isForward)
        return !tracker.results.empty() || !tracker.sums.empty() ||
               getDonated(argument);
      return !isSplit(tracker, argument, split, group, parting, splits);
    });
    if (stays == group.end())
      return parting;
    group.erase(stays);
  }
}

/// Returns true if the op sums up elements. A sum over dimensions of size 1 is
/// only a reshape.
static bool isComputed(Operation *op) {
  auto reduce = dyn_cast<ReduceOp>(op);
  return isa<EinsumOp>(op) ||
         (reduce && reduce.getType().getNumElements() !=
                        typeOf(reduce.getInput()).getNumElements());
}

/// Returns true if everything that depends on the gradients can be computed
/// from their parts. Otherwise gradients would be computed twice, whole and in
/// parts.
bool Finder::addGradients(const Split &split, Parting &parting,
                          Splits &splits) {
  llvm::SetVector<std::pair<Operation *, unsigned>> gradients(parting.between);
  for (auto [op, dim] : gradients) {
    if (!isComputed(op) || splits.between.contains(op))
      continue;
    Tracker tracker;
    if (!tracker.follow(op->getResult(0), dim) || !tracker.slices.empty())
      return false;
    for (auto [result, own] : tracker.results)
      if (auto found = splits.results.find(result);
          found == splits.results.end() || !(found->second == split) ||
          own != split.dim)
        return false;
    for (const PackedSum &sum : tracker.sums) {
      if (!parting.has(sum))
        return false;
      splits.sums.insert({sum.op, {sum, split}});
    }
    splits.between.insert_range(tracker.between);
  }
  return true;
}

bool Finder::addGroup(Trackers group, const Split &split, Splits &splits,
                      bool isForward) {
  ArrayRef<int64_t> shape = typeOf(group.front().first).getShape();
  Parting parting = shrink(group, split, splits, isForward);
  if (llvm::all_of(
          group, [](const auto &entry) { return entry.second.slices.empty(); }))
    return true;
  for (unsigned result = 0; result < function.getNumResults() && !isForward;
       ++result)
    if (isResultSplit(result, shape, split, group, parting, splits))
      splits.results.insert({result, split});
  for (const auto &[argument, tracker] : group) {
    splits.arguments.insert({argument, split});
    for (const auto &entry : tracker.slices)
      splits.slices.insert(entry);
    for (const PackedSum &sum : tracker.sums)
      splits.sums.insert({sum.op, {sum, split}});
    splits.between.insert_range(tracker.between);
  }
  if (!isForward && !addGradients(split, parting, splits))
    return false;
  splits.between.insert_range(llvm::make_first_range(parting.between));
  return true;
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

/// Gives names to arguments and results that have none. Without names, they are
/// identified by their positions, which splitting changes.
void Splitter::keepNames() {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i, kNameAttr, getInputName(function, i));
  if (splits.results.empty())
    return;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    function.setResultAttr(i, kNameAttr, getOutputName(function, i));
}

/// Sets the attributes of a part: its name, and which elements of the stored
/// tensor `tensor` it consists of.
static void setPart(NamedAttrList &attributes, StringAttr tensor,
                    ArrayRef<int64_t> stored, const Split &split,
                    unsigned number) {
  MLIRContext *context = tensor.getContext();
  Interval part = split.parts[number];
  SmallVector<int64_t> start(stored.size(), 0), size(stored);
  start[split.dim] = part.begin;
  size[split.dim] = part.end - part.begin;
  attributes.set(kNameAttr, StringAttr::get(context, tensor.getValue() + "#" +
                                                         Twine(number)));
  attributes.set(kSourceAttr,
                 SourceAttr::get(context, tensor, stored, start, size, size,
                                 llvm::to_vector(llvm::seq<int64_t>(
                                     0, int64_t(stored.size())))));
}

void Splitter::addParts(BlockArgument whole, const Split &split) {
  MLIRContext *context = function.getContext();
  unsigned index = whole.getArgNumber();
  SmallVector<int64_t> shape(typeOf(whole).getShape());
  std::optional<unsigned> donated = getDonated(whole);
  for (auto [number, part] : llvm::enumerate(split.parts)) {
    NamedAttrList attributes(function.getArgAttrDict(index));
    setPart(attributes, getInputName(function, index), typeOf(whole).getShape(),
            split, number);
    shape[split.dim] = part.end - part.begin;
    unsigned place = index + 1 + number;
    (void)function.insertArgument(place, typeOf(whole).clone(shape),
                                  attributes.getDictionary(context),
                                  whole.getLoc());
    if (donated)
      setDonated(function, place, *donated + number);
    parts[whole].push_back(function.getArgument(place));
  }
}

Value Splitter::cut(Value value, unsigned dim, Interval interval) {
  auto [begin, end] = interval;
  if (begin == 0 && end == typeOf(value).getDimSize(dim))
    return value;
  Value &result = known[{value.getAsOpaquePointer(), dim, interval}];
  if (result)
    return result;
  if (auto found = splits.arguments.find(value);
      found != splits.arguments.end() && found->second.dim == dim)
    for (auto [part, own] : llvm::zip_equal(parts[value], found->second.parts))
      if (own == interval)
        return result = part;
  Operation *op = value.getDefiningOp();
  if (op && op->getDiscardableAttrDictionary().empty() &&
      (splits.between.contains(op) ||
       isa<BroadcastOp, ReshapeOp, ConvertOp, ConcatOp>(op)))
    if (Value made = cutOp(op, dim, interval))
      return result = made;
  SmallVector<int64_t> shape(typeOf(value).getShape()), starts(shape.size(), 0),
      strides(shape.size(), 1);
  starts[dim] = begin;
  shape[dim] = end - begin;
  OpBuilder builder(function.getContext());
  builder.setInsertionPointAfterValue(value);
  return result = SliceOp::create(builder, value.getLoc(),
                                  typeOf(value).clone(shape), value, starts,
                                  strides);
}

/// Joins the inputs that make up the interval; null if the interval does not
/// begin and end at boundaries of inputs.
Value Splitter::cutConcat(ConcatOp concat, Interval interval) {
  auto dim = unsigned(concat.getDim());
  SmallVector<Value> inputs;
  int64_t begin = 0, size = 0;
  for (Value input : concat.getInputs()) {
    int64_t end = begin + typeOf(input).getDimSize(dim);
    if (begin >= interval.begin && end <= interval.end) {
      inputs.push_back(input);
      size += end - begin;
    }
    begin = end;
  }
  if (size != interval.end - interval.begin)
    return {};
  if (inputs.size() == 1)
    return inputs.front();
  SmallVector<int64_t> shape(concat.getType().getShape());
  shape[dim] = size;
  OpBuilder builder(concat);
  return ConcatOp::create(builder, concat.getLoc(),
                          concat.getType().clone(shape), inputs,
                          concat.getDim());
}

Value Splitter::cutOp(Operation *op, unsigned dim, Interval interval) {
  if (auto concat = dyn_cast<ConcatOp>(op); concat && concat.getDim() == dim)
    return cutConcat(concat, interval);
  SmallVector<Value> operands(op->getOperands());
  for (const Origin &origin : getOrigins(op, dim)) {
    if (interval.begin * origin.times % origin.per != 0 ||
        interval.end * origin.times % origin.per != 0)
      return {};
    operands[origin.operand] =
        cut(operands[origin.operand], origin.dim, origin.get(interval));
  }
  // A broadcast that creates the dimension has no operand to shorten: it
  // creates a shorter dimension.
  if (!isa<BroadcastOp>(op) && llvm::equal(operands, op->getOperands()))
    return {};
  SmallVector<int64_t> shape(typeOf(op->getResult(0)).getShape());
  shape[dim] = interval.end - interval.begin;
  OpBuilder builder(op);
  Operation *part = builder.clone(*op);
  part->setOperands(operands);
  part->getResult(0).setType(typeOf(op->getResult(0)).clone(shape));
  return part->getResult(0);
}

void Splitter::replace(SliceOp slice, unsigned dim) {
  SmallVector<int64_t> starts(slice.getStarts());
  int64_t begin = starts[dim], size = slice.getType().getDimSize(dim);
  Value value = cut(slice.getInput(), dim, {begin, begin + size});
  if (value.getType() != slice.getType()) {
    starts[dim] = 0;
    OpBuilder builder(slice);
    value = SliceOp::create(builder, slice.getLoc(), slice.getType(), value,
                            starts, slice.getStrides());
  }
  slice.getResult().replaceAllUsesWith(value);
}

/// Replaces a sum over the whole dimension by one sum for each part, and adds
/// up these sums.
void Splitter::replace(const PackedSum &packed, const Split &split) {
  Value sum;
  Operation *whole = packed.op;
  OpBuilder builder(whole);
  for (unsigned number = 0; number < split.parts.size(); ++number) {
    SmallVector<Value> operands(whole->getOperands());
    for (auto [operand, dim] : getOperandDims(packed))
      operands[operand] = cut(
          operands[operand], dim,
          (*split.getParts(typeOf(operands[operand]).getDimSize(dim)))[number]);
    Operation *part = builder.clone(*whole);
    part->setOperands(operands);
    splits.between.insert(part);
    Value own = part->getResult(0);
    if (sum) {
      own = AddOp::create(builder, whole->getLoc(), own.getType(), sum, own);
      splits.between.insert(own.getDefiningOp());
    }
    sum = own;
  }
  whole->getResult(0).replaceAllUsesWith(sum);
}

/// Results after a split result get new positions. An argument that was donated
/// to a split result is now donated to the first of its parts.
void Splitter::moveDonations() {
  SmallVector<int64_t> places;
  int64_t place = 0;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    places.push_back(place);
    auto found = splits.results.find(index);
    place += found == splits.results.end() ? 1 : found->second.parts.size();
  }
  for (BlockArgument argument : function.getArguments())
    if (std::optional<unsigned> donated = getDonated(argument))
      setDonated(function, argument.getArgNumber(), places[*donated]);
}

void Splitter::splitResults() {
  if (splits.results.empty())
    return;
  Operation *back = getReturn(function);
  MLIRContext *context = function.getContext();
  SmallVector<Value> values;
  SmallVector<DictionaryAttr> attributes;
  for (unsigned index = 0; index < function.getNumResults(); ++index) {
    Value value = back->getOperand(index);
    auto found = splits.results.find(index);
    NamedAttrList own(function.getResultAttrDict(index)); // includes the name
    if (found == splits.results.end()) {
      values.push_back(value);
      attributes.push_back(own.getDictionary(context));
      continue;
    }
    const Split &split = found->second;
    StringAttr name = getOutputName(function, index);
    for (auto [number, part] : llvm::enumerate(split.parts)) {
      setPart(own, name, typeOf(value).getShape(), split, number);
      values.push_back(cut(value, split.dim, part));
      attributes.push_back(own.getDictionary(context));
    }
  }
  back->setOperands(values);
  function.setFunctionType(FunctionType::get(
      context, function.getArgumentTypes(), ValueRange(values).getTypes()));
  function.setAllResultAttrs(attributes);
}

/// Erases the ops and arguments that are no longer used.
void Splitter::eraseWhole() {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  for (const auto &[argument, split] : splits.arguments) {
    // Uses that are split along another dimension still need the whole
    // argument. They use the concatenation of the parts.
    if (!argument.use_empty()) {
      OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
      Value joined =
          ConcatOp::create(builder, argument.getLoc(), typeOf(argument),
                           parts[argument], int64_t(split.dim));
      const_cast<Value &>(argument).replaceAllUsesWith(joined);
    }
    (void)function.eraseArgument(cast<BlockArgument>(argument).getArgNumber());
  }
}

void Splitter::run() {
  keepNames();
  moveDonations();
  for (const auto &[argument, split] : splits.arguments)
    addParts(cast<BlockArgument>(argument), split);
  // Sums are replaced in program order, because one sum may depend on another.
  SmallVector<Operation *> sums;
  for (Operation &op : function.front())
    if (splits.sums.contains(&op))
      sums.push_back(&op);
  for (Operation *op : sums) {
    auto [sum, split] = splits.sums.lookup(op);
    replace(sum, split);
  }
  for (auto [slice, dim] : splits.slices)
    replace(cast<SliceOp>(slice), dim);
  splitResults();
  eraseWhole();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct SplitPackedPass : tp::impl::SplitPackedPassBase<SplitPackedPass> {
  using SplitPackedPassBase::SplitPackedPassBase;

  void runOnOperation() override {
    auto entries = llvm::filter_to_vector(
        getOperation().getOps<func::FuncOp>(), [](func::FuncOp function) {
          return isEntry(function) && function.getBody().hasOneBlock();
        });
    llvm::DenseSet<StringAttr> whole;
    SmallVector<Splits> plans;
    do {
      plans.clear();
      for (func::FuncOp function : entries)
        plans.push_back(Finder(function).find(whole));
    } while (addUnlike(entries, plans, whole));
    for (auto [function, splits] : llvm::zip_equal(entries, plans))
      if (!splits.arguments.empty())
        Splitter(function, std::move(splits)).run();
  }

private:
  /// Entries that share a stored tensor must either all split it in the same
  /// way or all keep it whole. Returns true if any names were added to `whole`,
  /// the set of tensors kept whole.
  static bool addUnlike(ArrayRef<func::FuncOp> entries, ArrayRef<Splits> plans,
                        llvm::DenseSet<StringAttr> &whole) {
    llvm::DenseMap<StringAttr, std::optional<Split>> known;
    size_t before = whole.size();
    for (auto [function, splits] : llvm::zip_equal(entries, plans))
      for (BlockArgument argument :
           const_cast<func::FuncOp &>(function).getArguments()) {
        auto found = splits.arguments.find(argument);
        std::optional<Split> split;
        if (found != splits.arguments.end())
          split = found->second;
        StringAttr name = getInputName(function, argument.getArgNumber());
        auto [entry, isNew] = known.try_emplace(name, split);
        if (!isNew && !(entry->second == split))
          whole.insert(name);
      }
    return whole.size() > before;
  }
};
} // namespace

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Digest.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "lib/Interpreter/PrimeField.h"
#include "lib/Support/Random.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

using namespace mlir;
using namespace tp;
using namespace tp::interp;
using namespace tp::spmd;

uint64_t tp::mixDigest(uint64_t a, uint64_t b) {
  return scramble(a ^ scramble(b));
}
static uint64_t mix(uint64_t a, uint64_t b) { return mixDigest(a, b); }
static uint64_t mix(uint64_t a, const void *b) {
  return mixDigest(a, reinterpret_cast<uintptr_t>(b));
}

static uint64_t digestAttributes(Operation *op, uint64_t digest) {
  for (NamedAttribute attribute : op->getDiscardableAttrs()) {
    StringRef name = attribute.getName();
    if (name == kShardingsAttr || name == kWhyAttr || name == kGlobalOpAttr)
      continue;
    digest = mix(digest, attribute.getName().getAsOpaquePointer());
    digest = mix(digest, attribute.getValue().getAsOpaquePointer());
  }
  return digest;
}

uint64_t tp::digestOpAlone(Operation *op) {
  uint64_t digest = mix(1, op->getName().getAsOpaquePointer());
  digest = mix(digest, uint64_t(op->hashProperties()));
  digest = digestAttributes(op, digest);
  for (Type type : op->getResultTypes())
    digest = mix(digest, type.getAsOpaquePointer());
  return digest;
}

uint64_t ProgramDigest::Known::as(Type wanted) const {
  return made == wanted ? digest
                        : mix(mix(4, digest), wanted.getAsOpaquePointer());
}

/// Describes an einsum with merged letters. Two letters become one if, in every
/// term, either the second directly follows the first or both are absent.
ProgramDigest::Alone ProgramDigest::ofEinsum(Operation *op) {
  auto einsum = cast<EinsumOp>(op);
  EinsumTerms terms = EinsumTerms::split(einsum.getEquation());
  StringRef all[] = {terms.lhs, terms.rhs, terms.result};
  auto follows = [&](char first, char second) {
    return llvm::all_of(all, [&](StringRef term) {
      size_t a = term.find(first), b = term.find(second);
      return a == StringRef::npos ? b == StringRef::npos : b == a + 1;
    });
  };
  Alone alone{Alone::Einsum,
              digestAttributes(op, mix(5, op->getName().getAsOpaquePointer())),
              {},
              {},
              {},
              {},
              SmallVector<Type, 1>(op->getResultTypes())};
  std::string numbers;
  auto merge = [&](StringRef term, Value value) -> Type {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape;
    for (auto [i, letter] : llvm::enumerate(term)) {
      if (i > 0 && follows(term[i - 1], letter)) {
        shape.back() *= type.getDimSize(i);
        continue;
      }
      shape.push_back(type.getDimSize(i));
      size_t number = numbers.find(letter);
      if (number == std::string::npos) {
        number = numbers.size();
        numbers += letter;
      }
      alone.digest = mix(alone.digest, uint64_t(number));
    }
    alone.digest = mix(alone.digest, uint64_t(-1));
    return RankedTensorType::get(shape, type.getElementType());
  };
  alone.read[0] = merge(terms.lhs, einsum.getLhs());
  alone.read[1] = merge(terms.rhs, einsum.getRhs());
  alone.made = merge(terms.result, einsum.getResult());
  alone.digest = mix(alone.digest, alone.made.getAsOpaquePointer());
  return alone;
}

ProgramDigest::Alone ProgramDigest::Alone::of(Operation *op) {
  if (isa<EinsumOp>(op))
    return ofEinsum(op);
  Alone alone;
  alone.kind = isa<ReshapeOp>(op) ? Reshape : Other;
  alone.digest = digestOpAlone(op);
  alone.results.assign(op->result_type_begin(), op->result_type_end());
  auto slice = dyn_cast<SliceOp>(op);
  auto pad = dyn_cast<PadOp>(op);
  if (!slice && !pad)
    return alone;
  alone.kind = slice ? Slice : Pad;
  alone.digest =
      digestAttributes(op, mix(6, op->getName().getAsOpaquePointer()));
  alone.starts.append(slice ? slice.getStarts().begin() : pad.getLow().begin(),
                      slice ? slice.getStarts().end() : pad.getLow().end());
  if (slice)
    alone.strides.append(slice.getStrides().begin(), slice.getStrides().end());
  return alone;
}

/// Applies a slice or a pad. If the operand is itself a slice or a pad with the
/// same fill, both become one.
ProgramDigest::Known
ProgramDigest::Alone::move(ArrayRef<Known> operands) const {
  uint64_t fill = kind == Pad ? operands[1].get() : 0;
  auto moved =
      std::make_shared<Moved>(Moved{operands[0].get(), fill, starts, strides});
  if (const Moved *inner = operands[0].moved.get();
      inner && inner->fill == fill) {
    moved->root = inner->root;
    for (size_t dim = 0; dim < starts.size(); ++dim) {
      int64_t step = kind == Slice ? inner->strides[dim] : 1;
      moved->starts[dim] = inner->starts[dim] + starts[dim] * step;
      if (kind == Slice)
        moved->strides[dim] *= step;
    }
  }
  // The stride of a dimension with a single element has no effect.
  for (auto [stride, size] :
       llvm::zip(moved->strides, cast<RankedTensorType>(results[0]).getShape()))
    if (size == 1)
      stride = 1;
  uint64_t whole = mix(mix(digest, moved->root), fill);
  for (int64_t number : moved->starts)
    whole = mix(whole, uint64_t(number));
  for (int64_t number : moved->strides)
    whole = mix(whole, uint64_t(number));
  return {mix(whole, results[0].getAsOpaquePointer()), results[0], results[0],
          std::move(moved)};
}

SmallVector<ProgramDigest::Known, 1>
ProgramDigest::Alone::apply(ArrayRef<Known> operands, uint64_t &whole) const {
  if (kind == Reshape) {
    Known known{operands[0].digest, operands[0].made, results[0], nullptr};
    whole = known.get();
    return {known};
  }
  if (kind == Slice || kind == Pad) {
    Known known = move(operands);
    whole = known.digest;
    return {known};
  }
  whole = digest;
  for (auto [i, operand] : llvm::enumerate(operands))
    whole = mix(whole, kind == Einsum ? operand.as(read[i]) : operand.get());
  SmallVector<Known, 1> known;
  for (auto [i, type] : llvm::enumerate(results))
    known.push_back(
        {mix(whole, uint64_t(i)), kind == Einsum ? made : type, type, nullptr});
  return known;
}

/// Digests a manual region as it was written: the shardings that propagation
/// adds along the free axes are left out.
static uint64_t digestManual(ManualOp op) {
  uint64_t digest = mix(2, op.getAxes().getAsOpaquePointer());
  for (ArrayAttr list : {op.getInShardings(), op.getOutShardings()})
    for (auto sharding : list.getAsRange<ShardingAttr>())
      for (auto [dim, free] : llvm::zip_equal(
               sharding.getDims(), getFreePart(op, sharding).getDims())) {
        digest =
            mix(digest, uint64_t(dim.getAxes().size() - free.getAxes().size()));
        for (AxisRefAttr axis : dim.getAxes().drop_back(free.getAxes().size()))
          digest = mix(digest, axis.getAsOpaquePointer());
      }
  for (Type type : op->getResultTypes())
    digest = mix(digest, type.getAsOpaquePointer());
  return digest;
}

static bool decomposes(Operation *op) {
  return isa<DecomposeOpInterface>(op) && op->getNumRegions() == 0;
}

SmallVector<unsigned, 1> ProgramDigest::flatten(Operation *op,
                                                ArrayRef<unsigned> operands,
                                                Recipe &recipe) {
  if (!decomposes(op)) {
    recipe.parts.push_back({Alone::of(op), SmallVector<unsigned, 3>(operands)});
    SmallVector<unsigned, 1> results;
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      results.push_back(recipe.numValues++);
    return results;
  }
  // Decompose a copy on block arguments: the program's values get no new uses.
  Block block;
  // Equal operands become the same block argument, since the decomposition may
  // depend on whether operands are equal.
  SmallVector<Value> arguments;
  llvm::DenseMap<Value, unsigned> numbers;
  for (auto [operand, number] : llvm::zip_equal(op->getOperands(), operands)) {
    const auto *first = llvm::find(operands, number);
    arguments.push_back(
        size_t(first - operands.begin()) < arguments.size()
            ? arguments[first - operands.begin()]
            : block.addArgument(operand.getType(), operand.getLoc()));
    numbers[arguments.back()] = number;
  }
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&block);
  Operation *copy = builder.clone(*op);
  copy->setOperands(arguments);
  auto lookup = [&](ValueRange values) {
    return llvm::map_to_vector<3>(values,
                                  [&](Value v) { return numbers.lookup(v); });
  };
  SmallVector<Value> results =
      cast<DecomposeOpInterface>(copy).decompose(builder);
  for (Operation &part : block)
    if (&part != copy)
      for (auto [result, number] :
           llvm::zip_equal(part.getResults(),
                           flatten(&part, lookup(part.getOperands()), recipe)))
        numbers[result] = number;
  return SmallVector<unsigned, 1>(lookup(results));
}

/// The parts of an op that decomposes, computed once for all equal ops.
const ProgramDigest::Recipe &
ProgramDigest::getRecipe(Operation *op, ArrayRef<unsigned> operands) {
  uint64_t key = digestOpAlone(op);
  for (auto [type, number] : llvm::zip_equal(op->getOperandTypes(), operands))
    key = mix(mix(key, type.getAsOpaquePointer()), uint64_t(number));
  auto [entry, isNew] = recipes.try_emplace(key);
  Recipe &recipe = entry->second;
  if (isNew) {
    recipe.numValues = operands.size();
    recipe.results = flatten(op, operands, recipe);
  }
  return recipe;
}

/// Returns the digest of part `part` of `op`, a collective that reduces,
/// without the digest of the operand. The digest depends on the kind and the
/// group of the reduction, on the layouts of the part's operand and result, and
/// on the type of the result.
static uint64_t digestReduction(CollectiveOpInterface op, unsigned part) {
  ReshardStep step = getStep(op, part);
  uint64_t digest = mix(3, uint64_t(step.kind));
  for (const AxisRef &axis : getGroupAxes(step)) {
    digest = mix(mix(digest, uint64_t(axis.axis)), uint64_t(axis.pre));
    digest = mix(digest, uint64_t(axis.size));
  }
  digest = mix(digest, op.getPartInSharding(part).getAsOpaquePointer());
  digest = mix(digest, op.getPartOutSharding(part).getAsOpaquePointer());
  return mix(digest, op->getResult(part).getType().getAsOpaquePointer());
}

void ProgramDigest::digestOp(Operation *op, Digests &digests, uint64_t place,
                             Visitor visit) {
  // In a manual region, types describe what one device holds. So a collective
  // along the region's manual axes computes a new value.
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (isa<ReshardOp, ConstraintOp, BarrierOp>(op) ||
      (collective && !isAlongManualAxes(collective))) {
    for (auto [operand, result] :
         llvm::zip_equal(op->getOperands(), op->getResults()))
      digests[result] = digests.lookup(operand);
    return;
  }
  if (op->getNumResults() == 0)
    return;
  if (collective &&
      llvm::all_of(llvm::seq(op->getNumOperands()), [&](unsigned part) {
        return isReduction(getKind(collective, part));
      })) {
    // A reduction computes the same value whether it is launched alone or with
    // others.
    for (OpResult result : op->getResults()) {
      unsigned part = result.getResultNumber();
      uint64_t digest = mix(digestReduction(collective, part),
                            digests.lookup(op->getOperand(part)).get());
      digests[result] = {digest, result.getType(), result.getType(), nullptr};
      visit(op, digest);
    }
    return;
  }
  if (decomposes(op))
    return digestParts(op, digests, visit);
  if (op->getNumRegions() == 0) {
    SmallVector<Known> operands;
    for (Value operand : op->getOperands())
      operands.push_back(digests.lookup(operand));
    uint64_t whole;
    for (auto [result, known] : llvm::zip_equal(
             op->getResults(), Alone::of(op).apply(operands, whole)))
      digests[result] = known;
    return visit(op, whole);
  }
  auto manual = dyn_cast<ManualOp>(op);
  uint64_t digest = manual ? digestManual(manual) : digestOpAlone(op);
  for (Value operand : op->getOperands())
    digest = mix(digest, digests.lookup(operand).get());
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (uint64_t yielded : digestBlock(
               block, digests, mix(place, region.getRegionNumber()), visit))
        digest = mix(digest, yielded);
  for (OpResult result : op->getResults())
    digests[result] = {mix(digest, result.getResultNumber()), result.getType(),
                       result.getType(), nullptr};
  visit(op, digest);
}

/// Digests an op that decomposes.
void ProgramDigest::digestParts(Operation *op, Digests &digests,
                                Visitor visit) {
  SmallVector<Known, 32> values;
  SmallVector<unsigned> operands;
  for (Value operand : op->getOperands()) {
    values.push_back(digests.lookup(operand));
    operands.push_back(llvm::find_if(values,
                                     [&](const Known &known) {
                                       return known.get() ==
                                              values.back().get();
                                     }) -
                       values.begin());
  }
  const Recipe &recipe = getRecipe(op, operands);
  for (const Recipe::Part &part : recipe.parts) {
    SmallVector<Known, 3> read;
    for (unsigned operand : part.operands)
      read.push_back(values[operand]);
    uint64_t whole;
    llvm::append_range(values, part.alone.apply(read, whole));
    visit(nullptr, whole);
  }
  for (auto [result, number] :
       llvm::zip_equal(op->getResults(), recipe.results))
    digests[result] = values[number];
  visit(op, digests.lookup(op->getResult(0)).get());
}

SmallVector<uint64_t> ProgramDigest::digestBlock(Block &block, Digests &digests,
                                                 uint64_t place,
                                                 Visitor visit) {
  // An argument is identified by its nesting depth and its number.
  for (BlockArgument argument : block.getArguments())
    digests[argument] = {mix(place + 2, argument.getArgNumber()),
                         argument.getType(), argument.getType(), nullptr};
  SmallVector<uint64_t> yielded;
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      for (Value operand : op.getOperands())
        yielded.push_back(digests.lookup(operand).get());
    digestOp(&op, digests, place, visit);
  }
  return yielded;
}

void ProgramDigest::compute(FunctionOpInterface function, Visitor visit) {
  Digests digests;
  results = digestBlock(function.getFunctionBody().front(), digests,
                        /*place=*/0, visit);
}

KnownDigests KnownDigests::collect(FunctionOpInterface function) {
  KnownDigests known;
  ProgramDigest digest;
  digest.compute(function, [&](Operation *, uint64_t value) {
    known.values.push_back(int64_t(value));
  });
  llvm::sort(known.values);
  known.values.erase(std::unique(known.values.begin(), known.values.end()),
                     known.values.end());
  known.results.assign(digest.getResults().begin(), digest.getResults().end());
  return known;
}

LogicalResult KnownDigests::verify(FunctionOpInterface function) const {
  Operation *first = nullptr;
  ProgramDigest digest;
  digest.compute(function, [&](Operation *op, uint64_t value) {
    if (!first && op &&
        !std::binary_search(values.begin(), values.end(), int64_t(value)))
      first = op;
  });
  if (SmallVector<int64_t>(digest.getResults()) == results)
    return success();
  if (first)
    return first->emitError()
           << prefix(ErrorCode::NotThePartition) << first->getName()
           << " computes a value that no op of the whole program computes";
  return function.emitError() << prefix(ErrorCode::NotThePartition)
                              << "function '" << function.getName()
                              << "' returns a value that differs from the "
                                 "value that it returns in the whole program";
}

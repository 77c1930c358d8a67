// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FusionGroups.h"

#include "Products.h"
#include "ScalarOps.h"

#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::codegen;

/// LLVM's compile time is quadratic in the length of a kernel, and the number
/// of a GPU kernel's arguments is limited. Fused chains of real models are
/// shorter.
static constexpr size_t kMostOps = 256;

/// `height` bounds the size of the expression, since it is recomputed for every
/// use.
static bool isInline(Value value, unsigned height) {
  if (isa<BlockArgument>(value))
    return isCounter(value);
  Operation *op = value.getDefiningOp();
  if (!op || height == 0)
    return false;
  if (auto constant = dyn_cast<ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (isa<IotaOp, AxisIndexOp>(op))
    return true;
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return isInline(broadcast.getInput(), height - 1);
  // Cheap expressions compute, for example, where a device's block begins, or a
  // causal mask.
  bool isCheap =
      shapeOf(value).empty() || isa<AddOp, SubOp, MulOp, CompareOp, AndOp, OrOp,
                                    NotOp, SelectOp, ConvertOp>(op);
  return isCheap && isScalarOp(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return isInline(operand, height - 1);
         });
}

bool tp::isInline(Value value) { return ::isInline(value, /*height=*/8); }

bool tp::isViewOp(Operation *op) {
  auto slice = dyn_cast<DynamicSliceOp>(op);
  return isa<TransposeOp, ReshapeOp, SliceOp, BroadcastOp, WindowOp,
             spmd::BlockOp>(op) ||
         (slice && getMotion(slice));
}

/// The operands of an op, and the values that its regions capture.
static SmallVector<Value> getInputs(Operation *op) {
  SmallVector<Value> inputs(op->getOperands());
  if (op->getNumRegions() == 0)
    return inputs;
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  inputs.append(captured.begin(), captured.end());
  return inputs;
}

/// Returns true if `op` is computed element by element, or row by row.
static bool isRowOp(Operation *op) {
  return isScalarOp(op) || isa<ReduceOp, GatherOp, DynamicSliceOp, AllSliceOp,
                               MaskOp, ToPartialOp>(op);
}

/// Returns true if `op` reads its first operand at the index of the element
/// that it computes. Ops that move data read other indices, so they begin a
/// unit.
static bool readsAtPoint(Operation *op) {
  return isScalarOp(op) || isa<ReduceOp, MaskOp>(op);
}

static bool isPartial(DynamicUpdateSliceOp op) {
  return shapeOf(op.getUpdate()) != shapeOf(op.getInput());
}

FusionGroups::FusionGroups(Block &block, const Target &target)
    : distances(block) {
  for (Operation &op : block.without_terminator()) {
    if (unitOf.count(&op) || isViewOp(&op) || isa<ConstantOp>(op) ||
        (op.getNumResults() == 1 && isInline(op.getResult(0))))
      continue;
    if (auto einsum = dyn_cast<EinsumOp>(op)) {
      SmallVector<Operation *> ops{&op};
      for (Operation *next : getEpilogue(einsum, target)) {
        if (unitOf.count(next))
          break; // it also follows another contraction
        ops.push_back(next);
      }
      add(ops, /*isRows=*/false, {});
    } else if (isRowOp(&op)) {
      addRowOp(&op);
    } else if (auto update = dyn_cast<DynamicUpdateSliceOp>(op);
               update && isPartial(update)) {
      add(&op, /*isRows=*/true, shapeOf(update.getUpdate()));
    } else {
      add(&op, /*isRows=*/false, {});
    }
  }
  for (auto concat : block.getOps<ConcatOp>())
    mergeParts(concat);
  auto updates = llvm::to_vector(block.getOps<DynamicUpdateSliceOp>());
  for (DynamicUpdateSliceOp update : updates)
    storeWhereMade(update);
  for (DynamicUpdateSliceOp update : updates)
    storeTogether(update);
}

void FusionGroups::add(ArrayRef<Operation *> ops, bool isRows,
                       ArrayRef<int64_t> domain) {
  for (Operation *op : ops)
    unitOf[op] = units.size();
  Unit &unit = units.emplace_back();
  unit.ops.assign(ops.begin(), ops.end());
  unit.isRows = isRows;
  unit.domain.assign(domain.begin(), domain.end());
}

void FusionGroups::addRowOp(Operation *op) {
  // The domain of a reduction is the shape of its input.
  bool reduces = isa<ReduceOp>(op);
  ArrayRef<int64_t> shape =
      shapeOf(reduces ? op->getOperand(0) : op->getResult(0));
  if (readsAtPoint(op)) {
    SmallVector<unsigned> candidates;
    for (Value operand : op->getOperands())
      if (std::optional<unsigned> unit = getProducer(operand))
        candidates.push_back(*unit);
    // Try the latest producer first: its values were computed last.
    llvm::sort(candidates, std::greater<unsigned>());
    for (unsigned unit : candidates) {
      ArrayRef<int64_t> domain = units[unit].domain;
      if (!units[unit].isRows || domain.empty() ||
          units[unit].ops.size() >= kMostOps)
        continue;
      bool isPoint = domain == shape;
      if (!isPoint && (reduces || domain.drop_back() != shape))
        continue;
      if (!canJoin(unit, op, isPoint ? Level::Point : Level::Row))
        continue;
      units[unit].ops.push_back(op);
      unitOf[op] = unit;
      levels[op] = isPoint && !reduces ? Level::Point : Level::Row;
      for (unsigned other : candidates)
        merge(unit, other);
      return;
    }
  }
  add(op, /*isRows=*/true, shape);
  levels[op] = reduces ? Level::Row : Level::Point;
}

bool FusionGroups::readsInPlace(unsigned unit, unsigned other) const {
  return llvm::all_of(units[unit].ops, [&](Operation *op) {
    Level level = isa<ReduceOp>(op) ? Level::Point : levels.lookup(op);
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return getProducer(operand) != other ||
             (readsAtPoint(op) && getLevel(other, operand) == level);
    });
  });
}

/// Returns true if a unit can be computed over `domain`. A unit that only
/// copies can also be computed over halves of its rows, as in rotary
/// embeddings.
static bool fits(const Unit &unit, ArrayRef<int64_t> domain) {
  ArrayRef<int64_t> own = unit.domain;
  return own == domain ||
         (llvm::all_of(unit.ops, llvm::IsaPred<DynamicUpdateSliceOp>) &&
          own.drop_back() == domain.drop_back() &&
          own.back() == 2 * domain.back());
}

bool FusionGroups::canMerge(unsigned unit, unsigned other) const {
  if (unit == other || !units[unit].isRows || !units[other].isRows ||
      units[unit].domain.empty() || units[other].domain.empty() ||
      units[unit].ops.size() + units[other].ops.size() > kMostOps ||
      (!fits(units[unit], units[other].domain) &&
       !fits(units[other], units[unit].domain)))
    return false;
  Operation *first = units[unit].ops.back(), *second = units[other].ops.back();
  if (second->isBeforeInBlock(first))
    std::swap(first, second);
  if (!distances.isNear(first, second))
    return false;
  auto hasDetour = [&](unsigned from, unsigned target) {
    return llvm::any_of(getOperandUnits(from), [&](unsigned next) {
      return next != target && reaches(next, target);
    });
  };
  return readsInPlace(unit, other) && readsInPlace(other, unit) &&
         !hasDetour(unit, other) && !hasDetour(other, unit);
}

void FusionGroups::merge(unsigned unit, unsigned other) {
  if (!canMerge(unit, other))
    return;
  if (!fits(units[other], units[unit].domain))
    units[unit].domain = units[other].domain;
  for (Operation *op : units[other].ops)
    unitOf[op] = unit;
  units[unit].ops.append(units[other].ops);
  llvm::sort(units[unit].ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  units[other] = Unit();
}

void FusionGroups::mergeParts(ConcatOp op) {
  std::optional<unsigned> first;
  for (Value part : op.getInputs()) {
    Operation *producer = part.getDefiningOp();
    std::optional<unsigned> unit = producer ? getUnit(producer) : std::nullopt;
    if (!unit)
      continue;
    if (first)
      merge(*first, *unit);
    else
      first = unit;
  }
}

SmallVector<UpdatePart> FusionGroups::getParts(DynamicUpdateSliceOp op) const {
  auto it = parts.find(op);
  return it == parts.end() ? SmallVector<UpdatePart>{getWholeUpdate(op)}
                           : it->second;
}

void FusionGroups::storeWhereMade(DynamicUpdateSliceOp op) {
  SmallVector<UpdatePart> made = getUpdateParts(op);
  std::optional<unsigned> unit;
  for (const UpdatePart &part : made) {
    Operation *maker = part.value.getDefiningOp();
    std::optional<unsigned> its = maker ? getUnit(maker) : std::nullopt;
    if (!its || (unit && *its != *unit) || !units[*its].isRows ||
        units[*its].domain.empty() ||
        getLevel(*its, part.value) != Level::Point)
      return;
    unit = its;
  }
  // The updated tensor and the position of the update must be available before
  // the unit runs.
  SmallVector<Value> before{op.getInput()};
  llvm::append_range(before, op.getStarts());
  for (Value value : before)
    if (std::optional<unsigned> producer = getProducer(value))
      if (reaches(*producer, *unit))
        return;
  move(op, *unit);
  parts[op] = std::move(made);
  moveUnread(op.getUpdate(), *unit);
}

void FusionGroups::moveUnread(Value value, unsigned unit) {
  Operation *op = value.getDefiningOp();
  if (op && isa<TransposeOp, ReshapeOp>(op))
    return moveUnread(op->getOperand(0), unit);
  if (!isa_and_present<ConcatOp>(op) || getUnit(op) == unit ||
      escapes(unit, value))
    return;
  move(op, unit);
  for (Value part : op->getOperands())
    moveUnread(part, unit);
}

void FusionGroups::move(Operation *op, unsigned unit) {
  units[unitOf[op]] = Unit();
  unitOf[op] = unit;
  units[unit].ops.push_back(op);
}

void FusionGroups::storeTogether(DynamicUpdateSliceOp op) {
  Operation *next = op->getNextNode();
  while (next && !getUnit(next))
    next = next->getNextNode();
  if (isa_and_present<DynamicUpdateSliceOp>(next))
    merge(unitOf[op], unitOf[next]);
}

bool FusionGroups::canJoin(unsigned unit, Operation *op, Level level) const {
  if (!distances.isNear(units[unit].ops.back(), op))
    return false;
  for (Value operand : op->getOperands()) {
    std::optional<Level> inside = getLevel(unit, operand);
    if (inside ? *inside != level : false)
      return false;
    if (inside)
      continue;
    // The operand must be computed by a different unit, and that unit must not
    // depend on this one.
    if (std::optional<unsigned> producer = getProducer(operand))
      if (*producer == unit || reaches(*producer, unit))
        return false;
  }
  return true;
}

std::optional<unsigned> FusionGroups::getUnit(Operation *op) const {
  auto it = unitOf.find(op);
  return it == unitOf.end() ? std::nullopt : std::optional(it->second);
}

std::optional<unsigned> FusionGroups::getProducer(Value value) const {
  Operation *op = value.getDefiningOp();
  while (op && isViewOp(op))
    op = op->getOperand(0).getDefiningOp();
  return op ? getUnit(op) : std::nullopt;
}

std::optional<FusionGroups::Level> FusionGroups::getLevel(unsigned unit,
                                                          Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (getUnit(op) == unit) {
    auto it = levels.find(op);
    return it == levels.end() ? std::nullopt : std::optional(it->second);
  }
  // A value per row is available at every point of the row.
  auto broadcast = dyn_cast<BroadcastOp>(op);
  if (!broadcast)
    return std::nullopt;
  Operation *row = broadcast.getInput().getDefiningOp();
  ArrayRef<int64_t> domain = units[unit].domain;
  if (!row || getUnit(row) != unit || levels.lookup(row) != Level::Row ||
      shapeOf(value) != domain)
    return std::nullopt;
  for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
    if (int64_t(i) != dim)
      return std::nullopt;
  return Level::Point;
}

bool FusionGroups::escapes(unsigned unit, Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (getUnit(user) == unit)
      return false;
    return !isViewOp(user) || escapes(unit, user->getResult(0));
  });
}

llvm::SetVector<unsigned> FusionGroups::getOperandUnits(unsigned unit) const {
  llvm::SetVector<unsigned> result;
  for (Operation *op : units[unit].ops)
    for (Value input : getInputs(op)) {
      if (parts.contains(op) && input == op->getOperand(1))
        continue; // its parts are computed here and need not be assembled
      if (std::optional<unsigned> producer = getProducer(input);
          producer && *producer != unit)
        result.insert(*producer);
    }
  return result;
}

bool FusionGroups::reaches(unsigned from, unsigned target) const {
  llvm::SetVector<unsigned> seen;
  seen.insert(from);
  for (size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == target)
      return true;
    for (unsigned next : getOperandUnits(seen[i]))
      seen.insert(next);
  }
  return false;
}

SmallVector<unsigned> FusionGroups::getOrder() const {
  // Visiting the units depth-first in program order puts operands first.
  SmallVector<unsigned> order;
  llvm::BitVector done(units.size());
  struct Frame {
    unsigned unit;
    SmallVector<unsigned> operands;
  };
  for (unsigned first = 0; first < units.size(); ++first) {
    SmallVector<Frame> stack;
    auto visit = [&](unsigned unit) {
      if (done.test(unit))
        return;
      done.set(unit);
      SmallVector<unsigned> operands = getOperandUnits(unit).takeVector();
      std::reverse(operands.begin(), operands.end());
      stack.push_back({unit, std::move(operands)});
    };
    visit(first);
    while (!stack.empty()) {
      if (stack.back().operands.empty()) {
        if (!units[stack.back().unit].ops.empty()) // not merged away
          order.push_back(stack.back().unit);
        stack.pop_back();
        continue;
      }
      visit(stack.back().operands.pop_back_val());
    }
  }
  return order;
}

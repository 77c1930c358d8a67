// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ManualCalls.h"

#include "GSPMD.h"

#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tp;
using namespace tp::stablehlo;

static InFlightDiagnostic fail(Operation *op) {
  return op->emitError() << prefix(ErrorCode::BadForeignSharding) << "@"
                         << getCallTarget(op);
}

namespace {
/// A region that is being built: the values that enter and leave it, with their
/// shardings.
struct Manual {
  SmallVector<Value> inputs, locals;    ///< Outside and inside it.
  SmallVector<Value> returned, results; ///< Inside and outside it.
  SmallVector<Attribute> in, out;
  ArrayAttr axes;
};
} // namespace

/// Creates the region before `before`, and moves `body` into it.
static void build(const Manual &manual, ArrayRef<Operation *> body,
                  Operation *before) {
  OpBuilder builder(before);
  OperationState state(before->getLoc(), "sdy.manual_computation");
  state.addOperands(manual.inputs);
  state.addTypes(TypeRange(ValueRange(manual.results)));
  state.addAttribute("in_shardings", builder.getArrayAttr(manual.in));
  state.addAttribute("out_shardings", builder.getArrayAttr(manual.out));
  state.addAttribute("manual_axes", manual.axes);
  state.addRegion();
  Operation *op = builder.create(state);
  Block *block = builder.createBlock(&op->getRegion(0));
  for (Value local : manual.locals)
    local.replaceAllUsesWith(
        block->addArgument(local.getType(), local.getLoc()));
  for (Operation *inner : body)
    inner->moveBefore(block, block->end());
  builder.setInsertionPointToEnd(block);
  OperationState end(before->getLoc(), "sdy.return");
  for (Value value : manual.returned) {
    auto local = llvm::find(manual.locals, value);
    end.addOperands(local == manual.locals.end()
                        ? value
                        : block->getArgument(local - manual.locals.begin()));
  }
  builder.create(end);
  for (auto [result, own] : llvm::zip_equal(manual.results, op->getResults()))
    Value(result).replaceAllUsesWith(own);
}

//===----------------------------------------------------------------------===//
// Shardy in strings
//===----------------------------------------------------------------------===//

/// Reads the frontend attribute `name` of `op` or, if it has none, of `call`,
/// the call of the region's body. JAX up to 0.5 puts the attribute on the call.
static Attribute readEither(Operation *op, Operation *call, StringRef name) {
  for (Operation *holder : {op, call})
    if (Attribute text =
            getFrontendAttribute(holder->getAttrDictionary(), name))
      return readShardyString(text);
  return {};
}

/// Reads the shardings that a frontend attribute lists for `count` values.
static FailureOr<SmallVector<Attribute>>
readList(Operation *op, Operation *call, StringRef name, size_t count) {
  auto list = dyn_cast_or_null<ArrayAttr>(readEither(op, call, name));
  if (!list || list.size() != count)
    return fail(op) << " expects a sharding for each value in `" << name << "`";
  return llvm::to_vector(list);
}

/// Returns the operation of `block` that defines all of `values`, if it is a
/// single one.
static Operation *getSource(ValueRange values, Block *block) {
  Operation *source = nullptr;
  for (Value value : values) {
    Operation *own = value.getDefiningOp();
    if (!own || own->getBlock() != block || (source && own != source))
      return nullptr;
    source = own;
  }
  return source;
}

/// Imports the region that ends with `back`, a call of
/// @xla.sdy.LocalToGlobalShape. The operands of `back` are the results of a
/// call of the region's body. The operands of that call, if any, are the
/// results of @xla.sdy.GlobalToLocalShape.
static LogicalResult importCall(Operation *back) {
  Block *block = back->getBlock();
  Operation *call = getSource(back->getOperands(), block);
  bool isCall = call && call->getName().getStringRef() == "func.call";
  Operation *enter = isCall ? getSource(call->getOperands(), block) : nullptr;
  auto isOnly = [](Operation *from, Operation *to) {
    return llvm::all_of(from->getUsers(),
                        [&](Operation *user) { return user == to; });
  };
  if (!isCall || !isOnly(call, back) ||
      (call->getNumOperands() != 0 &&
       (getCallTarget(enter) != "xla.sdy.GlobalToLocalShape" ||
        !isOnly(enter, call))))
    return fail(back) << " expects its operands to be the results of one call, "
                         "and the operands of that call to be the results of "
                         "one @xla.sdy.GlobalToLocalShape";
  Manual manual;
  llvm::append_range(manual.returned, back->getOperands());
  llvm::append_range(manual.results, back->getResults());
  auto out =
      readList(back, call, "xla.sdy.out_shardings", back->getNumResults());
  if (failed(out))
    return failure();
  manual.out = *out;
  if (enter) {
    llvm::append_range(manual.inputs, enter->getOperands());
    llvm::append_range(manual.locals, enter->getResults());
    auto in =
        readList(enter, call, "xla.sdy.in_shardings", enter->getNumOperands());
    if (failed(in))
      return failure();
    manual.in = *in;
  }
  manual.axes = dyn_cast_or_null<ArrayAttr>(
      readEither(back, call, "xla.sdy.manual_axes"));
  if (!manual.axes || manual.inputs.size() != manual.locals.size() ||
      manual.returned.size() != manual.results.size())
    return fail(back)
           << " expects `xla.sdy.manual_axes`, and as many results as operands "
              "both here and in @xla.sdy.GlobalToLocalShape";
  // JAX up to 0.6 makes a region's body a public function, like an entry.
  auto body = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, cast<func::CallOp>(call).getCalleeAttr());
  if (body && body.getName().starts_with("xla.sdy.manual_computation_body"))
    body.setPrivate();
  build(manual, call, back);
  back->erase();
  if (enter)
    enter->erase();
  return success();
}

//===----------------------------------------------------------------------===//
// GSPMD
//===----------------------------------------------------------------------===//

namespace {
/// Finds all operations of one region, by following values to their uses or
/// sources. The search begins at one of the region's entries or, if it has
/// none, at its exit.
class RegionFinder {
public:
  explicit RegionFinder(Operation *op) : block(op->getBlock()) {
    if (getCallTarget(op) == "SPMDFullToShardShape") {
      addEntry(op);
      while (!open.empty())
        addUsers(open.pop_back_val());
    } else {
      exits.insert(op);
      open.push_back(op);
      while (!open.empty())
        addSources(open.pop_back_val());
    }
  }

  llvm::SetVector<Operation *> entries, body, exits;

private:
  void addEntry(Operation *op) {
    if (entries.insert(op))
      open.push_back(op);
  }
  void addUsers(Operation *op) {
    for (Operation *user : op->getUsers()) {
      // Uses in the regions of an operation count as uses by the operation.
      user = block->findAncestorOpInBlock(*user);
      if (!user)
        continue;
      if (getCallTarget(user) == "SPMDShardToFullShape") {
        exits.insert(user);
      } else if (body.insert(user)) {
        open.push_back(user);
        for (Value operand : user->getOperands())
          if (Operation *other = operand.getDefiningOp();
              getCallTarget(other) == "SPMDFullToShardShape" &&
              other->getBlock() == block)
            addEntry(other);
      }
    }
  }
  void addSources(Operation *op) {
    for (Value operand : op->getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && source->getBlock() == block && body.insert(source))
        open.push_back(source);
  }

  Block *block;
  SmallVector<Operation *> open; ///< Not visited yet.
};
} // namespace

/// Reads the sharding of one value from `op`.
static FailureOr<spmd::ShardingAttr>
readOne(Operation *op, const ForeignShardings &shardings) {
  auto read = shardings.read(op, op->getAttrDictionary(), op->getResultTypes());
  if (failed(read))
    return failure();
  if (read->size() != 1 || !read->front())
    return fail(op) << " expects a sharding of the whole tensor";
  return read->front();
}

/// Returns the axes that become manual in a region: all axes that are manual
/// inside but not outside of the region.
static FailureOr<ArrayAttr> readAxes(const RegionFinder &found,
                                     const ForeignShardings &shardings) {
  Operation *outer = found.exits.front();
  Operation *inner = found.entries.empty()
                         ? outer->getOperand(0).getDefiningOp()
                         : found.entries.front();
  if (found.entries.empty() && getCallTarget(inner) != "Sharding")
    return fail(outer) << " expects the result of @Sharding as its operand";
  auto all = shardings.readManualAxes(inner),
       before = shardings.readManualAxes(outer);
  if (failed(all) || failed(before))
    return failure();
  SmallVector<Attribute> axes;
  for (Attribute axis : *all)
    if (!llvm::is_contained(*before, axis))
      axes.push_back(axis);
  if (axes.empty())
    return fail(inner)
           << " expects a sharding that makes at least one axis manual";
  return ArrayAttr::get(inner->getContext(), axes);
}

/// If `entry` gives each device its own element of a sharded iota, returns the
/// digits of the device number that select the element.
static std::optional<SmallVector<Digit>> getPlaceDigits(Operation *entry) {
  Operation *sharding = entry->getNumOperands() == 1
                            ? entry->getOperand(0).getDefiningOp()
                            : nullptr;
  if (getCallTarget(sharding) != "Sharding" || sharding->getNumOperands() != 1)
    return std::nullopt;
  Operation *iota = sharding->getOperand(0).getDefiningOp();
  auto text = sharding->getAttrOfType<StringAttr>("mhlo.sharding");
  auto tiles = text ? parseTileShardings(text) : std::nullopt;
  if (!iota || iota->getName().getStringRef() != "stablehlo.iota" || !tiles ||
      tiles->size() != 1 || entry->getNumResults() != 1)
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(sharding->getOperand(0).getType());
  auto part = dyn_cast<RankedTensorType>(entry->getResult(0).getType());
  const TileSharding &tile = tiles->front();
  if (!type || type.getRank() != 1 || !part || !part.hasStaticShape() ||
      part.getNumElements() != 1 ||
      part.getElementType() != type.getElementType() ||
      tile.dims.size() != tile.subgroups.size() + 1)
    return std::nullopt;
  int64_t size = 1;
  for (const Digit &digit : tile.dims[0])
    size *= digit.size;
  return size == type.getDimSize(0) ? std::optional(tile.dims[0])
                                    : std::nullopt;
}

/// Imports a device's position along an axis, in a region over only some axes.
/// JAX 0.4 writes the position as the device's element of a sharded iota.
/// Rewrites it in the form of later versions of JAX, which compute the position
/// from the device's number, in a nested region over the other axes.
static LogicalResult importPlace(Operation *entry, ArrayRef<Digit> digits,
                                 const ForeignShardings &shardings) {
  auto manual = shardings.readManualAxes(entry);
  if (failed(manual))
    return failure();
  spmd::MeshOp mesh = shardings.getMesh();
  OpBuilder builder(entry);
  SmallVector<Attribute> others;
  for (Attribute axis : mesh.getMesh().getNames())
    if (!llvm::is_contained(*manual, axis))
      others.push_back(axis);
  Location loc = entry->getLoc();
  OperationState state(loc, "sdy.manual_computation");
  state.addTypes(entry->getResultTypes());
  state.addAttribute("in_shardings", builder.getArrayAttr({}));
  state.addAttribute(
      "out_shardings",
      builder.getArrayAttr(spmd::ShardingAttr::get(
          entry->getContext(), mesh.toMesh(), TensorSharding::replicate(1))));
  state.addAttribute("manual_axes", builder.getArrayAttr(others));
  state.addRegion();
  Operation *region = builder.create(state);
  builder.createBlock(&region->getRegion(0));
  auto type = RankedTensorType::get({}, builder.getIntegerType(32, false));
  auto emit = [&](StringRef name, Type type, ValueRange operands) {
    OperationState state(loc, name, operands, type);
    return builder.create(state)->getResult(0);
  };
  auto number = [&](int64_t value) {
    OperationState state(loc, "stablehlo.constant", {}, type);
    state.addAttribute(
        "value", DenseIntElementsAttr::get(type, APInt(32, uint64_t(value))));
    return builder.create(state)->getResult(0);
  };
  Value id = emit("stablehlo.partition_id", type, {}), place = number(0);
  for (const Digit &digit : digits) {
    Value size = number(digit.size);
    Value own = emit("stablehlo.divide", type, {id, number(digit.stride)});
    own = emit("stablehlo.remainder", type, {own, size});
    place = emit("stablehlo.multiply", type, {place, size});
    place = emit("stablehlo.add", type, {place, own});
  }
  auto result = cast<RankedTensorType>(entry->getResult(0).getType());
  place = emit("stablehlo.convert", type.clone(result.getElementType()), place);
  place = emit("stablehlo.reshape", result, place);
  OperationState end(loc, "sdy.return", place, {});
  builder.create(end);
  entry->replaceAllUsesWith(region);
  entry->erase();
  return success();
}

namespace {
/// A tensor that enters or leaves a region. The region is manual over only some
/// axes, but the tensor is also sharded along other axes. For every position
/// along these other axes, the tensor contains a copy of the value in the
/// region. JAX 0.4 writes such tensors for values that are saved for the
/// gradient.
struct Copies {
  RankedTensorType whole;
  /// The shape of `whole` with every dimension split into one dimension per
  /// axis, and one for the rest. `isCopy` is true for the dimensions along
  /// which the copies lie.
  SmallVector<int64_t> split;
  SmallVector<bool> isCopy;
  spmd::ShardingAttr sharding; ///< Without the axes of copies.

  SmallVector<int64_t> getOnce() const {
    SmallVector<int64_t> once;
    for (auto [size, copy] : llvm::zip_equal(split, isCopy))
      if (!copy)
        once.push_back(size);
    return once;
  }
  /// The type of a tensor that contains only one of the copies.
  RankedTensorType narrow;
};
} // namespace

static std::optional<Copies> findCopies(spmd::ShardingAttr sharding,
                                        ArrayAttr manual, Type outside,
                                        Type inside, const Mesh &mesh) {
  Copies copies;
  copies.whole = dyn_cast<RankedTensorType>(outside);
  auto part = dyn_cast<RankedTensorType>(inside);
  if (!copies.whole || !part || !copies.whole.hasStaticShape() ||
      copies.whole.getRank() != part.getRank())
    return std::nullopt;
  auto resolved = sharding.resolve(mesh, part.getRank());
  if (!std::holds_alternative<TensorSharding>(resolved))
    return std::nullopt;
  auto layout = std::get<TensorSharding>(resolved);
  SmallVector<int64_t> narrow;
  bool any = false;
  for (auto [dim, whole, size] :
       llvm::zip_equal(layout.dims, copies.whole.getShape(), part.getShape())) {
    int64_t parts = getSize(dim.axes);
    if (whole % parts != 0 || whole / parts != size)
      return std::nullopt;
    AxisList kept;
    for (const AxisRef &axis : dim.axes) {
      bool isManual = llvm::any_of(manual, [&](Attribute name) {
        return cast<StringAttr>(name) == mesh.axes[axis.axis].name;
      });
      if (isManual)
        kept.push_back(axis);
      any |= !isManual;
      copies.split.push_back(axis.size);
      copies.isCopy.push_back(!isManual);
    }
    copies.split.push_back(size);
    copies.isCopy.push_back(false);
    narrow.push_back(size * getSize(kept));
    dim.axes = kept;
  }
  if (!any)
    return std::nullopt;
  copies.narrow = copies.whole.clone(narrow);
  copies.sharding =
      spmd::ShardingAttr::get(sharding.getContext(), mesh, layout);
  return copies;
}

static Value emitReshape(OpBuilder &builder, Value value, Type type) {
  OperationState state(value.getLoc(), "stablehlo.reshape", value, type);
  return builder.create(state)->getResult(0);
}

/// Extracts one of the copies from `value`.
static Value takeOne(OpBuilder &builder, Value value, const Copies &copies) {
  value = emitReshape(builder, value, copies.whole.clone(copies.split));
  SmallVector<int64_t> limits = copies.split;
  for (auto [limit, copy] : llvm::zip_equal(limits, copies.isCopy))
    limit = copy ? 1 : limit;
  OperationState state(value.getLoc(), "stablehlo.slice", value,
                       copies.whole.clone(limits));
  SmallVector<int64_t> zeros(limits.size(), 0), ones(limits.size(), 1);
  state.addAttribute("start_indices", builder.getDenseI64ArrayAttr(zeros));
  state.addAttribute("limit_indices", builder.getDenseI64ArrayAttr(limits));
  state.addAttribute("strides", builder.getDenseI64ArrayAttr(ones));
  return emitReshape(builder, builder.create(state)->getResult(0),
                     copies.narrow);
}

/// Repeats `value`, so that there are as many copies as in `copies.whole`.
static Value makeCopies(OpBuilder &builder, Value value, const Copies &copies) {
  value = emitReshape(builder, value, copies.whole.clone(copies.getOnce()));
  SmallVector<int64_t> dims;
  for (auto [i, copy] : llvm::enumerate(copies.isCopy))
    if (!copy)
      dims.push_back(i);
  OperationState state(value.getLoc(), "stablehlo.broadcast_in_dim", value,
                       copies.whole.clone(copies.split));
  state.addAttribute("broadcast_dimensions",
                     builder.getDenseI64ArrayAttr(dims));
  return emitReshape(builder, builder.create(state)->getResult(0),
                     copies.whole);
}

/// Imports the region that `op` enters, or that `op` leaves if nothing enters
/// it.
static LogicalResult importRegion(Operation *op,
                                  const ForeignShardings &shardings) {
  RegionFinder found(op);
  if (found.exits.empty())
    if (auto digits = getPlaceDigits(op))
      return importPlace(op, *digits, shardings);
  if (found.exits.empty())
    return fail(op) << " expects a later @SPMDShardToFullShape that ends its "
                       "region; none was found";
  Manual manual;
  auto axes = readAxes(found, shardings);
  if (failed(axes))
    return failure();
  manual.axes = *axes;
  Mesh mesh = shardings.getMesh().toMesh();
  OpBuilder builder(op->getContext());
  for (Operation *entry : found.entries) {
    Operation *sharding = entry->getNumOperands() == 1
                              ? entry->getOperand(0).getDefiningOp()
                              : nullptr;
    if (getCallTarget(sharding) != "Sharding" || entry->getNumResults() != 1)
      return fail(entry) << " expects the result of @Sharding as its operand";
    auto in = readOne(sharding, shardings);
    if (failed(in))
      return failure();
    Value input = sharding->getOperand(0), local = entry->getResult(0);
    if (auto copies =
            findCopies(*in, *axes, input.getType(), local.getType(), mesh)) {
      builder.setInsertionPoint(entry);
      input = takeOne(builder, input, *copies);
      in = copies->sharding;
    }
    manual.in.push_back(*in);
    manual.inputs.push_back(input);
    manual.locals.push_back(local);
  }
  auto isBefore = [](Operation *a, Operation *b) {
    return a->isBeforeInBlock(b);
  };
  SmallVector<Operation *> exits(found.exits.begin(), found.exits.end()),
      body(found.body.begin(), found.body.end());
  llvm::sort(exits, isBefore);
  llvm::sort(body, isBefore);
  for (Operation *exit : exits) {
    if (exit->getNumOperands() != 1 || exit->getNumResults() != 1)
      return fail(exit) << " expects one operand and one result";
    auto out = readOne(exit, shardings);
    if (failed(out))
      return failure();
    if (auto copies = findCopies(*out, *axes, exit->getResult(0).getType(),
                                 exit->getOperand(0).getType(), mesh)) {
      builder.setInsertionPointAfter(exit);
      Value once = exit->getResult(0);
      SmallVector<OpOperand *> uses =
          llvm::to_vector(llvm::make_pointer_range(once.getUses()));
      once.setType(copies->narrow);
      Value all = makeCopies(builder, once, *copies);
      for (OpOperand *use : uses)
        use->set(all);
      out = copies->sharding;
    }
    manual.out.push_back(*out);
    manual.returned.push_back(exit->getOperand(0));
    manual.results.push_back(exit->getResult(0));
  }
  // If nothing enters a region, only its exits may pass its values outside.
  if (found.entries.empty())
    for (Operation *source : body)
      for (Operation *user : source->getUsers())
        if (!found.body.contains(user) && !found.exits.contains(user))
          return fail(op) << " ends a region whose values are also used "
                             "outside of it, which is not supported";
  for (Operation *entry : found.entries)
    if (!entry->isBeforeInBlock(exits.front()))
      return fail(entry) << " must come before the end of its region";
  build(manual, body, exits.front());
  for (Operation *exit : exits)
    exit->erase();
  for (Operation *entry : found.entries)
    entry->erase();
  return success();
}

static Operation *findCall(ModuleOp module, StringRef target) {
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    if (getCallTarget(op) == target)
      found = op;
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

LogicalResult stablehlo::importManualCalls(ModuleOp module,
                                           const ForeignShardings &shardings) {
  // Importing a region erases all calls that enter or leave it. So every search
  // begins anew, and regions that are entered come first: the last search finds
  // SPMDShardToFullShape only in regions that nothing enters.
  for (StringRef target : {"xla.sdy.LocalToGlobalShape", "SPMDFullToShardShape",
                           "SPMDShardToFullShape"})
    while (Operation *op = findCall(module, target))
      if (failed(target.starts_with("xla.sdy") ? importCall(op)
                                               : importRegion(op, shardings)))
        return failure();
  return success();
}

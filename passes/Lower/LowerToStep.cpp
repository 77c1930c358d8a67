// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Creates programs, allocates memory, and lowers units in order.

#include "Lowering.h"

#include "Entry.h"
#include "JoinProducts.h"
#include "PlannedTarget.h"
#include "ScalarOps.h"

#include "dialects/TP/Interface.h"
#include "dialects/TP/ShardingTable.h"
#include "lib/Codegen/TargetCode.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Lower/Passes.h"

namespace tp {
#define GEN_PASS_DEF_LOWERTOSTEPPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;
using namespace tp::spmd;

InFlightDiagnostic ProgramLowering::fail(Operation *op, ErrorCode code) {
  failed = true;
  return op->emitError() << prefix(code);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

View ProgramLowering::allocate(ArrayRef<int64_t> shape, Type element) {
  return View(step::AllocOp::create(builder, loc,
                                    MemRefType::get(shape, element), nullptr));
}

View ProgramLowering::allocateFor(Value value) {
  auto it = outputStorage.find(value);
  if (it != outputStorage.end())
    return View(it->second);
  if (Value own = getDonated(value, Unit()))
    return View(own);
  return allocate(typeOf(value).getShape(), typeOf(value).getElementType());
}

Value ProgramLowering::getBuffer(const View &view) {
  MemRefType type = view.getType();
  if (view.by == 0 && type == view.root.getType())
    return view.root;
  Value &buffer =
      buffers[{{view.root, type}, {view.loop, view.axes}, view.plus, view.by}];
  if (buffer)
    return buffer;
  auto made = step::ViewOp::create(builder, loc, type, view.root);
  if (view.by != 0) {
    made.setBy(view.by);
    if (view.axes) {
      made.setAxesAttr(view.axes);
      made.setPlus(view.plus);
    } else {
      made.setLoop(getLoopNumber(view.loop));
    }
  }
  return buffer = made;
}

uint64_t ProgramLowering::getLoopNumber(Operation *loop) {
  uint64_t number = 0;
  for (Operation *op = builder.getInsertionBlock()->getParentOp(); op != loop;
       op = op->getParentOp())
    number += isa<step::LoopOp>(op);
  return number;
}

/// Makes one copy for each index of the shortest dimension. Returns false if
/// that would be too many copies.
bool ProgramLowering::copyInParts(const View &from, const View &to,
                                  Operation *op) {
  constexpr int64_t kMostParts = 16;
  const auto *shortest = llvm::min_element(from.shape);
  if (*shortest > kMostParts)
    return false;
  size_t dim = shortest - from.shape.begin();
  SmallVector<int64_t> starts(from.shape.size(), 0), ones(starts.size(), 1),
      sizes(from.shape);
  sizes[dim] = 1;
  for (; starts[dim] < *shortest; ++starts[dim])
    copy(from.slice(starts, sizes, ones), to.slice(starts, sizes, ones), op);
  return true;
}

void ProgramLowering::copy(const View &from, const View &to, Operation *op) {
  // Merge as many dimensions as strides allow, since the runtime's tables hold
  // at most eight dimensions.
  View source = from, destination = to;
  size_t count = 0;
  for (size_t i = 0; i < from.shape.size(); ++i) {
    if (from.shape[i] == 1)
      continue;
    size_t last = count - 1;
    int64_t size = from.shape[i];
    if (count > 0 && source.strides[last] == size * from.strides[i] &&
        destination.strides[last] == size * to.strides[i]) {
      source.shape[last] *= size;
      --count;
    } else {
      source.shape[count] = size;
    }
    source.strides[count] = from.strides[i];
    destination.strides[count++] = to.strides[i];
  }
  source.shape.resize(count);
  source.strides.resize(count);
  destination.shape = source.shape;
  destination.strides.resize(count);
  if (!target.copies(source.getType(), destination.getType()))
    return copyByRows(source, destination);
  if (count > step::kMaxCopyRank && copyInParts(source, destination, op))
    return;
  if (count > step::kMaxCopyRank) {
    fail(op, ErrorCode::TooManyDims) << "cannot copy " << count
                                     << " dimensions in one step, because they "
                                        "cannot be merged; reshape the tensor";
    return;
  }
  step::CopyOp::create(builder, loc, getBuffer(source), getBuffer(destination));
}

void ProgramLowering::fill(const View &to, TypedAttr value, Operation *op) {
  if (!target.fills(to.getType(), value))
    return fillByRows(to, value);
  if (to.shape.size() > step::kMaxCopyRank)
    fail(op, ErrorCode::TooManyDims)
        << "cannot fill a tensor of " << to.shape.size()
        << " dimensions in one step; reshape the tensor";
  else
    step::FillOp::create(builder, loc, getBuffer(to), value);
}

View ProgramLowering::getOwn(Value input, Value result, Operation *op) {
  if (mayOverwrite(input, op)) {
    View view = getView(input);
    if (view.isRoot())
      return view;
  }
  View fresh = allocateFor(result);
  if (isInline(input))
    materialize(input, fresh);
  else
    copy(getView(input), fresh, op);
  return fresh;
}

View ProgramLowering::getDense(const View &view, Operation *op) {
  if (view.isDense()) {
    View same = view;
    same.strides = step::getDenseStrides(view.shape);
    return same;
  }
  return copyDense(view, op);
}

View ProgramLowering::copyDense(const View &view, Operation *op) {
  View dense = allocate(view.shape, view.element);
  copy(view, dense, op);
  return dense;
}

View ProgramLowering::getReshaped(const View &view, ArrayRef<int64_t> shape,
                                  Operation *op) {
  if (std::optional<View> reshaped = view.reshape(shape))
    return *reshaped;
  return *getDense(view, op).reshape(shape);
}

/// The view for a window op that reads no padding.
static View lowerWindow(const View &input, WindowOp op) {
  SmallVector<int64_t> starts;
  for (int64_t low : op.getLow())
    starts.push_back(-low);
  return input.window(op.getDims(), starts, op.getStrides(), op.getDilations(),
                      op.getType().getShape());
}

View ProgramLowering::getView(Value value) {
  auto it = views.find(value);
  if (it != views.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  View view;
  if (isInline(value)) {
    view = materialize(value);
  } else if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto type = MemRefType::get(typeOf(value).getShape(),
                                typeOf(value).getElementType());
    view =
        View(step::ConstantOp::create(builder, loc, type, constant.getValue()));
  } else {
    View input = getView(op->getOperand(0));
    ArrayRef<int64_t> shape = typeOf(value).getShape();
    if (auto transpose = dyn_cast<TransposeOp>(op))
      view = input.transpose(transpose.getPermutation());
    else if (auto broadcast = dyn_cast<BroadcastOp>(op))
      view = input.broadcast(shape, broadcast.getDims());
    else if (auto slice = dyn_cast<SliceOp>(op))
      view = input.slice(slice.getStarts(), shape, slice.getStrides());
    else if (auto window = dyn_cast<WindowOp>(op))
      view = lowerWindow(input, window);
    else if (auto slice = dyn_cast<DynamicSliceOp>(op))
      view = lowerSlice(slice);
    else if (auto block = dyn_cast<BlockOp>(op))
      view = lowerBlock(block);
    else
      view = getReshaped(input, shape, op);
  }
  views[value] = view;
  return view;
}

/// Returns true if `user` reads only elements that `op` overwrites, and every
/// new element depends only on the old element at the same index. A masked
/// update, for example, keeps some rows of a window unchanged.
static bool readsForUpdate(Operation *user, Operation *op) {
  auto update = dyn_cast<DynamicUpdateSliceOp>(op);
  auto written =
      update ? update.getUpdate().getDefiningOp<SelectOp>() : nullptr;
  if (!written || user->getBlock() != op->getBlock() || !user->hasOneUse() ||
      *user->getUsers().begin() != written ||
      user->getResult(0).getType() != written.getType())
    return false;
  if (auto slice = dyn_cast<DynamicSliceOp>(user))
    return !isViewOp(slice) && slice.getStarts() == update.getStarts();
  auto slice = dyn_cast<SliceOp>(user); // the window is the whole tensor
  return slice && slice.getInput().getType() == slice.getType();
}

bool ProgramLowering::mayOverwrite(Value value, Operation *op) {
  // The memory must belong to the block of `op`: the next iteration of a loop
  // would read memory from outside of the loop again.
  auto reads = llvm::make_filter_range(value.getUsers(), [&](Operation *user) {
    return !readsForUpdate(user, op);
  });
  if (!llvm::hasSingleElement(reads) || *reads.begin() != op ||
      value.getParentBlock() != op->getBlock())
    return false;
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Region *region = argument.getOwner()->getParent();
    if (auto loop = dyn_cast<RegionFlowOpInterface>(region->getParentOp()))
      return region != loop.getCondition(); // the condition only reads
    return bool(function.getArgAttr(argument.getArgNumber(), kDonatedAttr));
  }
  // A value that is not a view has its own memory.
  Operation *producer = value.getDefiningOp();
  if (isa<DynamicUpdateSliceOp>(producer))
    return !outputStorage.count(value);
  return !isViewOp(producer) && !isa<ConstantOp>(producer) &&
         !isInline(value) && !outputStorage.count(value) &&
         getView(value).isRoot();
}

/// Returns true if all ops that read `value`'s memory have been lowered. Ops of
/// `except` do not count if they read `value` itself, not a view of it.
bool ProgramLowering::hasBeenRead(Value value, const Unit &except) {
  Block *block = &function.getBody().front();
  return llvm::all_of(value.getUsers(), [&](Operation *user) {
    if (isViewOp(user))
      return llvm::all_of(user->getResults(), [&](Value view) {
        return hasBeenRead(view, Unit());
      });
    Operation *outer = block->findAncestorOpInBlock(*user);
    return lowered.contains(outer) || llvm::is_contained(except.ops, user);
  });
}

Value ProgramLowering::getDonated(Value value, const Unit &except) {
  BlockArgument argument = donated.lookup(value);
  if (!argument || outputStorage.contains(value) ||
      typeOf(argument) != typeOf(value) || !hasBeenRead(argument, except))
    return {};
  View view = getView(argument);
  if (!view.isRoot())
    return {};
  // Ops that read other values in the same memory must be lowered, too.
  for (auto &[other, place] : views)
    if (place.root == view.root && other != argument &&
        !hasBeenRead(other, place.isRoot() ? except : Unit()))
      return {};
  return view.root;
}

//===----------------------------------------------------------------------===//
// Units
//===----------------------------------------------------------------------===//

void ProgramLowering::lowerUnit(const FusionGroups &graph, unsigned index) {
  const Unit &unit = graph.get(index);
  Operation *op = unit.ops.front();
  loc = op->getLoc();
  for (Operation *member : unit.ops)
    for (Value result : member->getResults()) {
      Type element = typeOf(result).getElementType();
      auto integer = dyn_cast<IntegerType>(element);
      unsigned width = element.getIntOrFloatBitWidth();
      bool isNarrowFloat = width < 16 && !isFloat8(element);
      if ((isa<FloatType>(element) && isNarrowFloat) ||
          (integer && width != 1 && (width < 8 || !llvm::isPowerOf2_32(width))))
        return void(fail(member, ErrorCode::UnsupportedType)
                    << element
                    << " elements are not supported; convert to a wider type");
    }
  if (unit.isRows)
    return lowerRows(graph, index);
  if (isa<EinsumOp>(op))
    return lowerContraction(unit);
  if (auto collective = dyn_cast<CollectiveOpInterface>(op))
    return lowerCollective(collective);
  if (auto shift = dyn_cast<ShiftOp>(op))
    return lowerShift(shift);
  if (auto update = dyn_cast<DynamicUpdateSliceOp>(op)) // the whole tensor
    return copy(getView(update.getUpdate()), getUpdated(update), update);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return lowerConcat(concat);
  if (auto assemble = dyn_cast<AssembleOp>(op))
    return lowerAssemble(assemble);
  if (auto pad = dyn_cast<PadOp>(op))
    return lowerPad(pad);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return lowerAttention(attention);
  if (auto gradient = dyn_cast<AttentionQueryGradientOp>(op))
    return lowerAttention(gradient);
  if (auto gradient = dyn_cast<AttentionKeyValueGradientOp>(op))
    return lowerAttention(gradient);
  if (auto scatter = dyn_cast<ScatterOp>(op))
    return lowerScatter(scatter);
  if (auto sort = dyn_cast<SortOp>(op))
    return lowerSort(sort.getInput(), sort.getDim(), sort.getDescending(),
                     sort.getValues(), sort.getIndices());
  if (auto topK = dyn_cast<TopKOp>(op))
    return lowerSort(topK.getInput(), typeOf(topK.getInput()).getRank() - 1,
                     /*descending=*/true, topK.getValues(), topK.getIndices());
  if (auto loop = dyn_cast<ForOp>(op))
    return lowerFor(loop);
  if (auto loop = dyn_cast<WhileOp>(op))
    return lowerWhile(loop);
  if (auto branch = dyn_cast<CaseOp>(op))
    return lowerCase(branch);
  fail(op, ErrorCode::UnsupportedOp)
      << op->getName()
      << " cannot be lowered to steps; run the program with the interpreter";
}

void ProgramLowering::lowerBlock(Block &block) {
  FusionGroups graph(block, target);
  for (unsigned unit : graph.getOrder()) {
    lowerUnit(graph, unit);
    if (failed)
      return;
    lowered.insert_range(graph.get(unit).ops);
  }
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

LogicalResult ProgramLowering::createProgram() {
  builder.setInsertionPoint(function);
  FailureOr<step::ProgramOp> created =
      createEntry(builder, function,
                  meshOp ? FlatSymbolRefAttr::get(meshOp.getSymNameAttr())
                         : FlatSymbolRefAttr(),
                  [](Type local) { return local; });
  if (mlir::failed(created))
    return failure();
  program = *created;
  for (auto output : program.getOutputs().getAsRange<step::OutputAttr>())
    aliases.push_back(output.getAlias());
  return success();
}

void ProgramLowering::lowerResults() {
  Operation *end = function.getBody().front().getTerminator();
  loc = end->getLoc();
  Block &body = program.getBody().front();
  unsigned numInputs = function.getNumArguments(), next = numInputs;
  // Inputs are overwritten last. Before that, results that are in the memory of
  // inputs are copied to other buffers.
  std::vector<std::pair<View, View>> late;
  for (auto [value, alias] : llvm::zip(end->getOperands(), aliases)) {
    if (isEmpty(value)) { // there is nothing to copy
      next += alias < 0;
      continue;
    }
    View view = getView(value);
    if (alias < 0) {
      View storage{Value(body.getArgument(next++))};
      if (view.root != storage.root)
        copy(view, storage, end);
      continue;
    }
    View storage{Value(body.getArgument(alias))};
    if (view.root == storage.root && view.isRoot())
      continue;
    auto argument = dyn_cast<BlockArgument>(view.root);
    if (argument && argument.getArgNumber() < numInputs) {
      View aside = allocate(view.shape, view.element);
      copy(view, aside, end);
      view = aside;
    }
    late.push_back({view, storage});
  }
  for (auto &[view, storage] : late)
    copy(view, storage, end);
}

/// Checks that all values are supported tensors. Ops of other dialects may have
/// other results.
LogicalResult ProgramLowering::verifyValues() {
  auto result = function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (isSupportedTensor(type))
        continue;
      op->emitError() << prefix(ErrorCode::UnsupportedType)
                      << "expects tensors of floats or integers, got " << type;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

LogicalResult ProgramLowering::prepare() {
  if (!llvm::hasSingleElement(function.getBody()))
    return function.emitError() << prefix(ErrorCode::UnsupportedOp)
                                << "expects a function of one block";
  if (mlir::failed(verifyValues()) || mlir::failed(createProgram()))
    return failure();
  FailureOr<LocalInfos> prepared =
      legalizeForStep(function, mesh ? &*mesh : nullptr, target);
  if (mlir::failed(prepared))
    return failure();
  infos = std::move(*prepared);
  return success();
}

LogicalResult ProgramLowering::lower(const Bundles &joined) {
  bundles = joined;
  Block &block = function.getBody().front(), &body = program.getBody().front();
  builder.setInsertionPointToStart(&body);
  for (BlockArgument argument : block.getArguments())
    views[argument] = View(body.getArgument(argument.getArgNumber()));
  unsigned next = block.getNumArguments();
  for (auto [value, alias] :
       llvm::zip(block.getTerminator()->getOperands(), aliases)) {
    if (alias < 0)
      outputStorage.try_emplace(value, body.getArgument(next++));
    else
      donated.try_emplace(value, block.getArgument(alias));
  }
  lowerBlock(block);
  if (!failed)
    lowerResults();
  if (!failed) {
    joinRows(program);
    offerChoices(program, target);
  }
  return failure(failed);
}

namespace {

struct LowerToStep : tp::impl::LowerToStepPassBase<LowerToStep> {
  using LowerToStepPassBase::LowerToStepPassBase;

  void runOnOperation() override {
    FailureOr<const Target *> wanted =
        getPlannedTarget(getOperation(), target, fp8);
    if (failed(wanted))
      return signalPassFailure();
    SmallVector<func::FuncOp> functions;
    SmallVector<std::unique_ptr<ProgramLowering>> lowerings;
    for (auto function :
         llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>())) {
      if (function.isExternal())
        continue;
      // The function's global form is kept for verification only.
      if (function->hasAttr(kLocalFormAttr)) {
        function.erase();
        continue;
      }
      MeshOp mesh;
      // A program without a mesh runs on one device.
      if (!getOperation().getOps<MeshOp>().empty()) {
        FailureOr<MeshOp> found = tp::getMesh(function);
        if (failed(found))
          return signalPassFailure();
        mesh = *found;
      }
      functions.push_back(function);
      lowerings.push_back(
          std::make_unique<ProgramLowering>(function, mesh, **wanted));
      if (failed(lowerings.back()->prepare()))
        return signalPassFailure();
    }
    Bundles bundles = joinProducts(functions, **wanted);
    for (auto [function, lowering] : llvm::zip_equal(functions, lowerings)) {
      if (failed(lowering->lower(bundles)))
        return signalPassFailure();
      function.erase();
    }
  }
};

} // namespace

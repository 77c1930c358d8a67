// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ArtifactBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static_assert(step::kMaxCopyRank == tprt::kMaxDims);
static_assert(step::kNumBatchDims == tprt::kMaxBatch);
static_assert(step::kMaxNesting == tprt::kMaxNesting);

//===----------------------------------------------------------------------===//
// Conversion of the enums of the `step` dialect to those of the artifact format

static tprt::CollectiveKind toFormat(step::CollectiveKind kind) {
  switch (kind) {
  case step::CollectiveKind::AllReduce:
    return tprt::CollectiveKind::AllReduce;
  case step::CollectiveKind::AllGather:
    return tprt::CollectiveKind::AllGather;
  case step::CollectiveKind::ReduceScatter:
    return tprt::CollectiveKind::ReduceScatter;
  case step::CollectiveKind::AllToAll:
    return tprt::CollectiveKind::AllToAll;
  case step::CollectiveKind::CollectivePermute:
    return tprt::CollectiveKind::CollectivePermute;
  }
  llvm_unreachable("covered switch");
}

static tprt::Reduction toFormat(step::Reduction kind) {
  switch (kind) {
  case step::Reduction::Sum:
    return tprt::Reduction::Sum;
  case step::Reduction::Max:
    return tprt::Reduction::Max;
  case step::Reduction::Min:
    return tprt::Reduction::Min;
  case step::Reduction::Prod:
  case step::Reduction::UMax:
  case step::Reduction::UMin:
    break; // not a reduction of collectives
  }
  llvm_unreachable("covered switch");
}

static tprt::PostOpKind toFormat(step::PostOp kind) {
  switch (kind) {
  case step::PostOp::Add:
    return tprt::PostOpKind::Add;
  case step::PostOp::Multiply:
    return tprt::PostOpKind::Multiply;
  case step::PostOp::Relu:
    return tprt::PostOpKind::Relu;
  case step::PostOp::GeluErf:
    return tprt::PostOpKind::GeluErf;
  case step::PostOp::GeluTanh:
    return tprt::PostOpKind::GeluTanh;
  case step::PostOp::Silu:
    return tprt::PostOpKind::Silu;
  }
  llvm_unreachable("covered switch");
}

static tprt::ScatterKind toFormat(step::ScatterKind kind) {
  switch (kind) {
  case step::ScatterKind::Set:
    return tprt::ScatterKind::Set;
  case step::ScatterKind::Add:
    return tprt::ScatterKind::Add;
  case step::ScatterKind::Max:
    return tprt::ScatterKind::Max;
  case step::ScatterKind::Min:
    return tprt::ScatterKind::Min;
  case step::ScatterKind::Mul:
    return tprt::ScatterKind::Mul;
  }
  llvm_unreachable("covered switch");
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

tprt::BufferRow ArtifactBuilder::getBuffer(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  tprt::BufferRow row = roots.lookup(step::getRoot(buffer));
  uint64_t begin =
      step::Strides(type).offset * step::getElementBytes(type.getElementType());
  row.offset += begin;
  row.size = step::getEndByte(type) - begin;
  auto view = buffer.getDefiningOp<step::ViewOp>();
  if (int64_t by = view ? view.getBy().value_or(0) : 0) {
    row.step = by * step::getElementBytes(type.getElementType());
    if (view.getAxes())
      row.place = addPlace(*view.getAxes(), view.getPlus());
    else
      row.counter = counters.lookup(step::getLoop(view, view.getLoop()));
  }
  return row;
}

tprt::MatmulOperand ArtifactBuilder::getOperand(Value buffer) {
  tprt::MatmulOperand operand = {};
  operand.buffer = getBuffer(buffer);
  operand.dtype = dtypeOf(buffer);
  llvm::copy(step::Strides(cast<MemRefType>(buffer.getType())).strides,
             operand.strides);
  return operand;
}

/// The name of a step in traces and errors: the name in its location, or else
/// its kind.
static std::string getStepName(Operation *op) {
  std::string name = op->getName().stripDialect().str();
  if (auto collective = dyn_cast<step::CollectiveStartOp>(op))
    name = stringifyCollectiveKind(collective.getKind()).str();
  op->getLoc()->walk([&](Location loc) {
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return WalkResult::advance();
    name = named.getName().str();
    return WalkResult::interrupt();
  });
  // Alternatives of a step.choose may have the same name. Add the kind, so that
  // traces show which of them is executed.
  StringRef kind = op->getName().stripDialect();
  if (isa<step::ChooseOp>(op->getParentOp()) && name != kind)
    name += (" (" + kind + ")").str();
  return name;
}

void ArtifactBuilder::pushStep(Operation *op, tprt::StepKind kind,
                               uint32_t row) {
  steps.push_back({kind, row, writer.text(getStepName(op))});
}

LogicalResult ArtifactBuilder::addKernelCall(step::KernelOpInterface op) {
  FailureOr<uint32_t> kernel = addKernel(op);
  if (failed(kernel))
    return failure();
  std::vector<tprt::BufferRow> buffers;
  for (Value operand : op->getOperands())
    buffers.push_back(getBuffer(operand));
  std::vector<tprt::ScalarRow> scalars;
  for (Attribute scalar : op.getScalars()) {
    if (auto axis = dyn_cast<spmd::AxisRefAttr>(scalar)) {
      scalars.push_back({tprt::ScalarKind::Coordinate, addCoordinate(axis), 0});
      continue;
    }
    auto number = cast<IntegerAttr>(scalar);
    if (number.getType().isIndex()) {
      scalars.push_back({tprt::ScalarKind::Constant, 0, number.getInt()});
      continue;
    }
    step::LoopOp loop = step::getLoop(op, number.getInt());
    scalars.push_back({tprt::ScalarKind::Counter, counters.lookup(loop), 0});
  }
  tprt::KernelCallRow call = {};
  call.kernel = *kernel;
  call.firstWritten = op.getFirstWritten();
  call.buffers = writer.addAll<tprt::BufferRow>(absl::MakeConstSpan(buffers));
  call.scalars = writer.addAll<tprt::ScalarRow>(absl::MakeConstSpan(scalars));
  call.rowEnd = op.getNumParts();
  pushStep(op, tprt::StepKind::Kernel, writer.add(call));
  return success();
}

/// Adds the kernels for reductions among ranks that are threads sharing a GPU.
LogicalResult ArtifactBuilder::addCombinations() {
  combinations = createCombinations(module);
  for (auto op : combinations->getOps<step::CombineOp>()) {
    FailureOr<uint32_t> kernel = addKernel(op);
    if (failed(kernel))
      return failure();
    writer.add(tprt::CombineRow{*kernel, dtypeOf(op.getDestination()),
                                toFormat(op.getKind()),
                                uint32_t(op.getSources().size())});
  }
  return success();
}

/// Adds the kernels that fill inputs for which no value is given.
LogicalResult ArtifactBuilder::addRandoms() {
  randoms = createRandoms(module);
  for (auto op : randoms->getOps<step::RandomOp>()) {
    FailureOr<uint32_t> kernel = addKernel(op);
    if (failed(kernel))
      return failure();
    writer.add(tprt::RandomRow{*kernel, dtypeOf(op.getDestination())});
  }
  return success();
}

void ArtifactBuilder::addMatmul(step::MatmulOp op) {
  tprt::MatmulRow row = {};
  ArrayRef<int64_t> shape = cast<MemRefType>(op.getC().getType()).getShape();
  llvm::copy(shape.take_front(step::kNumBatchDims), row.batch);
  row.m = shape[step::kNumBatchDims];
  row.n = shape.back();
  row.k = cast<MemRefType>(op.getA().getType()).getShape().back();
  row.constantB = op.getConstantB();
  SmallVector<tprt::PostOpRow> posts;
  auto operand = op.getPostOperands().begin();
  for (auto attribute : op.getPostOps().getAsRange<step::PostOpAttr>()) {
    tprt::PostOpRow &post = posts.emplace_back();
    post = {};
    post.kind = toFormat(attribute.getValue());
    if (attribute.getValue() <= step::PostOp::Multiply)
      post.operand = getOperand(*operand++);
  }
  row.postOps = writer.addAll<tprt::PostOpRow>(
      absl::MakeConstSpan(posts.data(), posts.size()));
  row.a = getOperand(op.getA());
  row.b = getOperand(op.getB());
  row.c = getOperand(op.getC());
  pushStep(op, tprt::StepKind::Matmul, writer.add(row));
}

LogicalResult ArtifactBuilder::addCollective(step::CollectiveStartOp op) {
  tprt::CollectiveRow row = {};
  row.kind = toFormat(op.getKind());
  row.communicator = addCommunicator(op.getAxes());
  row.dtype = dtypeOf(op.getSource());
  if (op.getReduction())
    row.reduction = toFormat(*op.getReduction());
  int64_t sent = cast<MemRefType>(op.getSource().getType()).getNumElements();
  int64_t received =
      cast<MemRefType>(op.getDestination().getType()).getNumElements();
  row.count = std::min(sent, received);
  if (op.getKind() == step::CollectiveKind::AllToAll)
    row.count /= getSize(spmd::resolveAxes(op.getAxes().getAxes(), *mesh));
  row.source = getBuffer(op.getSource());
  row.destination = getBuffer(op.getDestination());
  if (op.getPermutation())
    row.permutation = addIntegers(*op.getPermutation());
  row.joined = op.getJoined();
  uint32_t index = writer.add(row);
  collectives[op.getToken()] = index;
  pushStep(op, tprt::StepKind::CollectiveStart, index);
  return success();
}

/// Entries that bundle the same inputs share the bundle.
LogicalResult ArtifactBuilder::addBundle(step::BundleOp op) {
  std::vector<int64_t> members;
  for (Value member : op.getMembers())
    members.push_back(roots.lookup(member).index);
  int64_t rows = op.getRows();
  auto [it, isNew] = bundles.try_emplace({members, rows});
  if (isNew)
    it->second = writer.add(tprt::BundleRow{
        writer.addAll<int64_t>(absl::MakeConstSpan(members)), rows});
  tprt::BufferRow &root = roots[op.getBuffer()];
  root.space = tprt::Space::Bundle;
  root.index = it->second;
  return success();
}

void ArtifactBuilder::addCopy(step::CopyOp op) {
  auto from = cast<MemRefType>(op.getSource().getType());
  tprt::CopyRow row = {};
  row.rank = from.getRank();
  row.dtype = dtypeOf(op.getSource());
  llvm::copy(from.getShape(), row.sizes);
  row.source = getBuffer(op.getSource());
  row.destination = getBuffer(op.getDestination());
  llvm::copy(step::Strides(from).strides, row.from.strides);
  llvm::copy(
      step::Strides(cast<MemRefType>(op.getDestination().getType())).strides,
      row.to.strides);
  pushStep(op, tprt::StepKind::Copy, writer.add(row));
}

void ArtifactBuilder::addFill(step::FillOp op) {
  auto to = cast<MemRefType>(op.getDestination().getType());
  tprt::FillRow row = {};
  row.rank = to.getRank();
  row.dtype = dtypeOf(op.getDestination());
  llvm::copy(to.getShape(), row.sizes);
  row.destination = getBuffer(op.getDestination());
  llvm::copy(step::Strides(to).strides, row.to.strides);
  if (auto number = dyn_cast<FloatAttr>(op.getValue()))
    row.pattern = number.getValue().bitcastToAPInt().getZExtValue();
  else
    row.pattern = cast<IntegerAttr>(op.getValue()).getValue().getZExtValue();
  pushStep(op, tprt::StepKind::Fill, writer.add(row));
}

template <size_t rank>
static void setStrides(int64_t (&strides)[rank], Value buffer) {
  llvm::copy(step::Strides(cast<MemRefType>(buffer.getType())).strides,
             strides);
}

void ArtifactBuilder::addScatter(step::ScatterOp op) {
  tprt::ScatterRow row = {};
  row.kind = toFormat(op.getKind());
  row.dtype = dtypeOf(op.getDestination());
  ArrayRef<int64_t> sizes =
      cast<MemRefType>(op.getUpdates().getType()).getShape();
  row.batch = sizes[0];
  row.outer = sizes[1];
  row.count = sizes[2];
  row.inner = sizes[3];
  row.axis = cast<MemRefType>(op.getDestination().getType()).getDimSize(2);
  row.updates = getBuffer(op.getUpdates());
  setStrides(row.updateStrides, op.getUpdates());
  row.indices = getBuffer(op.getIndices());
  setStrides(row.indexStrides, op.getIndices());
  row.destination = getBuffer(op.getDestination());
  setStrides(row.strides, op.getDestination());
  pushStep(op, tprt::StepKind::Scatter, writer.add(row));
}

void ArtifactBuilder::addSort(step::SortOp op) {
  tprt::SortRow row = {};
  row.dtype = dtypeOf(op.getSource());
  row.descending = op.getDescending();
  auto from = cast<MemRefType>(op.getSource().getType());
  row.rows = from.getDimSize(0);
  row.columns = from.getDimSize(1);
  row.kept = cast<MemRefType>(op.getValues().getType()).getDimSize(1);
  row.source = getBuffer(op.getSource());
  setStrides(row.sourceStrides, op.getSource());
  row.values = getBuffer(op.getValues());
  setStrides(row.valueStrides, op.getValues());
  row.indices = getBuffer(op.getIndices());
  setStrides(row.indexStrides, op.getIndices());
  pushStep(op, tprt::StepKind::Sort, writer.add(row));
}

/// Adds the step, followed by the steps of its regions, and records how many
/// steps each region has.
LogicalResult ArtifactBuilder::addControl(Operation *op, tprt::ControlRow row) {
  size_t place = steps.size();
  pushStep(op, tprt::StepKind::Control, 0);
  uint32_t *counts[] = {&row.first, &row.second};
  for (auto [region, count] : llvm::zip_first(op->getRegions(), counts)) {
    size_t begin = steps.size();
    for (Operation &nested : region.front())
      if (failed(addStep(&nested)))
        return failure();
    *count = steps.size() - begin;
  }
  steps[place].row = writer.add(row);
  return success();
}

LogicalResult ArtifactBuilder::addLoop(step::LoopOp op) {
  tprt::ControlRow row = {};
  row.kind = tprt::ControlKind::Loop;
  row.counter = counters[op] = numCounters++;
  row.trips = op.getCount();
  return addControl(op, row);
}

LogicalResult ArtifactBuilder::addBranch(Operation *op, Value predicate,
                                         tprt::ControlKind kind) {
  tprt::ControlRow row = {};
  row.kind = kind;
  if (kind == tprt::ControlKind::While) {
    row.counter = numCounters++;
    row.trips = INT32_MAX;
  }
  row.predicate = getBuffer(predicate);
  return addControl(op, row);
}

LogicalResult ArtifactBuilder::addChoice(step::ChooseOp op) {
  tprt::ControlRow row = {};
  row.kind = tprt::ControlKind::Choice;
  return addControl(op, row);
}

/// A tensor's bytes as they are laid out in memory.
static std::string getBytes(ElementsAttr value) {
  std::string bytes;
  auto dense = cast<DenseElementsAttr>(value);
  size_t size = step::getElementBytes(dense.getElementType());
  auto append = [&](const APInt &bits) {
    uint64_t word = bits.getZExtValue();
    bytes.append(reinterpret_cast<const char *>(&word), size);
  };
  if (isa<FloatType>(dense.getElementType()))
    for (const APFloat &number : dense.getValues<APFloat>())
      append(number.bitcastToAPInt());
  else
    for (const APInt &number : dense.getValues<APInt>())
      append(number);
  return bytes;
}

LogicalResult ArtifactBuilder::addStep(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType()))
      if (failed(getDTypeAt(op, type.getElementType())))
        return failure();
  auto kernel = dyn_cast<step::KernelOpInterface>(op);
  if (kernel && code->hasKernel(kernel))
    return addKernelCall(kernel);
  if (!code->getTarget().executes(op))
    return op->emitError() << prefix(ErrorCode::NoKernel) << op->getName()
                           << " in this form is not supported on "
                           << code->getTarget().getName();
  auto setRoot = [&](Value buffer, tprt::Space space, uint64_t offset) {
    tprt::BufferRow &row = roots[buffer];
    row.space = space;
    row.offset = offset;
  };
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([](step::ViewOp) { return success(); })
      .Case([&](step::AllocOp alloc) -> LogicalResult {
        if (!alloc.getOffset())
          return alloc.emitError() << prefix(ErrorCode::EarlierPassMissing)
                                   << "this buffer has no place in the arena: "
                                      "run tp-assign-buffers first";
        setRoot(alloc, tprt::Space::Arena, *alloc.getOffset());
        return success();
      })
      .Case([&](step::ConstantOp constant) -> LogicalResult {
        if (!isa<DenseElementsAttr>(constant.getValue()))
          return constant.emitError()
                 << prefix(ErrorCode::UnsupportedType)
                 << "only dense constants can be stored in an artifact";
        auto [it, isNew] = constants.try_emplace(constant.getValue());
        if (isNew)
          it->second = writer.addConstant(getBytes(constant.getValue()));
        setRoot(constant, tprt::Space::Constant, it->second);
        return success();
      })
      .Case([&](step::BundleOp bundle) { return addBundle(bundle); })
      .Case([&](step::CollectiveStartOp start) { return addCollective(start); })
      .Case([&](step::MatmulOp matmul) {
        addMatmul(matmul);
        return success();
      })
      .Case([&](step::CopyOp copy) {
        addCopy(copy);
        return success();
      })
      .Case([&](step::FillOp fill) {
        addFill(fill);
        return success();
      })
      .Case([&](step::ScatterOp scatter) {
        addScatter(scatter);
        return success();
      })
      .Case([&](step::SortOp sort) {
        addSort(sort);
        return success();
      })
      .Case([&](step::LoopOp loop) { return addLoop(loop); })
      .Case([&](step::WhileOp loop) {
        return addBranch(loop, loop.getPredicate(), tprt::ControlKind::While);
      })
      .Case([&](step::IfOp branch) {
        return addBranch(branch, branch.getPredicate(), tprt::ControlKind::If);
      })
      .Case([&](step::ChooseOp choice) { return addChoice(choice); })
      .Case([&](step::CollectiveDoneOp done) {
        pushStep(done.getToken().getDefiningOp(),
                 tprt::StepKind::CollectiveDone,
                 collectives.lookup(done.getToken()));
        return success();
      })
      .Case([&](step::KernelOpInterface) { return addKernelCall(kernel); })
      .Default([](Operation *other) {
        return other->emitError() << prefix(ErrorCode::UnsupportedOp)
                                  << "this op is not a step of the runtime";
      });
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Builds the report of a module.

#include "lib/Report/BuildReport.h"

#include "dialects/TP/Interface.h"
#include "lib/Report/Sentences.h"

#include "lib/Cost/PriceRecord.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

std::string tp::getPlace(Location loc) {
  std::string text;
  if (auto file = loc->findInstanceOf<FileLineColLoc>()) {
    llvm::raw_string_ostream os(text);
    os << file.getFilename().getValue() << ':' << file.getLine() << ':'
       << file.getColumn();
  }
  return text;
}

/// Returns the part of a path that names a layer, such as `layers.N`, in the
/// spelling of several libraries. An encoder or decoder is included:
/// `decoder.layers.1` of `jit(f)/decoder.layers.1.fc1/dot`.
static StringRef findLayer(StringRef path) {
  SmallVector<StringRef> words;
  for (size_t at = 0; at <= path.size(); at += words.back().size() + 1)
    words.push_back(path.substr(at).take_until(
        [](char c) { return c == '.' || c == '/'; }));
  for (size_t i = 1; i < words.size(); ++i) {
    if (words[i].empty() || !llvm::all_of(words[i], llvm::isDigit) ||
        !llvm::is_contained({"layers", "layer", "h", "blocks", "block"},
                            words[i - 1]))
      continue;
    bool isNamed =
        i > 1 && llvm::is_contained({"encoder", "decoder"}, words[i - 2]);
    const char *begin = words[i - (isNamed ? 2 : 1)].begin();
    return StringRef(begin, words[i].end() - begin);
  }
  return {};
}

StringRef tp::getLayer(Location loc) {
  StringRef layer;
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      layer = findLayer(name.getName());
    return layer.empty() ? WalkResult::advance() : WalkResult::interrupt();
  });
  return layer;
}

std::string tp::formatTensor(Type element, ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << element << '[';
  llvm::interleave(shape, os, ",");
  os << ']';
  return text;
}

static MeshEntry makeMesh(const Mesh &mesh) {
  MeshEntry entry{mesh.name, {}, {}};
  for (const Axis &axis : mesh.axes)
    entry.axes.push_back({axis.name, axis.size});
  if (!llvm::is_sorted(mesh.deviceIds))
    entry.deviceIds.assign(mesh.deviceIds.begin(), mesh.deviceIds.end());
  return entry;
}

namespace {

class FunctionReporter {
public:
  FunctionReporter(FunctionOpInterface function, ShardingTable &table,
                   const std::optional<Machine> &machine)
      : function(function), table(table), machine(machine) {}

  FailureOr<FunctionReport> run() {
    if (failed(check()))
      return failure();
    report.name = function.getName().str();
    report.mesh = makeMesh(table.getMesh());
    report.timed = table.getMesh().hasLinks;
    function->walk<WalkOrder::PreOrder>([&](Operation *op) { addOp(op); });
    for (auto &[name, layer] : layers)
      report.layers.push_back(layer);
    addSignature();
    addMemory();
    addOverlap();
    addPrice();
    return std::move(report);
  }

private:
  /// Checks that every tensor has a sharding, and that no reshard is left.
  LogicalResult check() {
    auto missing = [&](Location loc) {
      return emitError(loc) << prefix(ErrorCode::MissingSharding);
    };
    for (BlockArgument arg : function.getArguments())
      if (isUnknown(arg))
        return missing(arg.getLoc())
               << getName(arg)
               << " has no sharding: expects the output of "
                  "tp-plan-collectives; give --tp-shard, too";
    auto result = function->walk([&](Operation *op) {
      if (isa<ReshardOp>(op)) {
        missing(op->getLoc())
            << "the program still contains a reshard, whose cost is not known "
               "before it is planned: run tp-plan-collectives first";
        return WalkResult::interrupt();
      }
      for (Value value : op->getResults())
        if (isUnknown(value)) {
          missing(op->getLoc()) << getName(value)
                                << " has no sharding: expects the output of "
                                   "tp-plan-collectives; give --tp-shard, too";
          return WalkResult::interrupt();
        }
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }

  bool isUnknown(Value value) {
    return isa<RankedTensorType>(value.getType()) &&
           !getLocalTensor(value, table);
  }

  void addOp(Operation *op) {
    double communication = 0, compute = 0;
    Operations operations;
    Trips trips = getTrips(op);
    StringRef layer = getLayer(op->getLoc());
    if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table)) {
      // A launch between layers belongs to the layer that makes the value, if
      // any. A launch for an argument belongs to the layer of its user.
      Value source = launch->source;
      if (source.getDefiningOp() || layer.empty())
        layer = getLayer(source.getLoc());
      CollectiveEntry entry = makeCollective(*launch, trips);
      entry.layer = layer.str();
      communication = entry.microseconds * trips.times;
      report.collectives.push_back(std::move(entry));
    } else {
      Work work = getWork(op, table);
      operations.all = work.flops * trips.times;
      if (isReplicated(op))
        operations.replicated = operations.all;
      if (machine)
        compute = getTime(*machine, work) * 1e6 * trips.times;
    }
    report.communication += communication;
    report.compute += compute;
    add(report.operations, operations);
    if (layer.empty())
      return;
    LayerEntry &entry = layers[layer];
    entry.name = layer.str();
    entry.communication += communication;
    entry.compute += compute;
    add(entry.operations, operations);
  }

  static void add(Operations &sum, const Operations &some) {
    sum.all += some.all;
    sum.replicated += some.replicated;
  }

  /// Returns true if every device computes the same result: all tensors are
  /// whole, and none is a partial sum. Values in a manual region have no
  /// shardings.
  bool isReplicated(Operation *op) {
    auto isAlike = [&](Value value) {
      const TensorSharding *sharding = table.lookup(value);
      return sharding ? sharding->isReplicated()
                      : !isa<RankedTensorType>(value.getType());
    };
    return table.getMesh().getNumDevices() > 1 &&
           llvm::all_of(op->getOperands(), isAlike) &&
           llvm::all_of(op->getResults(), isAlike);
  }

  CollectiveEntry makeCollective(const CollectiveCost &launch,
                                 const Trips &trips) {
    const Mesh &mesh = table.getMesh();
    CollectiveEntry entry;
    entry.kind = launch.getName();
    for (const AxisRef &axis : launch.axes) {
      llvm::raw_string_ostream os(entry.axes.emplace_back());
      axis.print(os, mesh, /*quoted=*/false);
    }
    entry.op = launch.getReductions();
    for (const CollectiveShare &share : launch.shares)
      entry.shares.push_back(
          {tp::stringify(share.kind).str(),
           share.reduce ? tp::stringify(*share.reduce).str() : "none",
           share.bytes, int64_t(std::ceil(share.wireBytes))});
    entry.groupSize = getSize(launch.axes);
    entry.bytes = launch.bytes;
    entry.wireBytes = launch.wireBytes;
    entry.times = trips.times;
    entry.note = trips.note;
    if (mesh.hasLinks)
      entry.microseconds =
          getCollectiveTime(mesh, launch.axes, launch.wireBytes) * 1e6;
    entry.loc = getPlace(launch.op->getLoc());
    entry.reason = describeWhy(launch.op, table);
    entry.value = getName(launch.source);
    entry.requested = isRequested(launch.op);
    entry.advice = getAdvice(launch, table);
    return entry;
  }

  TensorEntry makeTensor(std::string name, StringRef role, bool isGiven,
                         const LocalTensor &local) {
    TensorEntry entry;
    entry.name = std::move(name);
    entry.role = role.str();
    entry.isGiven = isGiven;
    Type element = local.global.getElementType();
    entry.global = formatTensor(element, local.global.getShape());
    entry.local = formatTensor(element, local.getShape());
    entry.sharding = local.sharding.str(table.getMesh());
    entry.bytes = local.getBytes();
    entry.paddingBytes = local.getPaddingBytes();
    entry.picture =
        makePicture(table.getMesh(), local.sharding, local.global.getShape());
    return entry;
  }

  int64_t &getMemory(Role role) {
    switch (role) {
    case Role::Input:
      return report.memory.activations;
    case Role::Parameter:
      return report.memory.parameters;
    case Role::State:
      return report.memory.state;
    case Role::KVCache:
      return report.memory.cache;
    case Role::Gradient:
      return report.memory.gradients;
    case Role::OptimizerState:
      return report.memory.optimizer;
    }
    llvm_unreachable("covered switch");
  }

  void addSignature() {
    for (BlockArgument arg : function.getArguments()) {
      std::optional<LocalTensor> local = getLocalTensor(arg, table);
      if (!local)
        continue;
      unsigned index = arg.getArgNumber();
      Role role = getRole(function, index);
      report.inputs.push_back(
          makeTensor(getName(arg), stringifyRole(role),
                     bool(function.getArgAttr(index, kRoleAttr)), *local));
      int64_t bytes = local->getBytes();
      report.inputBytes += bytes;
      if (role == Role::Input) { // counted among the activations
        samples += bytes;
        continue;
      }
      getMemory(role) += bytes;
      report.memory.padding += local->getPaddingBytes();
    }
    // The results of a function are the operands of its return op.
    function.getFunctionBody().walk([&](Operation *op) {
      if (!op->hasTrait<OpTrait::ReturnLike>() ||
          op->getParentOp() != function.getOperation())
        return;
      for (auto [index, value] : llvm::enumerate(op->getOperands())) {
        std::optional<LocalTensor> local = getLocalTensor(value, table);
        if (!local)
          continue;
        auto name = function.getResultAttrOfType<StringAttr>(index, kNameAttr);
        std::optional<Role> role = getResultRole(function, index);
        report.outputs.push_back(
            makeTensor(name ? name.str() : "result" + std::to_string(index),
                       role ? stringifyRole(*role) : "output",
                       bool(function.getResultAttr(index, kRoleAttr)), *local));
      }
    });
  }

  void addMemory() {
    ActivationPeak activations = getActivationPeak(function, table);
    report.memory.planned = activations.peak.bytes;
    report.memory.padding += activations.peak.padding;
    auto allocated = function->getAttrOfType<IntegerAttr>(kAllocatedAttr);
    report.memory.isCompiled = bool(allocated);
    report.memory.activations =
        allocated ? allocated.getInt() + samples : activations.peak.bytes;
    if (Operation *op = activations.op)
      report.memory.peakOp = describe(op);
  }

  void addOverlap() {
    auto overlap = function->getAttrOfType<DenseI64ArrayAttr>(kOverlapAttr);
    if (!overlap)
      return;
    auto microseconds = [&](unsigned i) { return overlap[i] * 1e-3; };
    report.overlap = {/*isKnown=*/true, microseconds(0), microseconds(1),
                      microseconds(2), microseconds(3)};
  }

  /// Adds the price of the plan, and how later passes changed the price.
  void addPrice() {
    auto prices = function->getAttrOfType<PricesAttr>(kPricesAttr);
    // A plan for a different machine may have prices in another unit.
    if (!prices || prices.getUnit() != getCostUnit(table.getMesh()))
      return;
    prices = addChange(prices, function, PriceKind::Other, /*count=*/0, table,
                       machine);
    double unit = report.timed ? 1e6 : 1;
    report.plan = {/*isKnown=*/true, prices.getItems().front().getCount(),
                   prices.getMerged(),
                   prices.getGap().convertToDouble() * unit};
    for (PriceAttr item : prices.getItems())
      report.price.push_back({getStageOf(item.getKind()).str(),
                              stringifyPriceKind(item.getKind()).str(),
                              describePrice(item.getKind()),
                              item.getSent().convertToDouble() * unit,
                              item.getComputed().convertToDouble() * unit,
                              item.getLaunches(), item.getPeak(),
                              item.getCount()});
    if (report.memory.isCompiled)
      report.price.push_back(
          {getStageOf(PriceKind::Compiled).str(),
           stringifyPriceKind(PriceKind::Compiled).str(),
           describePrice(PriceKind::Compiled), /*sent=*/0, /*computed=*/0,
           /*launches=*/0, report.memory.activations - report.memory.planned,
           /*count=*/0});
  }

  std::string describe(Operation *op) {
    if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table))
      return launch->getName() + " of " + getName(launch->source);
    return op->getNumResults() != 0 ? getName(op->getResult(0))
                                    : op->getName().getStringRef().str();
  }

  FunctionOpInterface function;
  ShardingTable &table;
  const std::optional<Machine> &machine;
  FunctionReport report;
  int64_t samples = 0; ///< Bytes of the inputs.
  llvm::MapVector<StringRef, LayerEntry> layers;
};

} // namespace

FailureOr<Report> tp::buildReport(ModuleOp module,
                                  const std::optional<Machine> &machine) {
  Report report;
  if (machine)
    report.machine = machine->name;
  FailureOr<int64_t> capacity = readMemoryOption(module, "", machine);
  if (failed(capacity))
    return failure();
  for (auto mesh : module.getOps<MeshOp>())
    report.meshes.push_back(makeMesh(mesh.toMesh()));
  for (auto function : module.getOps<FunctionOpInterface>()) {
    if (function.isExternal())
      continue;
    FailureOr<MeshOp> mesh = tp::getMesh(function);
    if (failed(mesh))
      return failure();
    ShardingTable table(module.getContext(),
                        withMachineLinks(mesh->toMesh(), machine));
    FailureOr<FunctionReport> entry =
        FunctionReporter(function, table, machine).run();
    if (failed(entry))
      return failure();
    entry->memory.capacity = *capacity;
    PlanRecord plan = PlanRecord::get(module);
    entry->verified = stringifyVerified(plan.verified).str();
    entry->verifyMicroseconds = plan.verifyMicroseconds;
    report.functions.push_back(std::move(*entry));
  }
  return report;
}

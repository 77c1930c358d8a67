// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Work, trip counts and storage of a partitioned program.

#include "lib/Cost/ProgramCost.h"

#include "OpPricer.h"

#include "dialects/TP/Interface.h"
#include "lib/Cost/OpCost.h"
#include "tpopt/Dialect/TP/TP.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace tp;
using namespace tp::cost;
using namespace tp::spmd;

/// Returns true if `op` is in a program that is already partitioned into local
/// types.
static bool isInLocalProgram(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  auto isLocal = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && isa_and_nonnull<LocalAttr>(tensor.getEncoding());
  };
  return function && (llvm::any_of(function.getArgumentTypes(), isLocal) ||
                      llvm::any_of(function.getResultTypes(), isLocal));
}

std::optional<LocalTensor> tp::cost::getLocalTensor(Value value,
                                                    ShardingTable &table) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type)
    return std::nullopt;
  RankedTensorType global = spmd::getGlobalType(type);
  Operation *parent = value.getParentBlock()->getParentOp();
  bool isManual = isa<ManualOp>(parent) || parent->getParentOfType<ManualOp>();
  if (const TensorSharding *sharding = table.lookup(value))
    return LocalTensor{global, sharding->getLayout()};
  // Values in a manual region, and helper values of a local program, are
  // already local to the device.
  if (isManual ||
      (value.getDefiningOp() && isInLocalProgram(value.getDefiningOp())))
    return LocalTensor{global, TensorSharding::replicate(type.getRank())};
  // Loop counters have no sharding.
  if (type.getRank() == 0)
    return LocalTensor{global, TensorSharding()};
  return std::nullopt;
}

RankedTensorType tp::cost::getStoredType(Value value, RankedTensorType type) {
  auto window = value.getDefiningOp<WindowOp>();
  if (!window)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  for (unsigned i = 0; i < window.getDims().size(); ++i) {
    int64_t &windows = shape[window.getWindowDim(i)],
            &elements = shape[window.getWindowDim(i) + 1];
    windows = (windows - 1) * window.getStrides()[i] +
              (elements - 1) * window.getDilations()[i] + 1;
    elements = 1;
  }
  return RankedTensorType::get(shape, type.getElementType());
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

Work tp::cost::getWork(Operation *op, ShardingTable &table) {
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled)
    return Work();
  SmallVector<const TensorSharding *> layouts;
  auto add = [&](ValueRange values) {
    for (Value value : values) {
      // A local type is already the type of the device's buffer.
      auto type = dyn_cast<RankedTensorType>(value.getType());
      bool isLocal = type && type.getEncoding();
      layouts.push_back(isLocal ? nullptr : table.lookup(value));
    }
  };
  add(op->getOperands());
  add(op->getResults());
  return getWork(op, ruled.getShardingRule(), layouts);
}

Trips tp::cost::getTrips(Operation *op) {
  Trips trips;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    auto flow = dyn_cast<RegionFlowOpInterface>(parent);
    if (!flow)
      continue;
    StringRef name = parent->getName().getStringRef();
    std::optional<int64_t> count = flow.getTripCount();
    trips.times *= count.value_or(1);
    if (!count)
      trips.note = ("in a " + name +
                    " with an unknown number of iterations: counted once")
                       .str();
    else if (flow.getBranchIndex() && trips.note.empty())
      trips.note =
          ("in a branch of " + name + ": counted as if always taken").str();
  }
  return trips;
}

double tp::cost::getExpectedTimes(Operation *op) {
  constexpr double kUnknownIterations = 4;
  double times = std::max<int64_t>(1, getTrips(op).times);
  for (auto flow = op->getParentOfType<RegionFlowOpInterface>(); flow;
       flow = flow->getParentOfType<RegionFlowOpInterface>())
    if (!flow.getTripCount())
      times *= kUnknownIterations;
  return times;
}

//===----------------------------------------------------------------------===//
// Prices
//===----------------------------------------------------------------------===//

ReshardPrices::ReshardPrices(ReshardEstimator &estimator, const CostModel &cost,
                             RankedTensorType type)
    : estimator(&estimator),
      shape(estimator.getShape(type.getShape(), getElementBytes(type))),
      launchPreference(cost.getLaunchPreference(getVolume(type.getShape()) *
                                                getElementBytes(type))) {}

bool ReshardPrices::isSumInPlace(unsigned from, unsigned to) const {
  const TensorSharding &partial = estimator->getPool().get(from);
  const TensorSharding &sum = estimator->getPool().get(to);
  return partial.unreduced.size() > sum.unreduced.size() &&
         partial.dims == sum.dims;
}

OpPrice OpPricer::get(ReshardOp reshard) {
  RankedTensorType type = reshard.getType();
  const TensorSharding *from = table.lookup(reshard.getInput());
  ReshardPrices prices(estimator, cost, type);
  unsigned start =
      pool.getNumber(from ? *from : TensorSharding::replicate(type.getRank()));
  unsigned end =
      pool.getNumber(table.resolve(reshard.getSharding(), type.getRank()));
  bool isRepeated = getExpectedTimes(reshard) > 1;
  return {Price(), prices.get(start, end, isRepeated)};
}

OpPrice OpPricer::get(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op))
    return get(reshard);
  if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table))
    return {Price(),
            {cost.getTransferCost(launch->axes, launch->wireBytes),
             /*preference=*/0, /*launches=*/1}};
  auto ruled = dyn_cast<ShardingRuleOpInterface>(op);
  if (!ruled || isa<CollectiveOpInterface>(op))
    return OpPrice();
  SmallVector<const TensorSharding *> layouts;
  for (Value value : op->getOperands())
    layouts.push_back(table.lookup(value));
  for (Value value : op->getResults())
    layouts.push_back(table.lookup(value));
  std::optional<Price> sent = cost.getSent(op, layouts);
  if (!sent)
    return {{std::numeric_limits<double>::infinity()}, Price()};
  return {cost.getComputePrice(op, ruled.getShardingRule(), layouts), *sent};
}

Price tp::cost::getPrice(Operation *root, ShardingTable &table,
                         const CostModel &cost) {
  OpPricer pricer(table, cost);
  Price sum;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == root)
      return WalkResult::advance();
    OpPrice price = pricer.get(op);
    price.computed += price.sent;
    sum += getExpectedTimes(op) * price.computed;
    return isa<ManualOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  return sum;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// The value before it was sent or masked, found by looking through collectives
/// and masks.
static Value getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<CollectiveOpInterface, MaskOp>(op))
      break;
    value = op->getOperand(cast<OpResult>(value).getResultNumber());
  }
  return value;
}

/// Appends a word to words that are separated by a plus, unless it is there.
static void addWord(std::string &words, StringRef word) {
  if (!llvm::is_contained(llvm::split(words, '+'), word))
    words += (words.empty() ? "" : "+") + word.str();
}

std::string CollectiveCost::getName() const {
  std::string name;
  for (const CollectiveShare &share : shares)
    addWord(name, tp::stringify(share.kind));
  return name;
}

std::string CollectiveCost::getReductions() const {
  std::string name;
  for (const CollectiveShare &share : shares)
    if (share.reduce)
      addWord(name, tp::stringify(*share.reduce));
  return name.empty() ? "none" : name;
}

static CollectiveShare &getShare(SmallVectorImpl<CollectiveShare> &shares,
                                 CollectiveKind kind,
                                 std::optional<ReduceKind> reduce) {
  auto share = llvm::find_if(shares, [&](const CollectiveShare &share) {
    return share.kind == kind && share.reduce == reduce;
  });
  if (share != shares.end())
    return *share;
  shares.push_back({kind, reduce});
  return shares.back();
}

std::optional<CollectiveCost>
tp::cost::getCollectiveCost(Operation *op, ShardingTable &table) {
  const Mesh &mesh = table.getMesh();
  CollectiveCost launch;
  launch.op = op;
  if (auto shift = dyn_cast<ShiftOp>(op)) {
    std::optional<LocalTensor> local = getLocalTensor(shift.getInput(), table);
    if (!local)
      return std::nullopt;
    launch.axes = resolveAxes(shift.getAxes().getAxes(), mesh);
    launch.shares.push_back(
        {CollectiveKind::CollectivePermute, /*reduce=*/std::nullopt,
         local->getBytes(),
         double(getBufferElements(local->sharding, local->global.getShape())) *
             getElementBytes(shift.getType())});
  } else if (auto collective = dyn_cast<CollectiveOpInterface>(op)) {
    const ReshardStep &step = spmd::getStep(collective);
    if (isFree(step.kind))
      return std::nullopt;
    launch.axes = step.axes;
    for (unsigned part = 0; part < op->getNumOperands(); ++part) {
      const ReshardStep &own = spmd::getStep(collective, part);
      std::optional<ReduceKind> reduce;
      if (isReduction(own.kind))
        reduce = collective.getPartInSharding(part).getKind();
      CollectiveShare &share = getShare(launch.shares, own.kind, reduce);
      int64_t size = getElementBytes(op->getOperand(part).getType());
      share.bytes += own.payload * size;
      share.wireBytes += own.getWire() * size;
    }
  } else {
    return std::nullopt;
  }
  double sent = 0;
  for (const CollectiveShare &share : launch.shares) {
    launch.bytes += share.bytes;
    sent += share.wireBytes;
  }
  launch.wireBytes = std::ceil(sent);
  for (Value operand : op->getOperands())
    launch.sources.push_back(getSource(operand));
  launch.source = launch.sources.front();
  return launch;
}

bool tp::cost::isRequested(Operation *collective) {
  auto why = collective->getAttrOfType<WhyAttr>(kWhyAttr);
  return !why || why.getRequested();
}

//===----------------------------------------------------------------------===//
// Storage
//===----------------------------------------------------------------------===//

bool tp::cost::isOverwritten(OpOperand &use) {
  if (use.getOperandNumber() != 0)
    return false;
  if (auto scatter = dyn_cast<ScatterOp>(use.getOwner())) {
    // Elements of 16 bits are combined in f32, and then rounded to the result.
    Type element = scatter.getType().getElementType();
    return scatter.getKind() == ScatterKind::Set ||
           element.getIntOrFloatBitWidth() >= 32;
  }
  return isa<DynamicUpdateSliceOp>(use.getOwner());
}

/// `value` is a result of the function, and overwrites `argument`. Returns true
/// if the op that computes `value` can write it into the storage of `argument`,
/// element by element, because all other reads of `argument` come earlier. The
/// planner cannot know this, since a reshard may be inserted between the op and
/// the return.
static bool isWrittenInPlace(Value value, BlockArgument argument) {
  Operation *op = value.getDefiningOp();
  Block *block = argument.getOwner();
  if (!op || !op->hasTrait<Elementwise>() || op->getBlock() != block ||
      value.getType() != argument.getType())
    return false;
  return llvm::all_of(argument.getUsers(), [&](Operation *user) {
    Operation *outer = block->findAncestorOpInBlock(*user);
    return outer == op || outer->isBeforeInBlock(op);
  });
}

/// The results of a function that are written in place of arguments.
static SmallVector<Value> getResultsInPlace(FunctionOpInterface function) {
  SmallVector<Value> results;
  Block &block = function.getFunctionBody().front();
  OperandRange returned = block.getTerminator()->getOperands();
  for (BlockArgument arg : block.getArguments()) {
    auto donated = function.getArgAttrOfType<IntegerAttr>(arg.getArgNumber(),
                                                          kDonatedAttr);
    if (donated && donated.getInt() < int64_t(returned.size()) &&
        isWrittenInPlace(returned[donated.getInt()], arg))
      results.push_back(returned[donated.getInt()]);
  }
  return results;
}

llvm::DenseSet<Value>
tp::cost::findInPlaceValues(FunctionOpInterface function) {
  llvm::DenseSet<Value> inPlace;
  SmallVector<Value> worklist;
  auto add = [&](Value value) {
    if (inPlace.insert(value).second)
      worklist.push_back(value);
  };
  for (BlockArgument arg : function.getArguments())
    if (function.getArgAttr(arg.getArgNumber(), kDonatedAttr))
      add(arg);
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    for (OpOperand &use : value.getUses()) {
      Operation *user = use.getOwner();
      std::optional<Channel> channel = getChannel(use);
      if (isOverwritten(use))
        add(user->getResult(0));
      else if (channel && channel->op == user && channel->op.isLoop())
        llvm::for_each(channel->getTargets(), add);
    }
  }
  return inPlace;
}

namespace {

/// Numbers the points of a function and finds its values' lifetimes.
class LifetimeCollector {
public:
  LifetimeCollector(Operation *root, ShardingTable &table)
      : root(root), function(dyn_cast<FunctionOpInterface>(root)),
        table(table) {}

  ActivationPeak run() {
    number(root->getRegion(0));
    if (function) {
      inPlace = findInPlaceValues(function);
      inPlace.insert_range(getResultsInPlace(function));
    }
    collect(root->getRegion(0));
    ActivationPeak result;
    result.peak = getPeak(lifetimes);
    if (result.peak.bytes > 0)
      result.op = ops[result.peak.point];
    return result;
  }

private:
  void number(Region &region) {
    for (Block &block : region)
      for (Operation &op : block) {
        begins[&op] = ops.size();
        ops.push_back(&op);
        if (op.getNumRegions() == 0)
          continue;
        for (Region &inner : op.getRegions())
          number(inner);
        ends[&op] = ops.size();
        ops.push_back(&op);
      }
  }

  unsigned getEnd(Operation *op) const {
    auto it = ends.find(op);
    return it != ends.end() ? it->second : begins.lookup(op);
  }

  void collect(Region &region) {
    for (Block &block : region) {
      Operation *parent = block.getParentOp();
      for (BlockArgument arg : block.getArguments()) {
        if (!function || parent != root)
          // An argument of a region uses the storage of the op's operand. The
          // operand's own lifetime ends where the op with the region begins.
          add(arg, parent == root ? 0 : begins.lookup(parent) + 1);
        else if (getRole(function, arg.getArgNumber()) == Role::Input)
          // The caller keeps the argument alive during the whole call.
          add(arg, 0, ops.size() - 1);
      }
      for (Operation &op : block) {
        for (Value result : op.getResults())
          add(result, getEnd(&op));
        for (Region &inner : op.getRegions())
          collect(inner);
      }
    }
  }

  void add(Value value, unsigned begin, std::optional<unsigned> fixed = {}) {
    std::optional<LocalTensor> local = getLocalTensor(value, table);
    if (!local || inPlace.contains(value))
      return;
    local->global = getStoredType(value, local->global);
    unsigned end = fixed.value_or(begin);
    if (!fixed)
      for (Operation *user : value.getUsers()) {
        // A use inside a region extends the lifetime to the end of the op,
        // since a loop may run the use again.
        Operation *at = value.getParentBlock()->findAncestorOpInBlock(*user);
        end = std::max(end, at == user ? begins.lookup(at) : getEnd(at));
      }
    lifetimes.push_back(
        {local->getBytes(), local->getPaddingBytes(), begin, end});
  }

  Operation *root;
  FunctionOpInterface function; ///< The root, if it is a function.
  ShardingTable &table;
  std::vector<Operation *> ops; ///< Indexed by point.
  llvm::DenseMap<Operation *, unsigned> begins, ends;
  llvm::DenseSet<Value> inPlace;
  std::vector<Lifetime> lifetimes;
};

} // namespace

ActivationPeak tp::cost::getActivationPeak(Operation *root,
                                           ShardingTable &table) {
  return LifetimeCollector(root, table).run();
}

int64_t tp::cost::getHeldBytes(FunctionOpInterface function,
                               ShardingTable &table) {
  int64_t bytes = getActivationPeak(function, table).peak.bytes;
  for (BlockArgument arg : function.getArguments())
    if (std::optional<LocalTensor> local = getLocalTensor(arg, table);
        local && getRole(function, arg.getArgNumber()) != Role::Input)
      bytes += local->getBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

FailureOr<std::optional<Machine>>
tp::cost::readMachineOption(ModuleOp module, StringRef option) {
  PlanRecord plan = PlanRecord::get(module);
  if (option.empty())
    option = plan.machine;
  if (option.empty())
    return std::optional<Machine>();
  llvm::Expected<Machine> machine = getMachine(option);
  if (!machine)
    return module.emitError() << toMessage(machine.takeError());
  return std::optional<Machine>(*machine);
}

/// The number of bytes in `text`; nullopt if it is not a positive size.
static std::optional<int64_t> parseBytes(StringRef text) {
  static constexpr std::pair<StringLiteral, double> units[] = {
      {"KiB", 1ll << 10}, {"MiB", 1ll << 20}, {"GiB", 1ll << 30},
      {"TiB", 1ll << 40}, {"KB", 1e3},        {"MB", 1e6},
      {"GB", 1e9},        {"TB", 1e12},       {"B", 1}};
  double scale = 1, number;
  for (auto &[unit, bytes] : units)
    if (text.consume_back(unit)) {
      scale = bytes;
      break;
    }
  // Below the limit of int64_t, and far above the memory of any device.
  constexpr double kMost = 1e18;
  if (text.getAsDouble(number) || !(number * scale >= 1) ||
      number * scale > kMost)
    return std::nullopt;
  return int64_t(number * scale);
}

FailureOr<std::optional<int64_t>>
tp::cost::readSizeOption(ModuleOp module, StringRef name, StringRef option) {
  if (option.empty())
    return std::optional<int64_t>();
  std::optional<int64_t> bytes = parseBytes(option);
  if (!bytes)
    return module.emitError()
           << prefix(ErrorCode::BadMemoryOption) << name << "=" << option
           << " is not a size: write " << name << "=72GiB";
  return bytes;
}

FailureOr<int64_t>
tp::cost::readMemoryOption(ModuleOp module, StringRef option,
                           const std::optional<Machine> &machine) {
  FailureOr<std::optional<int64_t>> bytes =
      readSizeOption(module, "memory", option);
  if (failed(bytes))
    return failure();
  if (*bytes)
    return **bytes;
  if (int64_t planned = PlanRecord::get(module).memory)
    return planned;
  return machine ? int64_t(machine->memoryBytes) : 0;
}

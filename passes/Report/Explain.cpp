// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Explains why values are sharded as they are.

#include "lib/Report/BuildReport.h"
#include "lib/Report/Sentences.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Report/Passes.h"

#include "mlir/IR/AttrTypeSubElements.h"

namespace tp {
#define GEN_PASS_DEF_EXPLAINPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

/// The record of one function, as written by Propagate.
using Record = SmallVector<ExplanationAttr>;

/// The number of the value that a function returns under the name `name`. No
/// value inside the function need have that name.
std::optional<int64_t> findReturned(FunctionOpInterface function,
                                    StringRef name) {
  Operation *end = function.getFunctionBody().back().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto own = function.getResultAttrOfType<StringAttr>(i, kNameAttr);
    if (!own || own.getValue() != name)
      continue;
    Value value = end->getOperand(i);
    while (isa_and_nonnull<CollectiveOpInterface, MaskOp, ReshardOp>(
        value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(
          cast<OpResult>(value).getResultNumber());
    return getRecordId(value);
  }
  return std::nullopt;
}

/// Explains the values of one function.
class Explainer {
public:
  Explainer(FunctionOpInterface function, const Record &record,
            ShardingTable &table, llvm::raw_ostream &os)
      : function(function), record(record), table(table), os(os) {
    auto add = [&](Value value) {
      std::optional<int64_t> id = getRecordId(value);
      if (id && isa<RankedTensorType>(value.getType()))
        values[*id] = value;
    };
    for (BlockArgument arg : function.getArguments())
      add(arg);
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table)) {
        for (Value source : launch->sources)
          launches[source].push_back(*launch);
        return;
      }
      if (isa<CollectiveOpInterface, MaskOp, ReshardOp>(op))
        return;
      for (Value result : op->getResults())
        add(result);
      if (op != function.getOperation())
        for (Region &region : op->getRegions())
          for (BlockArgument arg : region.getArguments())
            add(arg);
    });
  }

  void explain(StringRef name) {
    std::optional<int64_t> returned = findReturned(function, name);
    for (ExplanationAttr entry : record)
      if (name.empty() || entry.getName() == name || entry.getId() == returned)
        explain(entry);
  }

private:
  void explain(ExplanationAttr entry) {
    Value value = values.lookup(entry.getId());
    std::optional<LocalTensor> local;
    if (value)
      local = getLocalTensor(value, table);

    os << '\'' << entry.getName().getValue() << "' in @" << function.getName();
    if (value)
      os << ", "
         << formatTensor(
                spmd::getGlobalType(cast<RankedTensorType>(value.getType()))
                    .getElementType(),
                spmd::getGlobalType(cast<RankedTensorType>(value.getType()))
                    .getShape());
    if (value)
      if (std::string place = getPlace(value.getLoc()); !place.empty())
        os << ", " << place;
    os << "\n  propagated  " << formatSharding(entry.getSharding(), table)
       << '\n';
    if (local)
      os << "  now         " << local->sharding.str(table.getMesh())
         << ", per device "
         << formatTensor(local->global.getElementType(), local->getShape())
         << '\n';
    else
      os << "  now         (a later stage has replaced it)\n";
    for (ArrivalAttr arrival : entry.getArrivals())
      printLines(describeArrival(arrival));
    for (LossAttr loss : entry.getLosses())
      printLines({describeLoss(loss)});
    for (AlternativeAttr alternative : entry.getAlternatives())
      printLines({describeAlternative(alternative, table)});
    auto it = value ? launches.find(value) : launches.end();
    if (it != launches.end())
      for (const CollectiveCost &launch : it->second)
        printLaunch(launch);
    if (local && !local->getShape().empty())
      draw(*local);
    os << '\n';
  }

  void printLines(const std::vector<std::string> &lines) {
    os << "  * " << lines.front() << '\n';
    for (const std::string &line : ArrayRef(lines).drop_front())
      os << "      " << line << '\n';
  }

  void printLaunch(const CollectiveCost &launch) {
    os << "  > " << launch.getName() << ' ';
    printAxes(os, table.getMesh(), launch.axes, /*quoted=*/false);
    os << ", " << formatBytes(launch.wireBytes) << " sent by every device";
    if (std::string place = getPlace(launch.op->getLoc()); !place.empty())
      os << ", for " << place;
    os << '\n';
    if (std::string reason = describeWhy(launch.op, table); !reason.empty())
      os << "      " << reason << '\n';
    if (std::string advice = getAdvice(launch, table); !advice.empty())
      os << "      to avoid it: " << advice << '\n';
  }

  void draw(const LocalTensor &local) {
    Picture picture =
        makePicture(table.getMesh(), local.sharding, local.global.getShape());
    if (picture.boxes.size() == 1 && picture.notes.empty()) {
      os << "  every device holds all of it\n";
      return;
    }
    printPicture(picture, os);
  }

  FunctionOpInterface function;
  const Record &record;
  ShardingTable &table;
  llvm::raw_ostream &os;
  /// Values by number. If an op was replaced by several ops, this is the result
  /// of the last one.
  llvm::DenseMap<int64_t, Value> values;
  llvm::DenseMap<Value, SmallVector<CollectiveCost>> launches;
};

struct Explain : tp::impl::ExplainPassBase<Explain> {
  using ExplainPassBase::ExplainPassBase;

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    // If the text does not begin with `name=`, all of it is the name, since
    // names may contain blanks.
    std::string named = options.empty() || options.starts_with("name=")
                            ? options.str()
                            : ("name='" + options + "'").str();
    return ExplainPassBase::initializeOptions(named, errorHandler);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<std::pair<FunctionOpInterface, Record>> records;
    for (auto function : module.getOps<FunctionOpInterface>())
      if (auto entries = function->getAttrOfType<ArrayAttr>(kExplanationsAttr))
        records.push_back(
            {function, llvm::to_vector(entries.getAsRange<ExplanationAttr>())});
    if (records.empty()) {
      module.emitError() << prefix(ErrorCode::NothingRecorded)
                         << "the module has no record of its propagation: run "
                            "tp-propagate with explain=true first";
      return signalPassFailure();
    }
    if (!valueName.empty() && failed(checkName(records)))
      return signalPassFailure();
    for (auto &[function, record] : records) {
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      ShardingTable table(&getContext(), mesh->toMesh());
      Explainer(function, record, table, llvm::errs()).explain(valueName);
      function->removeAttr(kExplanationsAttr);
    }
    dropRecordIds();
  }

  /// Restores the locations that ops had before propagation.
  void dropRecordIds() {
    AttrTypeReplacer replacer;
    replacer.addReplacement([](LocationAttr loc) -> std::optional<Attribute> {
      Location plain = withRecordIds(loc, {});
      return plain == loc ? std::nullopt : std::optional<Attribute>(plain);
    });
    replacer.recursivelyReplaceElementsIn(getOperation(),
                                          /*replaceAttrs=*/false,
                                          /*replaceLocs=*/true);
  }

  LogicalResult
  checkName(ArrayRef<std::pair<FunctionOpInterface, Record>> records) {
    // Sort by edit distance, then alphabetically.
    SmallVector<std::pair<unsigned, StringRef>> near;
    for (auto &[function, record] : records) {
      if (findReturned(function, valueName))
        return success();
      for (ExplanationAttr entry : record) {
        StringRef name = entry.getName();
        if (name == valueName)
          return success();
        near.push_back({StringRef(valueName).edit_distance(name), name});
      }
    }
    llvm::sort(near);
    near.erase(llvm::unique(near), near.end());
    if (near.size() > 3)
      near.resize(3);
    InFlightDiagnostic error = getOperation().emitError()
                               << prefix(ErrorCode::UnknownValue)
                               << "no value is called '" << valueName << '\'';
    if (!near.empty()) {
      error << "; near it are ";
      llvm::interleaveComma(near, error, [&](auto &entry) {
        error << '\'' << entry.second << '\'';
      });
    }
    return error;
  }
};

} // namespace

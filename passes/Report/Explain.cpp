// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Says why values are sharded as they are.

#include "lib/Report/BuildReport.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Report/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace tp {
#define GEN_PASS_DEF_EXPLAINPASS
#include "tpopt/Passes/Report/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

/// The record of one value, as Propagate wrote it.
struct Entry {
  StringRef name, sharding;
  SmallVector<StringRef> lines;
};

/// The record of one function; fails if it is not one.
std::optional<SmallVector<Entry>> readRecord(FunctionOpInterface function) {
  auto record = function->getAttrOfType<ArrayAttr>(kExplanationsAttr);
  if (!record)
    return std::nullopt;
  SmallVector<Entry> entries;
  for (Attribute attribute : record) {
    auto dictionary = dyn_cast<DictionaryAttr>(attribute);
    if (!dictionary)
      return std::nullopt;
    auto name = dictionary.getAs<StringAttr>("name");
    auto sharding = dictionary.getAs<StringAttr>("sharding");
    auto lines = dictionary.getAs<ArrayAttr>("lines");
    if (!name || !sharding || !lines)
      return std::nullopt;
    Entry &entry = entries.emplace_back();
    entry.name = name.getValue();
    entry.sharding = sharding.getValue();
    for (Attribute line : lines)
      if (auto text = dyn_cast<StringAttr>(line))
        entry.lines.push_back(text.getValue());
  }
  return entries;
}

/// Explains the values of one function.
class Explainer {
public:
  Explainer(FunctionOpInterface function, ArrayRef<Entry> entries,
            ShardingTable &table, llvm::raw_ostream &os)
      : function(function), entries(entries), table(table), os(os) {
    auto add = [&](Value value) {
      if (isa<RankedTensorType>(value.getType()))
        values.insert({getName(value), value});
    };
    for (BlockArgument arg : function.getArguments())
      add(arg);
    function->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (std::optional<CollectiveCost> launch = getCollectiveCost(op, table)) {
        for (Value source : launch->sources)
          launches[source].push_back(*launch);
        return;
      }
      if (isa<CollectiveOpInterface, MaskOp>(op))
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
    for (const Entry &entry : entries)
      if (name.empty() || entry.name == name)
        explain(entry);
  }

private:
  void explain(const Entry &entry) {
    Value value = values.lookup(entry.name);
    std::optional<LocalTensor> local;
    if (value)
      local = getLocalTensor(value, table);

    os << '\'' << entry.name << "' in @" << function.getName();
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
    os << "\n  propagated  " << entry.sharding << '\n';
    if (local)
      os << "  now         " << local->sharding.str(table.getMesh())
         << ", per device "
         << formatTensor(local->global.getElementType(), local->getShape())
         << '\n';
    else
      os << "  now         (a later stage has replaced it)\n";
    for (StringRef line : entry.lines)
      printLine(line);
    auto it = value ? launches.find(value) : launches.end();
    if (it != launches.end())
      for (const CollectiveCost &launch : it->second)
        printLaunch(launch);
    if (local && !local->getShape().empty())
      draw(*local);
    os << '\n';
  }

  /// One hop of a way on each line.
  void printLine(StringRef line) {
    SmallVector<StringRef> hops;
    line.split(hops, "; ");
    os << "  * " << hops.front() << '\n';
    for (StringRef hop : ArrayRef(hops).drop_front())
      os << "      " << hop << '\n';
  }

  void printLaunch(const CollectiveCost &launch) {
    os << "  > " << stringify(launch.kind) << ' ';
    printAxes(os, table.getMesh(), launch.axes, /*quoted=*/false);
    os << ", " << formatBytes(launch.wireBytes) << " sent by every device";
    if (std::string place = getPlace(launch.op->getLoc()); !place.empty())
      os << ", for " << place;
    os << '\n';
    if (auto reason = launch.op->getAttrOfType<StringAttr>(kReasonAttr))
      os << "      " << reason.getValue() << '\n';
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
  ArrayRef<Entry> entries;
  ShardingTable &table;
  llvm::raw_ostream &os;
  /// The first of each name, as in the record.
  llvm::StringMap<Value> values;
  llvm::DenseMap<Value, SmallVector<CollectiveCost>> launches;
};

struct Explain : tp::impl::ExplainPassBase<Explain> {
  using ExplainPassBase::ExplainPassBase;

  LogicalResult initializeOptions(
      StringRef options,
      function_ref<LogicalResult(const Twine &)> errorHandler) override {
    // A lone value is all there is: names may have blanks.
    std::string named = options.empty() || options.starts_with("name=")
                            ? options.str()
                            : ("name='" + options + "'").str();
    return ExplainPassBase::initializeOptions(named, errorHandler);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<std::pair<FunctionOpInterface, SmallVector<Entry>>> records;
    for (auto function : module.getOps<FunctionOpInterface>())
      if (auto entries = readRecord(function))
        records.push_back({function, std::move(*entries)});
    if (records.empty()) {
      module.emitError() << prefix(ErrorCode::NothingRecorded)
                         << "there is no record of a propagation to explain: "
                            "run tp-propagate with explain=true before this";
      return signalPassFailure();
    }
    if (!valueName.empty() && failed(checkName(records)))
      return signalPassFailure();
    for (auto &[function, entries] : records) {
      FailureOr<MeshOp> mesh = tp::getMesh(function);
      if (failed(mesh))
        return signalPassFailure();
      ShardingTable table(&getContext(), mesh->toMesh());
      Explainer(function, entries, table, llvm::errs()).explain(valueName);
      function->removeAttr(kExplanationsAttr);
    }
  }

  LogicalResult checkName(
      ArrayRef<std::pair<FunctionOpInterface, SmallVector<Entry>>> records) {
    // Near names first, then by alphabet.
    SmallVector<std::pair<unsigned, StringRef>> near;
    for (auto &[function, entries] : records)
      for (const Entry &entry : entries) {
        if (entry.name == valueName)
          return success();
        near.push_back(
            {StringRef(valueName).edit_distance(entry.name), entry.name});
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

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Describes in words how to avoid a collective.

#include "lib/Report/BuildReport.h"

#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace tp;
using namespace tp::spmd;
using namespace tp::cost;

namespace {

/// Writes the advice for one launch.
class Adviser {
public:
  Adviser(const CollectiveCost &launch, unsigned part, CollectiveOpInterface op,
          ShardingTable &table)
      : launch(launch), part(part), op(op), mesh(table.getMesh()), table(table),
        os(text) {}

  std::string advise() {
    switch (getKind(op, part)) {
    case CollectiveKind::AllGather:
      adviseGather();
      break;
    case CollectiveKind::AllReduce:
      adviseReduce();
      break;
    case CollectiveKind::AllToAll:
      os << "shard " << name() << " as " << out()
         << " from the start, or use it as " << in();
      break;
    case CollectiveKind::CollectivePermute:
      os << "write the axes in the same order on both sides: " << name()
         << " is produced as " << in() << " and needed as " << out();
      break;
    case CollectiveKind::ReduceScatter: // sums and shards: nothing is cheaper
    case CollectiveKind::AllSlice:
    case CollectiveKind::ToPartial:
      break;
    }
    return text;
  }

private:
  std::string name() const { return "'" + getName(getSource()) + "'"; }
  Value getSource() const { return launch.sources[part]; }
  std::string in() { return print(op.getPartInSharding(part)); }
  std::string out() { return print(op.getPartOutSharding(part)); }
  std::string print(ShardingAttr sharding) {
    return table.resolve(sharding, getRank()).str(mesh);
  }
  unsigned getRank() {
    return cast<RankedTensorType>(op->getResult(part).getType()).getRank();
  }

  /// The first use of the value in its new layout.
  OpOperand *getUse() {
    Value value = op->getResult(part);
    while (!value.use_empty()) {
      OpOperand &use = *value.use_begin();
      if (!isa<CollectiveOpInterface>(use.getOwner()))
        return &use;
      value = use.getOwner()->getResult(use.getOperandNumber());
    }
    return nullptr;
  }

  void adviseGather() {
    OpOperand *use = getUse();
    Operation *user = use ? use->getOwner() : nullptr;
    if (auto arg = dyn_cast<BlockArgument>(getSource());
        arg && isa<FunctionOpInterface>(arg.getOwner()->getParentOp())) {
      os << "annotate " << name() << " as " << out()
         << ": this saves the gather in every call, but takes the memory of "
            "the whole tensor";
    } else if (auto function = getReturning(user)) {
      adviseResult(function, use->getOperandNumber());
    } else {
      // If the axes shard another dimension of the user's result, the user
      // needs the gathered dimension whole.
      bool elsewhere =
          user && user->getNumResults() != 0 && usesAxes(user->getResult(0));
      os << "constrain ";
      if (user && user->getNumResults() != 0 && !elsewhere)
        os << '\'' << getName(user->getResult(0)) << "', which uses " << name()
           << ", to be cut along ";
      else
        os << name() << " not to be cut along ";
      printAxes(os, mesh, launch.axes, /*quoted=*/false);
      if (elsewhere)
        os << ": its user '" << getName(user->getResult(0))
           << "' is cut along it in another dimension";
      else
        os << " as well, or constrain " << name() << " not to be cut along it";
    }
  }

  /// The function that `user` returns from, or null.
  static FunctionOpInterface getReturning(Operation *user) {
    if (!user || !user->hasTrait<OpTrait::ReturnLike>())
      return nullptr;
    return dyn_cast<FunctionOpInterface>(user->getParentOp());
  }

  /// Writes that a function's result can be left sharded if the caller can use
  /// a sharded result. Says what this saves, and how to annotate the result.
  void adviseResult(FunctionOpInterface function, unsigned number) {
    os << "leave result ";
    if (auto name = function.getResultAttrOfType<StringAttr>(number, kNameAttr))
      os << '\'' << name.getValue() << '\'';
    else
      os << number;
    os << " cut if the caller can use it that way: annotate it as " << in()
       << ", or list its axes in a plan; every device then sends ";
    auto type = cast<RankedTensorType>(op->getOperand(part).getType());
    int64_t bytes =
        std::ceil(spmd::getStep(op, part).getWire() * getElementBytes(type));
    os << formatBytes(bytes);
    if (mesh.hasLinks)
      os << " ("
         << formatTime(getCollectiveTime(mesh, launch.axes, bytes) * 1e6)
         << ')';
    auto hold = [&](ShardingAttr sharding) {
      return LocalTensor{spmd::getGlobalType(type),
                         table.resolve(sharding, getRank())}
          .getBytes();
    };
    os << " less and holds "
       << formatBytes(hold(op.getPartOutSharding(part)) -
                      hold(op.getPartInSharding(part)))
       << " less";
  }

  bool usesAxes(Value value) {
    const TensorSharding *sharding = table.lookup(value);
    return sharding && (overlap(sharding->getDimAxes(), launch.axes) ||
                        overlap(sharding->unreduced, launch.axes));
  }

  void adviseReduce() {
    int64_t group = getSize(launch.axes);
    const TensorSharding &from =
        table.resolve(op.getPartInSharding(part), getRank());
    RankedTensorType global = spmd::getGlobalType(
        cast<RankedTensorType>(op->getOperand(part).getType()));
    SmallVector<int64_t> local = getLocalShape(from, global.getShape());
    for (auto [dim, size] : llvm::enumerate(local))
      if (size >= group && size % group == 0) {
        os << "cut " << name() << " along ";
        printAxes(os, mesh, launch.axes, /*quoted=*/false);
        os << ", say on dim " << dim
           << ", with an spmd.constraint or in the function's result: a "
              "reduce_scatter sends half the bytes";
        return;
      }
  }

  const CollectiveCost &launch;
  unsigned part;
  CollectiveOpInterface op;
  const Mesh &mesh;
  ShardingTable &table;
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace

std::string tp::getAdvice(const CollectiveCost &launch, ShardingTable &table) {
  // Shift ops are written by the user, so there is no advice for them.
  auto collective = dyn_cast<CollectiveOpInterface>(launch.op);
  if (!collective)
    return "";
  SmallVector<std::string, 1> advice;
  for (unsigned part = 0; part < launch.sources.size(); ++part) {
    std::string own = Adviser(launch, part, collective, table).advise();
    if (!own.empty() && !llvm::is_contained(advice, own))
      advice.push_back(std::move(own));
  }
  return llvm::join(advice, "; and ");
}

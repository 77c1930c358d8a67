// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Makes a failing program small, by trying whatever makes it smaller.

#include "Shrink.h"

#include "Check.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"

#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::fuzz;
using namespace tp::spmd;

namespace {

/// Does change number `index` of its kind to a module; false if there is no
/// such change. What it makes need not be right: the verifier decides.
using Change = std::function<bool(ModuleOp, unsigned index)>;

std::vector<Operation *> collectOps(ModuleOp module) {
  std::vector<Operation *> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op != module && !op->hasTrait<OpTrait::IsTerminator>() &&
        !isa<func::FuncOp, MeshOp>(op))
      ops.push_back(op);
  });
  // Users before producers: what nobody uses can go.
  std::reverse(ops.begin(), ops.end());
  return ops;
}

bool dropFunction(ModuleOp module, unsigned index) {
  SmallVector<func::FuncOp> functions(module.getOps<func::FuncOp>());
  if (index >= functions.size())
    return false;
  functions[index].erase();
  return true;
}

/// Takes result `index` of a function out, and with it what only it needs.
bool dropResult(ModuleOp module, unsigned index) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (index >= function.getNumResults()) {
      index -= function.getNumResults();
      continue;
    }
    if (failed(function.eraseResult(index)))
      return true;
    function.getBody().front().getTerminator()->eraseOperand(index);
    // Donations count results.
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto donated =
              function.getArgAttrOfType<IntegerAttr>(i, "tp.donated")) {
        if (donated.getInt() == index)
          function.removeArgAttr(i, "tp.donated");
        else if (donated.getInt() > index)
          function.setArgAttr(i, "tp.donated",
                              Builder(module.getContext())
                                  .getI64IntegerAttr(donated.getInt() - 1));
      }
    return true;
  }
  return false;
}

bool dropOp(ModuleOp module, unsigned index) {
  std::vector<Operation *> ops = collectOps(module);
  if (index >= ops.size())
    return false;
  Operation *op = ops[index];
  if (op->use_empty())
    op->erase();
  return true;
}

/// Instead of an op, its results are arguments.
bool replaceByArguments(ModuleOp module, unsigned index) {
  std::vector<Operation *> ops = collectOps(module);
  if (index >= ops.size())
    return false;
  Operation *op = ops[index];
  auto function = op->getParentOfType<func::FuncOp>();
  if (op->getParentOfType<ManualOp>() || op->getNumResults() == 0)
    return true;
  for (Value result : op->getResults()) {
    unsigned last = function.getNumArguments();
    if (failed(function.insertArgument(last, result.getType(), {},
                                       result.getLoc())))
      return true;
    result.replaceAllUsesWith(function.getArgument(last));
  }
  op->erase();
  return true;
}

/// Instead of an op, its first operand of the same type.
bool replaceByOperand(ModuleOp module, unsigned index) {
  std::vector<Operation *> ops = collectOps(module);
  if (index >= ops.size())
    return false;
  Operation *op = ops[index];
  for (Value operand : op->getOperands())
    if (op->getNumResults() == 1 &&
        operand.getType() == op->getResult(0).getType()) {
      op->getResult(0).replaceAllUsesWith(operand);
      op->erase();
      break;
    }
  return true;
}

bool dropArgument(ModuleOp module, unsigned index) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (index >= function.getNumArguments()) {
      index -= function.getNumArguments();
      continue;
    }
    if (function.getArgument(index).use_empty())
      (void)function.eraseArgument(index);
    return true;
  }
  return false;
}

/// Takes an attribute off an argument, a result or an op.
bool dropAttribute(ModuleOp module, unsigned index) {
  for (auto function : module.getOps<FunctionOpInterface>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (NamedAttribute attribute : function.getArgAttrs(i))
        if (index-- == 0) {
          function.removeArgAttr(i, attribute.getName());
          return true;
        }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      for (NamedAttribute attribute : function.getResultAttrs(i))
        if (index-- == 0) {
          function.removeResultAttr(i, attribute.getName());
          return true;
        }
  }
  for (Operation *op : collectOps(module))
    if (op->hasAttr(kShardingsAttr) && index-- == 0) {
      op->removeAttr(kShardingsAttr);
      return true;
    }
  return false;
}

/// Rewrites every sharding with `edit`.
void editShardings(ModuleOp module,
                   function_ref<void(SmallVectorImpl<DimShardingAttr> &)> edit,
                   bool dropReplicated) {
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](ShardingAttr sharding) -> Attribute {
    SmallVector<DimShardingAttr> dims(sharding.getDims());
    edit(dims);
    return ShardingAttr::get(sharding.getContext(), sharding.getMesh(), dims,
                             dropReplicated ? ArrayRef<AxisRefAttr>()
                                            : sharding.getReplicated(),
                             sharding.getUnreduced(), sharding.getKind());
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true);
}

/// Takes one axis off one of all shardings, or one of its refinements.
bool simplifySharding(ModuleOp module, unsigned index) {
  unsigned place = index / 2;
  bool refinement = index % 2;
  bool found = false;
  unsigned seen = 0;
  editShardings(
      module,
      [&](SmallVectorImpl<DimShardingAttr> &dims) {
        for (DimShardingAttr &dim : dims) {
          if (seen++ != place)
            continue;
          found = true;
          SmallVector<AxisRefAttr> axes(dim.getAxes());
          if (refinement)
            dim = DimShardingAttr::get(dim.getContext(), axes, false, -1);
          else if (!axes.empty()) {
            axes.pop_back();
            dim = DimShardingAttr::get(dim.getContext(), axes, dim.getOpen(),
                                       axes.empty() ? -1 : dim.getPriority());
          }
        }
      },
      /*dropReplicated=*/refinement);
  return found;
}

/// Takes an axis of the mesh out, or makes it smaller.
bool shrinkMesh(ModuleOp module, unsigned index) {
  auto mesh = *module.getOps<MeshOp>().begin();
  SmallVector<StringAttr> names(mesh.getMesh().getNames());
  SmallVector<int64_t> sizes(mesh.getMesh().getSizes());
  unsigned axis = index / 3;
  if (axis >= names.size())
    return false;
  if (index % 3 > 0) {
    int64_t smaller =
        index % 3 == 1 ? std::min<int64_t>(sizes[axis], 2) : sizes[axis] - 1;
    if (smaller < 1 || smaller == sizes[axis])
      return true;
    sizes[axis] = smaller;
  } else {
    StringAttr name = names[axis];
    editShardings(
        module,
        [&](SmallVectorImpl<DimShardingAttr> &dims) {
          for (DimShardingAttr &dim : dims) {
            SmallVector<AxisRefAttr> axes(dim.getAxes());
            llvm::erase_if(
                axes, [&](AxisRefAttr ref) { return ref.getName() == name; });
            dim = DimShardingAttr::get(dim.getContext(), axes, dim.getOpen(),
                                       axes.empty() ? -1 : dim.getPriority());
          }
        },
        /*dropReplicated=*/true);
    names.erase(names.begin() + axis);
    sizes.erase(sizes.begin() + axis);
  }
  mesh.setMeshAttr(MeshAttr::get(module.getContext(), names, sizes, {}));
  return true;
}

/// Makes all dimensions of one size smaller.
bool shrinkSizes(ModuleOp module, unsigned index) {
  std::set<int64_t> sizes;
  auto addSizes = [&](Type type) {
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      sizes.insert(tensor.getShape().begin(), tensor.getShape().end());
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getOperandTypes(), addSizes);
    llvm::for_each(op->getResultTypes(), addSizes);
  });
  std::vector<int64_t> list(sizes.begin(), sizes.end());
  if (index / 2 >= list.size())
    return false;
  int64_t size = list[index / 2], smaller = index % 2 ? size - 1 : 1;
  if (size <= smaller)
    return true;
  AttrTypeReplacer replacer;
  replacer.addReplacement([&](RankedTensorType type) -> Type {
    SmallVector<int64_t> shape(type.getShape());
    std::replace(shape.begin(), shape.end(), size, smaller);
    return RankedTensorType::get(shape, type.getElementType(),
                                 type.getEncoding());
  });
  // A constant of another size would need other data.
  bool hasData = false;
  module.walk([&](ConstantOp op) {
    hasData |= !isa<SplatElementsAttr>(op.getValue()) &&
               llvm::is_contained(
                   cast<RankedTensorType>(op.getType()).getShape(), size);
  });
  if (hasData)
    return true;
  replacer.addReplacement([&](DenseElementsAttr data) -> Attribute {
    auto type = cast<RankedTensorType>(replacer.replace(data.getType()));
    return data.isSplat() ? data.resizeSplat(type) : data;
  });
  replacer.recursivelyReplaceElementsIn(module, /*replaceAttrs=*/true,
                                        /*replaceLocs=*/false,
                                        /*replaceTypes=*/true);
  return true;
}

} // namespace

std::string tp::fuzz::shrink(StringRef program,
                             const std::function<bool(StringRef)> &fails) {
  std::unique_ptr<MLIRContext> context = makeContext();
  ScopedDiagnosticHandler quiet(context.get(),
                                [](Diagnostic &) { return success(); });
  std::string best = program.str();
  const Change changes[] = {
      dropFunction,     dropResult,   dropOp,        replaceByArguments,
      replaceByOperand, dropArgument, dropAttribute, shrinkMesh,
      simplifySharding, shrinkSizes};
  bool isSmaller = true;
  while (isSmaller) {
    isSmaller = false;
    for (const Change &change : changes)
      for (unsigned index = 0;;) {
        auto module = parseSourceString<ModuleOp>(best, context.get());
        if (!module || !change(*module, index))
          break;
        std::string text;
        if (succeeded(verify(*module)))
          text = print(*module);
        // The same index again: it means the next one now.
        if (!text.empty() && text != best && fails(text)) {
          best = text;
          isSmaller = true;
        } else {
          ++index;
        }
      }
  }
  return best;
}

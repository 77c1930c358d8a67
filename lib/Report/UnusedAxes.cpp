// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "UnusedAxes.h"

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {
/// The axes that the shardings of a module name.
class NamedAxes {
public:
  explicit NamedAxes(ModuleOp module) {
    for (auto function : module.getOps<FunctionOpInterface>()) {
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        add(function.getArgAttr(i, kShardingAttr));
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        add(function.getResultAttr(i, kShardingAttr));
      function->walk([&](Operation *op) {
        add(op->getDiscardableAttr(kShardingsAttr));
        if (isa_and_present<SPMDDialect>(op->getDialect()))
          add(op->getAttrDictionary());
      });
    }
  }

  bool hasMesh(StringAttr mesh) const { return meshes.contains(mesh); }
  bool hasAxis(StringRef axis) const { return axes.contains(axis); }

private:
  void add(Attribute attribute) {
    if (!attribute || !seen.insert(attribute).second)
      return; // few attributes are distinct, and walks are slow
    attribute.walk(
        [&](FlatSymbolRefAttr name) { meshes.insert(name.getAttr()); });
    attribute.walk(
        [&](AxisRefAttr axis) { axes.insert(axis.getName().getValue()); });
  }

  llvm::DenseSet<Attribute> seen;
  llvm::DenseSet<StringAttr> meshes;
  llvm::DenseSet<StringRef> axes;
};
} // namespace

/// The location where a mesh is written. A mesh that comes from an option has
/// no location: then this is the location of the module's first function.
static Location getPlace(MeshOp mesh) {
  if (auto file = mesh->getLoc()->findInstanceOf<FileLineColLoc>();
      file && file.getLine() > 0)
    return mesh.getLoc();
  for (auto function :
       mesh->getParentOp()->getRegion(0).getOps<FunctionOpInterface>())
    return function->getLoc();
  return mesh.getLoc();
}

unsigned tp::reportUnusedAxes(ModuleOp module, DiagnosticSeverity severity) {
  NamedAxes named(module);
  unsigned count = 0;
  for (MeshOp op : module.getOps<MeshOp>()) {
    if (!named.hasMesh(op.getSymNameAttr()))
      continue;
    Mesh mesh = op.toMesh();
    SmallVector<const Axis *> idle;
    unsigned numAxes = 0;
    for (const Axis &axis : mesh.axes) {
      if (axis.size == 1)
        continue;
      ++numAxes;
      if (!named.hasAxis(axis.name))
        idle.push_back(&axis);
    }
    auto report = [&]() -> InFlightDiagnostic {
      ++count;
      return module.getContext()->getDiagEngine().emit(getPlace(op), severity);
    };
    if (numAxes > 0 && idle.size() == numAxes) {
      report() << prefix(ErrorCode::NothingCut)
               << "no tensor is cut along mesh @" << mesh.name
               << ", so each of its " << mesh.getNumDevices()
               << " devices computes the whole program: annotate an argument "
                  "with spmd.sharding, or give plan=";
      continue;
    }
    for (const Axis *axis : idle)
      report() << prefix(ErrorCode::UnusedAxis) << "no tensor is cut along \""
               << axis->name << "\" of mesh @" << mesh.name << ", so the "
               << axis->size
               << " devices along it all compute the same: cut a tensor along "
                  "it, or leave the axis out";
  }
  return count;
}

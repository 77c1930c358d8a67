// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Defines or overrides the module's mesh.

#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Passes/Pipelines/Pipelines.h"

namespace tp {
#define GEN_PASS_DEF_SETMESHPASS
#include "tpopt/Passes/Pipelines/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::spmd;

namespace {

struct SetMesh : tp::impl::SetMeshPassBase<SetMesh> {
  using SetMeshPassBase::SetMeshPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto meshes = llvm::to_vector(module.getOps<MeshOp>());
    if (ifMissing && !meshes.empty())
      return;
    auto error = [&] {
      return module.emitError() << prefix(ErrorCode::BadMeshOption);
    };
    SmallVector<StringAttr> names;
    SmallVector<int64_t> sizes;
    SmallVector<StringRef> parts;
    StringRef(axes).split(parts, ',');
    for (StringRef part : parts) {
      auto [name, size] = part.split('=');
      if (name.empty() || size.getAsInteger(10, sizes.emplace_back())) {
        error() << "'" << part << "' in mesh=" << axes
                << " is not an axis with a size: write mesh=data=2,model=4";
        return signalPassFailure();
      }
      names.push_back(StringAttr::get(&getContext(), name));
    }
    auto attribute =
        MeshAttr::getChecked([&] { return module.emitError(); }, &getContext(),
                             ArrayRef<StringAttr>(names),
                             ArrayRef<int64_t>(sizes), ArrayRef<int64_t>());
    if (!attribute)
      return signalPassFailure();

    if (meshes.size() > 1) {
      error() << "the module has several meshes, so mesh= cannot override one; "
                 "leave mesh= out, or define one mesh with all the axes";
      return signalPassFailure();
    }
    if (Operation *other = module.lookupSymbol("mesh");
        other && meshes.empty()) {
      error() << "'" << other->getName()
              << "' is already called \"mesh\", the name of the new mesh; "
                 "import the program first, or rename the op";
      return signalPassFailure();
    }
    if (meshes.empty()) {
      OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
      MeshOp::create(builder, module.getLoc(), "mesh", attribute, nullptr);
      return;
    }
    // Links describe the axes of the old mesh, so they are removed.
    meshes[0].setMeshAttr(attribute);
    meshes[0].removeLinksAttr();
  }
};

} // namespace

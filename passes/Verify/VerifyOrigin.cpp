// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// tp-verify-origin: checks that a certificate belongs to the user's whole
// program.

#include "Digest.h"

#include "dialects/TP/Interface.h"
#include "lib/Import/ReadProgram.h"
#include "tpopt/Dialect/SPMD/SPMD.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Verify/Passes.h"

#include "mlir/Pass/PassManager.h"

namespace tp {
#define GEN_PASS_DEF_VERIFYORIGINPASS
#include "tpopt/Passes/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

struct VerifyOrigin : tp::impl::VerifyOriginPassBase<VerifyOrigin> {
  VerifyOrigin(VerifyOriginPassOptions options, PreparePasses prepare)
      : VerifyOriginPassBase(std::move(options)), prepare(prepare) {}

  void runOnOperation() override {
    if (failed(verifyStructure()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  OwningOpRef<ModuleOp> readWhole();
  LogicalResult verifyStructure();

  PreparePasses prepare;
};

} // namespace

/// The whole program as partitioning receives it.
OwningOpRef<ModuleOp> VerifyOrigin::readWhole() {
  OwningOpRef<ModuleOp> module;
  if (!whole.empty())
    module = readProgram(whole, &getContext());
  if (!module) {
    emitError(getOperation().getLoc())
        << prefix(ErrorCode::UnreadableProgram)
        << "cannot read the whole program from \"" << whole
        << "\": write whole=FILE";
    return nullptr;
  }
  if (!prepare)
    return module;
  PassManager manager(&getContext());
  prepare(manager);
  if (failed(manager.run(*module)))
    return nullptr;
  return module;
}

LogicalResult VerifyOrigin::verifyStructure() {
  OwningOpRef<ModuleOp> module = readWhole();
  if (!module)
    return failure();
  llvm::DenseMap<StringAttr, func::FuncOp> globals;
  for (auto function : getOperation().getOps<func::FuncOp>())
    if (auto name = function->getAttrOfType<FlatSymbolRefAttr>(kLocalFormAttr))
      globals[name.getAttr()] = function;
  for (auto function : module->getOps<func::FuncOp>()) {
    if (!isEntry(function))
      continue;
    func::FuncOp global = globals.lookup(function.getNameAttr());
    if (!global)
      return emitError(getOperation().getLoc())
             << prefix(ErrorCode::BadCertificate) << "function '"
             << function.getName()
             << "' of the whole program has no certificate: shard it with "
                "certificate=true";
    if (global.getFunctionType() != function.getFunctionType())
      return global.emitError()
             << prefix(ErrorCode::BadCertificate) << "the function has type "
             << global.getFunctionType()
             << ", but in the whole program it has type "
             << function.getFunctionType();
    if (failed(KnownDigests::collect(function).verify(global)))
      return failure();
    globals.erase(function.getNameAttr());
  }
  for (auto &[name, global] : globals)
    return global.emitError()
           << prefix(ErrorCode::BadCertificate) << "the function " << name
           << " is not in the whole program";
  return success();
}

std::unique_ptr<Pass>
tp::createVerifyOriginPass(VerifyOriginPassOptions options,
                           PreparePasses prepare) {
  return std::make_unique<VerifyOrigin>(std::move(options), prepare);
}
std::unique_ptr<Pass> tp::createVerifyOriginPass() {
  return createVerifyOriginPass({}, nullptr);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Artifact.h"
#include "tpopt/Dialect/TP/TP.h"
#include "tpopt/Passes/Lower/Passes.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace tp {
#define GEN_PASS_DEF_KEEPPROGRAMPASS
#include "tpopt/Passes/Lower/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

namespace {

struct KeepProgram : tp::impl::KeepProgramPassBase<KeepProgram> {
  using KeepProgramPassBase::KeepProgramPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    std::string bytes = getProgramBytes(module);
    auto type = RankedTensorType::get({int64_t(bytes.size())},
                                      IntegerType::get(&getContext(), 8));
    StringRef name = isLocal ? kLocalProgram : kWholeProgram;
    NamedAttrList programs(
        module->getAttrOfType<DictionaryAttr>(kProgramsAttr));
    programs.set(name, DenseResourceElementsAttr::get(
                           type, (kProgramsAttr + "." + name).str(),
                           HeapAsmResourceBlob::allocateAndCopyInferAlign(
                               ArrayRef<char>(bytes.data(), bytes.size()),
                               /*dataIsMutable=*/false)));
    module->setAttr(kProgramsAttr, programs.getDictionary(&getContext()));
  }
};

} // namespace

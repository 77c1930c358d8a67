// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The reductions of collectives among ranks that share a GPU. The results are
// bit-identical to those of the runtime's reduceInOrder.

#include "GpuFunction.h"
#include "IndexedKernels.h"

#include "dialects/TP/ShardingTable.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

/// This grid fills a GPU, whatever the number of elements.
static constexpr int64_t kCombineBlocks = 512, kCombineBlock = 256;

FailureOr<KernelLaunch> tp::codegen::emitCombineForGpu(OpBuilder &builder,
                                                       step::CombineOp op,
                                                       StringRef name) {
  Location loc = op.getLoc();
  Type element =
      cast<MemRefType>(op.getDestination().getType()).getElementType();
  Type stored = getStoredType(element), computed = element;
  bool isNarrow =
      isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  if (isNarrow)
    computed = builder.getF32Type();
  gpu::GPUFuncOp function = createGpuFunction(builder, op, name, kCombineBlock);
  // The kernel may write to a buffer that it reads, as in an in-place
  // all-reduce.
  for (unsigned i = 0; i < op->getNumOperands(); ++i) {
    function.removeArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName());
    function.removeArgAttr(i, LLVM::LLVMDialect::getReadonlyAttrName());
  }
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&function.getBody().front());
  BufferOffsets places(builder, loc);
  ValueRange arguments = function.getArguments();
  auto loop = scf::ForOp::create(
      builder, loc, getGlobalThread(builder, loc, kCombineBlock),
      arguments.back(), places.number(kCombineBlocks * kCombineBlock));
  builder.setInsertionPointToStart(loop.getBody());
  Value total;
  for (Value source : arguments.take_front(op.getSources().size())) {
    Value value = places.load(stored, source, loop.getInductionVar());
    if (isNarrow)
      value = arith::ExtFOp::create(builder, loc, computed, value);
    // The enumerators of both enums have the same names.
    step::ScatterKind kind =
        op.getKind() == step::Reduction::Sum   ? step::ScatterKind::Add
        : op.getKind() == step::Reduction::Max ? step::ScatterKind::Max
                                               : step::ScatterKind::Min;
    total = total ? combineInOrder(builder, loc, kind, computed, total, value)
                  : value;
  }
  if (isNarrow)
    total = arith::TruncFOp::create(builder, loc, element, total);
  places.store(total, arguments.drop_back().back(), loop.getInductionVar());
  KernelLaunch launch;
  launch.blocks = kCombineBlocks;
  launch.threads = kCombineBlock;
  return launch;
}

OwningOpRef<ModuleOp> tp::codegen::createCombinations(ModuleOp module) {
  OwningOpRef<ModuleOp> result = ModuleOp::create(module.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(result->getBody());
  llvm::DenseSet<std::tuple<Type, step::Reduction, int64_t>> known;
  module.walk([&](step::CollectiveStartOp op) {
    if (!op.getReduction())
      return;
    auto program = op->getParentOfType<step::ProgramOp>();
    Mesh mesh = spmd::lookupMesh(program, program.getMeshAttr()).toMesh();
    int64_t group = getSize(spmd::resolveAxes(op.getAxes().getAxes(), mesh));
    Type element = cast<MemRefType>(op.getSource().getType()).getElementType();
    if (group == 1 ||
        !known.insert({element, *op.getReduction(), group}).second)
      return;
    auto type = MemRefType::get({1}, element);
    SmallVector<Value> buffers;
    for (int64_t i = 0; i <= group; ++i)
      buffers.push_back(
          step::AllocOp::create(builder, op.getLoc(), type, IntegerAttr()));
    step::CombineOp::create(builder, op.getLoc(), *op.getReduction(),
                            ArrayRef(buffers).drop_back(), buffers.back());
  });
  return result;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "tpopt/Codegen/Ptx.h"

#include "KernelLowering.h"
#include "MachineCode.h"

#include "tpopt/Codegen/ObjectCode.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"

using namespace mlir;
using namespace tp;

void tp::registerGpuKernelDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef chip) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip, /*Features=*/"", llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// sm_80 and later: conversions of bf16, and maxima that pass NaN on. An
/// unknown name would be answered with a warning on stderr, so the number is
/// read here.
static bool isKnownChip(StringRef chip) {
  StringRef number = chip;
  unsigned version;
  if (!number.consume_front("sm_") || number.consumeInteger(10, version) ||
      !(number.empty() || number == "a" || number == "f") || version < 80)
    return false;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine("sm_80");
  return machine && machine->getMCSubtargetInfo()->isCPUStringValid(chip);
}

/// Functions that are neither instructions nor polynomials would be calls to
/// a library that is not there.
static LogicalResult checkMath(gpu::GPUModuleOp module) {
  auto isInstruction = [](Operation *op) {
    if (isa<math::AbsFOp, math::CopySignOp, math::SqrtOp, math::FmaOp,
            math::FloorOp, math::CeilOp, math::RoundEvenOp>(op))
      return true;
    return isa<math::Exp2Op>(op) &&
           getElementTypeOrSelf(op->getResult(0).getType()).isF32();
  };
  WalkResult result = module.walk([&](Operation *op) {
    bool isRemainder = isa<arith::RemFOp>(op) &&
                       getElementTypeOrSelf(op->getResult(0).getType()).isF64();
    bool isMath = isa_and_nonnull<math::MathDialect>(op->getDialect());
    if (!isRemainder && (!isMath || isInstruction(op)))
      return WalkResult::advance();
    op->emitError() << prefix(ErrorCode::NoGpuInstruction)
                    << op->getName().stripDialect() << " of "
                    << getElementTypeOrSelf(op->getResult(0).getType())
                    << " cannot be computed on a GPU";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Kernels, branches and what asks for the thread. The pass of this name would
/// turn square roots and rounding, which are instructions, into calls.
static LogicalResult convertGpuToNVVM(gpu::GPUModuleOp module) {
  MLIRContext *context = module.getContext();
  LowerToLLVMOptions options(context);
  options.overrideIndexBitwidth(64);
  options.useBarePtrCallConv = true;
  LLVMTypeConverter converter(context, options);
  configureGpuToNVVMTypeConverter(converter);
  RewritePatternSet patterns(context);
  populateGpuToNVVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  ConversionTarget target(*context);
  target.addLegalDialect<LLVM::LLVMDialect, NVVM::NVVMDialect>();
  target.addIllegalDialect<gpu::GPUDialect, cf::ControlFlowDialect>();
  target.addLegalOp<gpu::GPUModuleOp>();
  return applyPartialConversion(module, target, std::move(patterns));
}

static LogicalResult lowerToNVVM(gpu::GPUModuleOp module,
                                 const MathSupport &support) {
  auto run = [&](llvm::function_ref<void(OpPassManager &)> addPasses) {
    PassManager manager(module.getContext(), module.getOperationName());
    addPasses(manager);
    return manager.run(module);
  };
  auto addLowering = [&](OpPassManager &manager) {
    addKernelLowering(manager, support);
  };
  if (failed(run(addLowering)) || failed(convertGpuToNVVM(module)))
    return failure();
  return run([](OpPassManager &manager) {
    manager.addPass(createReconcileUnrealizedCastsPass());
    manager.addPass(createCanonicalizerPass());
    manager.addPass(createCSEPass());
  });
}

FailureOr<PtxModule> tp::compilePtx(ArrayRef<step::RowsOp> kernels,
                                    StringRef chip) {
  step::RowsOp first = kernels.front();
  auto fail = [&](const Twine &why) {
    return first->emitError() << prefix(ErrorCode::CodegenFailed)
                              << "cannot compile for the GPU: " << why;
  };
  if (!isKnownChip(chip))
    return first->emitError()
           << prefix(ErrorCode::UnknownChip) << "there is no chip '" << chip
           << "' to compile for: write sm_80 or a later one";
  PtxModule result;
  OwningOpRef<ModuleOp> module = ModuleOp::create(first.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  auto device = gpu::GPUModuleOp::create(builder, first.getLoc(), "kernels");
  for (auto [index, rows] : llvm::enumerate(kernels)) {
    builder.setInsertionPointToEnd(device.getBody());
    std::string name = "rows" + std::to_string(index);
    result.kernels.push_back({name, emitGpuKernel(builder, rows, name)});
  }
  MathSupport support;
  support.hasExp2 = support.hasBFloat16 = true;
  if (failed(expandMath(device, support)))
    return fail("functions could not be expanded");
  if (failed(checkMath(device)))
    return failure();
  if (failed(lowerToNVVM(device, support)))
    return fail("lowering to the nvvm dialect failed");
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code =
      translateModuleToLLVMIR(device, context, "kernels");
  if (!code)
    return fail("translation to LLVM IR failed");
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(chip);
  FailureOr<std::string> text =
      generateCode(*code, *machine, llvm::CodeGenFileType::AssemblyFile);
  if (failed(text))
    return fail("the target writes no assembly");
  result.text = std::move(*text);
  return result;
}

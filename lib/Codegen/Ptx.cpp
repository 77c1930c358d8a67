// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Ptx.h"

#include "KernelLowering.h"
#include "MachineCode.h"

#include "lib/Codegen/Attention.h"
#include "lib/Codegen/ObjectCode.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Threading.h"
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
using namespace tp::codegen;

void tp::codegen::registerGpuKernelDialects(DialectRegistry &registry) {
  registerKernelDialects(registry);
  registry.insert<gpu::GPUDialect, NVVM::NVVMDialect>();
  registerGPUDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

static std::unique_ptr<llvm::TargetMachine> createMachine(const GpuChip &chip) {
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string why;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  // Emit the PTX version of CUDA 12, since the libraries used at run time need
  // a driver of CUDA 12 anyway. For later chips, LLVM itself selects a later
  // version.
  StringRef features = chip.version < 100 ? "+ptx80" : "";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, chip.name, features, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static void initializeTarget() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}

/// Chips from sm_80 on have conversions of bf16, and maxima that propagate NaN.
/// For an unknown chip, LLVM prints only a warning to stderr, so the chip's
/// name is checked here.
static std::optional<GpuChip> parseChip(StringRef name) {
  GpuChip chip{name.str()};
  StringRef number = name;
  if (!number.consume_front("sm_") || number.consumeInteger(10, chip.version) ||
      !(number.empty() || number == "a" || number == "f") || chip.version < 80)
    return std::nullopt;
  chip.hasSuffix = !number.empty();
  initializeTarget();
  std::unique_ptr<llvm::TargetMachine> machine = createMachine({"sm_80", 80});
  if (!machine || !machine->getMCSubtargetInfo()->isCPUStringValid(name))
    return std::nullopt;
  return chip;
}

FailureOr<GpuChip> tp::codegen::getGpuChip(Operation *op, StringRef name) {
  if (std::optional<GpuChip> chip = parseChip(name))
    return *chip;
  return op->emitError()
         << prefix(ErrorCode::UnknownChip) << "the GPU '" << name
         << "' is not supported: write chips=sm_80 or a later one";
}

/// Rejects functions that are neither instructions nor polynomials: they would
/// become calls to a library that does not exist.
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

/// Converts kernels, branches and queries of the thread's index. MLIR's pass
/// convert-gpu-to-nvvm would turn square roots and rounding into calls,
/// although they are instructions.
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

gpu::GPUModuleOp tp::codegen::createGpuModule(OpBuilder &builder, Location loc,
                                              StringRef chip) {
  auto target = NVVM::NVVMTargetAttr::get(builder.getContext(), /*optLevel=*/2,
                                          "nvptx64-nvidia-cuda", chip);
  return gpu::GPUModuleOp::create(builder, loc, "kernels",
                                  ArrayRef<Attribute>(target));
}

static auto failAt(step::KernelOpInterface op, const Twine &why) {
  return op->emitError() << prefix(ErrorCode::CodegenFailed)
                         << "cannot compile for the GPU: " << why;
}

/// Kernels in the LLVM dialect, and how they are launched.
struct LoweredKernels {
  OwningOpRef<ModuleOp> module;
  gpu::GPUModuleOp device;
  std::vector<KernelLaunch> launches;
};

/// Emits the kernels in the form for this chip, and lowers them.
static FailureOr<LoweredKernels> lowerKernels(ArrayRef<Kernel> kernels,
                                              StringRef chip) {
  step::KernelOpInterface first = kernels.front().op;
  LoweredKernels result;
  result.module = ModuleOp::create(first.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(result.module->getBody());
  result.device = createGpuModule(builder, first.getLoc(), chip);
  for (const Kernel &kernel : kernels) {
    builder.setInsertionPointToEnd(result.device.getBody());
    FailureOr<KernelLaunch> launch =
        emitGpuKernel(builder, kernel.op, kernel.name);
    if (failed(launch))
      return failure();
    result.launches.push_back(*launch);
  }
  MathSupport support;
  support.hasExp2 = support.hasBFloat16 = support.hasQuickDivision = true;
  if (failed(expandMath(result.device, support)))
    return failAt(first, "math functions could not be expanded");
  if (failed(checkMath(result.device)))
    return failure();
  if (failed(lowerToNVVM(result.device, support)))
    return failAt(first, "lowering to the nvvm dialect failed");
  return result;
}

FailureOr<std::vector<PtxModule>>
tp::codegen::compilePtx(ArrayRef<Kernel> kernels, ArrayRef<GpuChip> chips) {
  step::KernelOpInterface first = kernels.front().op;
  // All chips except kWarpgroupChip share one form of the lowered kernels.
  llvm::StringMap<LoweredKernels> forms;
  std::vector<PtxModule> result(chips.size());
  // Translation may modify the module, so the threads start only afterwards.
  initializeTarget();
  std::vector<std::unique_ptr<llvm::LLVMContext>> contexts;
  std::vector<std::unique_ptr<llvm::Module>> modules;
  for (auto [chip, ptx] : llvm::zip_equal(chips, result)) {
    StringRef form = chip.name == kWarpgroupChip ? kWarpgroupChip : "sm_80";
    if (!forms.contains(form)) {
      FailureOr<LoweredKernels> lowered = lowerKernels(kernels, form);
      if (failed(lowered))
        return failure();
      forms[form] = std::move(*lowered);
    }
    ptx.launches = forms[form].launches;
    contexts.push_back(std::make_unique<llvm::LLVMContext>());
    modules.push_back(translateModuleToLLVMIR(forms[form].device,
                                              *contexts.back(), "kernels"));
    if (!modules.back())
      return failAt(first, "translation to LLVM IR failed");
  }
  auto compileFor = [&](size_t i) -> LogicalResult {
    std::unique_ptr<llvm::TargetMachine> machine = createMachine(chips[i]);
    if (!machine)
      return failure();
    FailureOr<std::string> text = generateCode(
        *modules[i], *machine, llvm::CodeGenFileType::AssemblyFile);
    if (failed(text))
      return failure();
    result[i].text = std::move(*text);
    return success();
  };
  if (failed(failableParallelForEachN(first->getContext(), 0, chips.size(),
                                      compileFor)))
    return failAt(first, "LLVM cannot write assembly for this target");
  return result;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/ObjectCode.h"

#include "KernelLowering.h"
#include "MachineCode.h"

#include "lib/Codegen/Kernels.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

static LogicalResult lowerToLLVM(ModuleOp module, const MathSupport &support) {
  PassManager manager(module.getContext());
  addKernelLowering(manager, support);
  manager.addPass(createConvertControlFlowToLLVMPass());
  manager.addPass(createConvertFuncToLLVMPass());
  manager.addPass(createUBToLLVMConversionPass());
  manager.addPass(createReconcileUnrealizedCastsPass());
  return manager.run(module);
}

/// Creates the code generator for exactly the architecture and features in
/// `cpu`.
static std::unique_ptr<llvm::TargetMachine> createMachine(StringRef cpu,
                                                          std::string &why) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::Triple triple(llvm::sys::getProcessTriple());
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, why);
  if (!target)
    return nullptr;
  auto [architecture, list] = cpu.split(':');
  SmallVector<StringRef> names;
  list.split(names, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string features;
  for (StringRef name : names)
    features += (features.empty() ? "+" : ",+") + name.str();
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, architecture == "x86_64" ? "x86-64" : "generic", features,
      llvm::TargetOptions(), llvm::Reloc::PIC_, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
}

/// Defines the function that LLVM calls to narrow to bf16 on a CPU without an
/// instruction for it, for example around selects between vectors of bf16. No
/// available library defines it. Rounds to nearest, ties to even, and keeps NaN
/// quiet.
static void addNarrowing(llvm::Module &code) {
  llvm::LLVMContext &context = code.getContext();
  llvm::IRBuilder<> builder(context);
  auto *function = llvm::Function::Create(
      llvm::FunctionType::get(builder.getBFloatTy(), builder.getFloatTy(),
                              /*isVarArg=*/false),
      llvm::Function::ExternalLinkage, "__truncsfbf2", code);
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  // The optimizer would turn the select below into a select of bf16 values.
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::OptimizeNone);
  builder.SetInsertPoint(llvm::BasicBlock::Create(context, "", function));
  llvm::Value *value = function->getArg(0);
  llvm::Value *bits = builder.CreateBitCast(value, builder.getInt32Ty());
  llvm::Value *high = builder.CreateLShr(bits, 16);
  llvm::Value *bias =
      builder.CreateAdd(builder.CreateAnd(high, 1),
                        llvm::ConstantInt::get(bits->getType(), 0x7fff));
  llvm::Value *rounded = builder.CreateLShr(builder.CreateAdd(bits, bias), 16);
  llvm::Value *narrow =
      builder.CreateSelect(builder.CreateFCmpUNO(value, value),
                           builder.CreateOr(high, 0x40), rounded);
  builder.CreateRet(
      builder.CreateBitCast(builder.CreateTrunc(narrow, builder.getInt16Ty()),
                            builder.getBFloatTy()));
}

/// Links an object file to a shared object, in temporary files.
static FailureOr<std::string> link(ModuleOp module, StringRef object) {
  auto fail = [&](const Twine &why) {
    return module.emitError() << prefix(ErrorCode::LinkFailed)
                              << "cannot link the kernels: " << why;
  };
  SmallString<128> objectPath, libraryPath;
  int descriptor;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "tp-kernels", "o", descriptor, objectPath))
    return fail(error.message());
  llvm::FileRemover removeObject(objectPath);
  {
    llvm::raw_fd_ostream file(descriptor, /*shouldClose=*/true);
    file << object;
    file.close();
    if (file.has_error()) {
      std::string why = file.error().message();
      file.clear_error();
      return fail(why);
    }
  }
  if (std::error_code error =
          llvm::sys::fs::createTemporaryFile("tp-kernels", "so", libraryPath))
    return fail(error.message());
  llvm::FileRemover removeLibrary(libraryPath);

  llvm::ErrorOr<std::string> linker = llvm::sys::findProgramByName("ld.lld-22");
  if (!linker)
    linker = llvm::sys::findProgramByName("ld.lld");
  if (!linker)
    return fail("ld.lld-22 is not on the PATH; install it");
  StringRef arguments[] = {
      *linker,    "-shared", "--build-id=none", "-soname=tp-kernels",
      objectPath, "-o",      libraryPath};
  std::string why;
  if (int code = llvm::sys::ExecuteAndWait(*linker, arguments, std::nullopt, {},
                                           0, 0, &why))
    return fail(*linker + " ended with " + Twine(code) +
                (why.empty() ? "" : ": " + why));
  auto library = llvm::MemoryBuffer::getFile(libraryPath);
  if (!library)
    return fail(library.getError().message());
  return (*library)->getBuffer().str();
}

void tp::codegen::registerKernelDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, cf::ControlFlowDialect,
                  func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                  scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
  registerKernelModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

FailureOr<std::string> tp::codegen::compileKernels(ModuleOp module,
                                                   StringRef cpu) {
  auto fail = [&](const Twine &why) {
    return module.emitError() << prefix(ErrorCode::CodegenFailed)
                              << "cannot compile the kernels: " << why;
  };
  // Use conversion instructions if the CPU has them; they treat subnormal
  // numbers as zero.
  MathSupport support;
  support.hasLibrary = true;
  support.hasBFloat16 =
      llvm::is_contained(llvm::split(cpu.split(':').second, ','), "avx512bf16");
  if (failed(expandMath(module, support)) ||
      failed(lowerToLLVM(module, support)))
    return fail("lowering to the llvm dialect failed");

  std::string why;
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(cpu, why);
  if (!machine)
    return fail(why);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(module, context);
  if (!code)
    return fail("translation to LLVM IR failed");
  if (!support.hasBFloat16)
    addNarrowing(*code);
  FailureOr<std::string> object =
      generateCode(*code, *machine, llvm::CodeGenFileType::ObjectFile);
  if (failed(object))
    return fail("LLVM cannot write object files for this target");
  return link(module, *object);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "HostKernels.h"

#include "lib/Codegen/ObjectCode.h"

#include "runtime/Core/CpuFeatures.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace mlir;
using namespace emulation;

static constexpr unsigned kShared = 3; ///< Address space.
static constexpr int64_t kMaxWords = 256;

namespace {

class KernelConverter {
public:
  KernelConverter(gpu::GPUFuncOp kernel, ModuleOp into)
      : kernel(kernel), loc(kernel.getLoc()),
        builder(OpBuilder::atBlockEnd(into.getBody())),
        pointer(LLVM::LLVMPointerType::get(builder.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  LogicalResult convert();

private:
  LogicalResult convertOp(Operation *op);
  /// Gives the arguments of the kernel, from the tables of the function's.
  void mapArguments(IRMapping &mapping);
  /// Lays out the memory that the block shares: what has no size comes last,
  /// for its size is the launch's.
  void mapShared();
  void load(NVVM::LdMatrixOp op);
  void multiply(NVVM::MmaOp op);
  void copy(NVVM::CpAsyncOp op);
  /// Of a warpgroup, as the text says that the instruction is. Nothing is known
  /// of other texts.
  bool convertAsm(LLVM::InlineAsmOp op);
  void multiplyWarpgroup(LLVM::InlineAsmOp op, int32_t columns, int32_t flags);
  void waitForProducts(LLVM::InlineAsmOp op, int32_t pending);

  Value number(int64_t value, Type type) {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  }
  Value getPlace(Value base, Type element, int64_t index) {
    return LLVM::GEPOp::create(builder, loc, pointer, element, base,
                               ArrayRef<LLVM::GEPArg>(int32_t(index)));
  }
  /// Words of the thread's own, for arguments of calls: as many as the
  /// registers of a thread.
  Value getWords() {
    if (!words) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(entry);
      words = LLVM::AllocaOp::create(builder, loc, pointer, i32,
                                     number(kMaxWords, i64));
    }
    return words;
  }
  /// The struct whose members are words of memory; of one word, the word.
  Value loadWords(Type type, int64_t first);
  Value toGeneric(Value address) {
    if (address.getType() == pointer)
      return address;
    return LLVM::AddrSpaceCastOp::create(builder, loc, pointer, address);
  }
  /// Calls a function of the emulator.
  Value call(Call what, Type result, ValueRange arguments);

  gpu::GPUFuncOp kernel;
  Location loc;
  OpBuilder builder;
  Type pointer, i32, i64;
  Block *entry = nullptr;
  Value words;
  llvm::DenseMap<Attribute, Value> sharedPlaces; ///< By name of the global.
};

} // namespace

Value KernelConverter::call(Call what, Type result, ValueRange arguments) {
  Value table = LLVM::AddressOfOp::create(builder, loc, pointer, kCallTable);
  Value callee = LLVM::LoadOp::create(builder, loc, pointer,
                                      getPlace(table, pointer, int64_t(what)));
  SmallVector<Value> operands{callee};
  llvm::append_range(operands, arguments);
  bool isVoid = !result;
  auto type = LLVM::LLVMFunctionType::get(
      isVoid ? LLVM::LLVMVoidType::get(builder.getContext()) : result,
      llvm::to_vector(arguments.getTypes()));
  auto made = LLVM::CallOp::create(builder, loc, type, operands);
  return isVoid ? Value() : made.getResult();
}

Value KernelConverter::loadWords(Type type, int64_t first) {
  auto structure = dyn_cast<LLVM::LLVMStructType>(type);
  if (!structure)
    return LLVM::LoadOp::create(builder, loc, type,
                                getPlace(words, i32, first));
  Value result = LLVM::UndefOp::create(builder, loc, type);
  for (auto [i, member] : llvm::enumerate(structure.getBody()))
    result = LLVM::InsertValueOp::create(
        builder, loc, result,
        LLVM::LoadOp::create(builder, loc, member,
                             getPlace(words, i32, first + i)),
        i);
  return result;
}

void KernelConverter::mapArguments(IRMapping &mapping) {
  int64_t numPointers = 0, numScalars = 0;
  for (BlockArgument argument : kernel.getArguments()) {
    bool isPointer = isa<LLVM::LLVMPointerType>(argument.getType());
    Type type = isPointer ? pointer : argument.getType();
    Value place = getPlace(entry->getArgument(isPointer ? 0 : 1), type,
                           isPointer ? numPointers++ : numScalars++);
    Value value = LLVM::LoadOp::create(builder, loc, type, place);
    if (isPointer)
      value = LLVM::AddrSpaceCastOp::create(builder, loc, argument.getType(),
                                            value);
    mapping.map(argument, value);
  }
}

void KernelConverter::mapShared() {
  DataLayout layout(kernel->getParentOfType<ModuleOp>());
  int64_t end = 0;
  std::vector<std::pair<Attribute, int64_t>> places;
  SmallVector<Attribute> open;
  for (auto global :
       kernel->getParentOfType<gpu::GPUModuleOp>().getOps<LLVM::GlobalOp>()) {
    std::optional<SymbolTable::UseRange> uses =
        SymbolTable::getSymbolUses(global, kernel);
    if (!uses || uses->empty())
      continue;
    auto name = FlatSymbolRefAttr::get(global.getSymNameAttr());
    int64_t size = layout.getTypeSize(global.getType()).getFixedValue();
    if (size == 0) {
      open.push_back(name);
      continue;
    }
    end = llvm::alignTo(end, global.getAlignment().value_or(16));
    places.emplace_back(name, end);
    end += size;
  }
  if (places.empty() && open.empty())
    return;
  end = llvm::alignTo(end, 16);
  for (Attribute name : open)
    places.emplace_back(name, end);
  Value base = call(Call::SharedMemory, pointer, number(end, i64));
  Type shared = LLVM::LLVMPointerType::get(builder.getContext(), kShared);
  for (auto [name, offset] : places)
    sharedPlaces[name] = LLVM::AddrSpaceCastOp::create(
        builder, loc, shared, getPlace(base, builder.getI8Type(), offset));
}

void KernelConverter::load(NVVM::LdMatrixOp op) {
  Value words = getWords();
  bool isTransposed = op.getLayout() == NVVM::MMALayout::col;
  call(Call::LoadMatrices, Type(),
       {toGeneric(op.getPtr()), words, number(op.getNum(), i32),
        number(isTransposed, i32)});
  op.replaceAllUsesWith(loadWords(op.getType(), 0));
}

void KernelConverter::multiply(NVVM::MmaOp op) {
  Value words = getWords();
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    LLVM::StoreOp::create(builder, loc, operand, getPlace(words, i32, i));
  bool isBF16 = op.getMultiplicandAPtxType() == NVVM::MMATypes::bf16;
  call(Call::MultiplyMatrices, Type(),
       {words, number(int64_t(isBF16 ? Half::BF16 : Half::F16), i32)});
  op.replaceAllUsesWith(loadWords(op.getType(), op.getOperandA().size() +
                                                    op.getOperandB().size()));
}

void KernelConverter::copy(NVVM::CpAsyncOp op) {
  Value size = number(op.getSize(), i32);
  call(Call::CopyAsync, Type(),
       {toGeneric(op.getDst()), toGeneric(op.getSrc()), size,
        op.getCpSize() ? op.getCpSize() : size});
}

void KernelConverter::multiplyWarpgroup(LLVM::InlineAsmOp op, int32_t columns,
                                        int32_t flags) {
  // A, as one descriptor or four words, the descriptor of B, and the sums if
  // they are added to.
  Value words = getWords();
  int64_t numSums = columns / 2;
  bool hasFragment = flags & int32_t(ProductFlag::HasFragment);
  unsigned numLeft = hasFragment ? 4 : 1;
  auto store = [&](OperandRange values, int64_t first) {
    for (auto [i, value] : llvm::enumerate(values))
      LLVM::StoreOp::create(builder, loc, value,
                            getPlace(words, i32, first + int64_t(i)));
  };
  if (hasFragment)
    store(op.getOperands().take_front(numLeft), numSums);
  store(op.getOperands().drop_front(numLeft + 1), 0);
  Value a = hasFragment ? number(0, i64) : op.getOperand(0);
  call(Call::MultiplyWarpgroup, Type(),
       {words, getPlace(words, i32, numSums), a, op.getOperand(numLeft),
        number(columns, i32), number(flags, i32)});
  op->getResult(0).replaceAllUsesWith(loadWords(op->getResult(0).getType(), 0));
}

void KernelConverter::waitForProducts(LLVM::InlineAsmOp op, int32_t pending) {
  Value words = getWords();
  for (auto [i, value] : llvm::enumerate(op.getOperands()))
    LLVM::StoreOp::create(builder, loc, value, getPlace(words, i32, i));
  call(Call::WaitForProducts, Type(),
       {words, number(op.getNumOperands(), i32), number(pending, i32)});
  if (op->getNumResults() > 0)
    op->getResult(0).replaceAllUsesWith(
        loadWords(op->getResult(0).getType(), 0));
}

bool KernelConverter::convertAsm(LLVM::InlineAsmOp op) {
  StringRef text = op.getAsmString();
  if (op.getNumOperands() + 4 > kMaxWords || !op.getHasSideEffects())
    return false;
  if (text == "wgmma.fence.sync.aligned;") {
    call(Call::FenceProducts, Type(), {});
    if (op->getNumResults() == 0)
      return true;
    Value all = LLVM::UndefOp::create(builder, loc, op->getResult(0).getType());
    for (auto [i, value] : llvm::enumerate(op.getOperands()))
      all = LLVM::InsertValueOp::create(builder, loc, all, value, i);
    op->getResult(0).replaceAllUsesWith(all);
    return true;
  }
  SmallVector<StringRef> parts;
  if (llvm::Regex("^wgmma.wait_group.sync.aligned ([0-7]);$")
          .match(text, &parts)) {
    waitForProducts(op, parts[1][0] - '0');
    return true;
  }
  llvm::Regex product(
      "setp.ne.b32 p, ([01]), 0; wgmma.mma_async.sync.aligned.m64n([0-9]+)k16"
      ".f32.(bf16.bf16|f16.f16) [{][^}]*[}], ([{$])[^p]*, p, 1, 1, "
      "(([01]), )?([01]); }$");
  int32_t columns;
  if (!product.match(text, &parts) || parts[2].getAsInteger(10, columns) ||
      columns % 8 != 0 || columns > 256)
    return false;
  auto getFlag = [](bool isSet, ProductFlag flag) {
    return isSet ? int32_t(flag) : 0;
  };
  multiplyWarpgroup(op, columns,
                    getFlag(parts[1] == "1", ProductFlag::Adds) |
                        getFlag(parts[3] == "bf16.bf16", ProductFlag::BF16) |
                        getFlag(parts[4] == "{", ProductFlag::HasFragment) |
                        getFlag(parts[6] == "1", ProductFlag::ByColumnsA) |
                        getFlag(parts[7] == "1", ProductFlag::ByColumnsB));
  return true;
}

LogicalResult KernelConverter::convertOp(Operation *op) {
  builder.setInsertionPoint(op);
  auto toIndex = [&](unsigned argument) {
    op->getResult(0).replaceAllUsesWith(arith::IndexCastOp::create(
        builder, loc, builder.getIndexType(), entry->getArgument(argument)));
  };
  auto replace = [&](Value value) {
    op->getResult(0).replaceAllUsesWith(value);
  };
  bool isKnown =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case([&](gpu::BlockIdOp) { return toIndex(2), true; })
          .Case([&](gpu::ThreadIdOp) { return toIndex(3), true; })
          .Case([&](gpu::BarrierOp) {
            return call(Call::Barrier, Type(), {}), true;
          })
          .Case([&](gpu::ShuffleOp shuffle) {
            if (shuffle.getMode() != gpu::ShuffleMode::XOR)
              return false;
            Type type = shuffle.getValue().getType();
            Value word =
                LLVM::BitcastOp::create(builder, loc, i32, shuffle.getValue());
            Value other = call(Call::Shuffle, i32, {word, shuffle.getOffset()});
            replace(LLVM::BitcastOp::create(builder, loc, type, other));
            return true;
          })
          .Case([&](LLVM::AddressOfOp address) {
            replace(sharedPlaces.lookup(address.getGlobalNameAttr()));
            return true;
          })
          .Case([&](NVVM::LdMatrixOp matrices) { return load(matrices), true; })
          .Case([&](NVVM::MmaOp product) {
            if (product.getShape().getM() != 16 ||
                product.getShape().getN() != 8 ||
                product.getShape().getK() != 16)
              return false;
            return multiply(product), true;
          })
          .Case([&](NVVM::CpAsyncOp async) { return copy(async), true; })
          .Case([&](NVVM::CpAsyncCommitGroupOp) {
            return call(Call::CommitCopies, Type(), {}), true;
          })
          .Case([&](NVVM::CpAsyncWaitGroupOp wait) {
            call(Call::WaitForCopies, Type(), number(wait.getN(), i32));
            return true;
          })
          .Case([&](NVVM::FenceProxyOp fence) {
            if (fence.getKind() != NVVM::ProxyKind::async_shared)
              return false;
            return call(Call::FenceProxy, Type(), {}), true;
          })
          .Case([&](NVVM::WgmmaGroupSyncAlignedOp) {
            return call(Call::CommitProducts, Type(), {}), true;
          })
          .Case([&](LLVM::InlineAsmOp text) { return convertAsm(text); })
          .Default(false);
  if (!isKnown)
    return op->emitError() << "there is no emulation of this";
  op->erase();
  return success();
}

LogicalResult KernelConverter::convert() {
  auto function = func::FuncOp::create(
      builder, loc, kernel.getName(),
      builder.getFunctionType({pointer, pointer, i64, i64}, {i32}));
  entry = function.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  IRMapping mapping;
  mapArguments(mapping);
  mapShared();
  SmallVector<Operation *> clones;
  for (Operation &op : kernel.getBody().front().without_terminator())
    clones.push_back(builder.clone(op, mapping));
  func::ReturnOp::create(builder, loc, number(0, i32));
  SmallVector<Operation *> ops;
  for (Operation *clone : clones)
    clone->walk([&](Operation *op) {
      if (isa<gpu::GPUDialect, NVVM::NVVMDialect>(op->getDialect()) ||
          isa<LLVM::AddressOfOp, LLVM::InlineAsmOp>(op))
        ops.push_back(op);
    });
  for (Operation *op : ops)
    if (failed(convertOp(op)))
      return failure();
  return success();
}

/// An array of pointers, null until a library is opened.
static void addCallTable(Location loc, ModuleOp into) {
  OpBuilder builder = OpBuilder::atBlockEnd(into.getBody());
  auto type = LLVM::LLVMArrayType::get(
      LLVM::LLVMPointerType::get(builder.getContext()), kNumCalls);
  auto global =
      LLVM::GlobalOp::create(builder, loc, type, /*isConstant=*/false,
                             LLVM::Linkage::External, kCallTable, Attribute());
  builder.createBlock(&global.getInitializerRegion());
  LLVM::ReturnOp::create(builder, loc,
                         LLVM::ZeroOp::create(builder, loc, type).getResult());
}

LogicalResult emulation::convertToHost(gpu::GPUModuleOp device, ModuleOp into) {
  addCallTable(device.getLoc(), into);
  for (auto kernel : device.getOps<gpu::GPUFuncOp>())
    if (failed(KernelConverter(kernel, into).convert()))
      return failure();
  return success();
}

std::unique_ptr<emulation::KernelLibrary>
emulation::loadOnHost(gpu::GPUModuleOp device, ModuleOp into,
                      const std::string &cpu) {
  if (failed(convertToHost(device, into)))
    return nullptr;
  FailureOr<std::string> bytes = tp::codegen::compileKernels(into, cpu);
  if (failed(bytes))
    return nullptr;
  int file = memfd_create("kernels", 0);
  std::unique_ptr<KernelLibrary> library;
  if (write(file, bytes->data(), bytes->size()) == ssize_t(bytes->size())) {
    auto opened = KernelLibrary::open("/proc/self/fd/" + std::to_string(file));
    if (opened.ok())
      library = std::move(*opened);
    else
      device.emitError() << std::string(opened.status().message());
  }
  close(file);
  return library;
}

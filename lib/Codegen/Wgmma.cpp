// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Wgmma.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

// Addresses and distances are numbers of 14 bits that count pieces of 16 bytes.
// The address begins at bit 0, the distance of panels at bit 16, that of atoms
// at bit 32, and the swizzle at bit 62, where 1 means 128 bytes.
static constexpr int64_t kAddressMask = 0x3ffff, kPieceBits = 4;

Value Wgmma::getDescriptor(Value address, int64_t panelBytes) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(value));
  };
  address =
      LLVM::PtrToIntOp::create(builder, loc, builder.getI32Type(), address);
  address = arith::AndIOp::create(builder, loc, address, number(kAddressMask));
  address = arith::ShRUIOp::create(builder, loc, address, number(kPieceBits));
  int64_t rest = (panelBytes >> kPieceBits) << 16 |
                 (kAtomBytes >> kPieceBits) << 32 | int64_t(1) << 62;
  Value layout =
      arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(rest));
  return arith::OrIOp::create(
      builder, loc, layout,
      arith::ExtUIOp::create(builder, loc, builder.getI64Type(), address));
}

Value Wgmma::advance(Value descriptor, int64_t bytes) {
  Value distance = arith::ConstantOp::create(
      builder, loc, builder.getI64IntegerAttr(bytes >> kPieceBits));
  return arith::AddIOp::create(builder, loc, descriptor, distance);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static StringRef getConstraint(Type type) {
  if (type.isF32())
    return "f";
  return type.isInteger(64) ? "l" : "r";
}

SmallVector<Value> Wgmma::emitAsm(StringRef text, TypeRange types,
                                  ValueRange operands, ValueRange tied) {
  std::string constraints;
  auto add = [&](const Twine &constraint) {
    constraints += (constraints.empty() ? "" : ",") + constraint.str();
  };
  for (Type type : types)
    add("=" + getConstraint(type));
  for (Value operand : operands)
    add(getConstraint(operand.getType()));
  for (size_t i = 0; i < tied.size(); ++i)
    add(Twine(i));
  SmallVector<Value> all(operands);
  llvm::append_range(all, tied);
  SmallVector<Type> results;
  if (types.size() == 1)
    results.push_back(types.front());
  else if (!types.empty())
    results.push_back(LLVM::LLVMStructType::getLiteral(builder.getContext(),
                                                       llvm::to_vector(types)));
  auto made = LLVM::InlineAsmOp::create(
      builder, loc, TypeRange(results), all, text, constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(builder.getContext(), LLVM::AsmDialect::AD_ATT),
      /*operand_attrs=*/ArrayAttr());
  if (types.size() < 2)
    return SmallVector<Value>(made->getResults());
  SmallVector<Value> values;
  for (size_t i = 0; i < types.size(); ++i)
    values.push_back(
        LLVM::ExtractValueOp::create(builder, loc, made.getResult(0), i));
  return values;
}

void Wgmma::fenceProxy() {
  NVVM::FenceProxyOp::create(
      builder, loc,
      NVVM::ProxyKindAttr::get(builder.getContext(),
                               NVVM::ProxyKind::async_shared),
      NVVM::SharedSpaceAttr::get(builder.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

SmallVector<Value> Wgmma::fence(ValueRange registers) {
  return emitAsm("wgmma.fence.sync.aligned;", registers.getTypes(), {},
                 registers);
}

void Wgmma::commit() { NVVM::WgmmaGroupSyncAlignedOp::create(builder, loc); }

SmallVector<Value> Wgmma::wait(int64_t pending, ValueRange registers) {
  std::string text =
      llvm::formatv("wgmma.wait_group.sync.aligned {0};", pending);
  return emitAsm(text, registers.getTypes(), {}, registers);
}

SmallVector<Value> Wgmma::emit(ValueRange a, Value b, Major major,
                               ValueRange sums, int64_t columns) {
  // Names operands: "$4", or "$4, $5".
  auto name = [](size_t first, size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i)
      text += (i ? ", $" : "$") + std::to_string(first + i);
    return text;
  };
  size_t numSums = columns / 2; // 64 * columns for 128 threads
  bool isFragment = a.size() > 1;
  std::string left = name(numSums, a.size());
  StringRef type = element.isBF16() ? "bf16" : "f16";
  // The last operands say whether to add to the sums, which signs a and b have,
  // and whether a matrix in shared memory is transposed.
  std::string text = llvm::formatv(
      "{{ .reg .pred p; setp.ne.b32 p, {0}, 0; "
      "wgmma.mma_async.sync.aligned.m64n{1}k16.f32.{2}.{2} "
      "{{{3}}, {4}, {5}, p, 1, 1, {6}{7}; }",
      sums.empty() ? 0 : 1, columns, type, name(0, numSums),
      isFragment ? "{" + left + "}" : left, name(numSums + a.size(), 1),
      isFragment ? "" : "0, ", major == Major::Columns ? 1 : 0);
  SmallVector<Value> operands(a);
  operands.push_back(b);
  SmallVector<Type> types(numSums, builder.getF32Type());
  return emitAsm(text, types, operands, sums);
}

SmallVector<Value> Wgmma::begin(int64_t columns, Value a, Value b) {
  return emit(a, b, Major::Depth, {}, columns);
}

SmallVector<Value> Wgmma::multiply(ValueRange a, Value b, Major major,
                                   ValueRange sums) {
  return emit(a, b, major, sums, int64_t(sums.size()) * 2);
}

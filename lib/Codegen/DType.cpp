// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "lib/Codegen/Artifact.h"

#include "runtime/Core/DType.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp;
using namespace tp::codegen;

std::optional<tprt::DType> tp::codegen::getDType(Type type) {
  using tprt::DType;
  if (auto integer = dyn_cast<IntegerType>(type)) {
    bool isUnsigned = integer.isUnsigned();
    switch (integer.getWidth()) {
    case 1:
      return DType::Bool;
    case 8:
      return isUnsigned ? DType::U8 : DType::I8;
    case 16:
      return isUnsigned ? DType::U16 : DType::I16;
    case 32:
      return isUnsigned ? DType::U32 : DType::I32;
    case 64:
      return isUnsigned ? DType::U64 : DType::I64;
    default:
      return std::nullopt;
    }
  }
  return llvm::TypeSwitch<Type, std::optional<DType>>(type)
      .Case([](Float64Type) { return DType::F64; })
      .Case([](Float32Type) { return DType::F32; })
      .Case([](BFloat16Type) { return DType::BF16; })
      .Case([](Float16Type) { return DType::F16; })
      .Case([](Float8E4M3FNType) { return DType::F8E4M3FN; })
      .Case([](Float8E5M2Type) { return DType::F8E5M2; })
      .Default(std::nullopt);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The interfaces through which a step describes its properties to the back
// ends.

#ifndef TPOPT_DIALECT_STEP_STEPINTERFACES
#define TPOPT_DIALECT_STEP_STEPINTERFACES

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::tp::step";
  let description = [{
    For steps that a target may execute as one kernel, a function compiled for
    them. Operands are buffers, those that are only read first. Two of them
    are one kernel if they differ in their operands' values and in locations
    only. Which targets have a kernel for which ops, `lib/Codegen/Kernels.h`
    says.
  }];
  let methods = [
    InterfaceMethod<[{
        The number of the first operand that is written.
      }], "unsigned", "getFirstWritten">,
    InterfaceMethod<[{
        What the kernel asks the device for, its scalars: a place along an axis
        (`spmd::AxisRefAttr`), the turn of an enclosing loop, by the loop's
        number (`IntegerAttr` of i64), or a number (`IntegerAttr` of index).
      }], "::llvm::SmallVector<::mlir::Attribute>", "getScalars", (ins), [{}],
      [{ return {}; }]>,
    InterfaceMethod<[{
        How many parts it has that several threads of a CPU may share.
      }], "int64_t", "getNumParts", (ins), [{}], [{ return 1; }]>,
  ];
  let verify = [{ return ::tp::step::verifyKernel($_op); }];
}

def AttentionOpInterface : OpInterface<"AttentionOpInterface"> {
  let cppNamespace = "::tp::step";
  let description = [{
    Attention and its gradients: steps in which queries [b,s,k,g,d] weigh keys
    [b,t,k,d] and values [b,t,k,e], some of which are hidden.
  }];
  let methods = [
    InterfaceMethod<"[b,s,k,g,d].",
      "::mlir::TypedValue<::mlir::MemRefType>", "getQuery">,
    InterfaceMethod<"[b,t,k,d].",
      "::mlir::TypedValue<::mlir::MemRefType>", "getKey">,
    InterfaceMethod<"[b,t,k,e].",
      "::mlir::TypedValue<::mlir::MemRefType>", "getValue">,
    InterfaceMethod<"The position of the first query; null if it is 0.",
      "::mlir::TypedValue<::mlir::MemRefType>", "getOffset">,
    InterfaceMethod<"How many keys there are; null if it is all.",
      "::mlir::TypedValue<::mlir::MemRefType>", "getLengths">,
    InterfaceMethod<"Which keys are visible; null if it is all.",
      "::mlir::TypedValue<::mlir::MemRefType>", "getMask">,
    InterfaceMethod<"What scores are multiplied by.",
      "::llvm::APFloat", "getScale">,
    InterfaceMethod<"Whether keys behind a query are hidden.",
      "bool", "getCausal">,
    InterfaceMethod<"How many of the last keys are visible, if not all.",
      "std::optional<uint64_t>", "getWindow">,
  ];
}

#endif // TPOPT_DIALECT_STEP_STEPINTERFACES

// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How values flow through ops with regions.

#ifndef TPOPT_DIALECT_SPMD_REGIONFLOW
#define TPOPT_DIALECT_SPMD_REGIONFLOW

include "mlir/IR/OpBase.td"

def RegionFlowOpInterface : OpInterface<"RegionFlowOpInterface"> {
  let cppNamespace = "::tp::spmd";
  let description = [{
    Which operands, region arguments, yielded values and results of an op are one
    value: a channel (see `tpopt/Dialect/SPMD/RegionFlow.h`). Passes ask here what
    they have to know of loops, conditionals and manual regions.

    Every region is one block with a ReturnLike terminator. Its last arguments
    are the entries, in order; counters stand before them. Its terminator yields
    the results, in order; that of a condition yields an i1.

    MLIR's RegionBranchOpInterface does not suffice. It follows the operands of
    terminators from one region to the next: the condition of `tp.while` yields an
    i1 alone, though what the loop carries goes on to the body. It expects one type
    on both sides: at the border of `spmd.manual` there are two. And it says
    nothing of counters.
  }];
  let methods = [
    InterfaceMethod<[{
        The operands that enter the regions, as arguments. By default all.
      }], "::mlir::MutableArrayRef<::mlir::OpOperand>", "getEntries", (ins),
      [{}], [{ return $_op->getOpOperands(); }]>,
    InterfaceMethod<[{
        Whether what the regions yield enters them again. Then operand i and
        result i are in one channel; else what enters and what leaves are in
        channels of their own.
      }], "bool", "isLoop", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        Whether the regions see parts of the tensors outside, so that the two
        sides of a channel have types and shardings of their own.
      }], "bool", "isBorder", (ins), [{}], [{ return false; }]>,
    InterfaceMethod<[{
        How often each region runs when the op does; where a branch index selects
        one, how often that one does. None if only the run can say.
      }], "::std::optional<int64_t>", "getTripCount", (ins), [{}],
      [{ return 1; }]>,
    InterfaceMethod<[{
        The region argument that counts iterations, from 0 by 1. Null if there is
        none; an op that has one knows its trip count.
      }], "::mlir::Value", "getCounter", (ins), [{}],
      [{ return ::mlir::Value(); }]>,
    InterfaceMethod<[{
        The operand that selects the region to run: region i, or the last one if
        there is no region i. Null if all regions run.
      }], "::mlir::OpOperand *", "getBranchIndex", (ins), [{}],
      [{ return nullptr; }]>,
    InterfaceMethod<[{
        The region that yields whether the loop goes on, an i1. Null if there is
        none.
      }], "::mlir::Region *", "getCondition", (ins), [{}],
      [{ return nullptr; }]>,
  ];
  let extraClassDeclaration = [{
    /// The operand that decides which regions run: the branch index, or the
    /// value that a loop's condition yields. It must be equal on all devices
    /// that communicate in the regions. Null if the op has no such operand.
    ::mlir::OpOperand *getDecision();
  }];
}

#endif // TPOPT_DIALECT_SPMD_REGIONFLOW

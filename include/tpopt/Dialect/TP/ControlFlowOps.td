// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops and conditionals. The region arguments and the result at one position
// have the same sharding. Operands and yielded values at this position are
// resharded to it.

#ifndef TPOPT_DIALECT_TP_CONTROLFLOWOPS
#define TPOPT_DIALECT_TP_CONTROLFLOWOPS

include "tpopt/Dialect/SPMD/RegionFlow.td"
include "tpopt/Dialect/TP/TPBase.td"

def TP_ForOp : TP_Op<"for", "", [SingleBlock,
    DeclareOpInterfaceMethods<LoopLikeOpInterface, ["getLoopRegions", "getInitsMutable",
      "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    DeclareOpInterfaceMethods<RegionFlowOpInterface, ["isLoop", "getTripCount", "getCounter"]>,
    RecursiveMemoryEffects] # differentiable> {
  let summary = "Repeat a body a known number of times";
  let meaning = [{runs the body `count` times; its first argument counts from 0, the
    others carry values from one iteration to the next. Collectives inside are reported
    with `times = count`.}];
  let constraints = [{
    1. `count` is at least 0.
    2. The body takes a tensor<i32> and the types of the initial values.
    3. The body yields these types, and the results have them.}];
  let example = [{%r = tp.for 12 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x16xf32>):
    %y = tp.tanh %h : tensor<4x16xf32>
    tp.yield %y : tensor<4x16xf32>
  } : (tensor<4x16xf32>) -> tensor<4x16xf32>}];
  let arguments = (ins I64Attr:$count, Variadic<TP_Tensor>:$inits);
  let results = (outs Variadic<TP_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "custom<Plain>($count) `(` $inits `)` $body attr-dict `:` functional-type($inits, $results)";
  let hasVerifier = 1;
}

def TP_WhileOp : TP_Op<"while", "", [
    DeclareOpInterfaceMethods<LoopLikeOpInterface, ["getLoopRegions", "getInitsMutable",
      "getRegionIterArgs", "getYieldedValuesMutable", "getLoopResults"]>,
    DeclareOpInterfaceMethods<RegionFlowOpInterface, ["isLoop", "getTripCount", "getCondition"]>,
    RecursiveMemoryEffects] # differentiable> {
  let summary = "Repeat a body while a condition holds";
  let meaning = [{`cond` computes a scalar i1 from the carried values; while it is true,
    `body` computes their next values.}];
  let constraints = [{
    1. Both regions take the types of the initial values.
    2. `cond` yields one tensor<i1>.
    3. `body` yields the types of the initial values, and the results have them.}];
  let example = [{%r = tp.while (%i) cond {
  ^bb0(%n: tensor<i32>):
    %m = tp.compare lt %n, %end : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %m : tensor<i1>
  } do {
  ^bb0(%n: tensor<i32>):
    %next = tp.add %n, %one : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>}];
  let arguments = (ins Variadic<TP_Tensor>:$inits);
  let results = (outs Variadic<TP_Tensor>:$results);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let assemblyFormat = "`(` $inits `)` `cond` $cond `do` $body attr-dict `:` functional-type($inits, $results)";
  let hasVerifier = 1;
}

def TP_CaseOp : TP_Op<"case", "", [
    DeclareOpInterfaceMethods<RegionFlowOpInterface, ["getEntries", "getBranchIndex"]>,
    RecursiveMemoryEffects] # differentiable> {
  let summary = "Run one of several branches";
  let meaning = [{runs branch number `index`, or the last one if `index` is out of
    range. Branches have no arguments; they use values from outside. An if is a case on
    the condition with the else branch first.}];
  let constraints = [{
    1. `index` is a scalar integer or i1.
    2. There is at least one branch.
    3. Branches have no arguments and yield the results' types.}];
  let example = [{%r = tp.case %p {
    tp.yield %a : tensor<4xf32>
  }, {
    tp.yield %b : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>}];
  let arguments = (ins TP_IntegerTensor:$index);
  let results = (outs Variadic<TP_Tensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let assemblyFormat = "$index $branches attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def TP_YieldOp : TP_Op<"yield", "", [Pure, Terminator, ReturnLike,
    ParentOneOf<["ForOp", "WhileOp", "CaseOp"]>]> {
  let summary = "End a region of tp.for, tp.while or tp.case";
  let meaning = "the values of the region.";
  let example = [{%r = tp.case %i {
    tp.yield %y : tensor<4xf32>
  } : (tensor<i32>) -> tensor<4xf32>}];
  let arguments = (ins Variadic<TP_Tensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

#endif // TPOPT_DIALECT_TP_CONTROLFLOWOPS

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The records that stages leave for each other survive text and bytecode, every
// digit of their numbers included.

// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --emit-bytecode -o %t.mlirbc
// RUN: tp-opt %t.mlirbc | FileCheck %s

// CHECK: #[[LOC:.+]] = loc("f.mlir":3:4)
// CHECK: module attributes {tp.plan = #tp.plan<machine = "h100", target = "cuda", fp8 = true, verified = field, verify_us = 1.250000e-01>}
module attributes {tp.plan = #tp.plan<machine = "h100", target = "cuda", fp8 = true, verified = field, verify_us = 0.125>} {
spmd.mesh @mesh <["x"=2, "y"=4]>
// CHECK: func.func @main
// CHECK-SAME: tp.digests = #tp.digests<results = [7], values = [-5, 7]>
// CHECK-SAME: tp.explanations = [
// CHECK-SAME: #tp.explanation<id = 0, name = "x", sharding = <@mesh, [{"x"}]>, arrivals = [<axis = <"x">, dim = 0>]>,
// CHECK-SAME: #tp.explanation<id = 1, name = "y", sharding = <@mesh, [{"x", "y":(1)2}]>,
// CHECK-SAME: arrivals = [<axis = <"y":(1)2>, dim = 0, from = "x", hops = [<to = "y", over = "tp.exp", at = #[[LOC]], priority = 1, step = MultiUse>, <step = SingleUse>]>],
// CHECK-SAME: losses = [<axis = <"y">, dim = 0, from = "w", over = "tp.add", rule = DimTaken, winner = <"x">>, <axis = <"y">, dim = 0, rule = Closed>],
// CHECK-SAME: alternatives = [<sharding = <@mesh, [{}]>, cost = 1.000000e-01, unit = seconds>]>]
// CHECK-SAME: tp.prices = #tp.prices<unit = bytes, items = [<kind = plan, sent = 9.600000e+01, computed = 0.33333333333333331, launches = 2, peak = 128, count = 2>, <kind = combined, launches = -1>], merged = 3, gap = 4.000000e+00>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> attributes {
    tp.digests = #tp.digests<results = [7], values = [-5, 7]>,
    tp.explanations = [
      #tp.explanation<id = 0, name = "x", sharding = <@mesh, [{"x"}]>, arrivals = [<axis = <"x">, dim = 0>]>,
      #tp.explanation<id = 1, name = "y", sharding = <@mesh, [{"x", "y":(1)2}]>,
        arrivals = [<axis = <"y":(1)2>, dim = 0, from = "x", hops = [
          <to = "y", over = "tp.exp", at = loc("f.mlir":3:4), priority = 1, step = MultiUse>,
          <step = SingleUse>]>],
        losses = [<axis = <"y">, dim = 0, from = "w", over = "tp.add", rule = DimTaken, winner = <"x">>,
                  <axis = <"y">, dim = 0, rule = Closed>],
        alternatives = [<sharding = <@mesh, [{}]>, cost = 0.1, unit = seconds>]>],
    tp.prices = #tp.prices<unit = bytes, items = [
      <kind = plan, sent = 96.0, computed = 0.33333333333333331, launches = 2, peak = 128, count = 2>,
      <kind = combined, launches = -1>], merged = 3, gap = 4.0>} {
  // CHECK: tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.add", axes = <{"x"}>, reduce = max>, <kind = written, user = "spmd.reshard", from = <@mesh, [{"x"}]>, to = <@mesh, [{}]>>], requested = true>
  %0 = tp.exp %x {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.add", axes = <{"x"}>, reduce = max>, <kind = written, user = "spmd.reshard", from = <@mesh, [{"x"}]>, to = <@mesh, [{}]>>], requested = true>} : tensor<4xf32> loc(fused<#tp.ids<ids = [1]>>["f.mlir":3:4])
  return %0 : tensor<4xf32>
}
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Sums that are asked for one by one in a manual region, as psum does under
// shard_map, are one launch where nobody needs one of them before. The partition
// is verified on the way, and what is run is what the whole program computes.

// RUN: tp-opt %s --tp-shard | FileCheck %s
// RUN: tp-opt %s --tp-compile=target=cpu --tp-artifact=%t.tpx -o /dev/null
// RUN: tp-run %t.tpx --check | FileCheck %s --check-prefix=SAME
// SAME: check new w: {{.*}}ok
// SAME: check new v: {{.*}}ok
// SAME: check sum: {{.*}}ok

spmd.mesh @mesh <["x"=2, "y"=2]>
!w = tensor<4x4xf32>
!v = tensor<4xf32>
// CHECK: spmd.manual
// CHECK: %[[S:.+]]:2 = spmd.combined all_reduce
// CHECK: tp.sub %{{.+}}, %[[S]]#0
// CHECK: tp.sub %{{.+}}, %[[S]]#1
// What moves is no sum, and a sum of a sum waits for it.
// CHECK: spmd.all_reduce
// CHECK: spmd.return
func.func @main(%w: !w {tp.name = "w"}, %v: !v {tp.name = "v"}, %x: tensor<8x4xf32> {tp.name = "x"})
    -> (!w {tp.name = "new w"}, !v {tp.name = "new v"}, !v {tp.name = "sum"}) {
  %0:3 = spmd.manual (%w, %v, %x) in [<@mesh, [{}, {}]>, <@mesh, [{}]>, <@mesh, [{"x"}, {}]>]
      out [<@mesh, [{}, {}]>, <@mesh, [{}]>, <@mesh, [{}]>] axes {"x", "y"} {
  ^bb0(%a: !w, %b: !v, %c: tensor<4x4xf32>):
    %g = tp.einsum "ij,ik->jk" %c, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> !w
    %1 = spmd.all_reduce %g {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !w -> !w
    %2 = tp.sub %a, %1 : !w
    %h = tp.reduce sum %c dims = [0] : tensor<4x4xf32> -> !v
    %3 = spmd.all_reduce %h {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
    %4 = tp.sub %b, %3 : !v
    %5 = tp.exp %4 : !v
    %6 = spmd.all_reduce %5 {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
    spmd.return %2, %4, %6 : !w, !v, !v
  } : (!w, !v, tensor<8x4xf32>) -> (!w, !v, !v)
  return %0#0, %0#1, %0#2 : !w, !v, !v
}

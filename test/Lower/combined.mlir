// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The parts of a launch that differ only in shape are packed into one buffer. The
// others are exchanges of their own, joined to the first.
//
// RUN: tp-opt %s --tp-localize --tp-lower-to-step | FileCheck %s

spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: step.program @main
// CHECK:      %[[T:.+]] = step.collective_start all_reduce sum <{"x"}> %[[S:.+]] to %[[S]] : memref<14xf32> to memref<14xf32>
// CHECK-NEXT: %[[U:.+]] = step.collective_start all_reduce max <{"x"}> {{.*}} joined : memref<8xf32> to memref<8xf32>
// CHECK-NEXT: %[[V:.+]] = step.collective_start all_gather <{"x"}> {{.*}} joined : memref<4xi32> to memref<{{.*}}xi32>
// CHECK-NEXT: step.collective_done %[[T]]
// CHECK-NEXT: step.collective_done %[[U]]
// CHECK-NEXT: step.collective_done %[[V]]
// CHECK-NOT:  step.collective_start
func.func @main(%a: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<4x2x3xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {}]>},
                %d: tensor<8xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
        tensor<2x3xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
        tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>},
        tensor<8xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %0 = tp.reduce sum %a dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<4x8xf32> -> tensor<8xf32>
  %1 = tp.reduce sum %b dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : tensor<4x2x3xf32> -> tensor<2x3xf32>
  %2 = tp.reduce max %a dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced=max{"x"}>]} : tensor<4x8xf32> -> tensor<8xf32>
  %3:4 = spmd.combined [all_reduce, all_reduce, all_reduce, all_gather] %0, %1, %2, %d
    in [<@mesh, [{}], unreduced={"x"}>, <@mesh, [{}, {}], unreduced={"x"}>, <@mesh, [{}], unreduced=max{"x"}>, <@mesh, [{"x"}]>]
    out [<@mesh, [{}]>, <@mesh, [{}, {}]>, <@mesh, [{}]>, <@mesh, [{}]>]
    : (tensor<8xf32>, tensor<2x3xf32>, tensor<8xf32>, tensor<8xi32>) -> (tensor<8xf32>, tensor<2x3xf32>, tensor<8xf32>, tensor<8xi32>)
  return %3#0, %3#1, %3#2, %3#3 : tensor<8xf32>, tensor<2x3xf32>, tensor<8xf32>, tensor<8xi32>
}

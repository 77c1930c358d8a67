// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// RUN: tp-opt %s --tp-shard=verify=field --split-input-file | FileCheck %s

// 7 heads of 3 features on 4 devices: blocks of 6 of 21 elements are 2 heads
// each, and nothing is sent, whichever way heads are split or merged.

spmd.mesh @mesh <["x"=4]>

// CHECK-LABEL: func @coinciding_blocks
// CHECK-NOT: spmd.{{all|reduce|collective|shift}}
// CHECK: tp.reshape %arg0 {{.*}} -> tensor<5x2x3xf32, #spmd.local<@mesh, [{}, {"x"}, {}], global=[5, 7, 3]>>
// CHECK: tp.reshape {{.*}} -> tensor<5x6xf32, #spmd.local<@mesh, [{}, {"x"}], global=[5, 21]>>
// CHECK-NOT: spmd.{{all|reduce|collective|shift}}
// CHECK: return
func.func @coinciding_blocks(%a: tensor<5x21xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5x21xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = tp.reshape %a : tensor<5x21xf32> -> tensor<5x7x3xf32>
  %1 = tp.softmax %0 dim = 2 : tensor<5x7x3xf32>
  %2 = tp.reshape %1 : tensor<5x7x3xf32> -> tensor<5x21xf32>
  return %2 : tensor<5x21xf32>
}

// -----

// 9 heads of 64 features on 2 devices: 320 of 576 features are the first
// device's, which has 288 of them. It needs 32 of the second.

spmd.mesh @mesh <["x"=2]>

// CHECK-LABEL: func @differing_blocks
// CHECK: [[ROWS:%.+]] = tp.slice %{{.*}} starts = [0, 0] strides = [1, 1] : {{.*}} -> tensor<5x32xf32>
// CHECK: spmd.shift [[ROWS]]
// CHECK: return
func.func @differing_blocks(%a: tensor<5x576xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>})
    -> (tensor<5x9x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}, {}]>}) {
  %0 = tp.reshape %a : tensor<5x576xf32> -> tensor<5x9x64xf32>
  return %0 : tensor<5x9x64xf32>
}

// -----

// Axes in another order than the mesh has them: the neighbour is that of the dimension.

spmd.mesh @mesh <["x"=4, "y"=2]>

// CHECK-LABEL: func @axes_in_order
// CHECK: spmd.shift {{.*}} along @mesh {"y", "x"} by -7 wrap
// CHECK: return
func.func @axes_in_order(%a: tensor<7x17xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", "x"}, {}]>})
    -> (tensor<119xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", "x"}]>}) {
  %0 = tp.reshape %a : tensor<7x17xf32> -> tensor<119xf32>
  return %0 : tensor<119xf32>
}

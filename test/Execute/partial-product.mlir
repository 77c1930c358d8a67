// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A partial sum passes a product with a whole value on its way to a smaller
// tensor, and computes the same there.
//
// RUN: tp-opt %s --tp-shard -o %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: tp-opt %t.mlir --tp-verify-against=whole=%s -o %t.checked

spmd.mesh @mesh <["x"=4]>

// CHECK: tp.mul {{.*}}unreduced={"x"}{{.*}}) -> tensor
// CHECK: spmd.all_reduce {{.*}} -> tensor<16xf32
func.func @main(%x: tensor<16x32xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<32x64xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %m: tensor<16x64xf32> {tp.name = "m", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %0 = tp.einsum "ik,kj->ij" %x, %w : (tensor<16x32xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %1 = tp.mul %0, %m : tensor<16x64xf32>
  %2 = tp.reduce sum %1 dims = [1] : tensor<16x64xf32> -> tensor<16xf32>
  return %2 : tensor<16xf32>
}

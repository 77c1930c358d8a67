// RUN: tp-opt %s --tp-shard=stop-after=localize | FileCheck %s

// Seven rows over two devices: each holds four, and the last one's padding is overwritten
// with the identity of the maximum before it is reduced.
// CHECK-LABEL: func.func @main
// CHECK-SAME: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], global=[7, 6]>>
// CHECK: %[[E:.+]] = tp.exp %arg0
// CHECK-NEXT: %[[M:.+]] = spmd.mask %[[E]] [0] value(0xFF800000 : f32)
// CHECK-NEXT: %[[R:.+]] = tp.reduce max %[[M]] dims = [0]
// CHECK-NEXT: spmd.all_reduce %[[R]] {"x"} in <@mesh, [{}], unreduced=max{"x"}> out <@mesh, [{}]>
spmd.mesh @mesh <["x"=2]>
func.func @main(%x: tensor<7x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %e = tp.exp %x : tensor<7x6xf32>
  %s = tp.reduce max %e dims = [0] : tensor<7x6xf32> -> tensor<6xf32>
  return %s : tensor<6xf32>
}

// RUN: tp-opt %s --tp-shard=stop-after=collectives | FileCheck %s

// Each reshard becomes the fewest and cheapest collectives: a sum, and a dimension that
// moves in one all-to-all instead of a gather and a slice.
// CHECK-LABEL: func.func @main
// CHECK: spmd.all_reduce {{.*}} {"model"} in <@mesh, [{}, {}], unreduced={"model"}> out <@mesh, [{}, {}]>
// CHECK-LABEL: func.func @transposed
// CHECK: spmd.all_to_all
// CHECK-NOT: spmd.all_gather
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<16x64xf32>,
                %up: tensor<64x256xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %down: tensor<256x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %h = tp.einsum "bi,io->bo" %x, %up : (tensor<16x64xf32>, tensor<64x256xf32>) -> tensor<16x256xf32>
  %g = tp.gelu %h : tensor<16x256xf32>
  %y = tp.einsum "bo,oi->bi" %g, %down : (tensor<16x256xf32>, tensor<256x64xf32>) -> tensor<16x64xf32>
  return %y : tensor<16x64xf32>
}
func.func @transposed(%x: tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  return %x : tensor<16x64xf32>
}

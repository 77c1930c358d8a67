// RUN: tp-opt %s --tp-shard=stop-after=propagate | FileCheck %s

// The weights of an MLP are sharded, column then row parallel; the hidden features follow.
// What nobody closed stays open.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[X:.+]]: tensor<16x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {?}]>}
// CHECK: tp.einsum "bi,io->bo" {{.*}}[{?}, {"model", ?}]
// CHECK: tp.gelu {{.*}}[{?}, {"model", ?}]
// CHECK: tp.einsum "bo,oi->bi" {{.*}}[{?}, {?}]
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

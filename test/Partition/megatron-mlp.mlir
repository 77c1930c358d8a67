// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s

// Both products are computed in parts, and the second leaves partial sums: that is the
// only reshard of a Megatron MLP.
// CHECK-LABEL: func.func @main
// CHECK: %[[H:.+]] = tp.einsum "bi,io->bo" {{.*}}[{}, {"model"}]>]
// CHECK-NEXT: %[[G:.+]] = tp.gelu %[[H]] {{.*}}[{}, {"model"}]>]
// CHECK-NEXT: %[[Y:.+]] = tp.einsum "bo,oi->bi" %[[G]]{{.*}}[{}, {}], unreduced={"model"}>]
// CHECK-NEXT: %[[Z:.+]] = spmd.reshard %[[Y]] <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "func.return", axes = <{"model"}>>]
// CHECK-NEXT: return %[[Z]]
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

// RUN: tp-opt %s --tp-shard | FileCheck %s

// A region that is manual along some axes only, as JAX writes it, is one over all axes
// when it has been cut: what is sent along the others stands in it.
// CHECK-LABEL: func.func @f
// CHECK: %[[Y:.+]] = spmd.manual(%arg0, %arg1) in [<@mesh, [{"model"}, {}]>, <@mesh, [{"data"}, {}]>] out [<@mesh, [{}, {"data", "model"}]>] axes {"data", "model"}
// CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<4x5xf32>, %[[B:.+]]: tensor<4x5xf32>):
// CHECK-NEXT: %[[C:.+]] = tp.einsum "ij,kj->ik" %[[A]], %[[B]] : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>
// CHECK-NEXT: %[[D:.+]] = spmd.all_to_all %[[C]] ["model": 0 -> 1] in <@mesh, [{"model"}, {}]> out <@mesh, [{}, {"model"}]> {{.*}}: tensor<4x4xf32> -> tensor<8x2xf32>
// CHECK-NEXT: spmd.return %[[D]] : tensor<8x2xf32>
// CHECK-NEXT: tensor<8x2xf32, #spmd.local<@mesh, [{}, {"data", "model"}], global=[8, 8]>>
// CHECK: spmd.all_to_all %[[Y]] ["model": 1 -> 0]
spmd.mesh @mesh <["data"=2, "model"=2]>
func.func @f(%x: tensor<8x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
             %y: tensor<8x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {"data"}]>}) {
  %0 = spmd.manual (%x, %y) in [<@mesh, [{?}, {?}]>, <@mesh, [{"data", ?}, {?}]>] out [<@mesh, [{?}, {"data", ?}]>] axes {"data"} {
  ^bb0(%a: tensor<8x5xf32>, %b: tensor<4x5xf32>):
    %c = tp.einsum "ij,kj->ik" %a, %b : (tensor<8x5xf32>, tensor<4x5xf32>) -> tensor<8x4xf32>
    %d = spmd.constraint %c <@mesh, [{"model", ?}, {?}]> : tensor<8x4xf32>
    %e = spmd.constraint %d <@mesh, [{?}, {"model"}]> : tensor<8x4xf32>
    %g = spmd.constraint %e <@mesh, [{?}, {?}]> : tensor<8x4xf32>
    spmd.return %g : tensor<8x4xf32>
  } : (tensor<8x5xf32>, tensor<8x5xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

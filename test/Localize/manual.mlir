// RUN: tp-opt %s --tp-shard 2>&1 | FileCheck %s

// A region that is manual along some axes only, as JAX writes it: open dimensions in
// what it says of its results stay whole along the others, whatever the caller wants;
// and so do values of its body that are constrained, which a warning says once.
// CHECK: manual.mlir:[[@LINE+16]]:10: warning: this constraint cuts nothing: the body of a manual region is whole along axes that are not manual; cut along them outside, or make them manual, too
// CHECK-NOT: warning
// CHECK-LABEL: func.func @f
// CHECK: %[[X:.+]] = spmd.all_gather %arg0 [{"model"}, {}]
// CHECK: %[[Y:.+]] = spmd.manual(%[[X]], %arg1)
// CHECK-NOT: spmd.constraint
// CHECK: spmd.return %{{.+}} : tensor<8x3xf32>
// CHECK: tensor<8x3xf32, #spmd.local<@mesh, [{}, {"data"}], global=[8, 6]>>
// CHECK: spmd.all_slice %[[Y]] [{"model"}, {}]
spmd.mesh @mesh <["data"=2, "model"=2]>
func.func @f(%x: tensor<8x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
             %y: tensor<6x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {"data"}]>}) {
  %0 = spmd.manual (%x, %y) in [<@mesh, [{?}, {?}]>, <@mesh, [{"data", ?}, {?}]>] out [<@mesh, [{?}, {"data", ?}]>] axes {"data"} {
  ^bb0(%a: tensor<8x5xf32>, %b: tensor<3x5xf32>):
    %c = tp.einsum "ij,kj->ik" %a, %b : (tensor<8x5xf32>, tensor<3x5xf32>) -> tensor<8x3xf32>
    %d = spmd.constraint %c <@mesh, [{"model", ?}, {?}]> : tensor<8x3xf32>
    %e = spmd.constraint %d <@mesh, [{?}, {"model"}]> : tensor<8x3xf32>
    %g = spmd.constraint %e <@mesh, [{?}, {?}]> : tensor<8x3xf32>
    spmd.return %g : tensor<8x3xf32>
  } : (tensor<8x5xf32>, tensor<6x5xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

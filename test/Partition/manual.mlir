// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s

// Along free axes the body of a manual region is partitioned as any code: the product of
// what is cut inside is a partial sum, which nothing but the shift needs whole. And its
// operand enters as the product wants it, which costs nothing outside.
spmd.mesh @mesh <["stage"=2, "model"=2]>
// CHECK-LABEL: func.func @stages
// CHECK: %[[X:.+]] = spmd.reshard %arg0 <@mesh, [{"stage"}, {}, {"model"}]>
// CHECK: spmd.manual(%[[X]], %arg1) in [<@mesh, [{"stage"}, {}, {"model"}]>, <@mesh, [{"stage"}, {"model"}, {}]>] out [<@mesh, [{"stage"}, {}, {}]>] axes {"stage"}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: %[[Y:.+]] = tp.einsum {{.*}}unreduced={"model"}
// CHECK-NEXT: %[[Z:.+]] = spmd.reshard %[[Y]] <@mesh, [{}, {}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "spmd.shift", axes = <{"model"}>>]>}
// CHECK-NEXT: spmd.shift %[[Z]]
func.func @stages(%x: tensor<2x8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"stage"}, {}, {}]>},
                  %w: tensor<2x16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"stage"}, {"model"}, {}]>})
    -> (tensor<2x8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"stage"}, {}, {}]>}) {
  %0 = spmd.manual (%x, %w) in [<@mesh, [{"stage"}, {?}, {?}]>, <@mesh, [{"stage"}, {?}, {?}]>]
      out [<@mesh, [{"stage"}, {?}, {?}]>] axes {"stage"} {
  ^bb0(%a: tensor<1x8x16xf32>, %b: tensor<1x16x16xf32>):
    %c = tp.einsum "sij,sjk->sik" %a, %b : (tensor<1x8x16xf32>, tensor<1x16x16xf32>) -> tensor<1x8x16xf32>
    %d = spmd.shift %c along @mesh {"stage"} by 1 wrap : tensor<1x8x16xf32>
    spmd.return %d : tensor<1x8x16xf32>
  } : (tensor<2x8x16xf32>, tensor<2x16x16xf32>) -> tensor<2x8x16xf32>
  return %0 : tensor<2x8x16xf32>
}

// Five columns are never cut in two there, though that is what is asked for outside.
// CHECK-LABEL: func.func @even
// CHECK: spmd.manual(%{{.+}}) in [<@mesh, [{"stage"}, {}]>] out [<@mesh, [{"stage"}, {}]>]
// CHECK: tp.exp %{{.+}} {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]}
func.func @even(%x: tensor<2x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"stage"}, {"model"}]>})
    -> (tensor<2x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"stage"}, {"model"}]>}) {
  %0 = spmd.manual (%x) in [<@mesh, [{"stage"}, {?}]>] out [<@mesh, [{"stage"}, {?}]>] axes {"stage"} {
  ^bb0(%a: tensor<1x5xf32>):
    %b = tp.exp %a : tensor<1x5xf32>
    spmd.return %b : tensor<1x5xf32>
  } : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return %0 : tensor<2x5xf32>
}

// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s

// What a constraint leaves open may be anything: nothing is gathered for it, in a loop
// least of all. What it closes is exactly so.
spmd.mesh @mesh <["data"=2, "model"=2]>
// CHECK-LABEL: func.func @open
// CHECK-NOT: spmd.reshard
// CHECK: tp.for
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @open(%x: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %0 = tp.for 9 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x6xf32>):
    %a = spmd.constraint %h <@mesh, [{?}, {"model"}]> : tensor<8x6xf32>
    %b = tp.exp %a : tensor<8x6xf32>
    %c = spmd.constraint %b <@mesh, [{"data", ?}, {?}]> : tensor<8x6xf32>
    tp.yield %c : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0 : tensor<8x6xf32>
}

// CHECK-LABEL: func.func @closed
// CHECK: %[[X:.+]] = spmd.reshard %arg0 <@mesh, [{"data"}, {}]>
// CHECK: tp.exp %[[X]] {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}]>]}
func.func @closed(%x: tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>})
    -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %a = spmd.constraint %x <@mesh, [{?}, {}]> : tensor<8x6xf32>
  %b = tp.exp %a : tensor<8x6xf32>
  return %b : tensor<8x6xf32>
}

// Partial sums that are only added are added before they are summed over the
// devices, also where each is asked for in a layout by itself, as explicit axes of JAX
// do; the sum is asked for in that layout, whoever takes it.
// CHECK-LABEL: func.func @added
// CHECK-NOT: spmd.reshard
// CHECK: %[[AB:.+]] = tp.sub %{{.+}}, %{{.+}} {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>]}
// CHECK-NOT: spmd.reshard
// CHECK: %[[ABC:.+]] = tp.add %[[AB]], %{{.+}} {spmd.shardings = [#spmd.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>]}
// CHECK-NEXT: %[[S:.+]] = spmd.reshard %[[ABC]] <@mesh, [{"data"}, {}]> {{.*}}requested = true
// CHECK-NOT: spmd.reshard
// CHECK: tp.exp %[[S]]
!w = tensor<16x4xf32>
func.func @added(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>},
                 %u: !w {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                 %v: !w {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                 %w: !w {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %a = tp.einsum "bi,io->bo" %x, %u : (tensor<8x16xf32>, !w) -> tensor<8x4xf32>
  %0 = spmd.constraint %a <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %b = tp.einsum "bi,io->bo" %x, %v : (tensor<8x16xf32>, !w) -> tensor<8x4xf32>
  %1 = spmd.constraint %b <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %ab = tp.sub %0, %1 : tensor<8x4xf32>
  %2 = spmd.constraint %ab <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %c = tp.einsum "bi,io->bo" %x, %w : (tensor<8x16xf32>, !w) -> tensor<8x4xf32>
  %3 = spmd.constraint %c <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %abc = tp.add %2, %3 : tensor<8x4xf32>
  %4 = tp.exp %abc : tensor<8x4xf32>
  return %4 : tensor<8x4xf32>
}

// What somebody else takes, a maximum, and what is asked for in another layout stay
// as they are.
// CHECK-LABEL: func.func @each
// CHECK-COUNT-2: spmd.reshard
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @each(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {"model"}]>},
                %u: !w {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %v: !w {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
        tensor<8x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %a = tp.einsum "bi,io->bo" %x, %u : (tensor<8x16xf32>, !w) -> tensor<8x4xf32>
  %0 = spmd.constraint %a <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %b = tp.einsum "bi,io->bo" %x, %v : (tensor<8x16xf32>, !w) -> tensor<8x4xf32>
  %1 = spmd.constraint %b <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %used = tp.add %0, %1 : tensor<8x4xf32>
  %more = tp.exp %1 : tensor<8x4xf32>
  %2 = spmd.constraint %a <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %3 = spmd.constraint %b <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %max = tp.max %2, %3 : tensor<8x4xf32>
  return %used, %more, %max : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

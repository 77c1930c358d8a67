// RUN: tp-opt %s --tp-shard=stop-after=collectives | FileCheck %s

// Ten axes can be arranged in more ways than anybody waits for. What goes
// together is found all the same: the weights stay, the small blocks of %x go
// where they are needed, sums are scattered and change places while they are
// small, and what the result has to be gathered for comes last.

// CHECK: spmd.all_to_all %arg0 ["j": 0 -> 1, "i": 0 -> 1]
// CHECK-NEXT: spmd.all_gather %{{.*}} [{"f", "g", "h"}, {}]
// CHECK-NEXT: tp.einsum "ab,bc->ac" %{{.*}}, %arg1
// CHECK-NEXT: = spmd.reduce_scatter
// CHECK-NEXT: = spmd.collective_permute
// CHECK-NEXT: = spmd.all_gather
// CHECK-NEXT: = tp.gelu
// CHECK-NEXT: return %

spmd.mesh @mesh <["a"=2, "b"=2, "c"=2, "d"=2, "e"=2, "f"=2, "g"=2, "h"=2, "i"=2, "j"=2]>
func.func @f(%x: tensor<2048x4096xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}, {}]>},
             %w: tensor<4096x4096xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"j", "i"}, {"h", "g", "f"}]>})
    -> (tensor<2048x4096xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"c"}, {"a", "b"}]>}) {
  %0 = tp.einsum "ab,bc->ac" %x, %w : (tensor<2048x4096xf32>, tensor<4096x4096xf32>) -> tensor<2048x4096xf32>
  %1 = tp.gelu %0 : tensor<2048x4096xf32>
  return %1 : tensor<2048x4096xf32>
}

// Five axes change places in one collective, and nothing is gathered.
// CHECK-LABEL: func.func @places
// CHECK-NEXT: = spmd.collective_permute %arg0
// CHECK-NEXT: return %
func.func @places(%x: tensor<8x8x8x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}, {"c"}, {"d"}, {"e"}]>})
    -> (tensor<8x8x8x8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"b"}, {"c"}, {"d"}, {"e"}, {"a"}]>}) {
  return %x : tensor<8x8x8x8x8xf32>
}

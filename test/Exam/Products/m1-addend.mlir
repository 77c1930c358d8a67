// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// M1: an axis of one addend reaches all tensors of a product.
// A sharded contraction leaves the result free of b.
//
// EXPECT: AR{b} V=64
// PROPAGATED: t [a?,b?]; z [a?,b?]; w [b?,?]; y [a?,?]
// MESHES: a=1,b=3; a=3,b=2

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<8x8xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}]>},
                %z: tensor<8x8xf32> {tp.name = "z"},
                %w: tensor<8x16xf32> {tp.name = "w"})
    -> (tensor<8x16xf32>) {
  %t = tp.add %x, %z : tensor<8x8xf32>
  %y = tp.einsum "ik,kj->ij" %t, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

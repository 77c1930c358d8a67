// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// P2: the lower number propagates first and then blocks.
//
// PROPAGATED: x [a,b]; z [a?,c?]; y [a?,c?]; result [a?,c?]

spmd.mesh @mesh <["a"=2, "b"=2, "c"=2]>

func.func @main(%x: tensor<16x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}p4]>},
                %z: tensor<16x16xf32> {tp.name = "z"})
    -> (tensor<16x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"c", ?}p1]>}) {
  %y = tp.div %x, %z : tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// E6: axes of 4 and 2 share a factor 2: slice by half of x, then permute.
// Gathering the second operand would send 512.
//
// EXPECT: CP{x:(1)2,y} V=256
// WIRE: 256

spmd.mesh @mesh <["x"=4, "y"=2]>

func.func @main(%x: tensor<64x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %z: tensor<64x16xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>})
    -> (tensor<64x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) {
  %y = tp.add %x, %z : tensor<64x16xf32>
  return %y : tensor<64x16xf32>
}

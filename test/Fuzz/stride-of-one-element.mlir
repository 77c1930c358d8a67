// RUN: tp-fuzz %s

// A stride along a dimension of one element means nothing, and stays.

spmd.mesh @mesh <["x"=2]>
func.func @main(%arg0: tensor<1x2x8xf32>) -> (tensor<1x2x2xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %0 = tp.slice %arg0 starts = [0, 0, 6] strides = [3, 1, 1] : tensor<1x2x8xf32> -> tensor<1x2x2xf32>
  return %0 : tensor<1x2x2xf32>
}

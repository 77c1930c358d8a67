// RUN: tp-fuzz %s

// The offset of attention fits into four bits, where a device's block of query
// rows begins does not.

spmd.mesh @mesh <["x"=6, "y"=8]>
func.func @main(%q: tensor<1x4x2x3x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x", "y"}, {}, {}, {}]>},
                %k: tensor<1x7x2x4xf32>, %offset: tensor<i4>) -> tensor<1x4x2x3x1xf32> {
  %v = tp.constant dense<-1.000000e+00> : tensor<1x7x2x1xf32>
  %y = tp.attention %q, %k, %v offset(%offset : tensor<i4>) {causal, scale = 5.0e-01 : f64, window = 5 : i64} : (tensor<1x4x2x3x4xf32>, tensor<1x7x2x4xf32>, tensor<1x7x2x1xf32>) -> tensor<1x4x2x3x1xf32>
  return %y : tensor<1x4x2x3x1xf32>
}

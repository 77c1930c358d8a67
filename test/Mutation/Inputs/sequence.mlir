// A sequence as a causal convolution of four and a dilated one see it, on more devices and
// in longer blocks than it is proved on.
#rows = #spmd.sharding<@mesh, [{"x"}, {}]>
spmd.mesh @mesh <["x"=8]>
func.func @main(%x: tensor<192x4xf32> {spmd.sharding = #rows}, %k: tensor<4x4xf32>)
    -> (tensor<192x4xf32> {spmd.sharding = #rows}, tensor<96x4xf32> {spmd.sharding = #rows}) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %w = tp.window %x, %zero dims = [0] low = [3] strides = [1] dilations = [1] : (tensor<192x4xf32>, tensor<f32>) -> tensor<192x4x4xf32>
  %y = tp.einsum "hkc,kc->hc" %w, %k : (tensor<192x4x4xf32>, tensor<4x4xf32>) -> tensor<192x4xf32>
  %v = tp.window %x, %zero dims = [0] low = [3] strides = [2] dilations = [3] : (tensor<192x4xf32>, tensor<f32>) -> tensor<96x3x4xf32>
  %m = tp.reduce sum %v dims = [1] : tensor<96x3x4xf32> -> tensor<96x4xf32>
  return %y, %m : tensor<192x4xf32>, tensor<96x4xf32>
}

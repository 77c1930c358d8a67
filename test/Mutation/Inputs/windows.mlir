// An image that both axes cut, as a convolution and a pool see it.
#image = #spmd.sharding<@mesh, [{"x"}, {"y"}, {}]>
#line = #spmd.sharding<@mesh, [{"x"}, {}]>
spmd.mesh @mesh <["x"=3, "y"=2]>
func.func @main(%x: tensor<12x10x2xf32> {spmd.sharding = #image}, %k: tensor<3x5x2x2xf32>, %z: tensor<14x4xf32> {spmd.sharding = #line})
    -> (tensor<12x10x2xf32> {spmd.sharding = #image}, tensor<7x4xf32> {spmd.sharding = #line}) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %low = tp.constant dense<-1.0e+30> : tensor<f32>
  %w = tp.window %x, %zero dims = [0, 1] low = [1, 2] strides = [1, 1] dilations = [1, 1] : (tensor<12x10x2xf32>, tensor<f32>) -> tensor<12x3x10x5x2xf32>
  %y = tp.einsum "hkwlc,klcd->hwd" %w, %k : (tensor<12x3x10x5x2xf32>, tensor<3x5x2x2xf32>) -> tensor<12x10x2xf32>
  %v = tp.window %z, %low dims = [0] low = [2] strides = [2] dilations = [2] : (tensor<14x4xf32>, tensor<f32>) -> tensor<7x3x4xf32>
  %m = tp.reduce max %v dims = [1] : tensor<7x3x4xf32> -> tensor<7x4xf32>
  return %y, %m : tensor<12x10x2xf32>, tensor<7x4xf32>
}

// Rolled, reversed, every other row, and summed up to each row.
#rows = #spmd.sharding<@mesh, [{"x"}, {}]>
spmd.mesh @mesh <["x"=4]>
func.func @main(%x: tensor<16x4xf32> {spmd.sharding = #rows})
    -> (tensor<16x4xf32> {spmd.sharding = #rows}, tensor<15x4xf32> {spmd.sharding = #rows},
        tensor<7x4xf32> {spmd.sharding = #rows}, tensor<16x4xf32> {spmd.sharding = #rows}) {
  %a = tp.splice %x, %x dim = 0 starts = [1, 0] sizes = [15, 1] : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<16x4xf32>
  %b = tp.splice %x dim = 0 starts = [14] sizes = [15] strides = [-1] : (tensor<16x4xf32>) -> tensor<15x4xf32>
  %c = tp.splice %x dim = 0 starts = [2] sizes = [7] strides = [2] : (tensor<16x4xf32>) -> tensor<7x4xf32>
  %d = tp.cumulative max %x dim = 0 reverse : tensor<16x4xf32> -> tensor<16x4xf32>
  return %a, %b, %c, %d : tensor<16x4xf32>, tensor<15x4xf32>, tensor<7x4xf32>, tensor<16x4xf32>
}

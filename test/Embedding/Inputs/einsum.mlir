spmd.mesh @mesh <["model"=2]>
func.func @f(%x: tensor<8x16xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
             %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

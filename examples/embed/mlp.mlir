func.func @mlp(%x: tensor<8x512xf32>,
               %up: tensor<512x2048xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
               %down: tensor<2048x512xf32>) -> tensor<8x512xf32> {
  %h = tp.einsum "bi,io->bo" %x, %up : (tensor<8x512xf32>, tensor<512x2048xf32>) -> tensor<8x2048xf32>
  %a = tp.gelu %h : tensor<8x2048xf32>
  %y = tp.einsum "bo,oi->bi" %a, %down : (tensor<8x2048xf32>, tensor<2048x512xf32>) -> tensor<8x512xf32>
  return %y : tensor<8x512xf32>
}
spmd.mesh @mesh <["model"=2]>

// A feed-forward layer in Megatron's cut: columns, then rows, one sum.
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<3x4xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %w1: tensor<4x6xf32> {tp.name = "w1", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %b1: tensor<6xf32> {tp.name = "b1"},
                %w2: tensor<6x4xf32> {tp.name = "w2"})
    -> (tensor<3x4xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %h = tp.einsum "si,io->so" %x, %w1 : (tensor<3x4xf32>, tensor<4x6xf32>) -> tensor<3x6xf32>
  %b = tp.broadcast %b1 dims = [1] : tensor<6xf32> -> tensor<3x6xf32>
  %hb = tp.add %h, %b : tensor<3x6xf32>
  %a = tp.relu %hb : tensor<3x6xf32>
  %y = tp.einsum "so,oi->si" %a, %w2 : (tensor<3x6xf32>, tensor<6x4xf32>) -> tensor<3x4xf32>
  %r = tp.add %y, %x : tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

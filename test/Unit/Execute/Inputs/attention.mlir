// Causal attention over grouped heads with rotated queries and keys, heads cut
// over the devices, and the projection behind it.
spmd.mesh @mesh <["model"=2]>
func.func @main(%q: tensor<2x5x4x2x8xf32> {tp.name = "q", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}, {}]>},
                %k: tensor<2x5x4x8xf32> {tp.name = "k"}, %v: tensor<2x5x4x8xf32> {tp.name = "v"},
                %cos: tensor<5x4xf32> {tp.name = "cos"}, %sin: tensor<5x4xf32> {tp.name = "sin"},
                %wo: tensor<4x2x8x6xf32> {tp.name = "wo"})
    -> (tensor<2x5x6xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %qr = tp.rotary %q, %cos, %sin : (tensor<2x5x4x2x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x4x2x8xf32>
  %kr = tp.rotary interleaved %k, %cos, %sin : (tensor<2x5x4x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<2x5x4x8xf32>
  %o = tp.attention %qr, %kr, %v {causal, scale = 0.35 : f64}
      : (tensor<2x5x4x2x8xf32>, tensor<2x5x4x8xf32>, tensor<2x5x4x8xf32>) -> tensor<2x5x4x2x8xf32>
  %y = tp.einsum "bskgd,kgdo->bso" %o, %wo : (tensor<2x5x4x2x8xf32>, tensor<4x2x8x6xf32>) -> tensor<2x5x6xf32>
  return %y : tensor<2x5x6xf32>
}

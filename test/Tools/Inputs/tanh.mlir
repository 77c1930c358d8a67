func.func @innocent(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.exp %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func @guilty(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = tp.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

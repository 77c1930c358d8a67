func.func @f(%x: tensor<4xf32>) {
  %0 = tp.reduce sum %x dims = [1] : tensor<4xf32> -> tensor<4xf32>
  return
}

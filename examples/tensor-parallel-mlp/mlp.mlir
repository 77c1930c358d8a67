// An autoencoder of 32 x 32 crops of photographs: 3072 numbers become 64, and 3072 again.
// Encoder and decoder are a pair of linear layers each, with a GELU between them. Weights
// are stored as PyTorch has them, [out, in].
func.func @main(
    %crop: tensor<16x3072xf32> {tp.name = "crop"},
    %w0: tensor<1024x3072xf32> {tp.name = "encoder.up.weight", tp.role = "parameter"},
    %b0: tensor<1024xf32> {tp.name = "encoder.up.bias", tp.role = "parameter"},
    %w1: tensor<64x1024xf32> {tp.name = "encoder.down.weight", tp.role = "parameter"},
    %b1: tensor<64xf32> {tp.name = "encoder.down.bias", tp.role = "parameter"},
    %w2: tensor<1024x64xf32> {tp.name = "decoder.up.weight", tp.role = "parameter"},
    %b2: tensor<1024xf32> {tp.name = "decoder.up.bias", tp.role = "parameter"},
    %w3: tensor<3072x1024xf32> {tp.name = "decoder.down.weight", tp.role = "parameter"},
    %b3: tensor<3072xf32> {tp.name = "decoder.down.bias", tp.role = "parameter"})
    -> (tensor<f32> {tp.name = "loss"}) {
  %0 = tp.einsum "bi,oi->bo" %crop, %w0 : (tensor<16x3072xf32>, tensor<1024x3072xf32>) -> tensor<16x1024xf32>
  %1 = tp.broadcast %b0 dims = [1] : tensor<1024xf32> -> tensor<16x1024xf32>
  %2 = tp.add %0, %1 : tensor<16x1024xf32>
  %3 = tp.gelu %2 : tensor<16x1024xf32>
  %4 = tp.einsum "bi,oi->bo" %3, %w1 : (tensor<16x1024xf32>, tensor<64x1024xf32>) -> tensor<16x64xf32>
  %5 = tp.broadcast %b1 dims = [1] : tensor<64xf32> -> tensor<16x64xf32>
  %code = tp.add %4, %5 : tensor<16x64xf32>
  %6 = tp.einsum "bi,oi->bo" %code, %w2 : (tensor<16x64xf32>, tensor<1024x64xf32>) -> tensor<16x1024xf32>
  %7 = tp.broadcast %b2 dims = [1] : tensor<1024xf32> -> tensor<16x1024xf32>
  %8 = tp.add %6, %7 : tensor<16x1024xf32>
  %9 = tp.gelu %8 : tensor<16x1024xf32>
  %10 = tp.einsum "bi,oi->bo" %9, %w3 : (tensor<16x1024xf32>, tensor<3072x1024xf32>) -> tensor<16x3072xf32>
  %11 = tp.broadcast %b3 dims = [1] : tensor<3072xf32> -> tensor<16x3072xf32>
  %again = tp.add %10, %11 : tensor<16x3072xf32>
  // The mean over the numbers of a crop, and over crops.
  %error = tp.sub %again, %crop : tensor<16x3072xf32>
  %square = tp.mul %error, %error : tensor<16x3072xf32>
  %sums = tp.reduce sum %square dims = [1] : tensor<16x3072xf32> -> tensor<16xf32>
  %numbers = tp.constant dense<3072.0> : tensor<16xf32>
  %means = tp.div %sums, %numbers : tensor<16xf32>
  %total = tp.reduce sum %means dims = [0] : tensor<16xf32> -> tensor<f32>
  %crops = tp.constant dense<16.0> : tensor<f32>
  %loss = tp.div %total, %crops : tensor<f32>
  return %loss : tensor<f32>
}

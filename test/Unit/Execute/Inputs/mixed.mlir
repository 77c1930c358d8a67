// bf16 weights and activations, wide rows, an epilogue with gelu, integers and
// choices: what the other programs leave out.
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<3x80xbf16> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                %w: tensor<80x50xbf16> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %g: tensor<80xbf16> {tp.name = "g"}, %n: tensor<3x80xi32> {tp.name = "n"})
    -> (tensor<3x50xbf16> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}, tensor<3x80xi32> {tp.name = "q"},
        tensor<3xf32> {tp.name = "loss"}) {
  %h = tp.rms_norm %x, %g epsilon = 1.0e-5 : (tensor<3x80xbf16>, tensor<80xbf16>) -> tensor<3x80xbf16>
  %e = tp.einsum "si,io->so" %h, %w : (tensor<3x80xbf16>, tensor<80x50xbf16>) -> tensor<3x50xbf16>
  %a = tp.gelu tanh %e : tensor<3x50xbf16>
  %three = tp.constant dense<3> : tensor<3x80xi32>
  %d = tp.div %n, %three : tensor<3x80xi32>
  %r = tp.rem %n, %d : tensor<3x80xi32>
  %c = tp.compare lt %n, %three : (tensor<3x80xi32>, tensor<3x80xi32>) -> tensor<3x80xi1>
  %s = tp.select %c, %r, %d : (tensor<3x80xi1>, tensor<3x80xi32>, tensor<3x80xi32>) -> tensor<3x80xi32>
  %f = tp.convert %x : tensor<3x80xbf16> -> tensor<3x80xf32>
  %l = tp.slice %n starts = [0, 7] strides = [1, 80] : tensor<3x80xi32> -> tensor<3x1xi32>
  %k = tp.reshape %l : tensor<3x1xi32> -> tensor<3xi32>
  %loss = tp.cross_entropy %f, %k : (tensor<3x80xf32>, tensor<3xi32>) -> tensor<3xf32>
  return %a, %s, %loss : tensor<3x50xbf16>, tensor<3x80xi32>, tensor<3xf32>
}

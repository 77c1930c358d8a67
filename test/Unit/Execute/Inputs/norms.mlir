// Norms and softmax over rows of 21, 3 x 16 less a multiple of nothing, and
// cut unevenly along the rows: 5 of them.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<5x21xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %g: tensor<21xf32> {tp.name = "g"}, %c: tensor<21xf32> {tp.name = "c"})
    -> (tensor<5x21xf32> {tp.name = "rms"}, tensor<5x21xf32> {tp.name = "layer"}, tensor<5x21xf32> {tp.name = "soft"},
        tensor<5x21xf32> {tp.name = "gelu"}) {
  %0 = tp.rms_norm %x, %g epsilon = 1.0e-5 : (tensor<5x21xf32>, tensor<21xf32>) -> tensor<5x21xf32>
  %1 = tp.layer_norm %x, %g, %c epsilon = 1.0e-5 : (tensor<5x21xf32>, tensor<21xf32>, tensor<21xf32>) -> tensor<5x21xf32>
  %2 = tp.softmax %x dim = 1 : tensor<5x21xf32>
  %3 = tp.gelu %x : tensor<5x21xf32>
  return %0, %1, %2, %3 : tensor<5x21xf32>, tensor<5x21xf32>, tensor<5x21xf32>, tensor<5x21xf32>
}

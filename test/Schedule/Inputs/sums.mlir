// Layers in a loop that gives the sum over the batch of each layer's products, as a gradient
// is one.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<256x128xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<LAYERSx128x128xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<256x128xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
        tensor<LAYERSx128x128xf32> {tp.name = "g", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>}) {
  %none = tp.constant dense<0.0> : tensor<LAYERSx128x128xf32>
  %y, %g = tp.for LAYERS (%x, %none) {
  ^bb0(%i: tensor<i32>, %h: tensor<256x128xf32>, %sums: tensor<LAYERSx128x128xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %ws = tp.dynamic_slice %w [%i, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x128xf32>
    %wi = tp.reshape %ws : tensor<1x128x128xf32> -> tensor<128x128xf32>
    %a = tp.einsum "bi,io->bo" %h, %wi : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %t = tp.tanh %a : tensor<256x128xf32>
    %s = tp.einsum "bi,bo->io" %h, %t : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
    %row = tp.reshape %s : tensor<128x128xf32> -> tensor<1x128x128xf32>
    %next = tp.dynamic_update_slice %sums, %row[%i, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<1x128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<LAYERSx128x128xf32>
    tp.yield %t, %next : tensor<256x128xf32>, tensor<LAYERSx128x128xf32>
  } : (tensor<256x128xf32>, tensor<LAYERSx128x128xf32>) -> (tensor<256x128xf32>, tensor<LAYERSx128x128xf32>)
  return %y, %g : tensor<256x128xf32>, tensor<LAYERSx128x128xf32>
}

// Layers in a loop, and in a second one from the last to the first, as a backward pass goes.
// A gather of all layers in front of both sends half as much as one in each iteration.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<256x128xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<LAYERSx128x128xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<256x128xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %y = tp.for LAYERS (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<256x128xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %ws = tp.dynamic_slice %w [%i, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x128xf32>
    %wi = tp.reshape %ws : tensor<1x128x128xf32> -> tensor<128x128xf32>
    %a = tp.einsum "bi,io->bo" %h, %wi : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %t = tp.tanh %a : tensor<256x128xf32>
    tp.yield %t : tensor<256x128xf32>
  } : (tensor<256x128xf32>) -> tensor<256x128xf32>
  %z = tp.for LAYERS (%y) {
  ^bb0(%i: tensor<i32>, %h: tensor<256x128xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %last = tp.constant dense<LAST> : tensor<i32>
    %j = tp.sub %last, %i : tensor<i32>
    %ws = tp.dynamic_slice %w [%j, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x128xf32>
    %wi = tp.reshape %ws : tensor<1x128x128xf32> -> tensor<128x128xf32>
    %a = tp.einsum "bo,io->bi" %h, %wi : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %t = tp.tanh %a : tensor<256x128xf32>
    tp.yield %t : tensor<256x128xf32>
  } : (tensor<256x128xf32>) -> tensor<256x128xf32>
  return %z : tensor<256x128xf32>
}

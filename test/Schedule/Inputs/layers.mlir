// Layers in a loop, of two weights each.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<256x128xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<LAYERSx128x256xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>},
                %v: tensor<LAYERSx256x128xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>})
    -> (tensor<256x128xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>}) {
  %y = tp.for LAYERS (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<256x128xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %ws = tp.dynamic_slice %w [%i, %zero, %zero] : (tensor<LAYERSx128x256xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x256xf32>
    %vs = tp.dynamic_slice %v [%i, %zero, %zero] : (tensor<LAYERSx256x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x256x128xf32>
    %wi = tp.reshape %ws : tensor<1x128x256xf32> -> tensor<128x256xf32>
    %vi = tp.reshape %vs : tensor<1x256x128xf32> -> tensor<256x128xf32>
    %a = tp.einsum "bi,io->bo" %h, %wi : (tensor<256x128xf32>, tensor<128x256xf32>) -> tensor<256x256xf32>
    %r = tp.relu %a : tensor<256x256xf32>
    %b = tp.einsum "bo,oi->bi" %r, %vi : (tensor<256x256xf32>, tensor<256x128xf32>) -> tensor<256x128xf32>
    %f = tp.convert %i : tensor<i32> -> tensor<f32>
    %fs = tp.broadcast %f dims = [] : tensor<f32> -> tensor<256x128xf32>
    %s = tp.add %b, %fs : tensor<256x128xf32>
    %t = tp.tanh %s : tensor<256x128xf32>
    tp.yield %t : tensor<256x128xf32>
  } : (tensor<256x128xf32>) -> tensor<256x128xf32>
  return %y : tensor<256x128xf32>
}

// Layers in a loop from the last to the first, as a backward pass goes, that gives each layer's
// gradient. All gradients are summed over the batch behind the loop: the first with a scatter into
// a buffer, the second into a result, the third in place.
spmd.mesh @mesh <["data"=2]>
func.func @main(%x: tensor<256x128xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<LAYERSx128x128xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<256x128xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
        tensor<LAYERSx128x128xf32> {tp.name = "g", spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>},
        tensor<LAYERSx128x128xf32> {tp.name = "h", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
        tensor<LAYERSx128x128xf32> {tp.name = "k", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %none = tp.constant dense<0.0> : tensor<LAYERSx128x128xf32>
  %y, %g, %h, %k = tp.for LAYERS (%x, %none, %none, %none) {
  ^bb0(%i: tensor<i32>, %a: tensor<256x128xf32>, %gs: tensor<LAYERSx128x128xf32>, %hs: tensor<LAYERSx128x128xf32>, %ks: tensor<LAYERSx128x128xf32>):
    %zero = tp.constant dense<0> : tensor<i32>
    %last = tp.constant dense<LAST> : tensor<i32>
    %j = tp.sub %last, %i : tensor<i32>
    %ws = tp.dynamic_slice %w [%j, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x128x128xf32>
    %wi = tp.reshape %ws : tensor<1x128x128xf32> -> tensor<128x128xf32>
    %b = tp.einsum "bo,io->bi" %a, %wi : (tensor<256x128xf32>, tensor<128x128xf32>) -> tensor<256x128xf32>
    %t = tp.tanh %b : tensor<256x128xf32>
    %s = tp.einsum "bi,bo->io" %t, %a : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
    %u = tp.einsum "bi,bo->io" %b, %t : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
    %v = tp.einsum "bi,bo->io" %t, %b : (tensor<256x128xf32>, tensor<256x128xf32>) -> tensor<128x128xf32>
    %vrow = tp.reshape %v : tensor<128x128xf32> -> tensor<1x128x128xf32>
    %srow = tp.reshape %s : tensor<128x128xf32> -> tensor<1x128x128xf32>
    %urow = tp.reshape %u : tensor<128x128xf32> -> tensor<1x128x128xf32>
    %gn = tp.dynamic_update_slice %gs, %srow[%j, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<1x128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<LAYERSx128x128xf32>
    %hn = tp.dynamic_update_slice %hs, %urow[%j, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<1x128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<LAYERSx128x128xf32>
    %kn = tp.dynamic_update_slice %ks, %vrow[%j, %zero, %zero] : (tensor<LAYERSx128x128xf32>, tensor<1x128x128xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<LAYERSx128x128xf32>
    tp.yield %t, %gn, %hn, %kn : tensor<256x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>
  } : (tensor<256x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>) -> (tensor<256x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>)
  %gt = tp.tanh %g : tensor<LAYERSx128x128xf32>
  %kt = tp.tanh %k : tensor<LAYERSx128x128xf32>
  return %y, %gt, %h, %kt : tensor<256x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>, tensor<LAYERSx128x128xf32>
}

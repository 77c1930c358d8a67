// Keys are rotated, and values narrowed, where the caches take them: of 5 heads,
// at a place that is known when it runs. The caches are read after; an update of
// what a cache holds reads it before.
spmd.mesh @mesh <["model"=2]>
func.func @main(%keys: tensor<2x9x5x6xf32> {tp.name = "keys", tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %values: tensor<2x9x5x6xbf16> {tp.name = "values", tp.donated = 1 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %again: tensor<2x5x9x6xf32> {tp.name = "again", tp.donated = 2 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}, {}]>},
                %x: tensor<2x3x7xf32> {tp.name = "x"},
                %wk: tensor<7x5x6xf32> {tp.name = "wk", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>},
                %wv: tensor<7x5x6xf32> {tp.name = "wv", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>},
                %cos: tensor<3x3xf32> {tp.name = "cos"}, %sin: tensor<3x3xf32> {tp.name = "sin"},
                %p: tensor<i32> {tp.name = "p"})
    -> (tensor<2x9x5x6xf32> {tp.name = "keys_out", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
        tensor<2x9x5x6xbf16> {tp.name = "values_out", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
        tensor<2x5x9x6xf32> {tp.name = "again_out", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}, {}]>},
        tensor<2x9x5xf32> {tp.name = "sums", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}]>}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %one = tp.constant dense<1> : tensor<i32>
  %k = tp.einsum "bsi,ihd->bshd" %x, %wk : (tensor<2x3x7xf32>, tensor<7x5x6xf32>) -> tensor<2x3x5x6xf32>
  %v = tp.einsum "bsi,ihd->bshd" %x, %wv : (tensor<2x3x7xf32>, tensor<7x5x6xf32>) -> tensor<2x3x5x6xf32>
  %narrow = tp.convert %v : tensor<2x3x5x6xf32> -> tensor<2x3x5x6xbf16>
  %rotated = tp.rotary %k, %cos, %sin : (tensor<2x3x5x6xf32>, tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<2x3x5x6xf32>
  %k1 = tp.dynamic_update_slice %keys, %rotated [%zero, %p, %zero, %zero] : (tensor<2x9x5x6xf32>, tensor<2x3x5x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x9x5x6xf32>
  %v1 = tp.dynamic_update_slice %values, %narrow [%zero, %p, %zero, %zero] : (tensor<2x9x5x6xbf16>, tensor<2x3x5x6xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x9x5x6xbf16>
  %sums = tp.reduce sum %k1 dims = [3] : tensor<2x9x5x6xf32> -> tensor<2x9x5xf32>

  // With heads before positions.
  %turned = tp.transpose %rotated [0, 2, 1, 3] : tensor<2x3x5x6xf32> -> tensor<2x5x3x6xf32>
  %a1 = tp.dynamic_update_slice %again, %turned [%zero, %zero, %p, %zero] : (tensor<2x5x9x6xf32>, tensor<2x5x3x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x5x9x6xf32>
  %held = tp.slice %a1 starts = [0, 0, 2, 0] strides = [1, 1, 1, 1] : tensor<2x5x9x6xf32> -> tensor<2x5x4x6xf32>
  %more = tp.add %held, %held : tensor<2x5x4x6xf32>
  %a2 = tp.dynamic_update_slice %a1, %more [%zero, %zero, %one, %zero] : (tensor<2x5x9x6xf32>, tensor<2x5x4x6xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x5x9x6xf32>
  return %k1, %v1, %a2, %sums : tensor<2x9x5x6xf32>, tensor<2x9x5x6xbf16>, tensor<2x5x9x6xf32>, tensor<2x9x5xf32>
}

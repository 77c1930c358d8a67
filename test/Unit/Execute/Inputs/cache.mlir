// A KV cache written in place, and read after.
spmd.mesh @mesh <["model"=2]>
func.func @main(%cache: tensor<4x3xf32> {tp.name = "cache", tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %new: tensor<1x3xf32> {tp.name = "new"}, %p: tensor<i32> {tp.name = "p"})
    -> (tensor<4x3xf32> {tp.name = "cache_out", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
        tensor<4xf32> {tp.name = "sums", spmd.sharding = #spmd.sharding<@mesh, [{}]>}) {
  %zero = tp.constant dense<0> : tensor<i32>
  %0 = tp.dynamic_update_slice %cache, %new [%p, %zero] : (tensor<4x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
  %1 = tp.reduce sum %0 dims = [1] : tensor<4x3xf32> -> tensor<4xf32>
  return %0, %1 : tensor<4x3xf32>, tensor<4xf32>
}

// Rows of a cache at places that only the run knows: written, read, and looked at by
// attention. The last block has 3 rows of 5.
spmd.mesh @mesh <["x"=4]>
func.func @main(%cache: tensor<18x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>, tp.donated = 0},
    %rows: tensor<7x4xf32>, %i: tensor<i32>, %j: tensor<i8>)
    -> (tensor<18x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
        tensor<3x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
        tensor<1x2x1x1x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}, {}, {}]>}) {
  %0 = tp.dynamic_update_slice %cache, %rows [%i, %i] : (tensor<18x6xf32>, tensor<7x4xf32>, tensor<i32>, tensor<i32>) -> tensor<18x6xf32>
  %1 = tp.dynamic_slice %0 [%j, %i] : (tensor<18x6xf32>, tensor<i8>, tensor<i32>) -> tensor<3x6xf32>
  %2 = tp.slice %1 starts = [0, 0] strides = [1, 1] : tensor<3x6xf32> -> tensor<2x6xf32>
  %q = tp.reshape %2 : tensor<2x6xf32> -> tensor<1x2x1x1x6xf32>
  %k = tp.reshape %0 : tensor<18x6xf32> -> tensor<1x18x1x6xf32>
  %3 = tp.attention %q, %k, %k offset(%i : tensor<i32>) {causal, scale = 0.5 : f64} : (tensor<1x2x1x1x6xf32>, tensor<1x18x1x6xf32>, tensor<1x18x1x6xf32>) -> tensor<1x2x1x1x6xf32>
  return %0, %1, %3 : tensor<18x6xf32>, tensor<3x6xf32>, tensor<1x2x1x1x6xf32>
}

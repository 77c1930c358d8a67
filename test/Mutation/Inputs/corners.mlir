// Parts of two cut dimensions, one longer than a block and one shorter, and both the other
// way around: proved on smaller sizes.
spmd.mesh @mesh <["x"=4, "y"=3]>
func.func @main(%cache: tensor<180x6x31xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {"y"}]>, tp.donated = 0},
    %rows: tensor<70x4x3xf32>, %i: tensor<i32>, %j: tensor<i8>)
    -> (tensor<180x6x31xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {"y"}]>},
        tensor<3x5x20xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = tp.dynamic_update_slice %cache, %rows [%i, %i, %j] : (tensor<180x6x31xf32>, tensor<70x4x3xf32>, tensor<i32>, tensor<i32>, tensor<i8>) -> tensor<180x6x31xf32>
  %1 = tp.dynamic_slice %0 [%j, %i, %i] : (tensor<180x6x31xf32>, tensor<i8>, tensor<i32>, tensor<i32>) -> tensor<3x5x20xf32>
  return %0, %1 : tensor<180x6x31xf32>, tensor<3x5x20xf32>
}

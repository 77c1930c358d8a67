spmd.mesh @mesh <["x"=2, "y"=3]>
func.func @main(%a: tensor<4x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>, tp.donated = 0 : i64},
                %b: tensor<4x6xf32>)
    -> (tensor<4x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}]>}, tensor<4xf32>) {
  %0 = tp.exp %a : tensor<4x6xf32>
  %1 = tp.add %0, %b : tensor<4x6xf32>
  %2 = tp.reduce sum %1 dims = [1] : tensor<4x6xf32> -> tensor<4xf32>
  return %1, %2 : tensor<4x6xf32>, tensor<4xf32>
}
func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

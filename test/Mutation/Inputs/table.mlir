spmd.mesh @mesh <["model"=4]>
func.func @main(%table: tensor<1000x24xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}, %ids: tensor<5xi32>) -> tensor<5x24xf32> {
  %0 = tp.gather %table, %ids axis = 0 batch = 0 : (tensor<1000x24xf32>, tensor<5xi32>) -> tensor<5x24xf32>
  return %0 : tensor<5x24xf32>
}

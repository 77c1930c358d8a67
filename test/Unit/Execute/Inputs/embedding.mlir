// A lookup with the vocabulary cut unevenly: 7 rows, and ids that no row has.
spmd.mesh @mesh <["model"=2]>
func.func @main(%table: tensor<7x3xf32> {tp.name = "table", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %ids: tensor<2x3xi32> {tp.name = "ids"})
    -> (tensor<2x3x3xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %y = tp.embedding %table, %ids : (tensor<7x3xf32>, tensor<2x3xi32>) -> tensor<2x3x3xf32>
  return %y : tensor<2x3x3xf32>
}

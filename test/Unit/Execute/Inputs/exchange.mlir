// A sum that ends cut, parts that change the dimension they are cut along, and
// the same with sizes that no device count divides.
spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<6x12xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %b: tensor<12x6xf32> {tp.name = "b", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<6x12xf32> {tp.name = "c", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %d: tensor<5x7xi32> {tp.name = "d", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<6x6xf32> {tp.name = "scattered", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
        tensor<6x12xf32> {tp.name = "turned", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x7xi32> {tp.name = "uneven", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
        tensor<6x7xf32> {tp.name = "partial", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}) {
  %0 = tp.einsum "ik,kj->ij" %a, %b : (tensor<6x12xf32>, tensor<12x6xf32>) -> tensor<6x6xf32>
  %1 = spmd.constraint %c <@mesh, [{}, {"x"}]> : tensor<6x12xf32>
  %2 = spmd.constraint %d <@mesh, [{}, {"x"}]> : tensor<5x7xi32>
  %i = tp.iota dim = 1 : tensor<12x7xf32>
  %3 = tp.einsum "ik,kj->ij" %a, %i : (tensor<6x12xf32>, tensor<12x7xf32>) -> tensor<6x7xf32>
  return %0, %1, %2, %3 : tensor<6x6xf32>, tensor<6x12xf32>, tensor<5x7xi32>, tensor<6x7xf32>
}

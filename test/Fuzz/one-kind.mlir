// Operands that flow through an op together are partial in the same way, even
// where one could also pass alone in another way.
//
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=3, "y"=2]>
func.func @main(%table: tensor<7x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>},
                %at: tensor<7x1x2xi4> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"x"}]>},
                %labels: tensor<7x1xi8>) -> tensor<7x1xf32> {
  %0 = tp.gather %table, %at axis = 1 batch = 1 : (tensor<7x1xf32>, tensor<7x1x2xi4>) -> tensor<7x1x2xf32>
  %1 = tp.cross_entropy %0, %labels {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : (tensor<7x1x2xf32>, tensor<7x1xi8>) -> tensor<7x1xf32>
  return %1 : tensor<7x1xf32>
}

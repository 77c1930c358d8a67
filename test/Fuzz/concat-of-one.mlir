// A concatenation of one input is not taken apart into nothing.
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %0 = tp.concat %a dim = 0 : (tensor<2xf32>) -> tensor<2xf32>
  %1 = tp.floor %0 {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : tensor<2xf32>
  return %1 : tensor<2xf32>
}

// A device without elements holds the least value as its maximum: adding to the
// least integer wraps around, and the logarithm of -inf is no number. Such
// partial maxima are combined first, even where one all-reduce would do for
// both.
//
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=4]>
func.func @integers(%a: tensor<2x4xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                    %b: tensor<2x4xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xi32> {
  %c = tp.constant dense<-1> : tensor<4xi32>
  %0 = tp.reduce max %a dims = [0] : tensor<2x4xi32> -> tensor<4xi32>
  %1 = tp.add %0, %c : tensor<4xi32>
  %2 = tp.reduce max %b dims = [0] : tensor<2x4xi32> -> tensor<4xi32>
  %3 = tp.max %1, %2 : tensor<4xi32>
  return %3 : tensor<4xi32>
}
func.func @logarithms(%a: tensor<2x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                      %b: tensor<2x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xf32> {
  %one = tp.constant dense<1.0> : tensor<2x4xf32>
  %p = tp.abs %a : tensor<2x4xf32>
  %q = tp.add %p, %one : tensor<2x4xf32>
  %0 = tp.reduce max %q dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
  %1 = tp.log %0 : tensor<4xf32>
  %2 = tp.reduce max %b dims = [0] : tensor<2x4xf32> -> tensor<4xf32>
  %3 = tp.max %1, %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

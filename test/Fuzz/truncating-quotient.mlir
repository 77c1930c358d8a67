// A quotient of integers is truncated, so that a partial sum is summed before
// it is divided, even where one all-reduce would then do for both sums.
//
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<6x4xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<6x4xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4xi32> {
  %c = tp.constant dense<2> : tensor<4xi32>
  %0 = tp.reduce sum %a dims = [0] : tensor<6x4xi32> -> tensor<4xi32>
  %1 = tp.div %0, %c : tensor<4xi32>
  %2 = tp.reduce sum %b dims = [0] : tensor<6x4xi32> -> tensor<4xi32>
  %3 = tp.add %1, %2 : tensor<4xi32>
  return %3 : tensor<4xi32>
}

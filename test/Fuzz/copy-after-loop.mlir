// A copy that frees the memory of what it is made from is made after a loop that
// takes the value, not in the loop.
// RUN: tp-fuzz %s --no-refusals
spmd.mesh @mesh <["x"=6]>
func.func @main(%arg0: tensor<15x13xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {?}]>}, %arg1: tensor<7x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"x"}]>}) -> (tensor<15x13xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}, {}]>}, tensor<15x13xf32>) {
  %values, %indices = tp.sort %arg0 dim = 0 descending : tensor<15x13xf32> -> tensor<15x13xf32>, tensor<15x13xi32>
  %0:2 = tp.for 0(%indices, %values) {
  ^bb0(%arg2: tensor<i32>, %arg3: tensor<15x13xi32>, %arg4: tensor<15x13xf32>):
    %7 = tp.constant dense<-1.000000e+00> : tensor<f32>
    %8 = tp.abs %7 {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<f32>
    %9 = tp.dynamic_update_slice %arg4, %arg1[%arg2, %arg2] : (tensor<15x13xf32>, tensor<7x6xf32>, tensor<i32>, tensor<i32>) -> tensor<15x13xf32>
    %10 = tp.constant dense<9.000000e+00> : tensor<15x13xf32>
    %11 = tp.min %9, %10 : tensor<15x13xf32>
    %12 = tp.constant dense<-9.000000e+00> : tensor<15x13xf32>
    %13 = tp.max %11, %12 : tensor<15x13xf32>
    tp.yield %indices, %13 : tensor<15x13xi32>, tensor<15x13xf32>
  } : (tensor<15x13xi32>, tensor<15x13xf32>) -> (tensor<15x13xi32>, tensor<15x13xf32>)
  %1 = tp.shift_right_arithmetic %0#0, %indices : tensor<15x13xi32>
  %2 = tp.ceil %0#1 : tensor<15x13xf32>
  %3 = tp.abs %values : tensor<15x13xf32>
  %4 = tp.constant dense<1.000000e+00> : tensor<15x13xf32>
  %5 = tp.add %3, %4 : tensor<15x13xf32>
  %6 = tp.rem %2, %5 : tensor<15x13xf32>
  return %1, %6 : tensor<15x13xi32>, tensor<15x13xf32>
}

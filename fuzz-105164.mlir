module {
  spmd.mesh @mesh <["x"=4]>
  func.func @main(%arg0: tensor<f64>, %arg1: tensor<21x4x5xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x":(2)2, ?}p2, {?}, {?}]>}, %arg2: tensor<20x4x21xf32> {tp.name = "a2.tensor<20x4x21xf32>"}, %arg3: tensor<3xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}p0]>}, %arg4: tensor<20xi64> {tp.name = "a4.tensor<20xi64>"}, %arg5: tensor<2x1xf32> {tp.name = "a5.tensor<2x1xf32>"}) -> (tensor<f64>, tensor<3xi32>, tensor<20xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}]>}, tensor<2x1xi32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"x", ?}]>}) {
    %0 = tp.silu %arg0 {spmd.shardings = [#spmd.sharding<@mesh, [], replicated={"x"}>]} : tensor<f64>
    %1 = tp.einsum "klm,nlk->nm" %arg1, %arg2 : (tensor<21x4x5xf32>, tensor<20x4x21xf32>) -> tensor<20x5xf32>
    %2 = tp.shift_right_logical %arg3, %arg3 : tensor<3xi32>
    %3 = tp.cross_entropy %1, %arg4 : (tensor<20x5xf32>, tensor<20xi64>) -> tensor<20xf32>
    %4 = tp.constant dense<1.000000e+02> : tensor<2x1xf32>
    %5 = tp.mul %arg5, %4 : tensor<2x1xf32>
    %6 = tp.convert %5 : tensor<2x1xf32> -> tensor<2x1xi32>
    %7 = spmd.barrier %6 allowed_direction = both : tensor<2x1xi32>
    %8 = tp.add %6, %7 : tensor<2x1xi32>
    return %0, %2, %3, %8 : tensor<f64>, tensor<3xi32>, tensor<20xf32>, tensor<2x1xi32>
  }
}


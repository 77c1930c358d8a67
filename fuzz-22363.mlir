module {
  spmd.mesh @mesh <["x"=4, "y"=4]>
  func.func @main(%arg0: tensor<14xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}]>, tp.donated = 1 : i64, tp.name = "a0.tensor<14xf32>"}, %arg1: tensor<5x5xi32> {tp.name = "a1.tensor<5x5xi32>"}, %arg2: tensor<14xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}]>}, %arg3: tensor<14xf32> {tp.donated = 0 : i64, tp.name = "a3.tensor<14xf32>"}, %arg4: tensor<f16> {spmd.sharding = #spmd.sharding<@mesh, []>, tp.name = "a4.tensor<f16>"}, %arg5: tensor<4x1x3x3x1xf32> {tp.name = "a5.tensor<4x1x3x3x1xf32>"}, %arg6: tensor<4x3x3x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {?}, {"y"}, {"x"}]>, tp.name = "a6.tensor<4x3x3x1xf32>"}, %arg7: tensor<4x3x3x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {?}, {"x", ?}]>, tp.name = "a7.tensor<4x3x3x4xf32>"}) -> (tensor<14xf32>, tensor<14xf32>, tensor<f16> {spmd.sharding = #spmd.sharding<@mesh, []>}, tensor<4x3x3x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x", ?}p2, {}, {"y", ?}, {}]>}, tensor<2x1x3x1xf32>, tensor<4x3x3x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", ?}, {?}, {?}, {}]>}, tensor<3x0xi32>, tensor<4x3x3x4xf32>) {
    %0 = tp.constant dense<0> : tensor<i32>
    %1:2 = tp.while(%0, %arg0) cond {
    ^bb0(%arg8: tensor<i32>, %arg9: tensor<14xf32>):
      %17 = tp.constant dense<2> : tensor<i32>
      %18 = tp.compare lt %arg8, %17 : (tensor<i32>, tensor<i32>) -> tensor<i1>
      tp.yield %18 : tensor<i1>
    } do {
    ^bb0(%arg8: tensor<i32>, %arg9: tensor<14xf32>):
      %17 = tp.round_even %arg0 : tensor<14xf32>
      %18 = tp.reduce sum %arg1 dims = [1] : tensor<5x5xi32> -> tensor<5xi32>
      %19 = spmd.constraint %18 <@mesh, [{"y"}]> : tensor<5xi32>
      %20 = tp.reduce sum %arg1 dims = [1] : tensor<5x5xi32> -> tensor<5xi32>
      %21 = spmd.constraint %20 <@mesh, [{"y"}]> : tensor<5xi32>
      %22 = tp.add %19, %21 : tensor<5xi32>
      %23 = tp.constant dense<1> : tensor<i32>
      %24 = tp.add %arg8, %23 : tensor<i32>
      %25 = tp.constant dense<9.000000e+00> : tensor<14xf32>
      %26 = tp.min %arg2, %25 : tensor<14xf32>
      %27 = tp.constant dense<-9.000000e+00> : tensor<14xf32>
      %28 = tp.max %26, %27 : tensor<14xf32>
      tp.yield %24, %28 : tensor<i32>, tensor<14xf32>
    } : (tensor<i32>, tensor<14xf32>) -> (tensor<i32>, tensor<14xf32>)
    %2 = tp.gated relu %arg2, %arg3 : tensor<14xf32>
    %3 = tp.iota dim = 1 : tensor<3x0xi32>
    %4 = tp.abs %arg4 : tensor<f16>
    %5 = tp.constant dense<1.000000e+00> : tensor<f16>
    %6 = tp.add %4, %5 : tensor<f16>
    %7 = tp.rsqrt %6 : tensor<f16>
    %8 = tp.constant dense<[3, 3, 0, 1]> : tensor<4xi32>
    %9 = tp.constant dense<0.000000e+00> : tensor<4x1x3x3x4xf32> {spmd.shardings = [#spmd.sharding<@mesh, [{"y", ?}, {}, {}, {?}, {}]>]}
    %10 = tp.constant dense<-1.000000e+00> : tensor<4x1x3x3xf32>
    %keyGradient, %valueGradient = tp.attention_key_value_gradient %arg5, %arg6, %arg7, %9, %10, %10 offset(%1#0 : tensor<i32>) lengths(%8 : tensor<4xi32>) {scale = 5.000000e-01 : f64} : (tensor<4x1x3x3x1xf32>, tensor<4x3x3x1xf32>, tensor<4x3x3x4xf32>, tensor<4x1x3x3x4xf32>, tensor<4x1x3x3xf32>, tensor<4x1x3x3xf32>) -> (tensor<4x3x3x1xf32>, tensor<4x3x3x4xf32>)
    %11 = tp.slice %valueGradient starts = [2, 2, 0, 3] strides = [1, 2, 1, 1] : tensor<4x3x3x4xf32> -> tensor<2x1x3x1xf32>
    %12 = tp.add %11, %11 : tensor<2x1x3x1xf32>
    %13 = tp.tanh %12 : tensor<2x1x3x1xf32>
    %14 = tp.round_even %arg7 : tensor<4x3x3x4xf32>
    %15 = tp.or %3, %3 : tensor<3x0xi32>
    %16 = tp.gated silu %arg7, %valueGradient : tensor<4x3x3x4xf32>
    return %1#1, %2, %7, %keyGradient, %13, %14, %15, %16 : tensor<14xf32>, tensor<14xf32>, tensor<f16>, tensor<4x3x3x1xf32>, tensor<2x1x3x1xf32>, tensor<4x3x3x4xf32>, tensor<3x0xi32>, tensor<4x3x3x4xf32>
  }
}


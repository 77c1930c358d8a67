module {
  spmd.mesh @mesh <["x"=1, "y"=3]>
  func.func @main(%arg0: tensor<2x10xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {}]>, tp.donated = 0 : i64}, %arg1: tensor<9x5xf16> {tp.name = "a1.tensor<9x5xf16>"}, %arg2: tensor<i32> {tp.name = "a2.tensor<i32>"}, %arg3: tensor<9x5xf16> {tp.donated = 2 : i64, tp.name = "a3.tensor<9x5xf16>"}) -> (tensor<2x10xbf16>, tensor<2x10xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {?}], replicated={"y"}>}, tensor<9x5xf16>, tensor<i32>, tensor<9x5xf16>) {
    %0 = tp.logistic %arg0 {spmd.shardings = [#spmd.sharding<@mesh, [{"y"}, {?}]>]} : tensor<2x10xbf16>
    %1 = tp.add %arg0, %arg0 : tensor<2x10xbf16>
    %2 = tp.cos %arg1 : tensor<9x5xf16>
    %3 = tp.abs %2 : tensor<9x5xf16>
    %4 = tp.constant dense<1.000000e+00> : tensor<9x5xf16>
    %5 = tp.add %3, %4 : tensor<9x5xf16>
    %6 = tp.rsqrt %5 : tensor<9x5xf16>
    %7 = tp.shift_left %arg2, %arg2 : tensor<i32>
    %8 = tp.mul %2, %arg3 : tensor<9x5xf16>
    return %0, %1, %6, %7, %8 : tensor<2x10xbf16>, tensor<2x10xbf16>, tensor<9x5xf16>, tensor<i32>, tensor<9x5xf16>
  }
}


module {
  spmd.mesh @mesh <["x"=2, "y"=2]>
  func.func private @helper(%arg0: tensor<1x9x11xi32>, %arg1: tensor<8x9xbf16>) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>) {
    %0:2 = tp.for 3(%arg0, %arg0) {
    ^bb0(%arg2: tensor<i32>, %arg3: tensor<1x9x11xi32>, %arg4: tensor<1x9x11xi32>):
      %2 = tp.slice %arg1 starts = [5, 0] strides = [1, 1] : tensor<8x9xbf16> -> tensor<1x9xbf16>
      tp.yield %arg0, %arg3 : tensor<1x9x11xi32>, tensor<1x9x11xi32>
    } : (tensor<1x9x11xi32>, tensor<1x9x11xi32>) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32>)
    %1 = tp.slice %arg0 starts = [0, 1, 9] strides = [1, 1, 1] : tensor<1x9x11xi32> -> tensor<1x5x2xi32>
    return %0#0, %0#1, %1 : tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>
  }
  func.func @main(%arg0: tensor<2x8x3xf32> {tp.donated = 7 : i64, tp.name = "a0.tensor<2x8x3xf32>"}, %arg1: tensor<1x9x11xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {"x"}, {}]>}, %arg2: tensor<8x9xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}p0]>}, %arg3: tensor<8x17xi32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {"x", "y"}]>}, %arg4: tensor<8x9xbf16>, %arg5: tensor<i32> {tp.name = "a5.tensor<i32>"}) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"y"}, {"x", ?}]>}, tensor<1x5x2xi32>, tensor<1x9x11xi32>, tensor<1x9x11xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"y", "x"}, {}, {}]>}, tensor<8x9xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<8x17xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {?}]>}, tensor<2x8x3xf32>, tensor<8x9xbf16>) {
    %0 = tp.floor %arg0 : tensor<2x8x3xf32>
    %1 = tp.constant dense<-1.000000e+00> : tensor<8x9xbf16>
    %2:3 = call @helper(%arg1, %1) : (tensor<1x9x11xi32>, tensor<8x9xbf16>) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>)
    %3 = tp.constant dense<-6.000000e+00> : tensor<2x8x3xf32>
    %4 = tp.max %0, %3 : tensor<2x8x3xf32>
    %5 = tp.constant dense<6.000000e+00> : tensor<2x8x3xf32>
    %6 = tp.min %4, %5 : tensor<2x8x3xf32>
    %7 = tp.exp %6 : tensor<2x8x3xf32>
    %8:3 = call @helper(%2#0, %arg2) : (tensor<1x9x11xi32>, tensor<8x9xbf16>) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>)
    %values, %indices = tp.sort %arg3 dim = 0 : tensor<8x17xi32> -> tensor<8x17xi32>, tensor<8x17xi32>
    %9:3 = call @helper(%8#0, %arg4) : (tensor<1x9x11xi32>, tensor<8x9xbf16>) -> (tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>)
    %10 = tp.abs %1 : tensor<8x9xbf16>
    %11 = tp.constant dense<1.000000e+00> : tensor<8x9xbf16>
    %12 = tp.add %10, %11 : tensor<8x9xbf16>
    %13 = tp.sqrt %12 : tensor<8x9xbf16>
    %14 = tp.shift_left %arg3, %indices : tensor<8x17xi32>
    %15 = spmd.constraint %2#2 <@mesh, [{}, {?}, {"x"}p0]> : tensor<1x5x2xi32>
    %16 = tp.case %arg5 {
      %22 = tp.case %arg5 {
        %25 = tp.constant dense<2> : tensor<i16>
        %26 = tp.constant dense<[[1, 0, 0], [0, 3, 0], [3, 3, 2], [0, 2, 1], [2, 2, 4], [4, 3, 0], [0, 3, 4], [4, 1, 2]]> : tensor<8x3xi32>
        %27 = tp.dynamic_update_slice %values, %26[%25, %arg5] : (tensor<8x17xi32>, tensor<8x3xi32>, tensor<i16>, tensor<i32>) -> tensor<8x17xi32>
        %28 = tp.not %26 : tensor<8x3xi32>
        tp.yield %arg5 : tensor<i32>
      } : (tensor<i32>) -> tensor<i32>
      %23 = tp.reshape %9#2 : tensor<1x5x2xi32> -> tensor<10xi32>
      %24 = spmd.barrier %15 "forward" : tensor<1x5x2xi32>
      tp.yield %arg4 : tensor<8x9xbf16>
    } : (tensor<i32>) -> tensor<8x9xbf16>
    %17 = tp.abs %7 : tensor<2x8x3xf32>
    %18 = tp.constant dense<1.000000e+00> : tensor<2x8x3xf32>
    %19 = tp.add %17, %18 : tensor<2x8x3xf32>
    %20 = tp.sqrt %19 : tensor<2x8x3xf32>
    %21 = tp.gated gelu_tanh %16, %16 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {"y"}p2]>]} : tensor<8x9xbf16>
    return %2#1, %8#1, %8#2, %9#0, %9#1, %13, %14, %20, %21 : tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<1x5x2xi32>, tensor<1x9x11xi32>, tensor<1x9x11xi32>, tensor<8x9xbf16>, tensor<8x17xi32>, tensor<2x8x3xf32>, tensor<8x9xbf16>
  }
}


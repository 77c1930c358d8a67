// Scatters of every kind: along a dimension that is cut unevenly, beside one that
// is, with indices that are outside and indices that repeat; the old value donated,
// known at compile time, or read again.
spmd.mesh @mesh <["x"=2]>
func.func @main(%table: tensor<7x5xf32> {tp.name = "table", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %ids: tensor<4x3xi32> {tp.name = "ids"},
                %rows: tensor<4x3x5xf32> {tp.name = "rows"},
                %small: tensor<4x3x5xi8> {tp.name = "small"},
                %narrow: tensor<5x4xbf16> {tp.name = "narrow", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %columns: tensor<6xui8> {tp.name = "columns"},
                %parts: tensor<5x6xbf16> {tp.name = "parts"},
                %picks: tensor<3x4x1xi64> {tp.name = "picks"},
                %picked: tensor<3x4x1xf64> {tp.name = "picked"},
                %state: tensor<9x2xi32> {tp.name = "state", tp.donated = 7 : i64},
                %places: tensor<3xi16> {tp.name = "places"},
                %numbers: tensor<3x2xi32> {tp.name = "numbers"},
                %truth: tensor<3x2xi1> {tp.name = "truth"})
    -> (tensor<7x5xf32> {tp.name = "add", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
        tensor<7x5xf32> {tp.name = "set"},
        tensor<7x5xf32> {tp.name = "max", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
        tensor<7x5xi8> {tp.name = "mul", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
        tensor<5x4xbf16> {tp.name = "column_sums", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
        tensor<5x4xbf16> {tp.name = "column_set"},
        tensor<3x4x6xf64> {tp.name = "batched", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {}]>},
        tensor<9x2xi32> {tp.name = "state_out"},
        tensor<4x2xi1> {tp.name = "flags"},
        tensor<7x5xf32> {tp.name = "one"}) {
  %add = tp.scatter add %table, %ids, %rows axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<4x3xi32>, tensor<4x3x5xf32>) -> tensor<7x5xf32>
  %set = tp.scatter set %table, %ids, %rows axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<4x3xi32>, tensor<4x3x5xf32>) -> tensor<7x5xf32>
  %low = tp.constant dense<-1.0> : tensor<7x5xf32>
  %max = tp.scatter max %low, %ids, %rows axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<4x3xi32>, tensor<4x3x5xf32>) -> tensor<7x5xf32>
  %three = tp.constant dense<3> : tensor<7x5xi8>
  %mul = tp.scatter mul %three, %ids, %small axis = 0 batch = 0 : (tensor<7x5xi8>, tensor<4x3xi32>, tensor<4x3x5xi8>) -> tensor<7x5xi8>
  %sums = tp.scatter add %narrow, %columns, %parts axis = 1 batch = 0 : (tensor<5x4xbf16>, tensor<6xui8>, tensor<5x6xbf16>) -> tensor<5x4xbf16>
  %replaced = tp.scatter set %narrow, %columns, %parts axis = 1 batch = 0 : (tensor<5x4xbf16>, tensor<6xui8>, tensor<5x6xbf16>) -> tensor<5x4xbf16>
  %zero = tp.constant dense<0.0> : tensor<3x4x6xf64>
  %batched = tp.scatter add %zero, %picks, %picked axis = 2 batch = 2 : (tensor<3x4x6xf64>, tensor<3x4x1xi64>, tensor<3x4x1xf64>) -> tensor<3x4x6xf64>
  %min = tp.scatter min %state, %places, %numbers axis = 0 batch = 0 : (tensor<9x2xi32>, tensor<3xi16>, tensor<3x2xi32>) -> tensor<9x2xi32>
  %no = tp.constant dense<false> : tensor<4x2xi1>
  %flags = tp.scatter set %no, %places, %truth axis = 0 batch = 0 : (tensor<4x2xi1>, tensor<3xi16>, tensor<3x2xi1>) -> tensor<4x2xi1>
  // A scalar index, updates that are a view, and the old value read again.
  %first = tp.constant dense<2> : tensor<i32>
  %row = tp.slice %rows starts = [1, 1, 0] strides = [1, 1, 1] : tensor<4x3x5xf32> -> tensor<1x1x5xf32>
  %flat = tp.reshape %row : tensor<1x1x5xf32> -> tensor<5xf32>
  %one = tp.scatter add %max, %first, %flat axis = 0 batch = 0 : (tensor<7x5xf32>, tensor<i32>, tensor<5xf32>) -> tensor<7x5xf32>
  return %add, %set, %max, %mul, %sums, %replaced, %batched, %min, %flags, %one : tensor<7x5xf32>, tensor<7x5xf32>, tensor<7x5xf32>, tensor<7x5xi8>, tensor<5x4xbf16>, tensor<5x4xbf16>, tensor<3x4x6xf64>, tensor<9x2xi32>, tensor<4x2xi1>, tensor<7x5xf32>
}

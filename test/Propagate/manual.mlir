// RUN: tp-opt %s --tp-propagate | FileCheck %s

// Free axes cross the border of a manual region in both directions, manual ones do not,
// and inside they go where they go in any code, through what is along manual axes, too.
spmd.mesh @mesh <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @crosses
func.func @crosses(%a: tensor<8x6x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {"y"}, {}]>})
    -> (tensor<8x6x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{?}, {?}, {?}]>}) {
  // CHECK: spmd.manual(%arg0) in [<@mesh, [{"x"}, {"y", ?}, {?}]>] out [<@mesh, [{"x", ?}, {"y", ?}, {?}]>] axes {"x"}
  %0 = spmd.manual (%a) in [<@mesh, [{"x"}, {?}, {?}]>] out [<@mesh, [{"x", ?}, {?}, {?}]>] axes {"x"} {
  ^bb0(%b: tensor<4x6x4xf32>):
    // CHECK: spmd.shift {{.*}}spmd.shardings = [#spmd.sharding<@mesh, [{?}, {"y", ?}, {?}]>]
    %c = spmd.shift %b along @mesh {"x"} by 1 wrap : tensor<4x6x4xf32>
    // What is gathered along a manual axis stays whole there.
    // CHECK: spmd.all_gather {{.*}}spmd.shardings = [#spmd.sharding<@mesh, [{?}, {"y", ?}, {?}]>]
    %d = spmd.all_gather %c [{"x"}, {}, {}] in <@mesh, [{"x"}, {}, {}]> out <@mesh, [{}, {}, {}]> : tensor<4x6x4xf32> -> tensor<8x6x4xf32>
    %e = spmd.all_slice %d [{"x"}, {}, {}] in <@mesh, [{}, {}, {}]> out <@mesh, [{"x"}, {}, {}]> : tensor<8x6x4xf32> -> tensor<4x6x4xf32>
    spmd.return %e : tensor<4x6x4xf32>
  } : (tensor<8x6x4xf32>) -> tensor<8x6x4xf32>
  // CHECK: tp.neg {{.*}}spmd.shardings = [#spmd.sharding<@mesh, [{"x", ?}, {"y", ?}, {?}]>]
  %1 = tp.neg %0 : tensor<8x6x4xf32>
  return %1 : tensor<8x6x4xf32>
}

// From the inside out; and where the manual axis has cut, the free one comes behind it.
// CHECK-LABEL: func.func @leaves
// CHECK-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"x", "y", ?}]>
func.func @leaves(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: spmd.manual(%arg0) in [<@mesh, [{"x", "y", ?}]>] out [<@mesh, [{"x", "y", ?}]>] axes {"x"}
  %0 = spmd.manual (%a) in [<@mesh, [{"x", ?}]>] out [<@mesh, [{"x", ?}]>] axes {"x"} {
  ^bb0(%b: tensor<4xf32>):
    %c = spmd.constraint %b <@mesh, [{"y"}]> : tensor<4xf32>
    spmd.return %c : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// What the free axis would cut unevenly stays whole, though outside it is cut; so does
// what is closed.
// CHECK-LABEL: func.func @stays
func.func @stays(%a: tensor<3x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>},
                 %b: tensor<4x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"y"}, {}]>}) {
  // CHECK: spmd.manual({{.*}}) in [<@mesh, [{?}, {"x", ?}]>, <@mesh, [{}, {"x", ?}]>]
  %0:2 = spmd.manual (%a, %b) in [<@mesh, [{?}, {"x", ?}]>, <@mesh, [{}, {"x", ?}]>]
      out [<@mesh, [{?}, {"x", ?}]>, <@mesh, [{}, {"x", ?}]>] axes {"x"} {
  ^bb0(%c: tensor<3x3xf32>, %d: tensor<4x3xf32>):
    spmd.return %c, %d : tensor<3x3xf32>, tensor<4x3xf32>
  } : (tensor<3x6xf32>, tensor<4x6xf32>) -> (tensor<3x6xf32>, tensor<4x6xf32>)
  return
}

// Twelve rows in five blocks of three: the last device has none, and no free axis comes
// in, though three rows could be cut.
spmd.mesh @five <["x"=5, "y"=3]>
// CHECK-LABEL: func.func @blocks
func.func @blocks(%a: tensor<12xf32> {spmd.sharding = #spmd.sharding<@five, [{"y"}]>}) {
  // CHECK: spmd.manual(%arg0) in [<@five, [{"x", ?}]>] out [<@five, [{"x", ?}]>]
  %0 = spmd.manual (%a) in [<@five, [{"x", ?}]>] out [<@five, [{"x", ?}]>] axes {"x"} {
  ^bb0(%b: tensor<3xf32>):
    spmd.return %b : tensor<3xf32>
  } : (tensor<12xf32>) -> tensor<12xf32>
  return
}

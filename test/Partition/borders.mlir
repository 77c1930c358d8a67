// What steps over the border of a block is all that is sent: neighbours exchange
// rows, and what is computed between two shifts stays cut.
// RUN: tp-opt %s --tp-raise --tp-shard=stop-after=collectives --split-input-file | FileCheck %s

#rows = #spmd.sharding<@mesh, [{"x"}, {}]>
spmd.mesh @mesh <["x"=4]>
// Rows shifted, computed with, and shifted back.
// CHECK-LABEL: func.func @back_and_forth
// CHECK-NOT: spmd.all_
// CHECK: tp.splice {{.*}}#spmd.sharding<@mesh, [{"x"}, {}]>
// CHECK: tp.tanh {{.*}}#spmd.sharding<@mesh, [{"x"}, {}]>
// CHECK: tp.splice {{.*}}#spmd.sharding<@mesh, [{"x"}, {}]>
// CHECK: {{^}}    return
func.func @back_and_forth(%x: tensor<64x8xf32> {spmd.sharding = #rows}) -> (tensor<64x8xf32> {spmd.sharding = #rows}) {
  %a = tp.slice %x starts = [1, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<63x8xf32>
  %b = tp.slice %x starts = [0, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<1x8xf32>
  %c = tp.concat %a, %b dim = 0 : (tensor<63x8xf32>, tensor<1x8xf32>) -> tensor<64x8xf32>
  %d = tp.tanh %c : tensor<64x8xf32>
  %e = tp.slice %d starts = [63, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<1x8xf32>
  %f = tp.slice %d starts = [0, 0] strides = [1, 1] : tensor<64x8xf32> -> tensor<63x8xf32>
  %y = tp.concat %e, %f dim = 0 : (tensor<1x8xf32>, tensor<63x8xf32>) -> tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

#rows = #spmd.sharding<@mesh, [{"x"}, {}]>
spmd.mesh @mesh <["x"=4]>
// One pad, three slices of it: a stencil.
// CHECK-LABEL: func.func @stencil
// CHECK-NOT: 66x8
// CHECK-NOT: spmd.all_
// CHECK: {{^}}    return
func.func @stencil(%x: tensor<64x8xf32> {spmd.sharding = #rows}) -> (tensor<64x8xf32> {spmd.sharding = #rows}) {
  %zero = tp.constant dense<0.0> : tensor<f32>
  %p = tp.pad %x, %zero low = [1, 0] : (tensor<64x8xf32>, tensor<f32>) -> tensor<66x8xf32>
  %a = tp.slice %p starts = [0, 0] strides = [1, 1] : tensor<66x8xf32> -> tensor<64x8xf32>
  %b = tp.slice %p starts = [1, 0] strides = [1, 1] : tensor<66x8xf32> -> tensor<64x8xf32>
  %c = tp.slice %p starts = [2, 0] strides = [1, 1] : tensor<66x8xf32> -> tensor<64x8xf32>
  %d = tp.add %a, %b : tensor<64x8xf32>
  %y = tp.add %d, %c : tensor<64x8xf32>
  return %y : tensor<64x8xf32>
}

// -----

#cols = #spmd.sharding<@mesh, [{}, {"x"}]>
spmd.mesh @mesh <["x"=4]>
// Even and odd features: two divides blocks of four, and nothing is sent.
// CHECK-LABEL: func.func @pairs
// CHECK-NOT: spmd.{{all|coll|shift|reshard}}
// CHECK: {{^}}    return
func.func @pairs(%x: tensor<8x16xf32> {spmd.sharding = #cols}) -> (tensor<8x8xf32> {spmd.sharding = #cols}) {
  %a = tp.slice %x starts = [0, 0] strides = [1, 2] : tensor<8x16xf32> -> tensor<8x8xf32>
  %b = tp.slice %x starts = [0, 1] strides = [1, 2] : tensor<8x16xf32> -> tensor<8x8xf32>
  %y = tp.mul %a, %b : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

spmd.mesh @mesh <["x"=4]>
// Tokens shifted to the right, a sequence a device: every device needs all of
// them, but not the last, which falls out.
// CHECK-LABEL: func.func @shift_right
// CHECK: %[[KEPT:.*]] = tp.slice {{.*}} -> tensor<4x6xi32>
// CHECK: spmd.all_gather %[[KEPT]]
// CHECK: tp.pad {{.*}} -> tensor<4x7xi32>
// CHECK-NOT: spmd.{{all|coll|shift|reshard}}
// CHECK: {{^}}    return
func.func @shift_right(%table: tensor<52x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                       %tokens: tensor<4x7xi32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4x7x32xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"x"}]>}) {
  %start = tp.constant dense<0> : tensor<i32>
  %p = tp.pad %tokens, %start low = [0, 1] : (tensor<4x7xi32>, tensor<i32>) -> tensor<4x8xi32>
  %s = tp.slice %p starts = [0, 0] strides = [1, 1] : tensor<4x8xi32> -> tensor<4x7xi32>
  %y = tp.embedding %table, %s : (tensor<52x32xf32>, tensor<4x7xi32>) -> tensor<4x7x32xf32>
  return %y : tensor<4x7x32xf32>
}

// -----

// What is whole is read backwards where it is: indices of its own dimension make
// that no dearer than in blocks, which would have to be gathered.
// CHECK-LABEL: func.func @whole_reversal
// CHECK-NOT: spmd.reshard
// CHECK: tp.gather
// CHECK-NOT: spmd.reshard
// CHECK: return
spmd.mesh @mesh <["x"=4]>
func.func @whole_reversal(%w: tensor<4x64x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>},
                          %x: tensor<8x4x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {}]>})
    -> (tensor<8x64x1xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}, {}]>}) {
  %r = tp.splice %w dim = 0 starts = [3] sizes = [4] strides = [-1] : (tensor<4x64x1xf32>) -> tensor<4x64x1xf32>
  %y = tp.einsum "njg,jgk->ngk" %x, %r : (tensor<8x4x64xf32>, tensor<4x64x1xf32>) -> tensor<8x64x1xf32>
  return %y : tensor<8x64x1xf32>
}

// RUN: tp-opt %s --tp-import-stablehlo 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t

// A head split, a contraction and a transposition stay what sharding rules see
// through: reshape, einsum, transpose.
// CHECK-LABEL: func.func @attention_scores
func.func @attention_scores(%q: tensor<2x5x12xf32>, %k: tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32> {
  // CHECK: %[[Q:.+]] = tp.reshape %arg0 : tensor<2x5x12xf32> -> tensor<2x5x3x4xf32>
  %0 = stablehlo.reshape %q : (tensor<2x5x12xf32>) -> tensor<2x5x3x4xf32>
  // CHECK: tp.einsum "adbc,aebc->abde" %[[Q]], %arg1 : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32>
  %1 = stablehlo.dot_general %0, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x5x3x4xf32>, tensor<2x7x3x4xf32>) -> tensor<2x3x5x7xf32>
  return %1 : tensor<2x3x5x7xf32>
}

// A lookup of rows is a gather along one axis.
// CHECK-LABEL: func.func @embedding
func.func @embedding(%table: tensor<50x8xf32>, %ids: tensor<3x1xi32>) -> tensor<3x8xf32> {
  // CHECK: %[[IDS:.+]] = tp.min
  // CHECK: tp.gather %arg0, %[[IDS]] axis = 0 batch = 0 : (tensor<50x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  // CHECK-NEXT: return
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8>}> : (tensor<50x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// Patches of an image that lie side by side are a reshape and an einsum.
// CHECK-LABEL: func.func @patches
func.func @patches(%x: tensor<2x8x8x3xf32>, %w: tensor<4x4x3x16xf32>) -> tensor<2x2x2x16xf32> {
  // CHECK: %[[X:.+]] = tp.reshape %{{.+}} : tensor<2x8x8x3xf32> -> tensor<2x2x4x2x4x3xf32>
  // CHECK: tp.einsum "nANBOc,NOcm->nABm" %[[X]], %arg1
  // CHECK-NEXT: return
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [4, 4]} : (tensor<2x8x8x3xf32>, tensor<4x4x3x16xf32>) -> tensor<2x2x2x16xf32>
  return %0 : tensor<2x2x2x16xf32>
}

// Windows that overlap are a view of the input.
// CHECK-LABEL: func.func @slides
// CHECK: %[[X:.+]] = tp.window %arg0, %{{.+}} dims = [1] low = [2] strides = [1] dilations = [1] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x16x5x3xf32>
// CHECK-NEXT: tp.einsum "nANc,Ncm->nAm" %[[X]], %arg1
func.func @slides(%x: tensor<2x16x3xf32>, %w: tensor<5x3x7xf32>) -> tensor<2x16x7xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]]} : (tensor<2x16x3xf32>, tensor<5x3x7xf32>) -> tensor<2x16x7xf32>
  return %0 : tensor<2x16x7xf32>
}

// A gradient of the kernel reads the same windows, the long dimension first.
// CHECK-LABEL: func.func @kernel_gradient
// CHECK: %[[X:.+]] = tp.window %arg0, %{{.+}} dims = [1] low = [2] strides = [1] dilations = [1] : (tensor<2x16x3xf32>, tensor<f32>) -> tensor<2x16x5x3xf32>
// CHECK-NEXT: tp.einsum "cNAn,cNm->Anm" %[[X]], %arg1
func.func @kernel_gradient(%x: tensor<2x16x3xf32>, %g: tensor<2x16x7xf32>) -> tensor<5x3x7xf32> {
  %0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[2, 2]]} : (tensor<2x16x3xf32>, tensor<2x16x7xf32>) -> tensor<5x3x7xf32>
  return %0 : tensor<5x3x7xf32>
}

// An input that is spread: results by their phase, without products with zeros.
// CHECK-LABEL: func.func @phases
// CHECK: %[[W:.+]] = tp.splice %{{.+}} dim = 1 starts = [1] sizes = [2] strides = [-1] : (tensor<3x2x3x7xf32>)
// CHECK: %[[X:.+]] = tp.window %arg0, %{{.+}} dims = [1] low = [1] strides = [1] dilations = [1] : (tensor<2x8x3xf32>, tensor<f32>) -> tensor<2x8x3x3xf32>
// CHECK: %[[Y:.+]] = tp.einsum "nANc,Nacm->nAam" %[[X]], %[[W]]
// CHECK: tp.reshape %[[Y]] : tensor<2x8x2x7xf32> -> tensor<2x16x7xf32>
func.func @phases(%x: tensor<2x8x3xf32>, %w: tensor<4x3x7xf32>) -> tensor<2x16x7xf32> {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[2, 2]], lhs_dilate = [2]} : (tensor<2x8x3xf32>, tensor<4x3x7xf32>) -> tensor<2x16x7xf32>
  return %0 : tensor<2x16x7xf32>
}

// The loop of a scan has a known number of turns. What it carries unchanged, as a scan
// does with all that its body uses, is taken from outside, and so are its results.
// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %twelve = stablehlo.constant dense<12> : tensor<i32>
  // CHECK: %[[R:.+]]:2 = tp.for 12(%{{.+}}, %arg0)
  // CHECK-NEXT: ^bb0(%[[TURN:.+]]: tensor<i32>, %{{.+}}: tensor<i32>, %[[Y:.+]]: tensor<4xf32>):
  // CHECK-NEXT: %[[T:.+]] = tp.tanh %[[Y]]
  // CHECK-NEXT: %[[M:.+]] = tp.mul %[[T]], %arg1
  // CHECK: tp.yield %{{.+}}, %[[M]]
  // CHECK: return %[[R]]#1, %arg1, %{{.+}}
  %0:4 = stablehlo.while(%i = %zero, %y = %x, %n = %twelve, %v = %w) : tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.tanh %y : tensor<4xf32>
    %m = stablehlo.multiply %z, %v : tensor<4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %m, %n, %v : tensor<i32>, tensor<4xf32>, tensor<i32>, tensor<4xf32>
  }
  return %0#1, %0#3, %0#2 : tensor<4xf32>, tensor<4xf32>, tensor<i32>
}

// The same where the turns are not known; the condition takes it from outside, too.
// CHECK-LABEL: func.func @until
func.func @until(%x: tensor<f32>, %w: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  // CHECK: %[[R:.+]] = tp.while(%arg0) cond {
  // CHECK: tp.compare lt %{{.+}}, %arg1
  // CHECK: tp.mul %{{.+}}, %arg1
  // CHECK: return %[[R]], %arg1
  %0:2 = stablehlo.while(%y = %x, %v = %w) : tensor<f32>, tensor<f32>
  cond {
    %p = stablehlo.compare LT, %y, %v : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %m = stablehlo.multiply %y, %v : tensor<f32>
    stablehlo.return %m, %v : tensor<f32>, tensor<f32>
  }
  return %0#0, %0#1 : tensor<f32>, tensor<f32>
}

// Names: Python's, in the form of checkpoints; what may be overwritten.
// CHECK-LABEL: func.func @names
// CHECK-SAME: %arg0: tensor<4xf32> {tp.donated = 1 : i64, tp.name = "params.h.0.mu"}
// CHECK-SAME: %arg1: tensor<4xf32> {tp.name = "given"}
// CHECK-SAME: %arg2: tensor<4xf32>)
// CHECK-SAME: -> (tensor<4xf32> {tp.name = "result.loss"}, tensor<4xf32>)
func.func @names(%a: tensor<4xf32> {tf.aliasing_output = 1 : i32, jax.buffer_donor = true} loc("params['h'][0].mu"), %b: tensor<4xf32> {tp.name = "given"} loc("x"), %c: tensor<4xf32>) -> (tensor<4xf32> {jax.result_info = "result['loss']"}, tensor<4xf32>) {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0, %c : tensor<4xf32>, tensor<4xf32>
}

// Where JAX leaves the pairing to XLA, nothing is overwritten, and a warning says so.
// CHECK-LABEL: func.func @donors
// CHECK-SAME: (%arg0: tensor<4xf32> {tp.name = "x"}, %arg1: tensor<4xf32>)
// WARNING: structure.mlir:{{.*}}warning: the donated memory of 'x' and 1 other argument is not reused, because JAX does not say which result reuses it; pass out_shardings to jax.jit that equal the shardings of the arguments
func.func @donors(%a: tensor<4xf32> {jax.buffer_donor = true} loc("x"), %b: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// A number that is broadcast is that number in the larger shape; what else uses
// it keeps it.
// CHECK-LABEL: func.func @numbers
func.func @numbers(%x: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<f32>) {
  // CHECK-DAG: %[[HALF:.+]] = tp.constant dense<5.000000e-01> : tensor<f32>
  // CHECK-DAG: %[[HALVES:.+]] = tp.constant dense<5.000000e-01> : tensor<3x4xf32>
  // CHECK-DAG: %[[TWOS:.+]] = tp.constant dense<2.000000e+00> : tensor<3x4xf32>
  // CHECK-NOT: tp.constant
  // CHECK-NOT: tp.broadcast
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %two = stablehlo.constant dense<2.0> : tensor<1xf32>
  %0 = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %two, dims = [1] : (tensor<1xf32>) -> tensor<3x4xf32>
  // CHECK: %[[SUM:.+]] = tp.add %arg0, %[[HALVES]]
  %2 = stablehlo.add %x, %0 : tensor<3x4xf32>
  // CHECK: %[[PRODUCT:.+]] = tp.mul %[[SUM]], %[[TWOS]]
  %3 = stablehlo.multiply %2, %1 : tensor<3x4xf32>
  // CHECK: return %[[PRODUCT]], %[[HALF]]
  return %3, %half : tensor<3x4xf32>, tensor<f32>
}

// Nothing is counted beyond the largest number.
// CHECK-LABEL: func.func @far
// CHECK-NEXT: tp.slice %arg0 starts = [2] strides = [9223372036854775807] : tensor<8xf32> -> tensor<1xf32>
func.func @far(%x: tensor<8xf32>) -> tensor<1xf32> {
  %0 = stablehlo.slice %x [2:4:9223372036854775807] : (tensor<8xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}

// A recurrence by jax.lax.associative_scan slices tensors of no elements out, which
// nobody computes, joins or pads.
// CHECK-LABEL: func.func @nothing
func.func @nothing(%x: tensor<4x1xf32>, %v: tensor<f32>) -> (tensor<4x1xf32>, tensor<4x2xf32>, tensor<4x0xf32>) {
  // CHECK-NEXT: %[[NONE:.+]] = tp.constant dense<0.000000e+00> : tensor<4x0xf32>
  // CHECK-NEXT: %[[PADDING:.+]] = tp.broadcast %arg1 dims = [] : tensor<f32> -> tensor<4x2xf32>
  // CHECK-NEXT: return %arg0, %[[PADDING]], %[[NONE]]
  %0 = stablehlo.slice %x [0:4, 0:0] : (tensor<4x1xf32>) -> tensor<4x0xf32>
  %1 = stablehlo.slice %x [0:4, 1:1] : (tensor<4x1xf32>) -> tensor<4x0xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<4x0xf32>
  %3 = stablehlo.concatenate %x, %2, dim = 1 : (tensor<4x1xf32>, tensor<4x0xf32>) -> tensor<4x1xf32>
  %4 = stablehlo.pad %0, %v, low = [0, 2], high = [0, 0], interior = [0, 1] : (tensor<4x0xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %3, %4, %2 : tensor<4x1xf32>, tensor<4x2xf32>, tensor<4x0xf32>
}

// Interior padding is one op, from where to where it pads or cuts around it.
// CHECK-LABEL: func.func @interior
func.func @interior(%x: tensor<4x7xf32>, %v: tensor<f32>) -> (tensor<4x19xf32>, tensor<13x7xf32>) {
  // CHECK-NEXT: tp.dilate %arg0, %arg1 dim = 1 low = 0 spacing = 3 : (tensor<4x7xf32>, tensor<f32>) -> tensor<4x19xf32>
  // CHECK-NEXT: %[[WIDE:.+]] = tp.dilate %arg0, %arg1 dim = 0 low = -1 spacing = 4 : (tensor<4x7xf32>, tensor<f32>) -> tensor<13x7xf32>
  %0 = stablehlo.pad %x, %v, low = [0, 0], high = [0, 0], interior = [0, 2] : (tensor<4x7xf32>, tensor<f32>) -> tensor<4x19xf32>
  %1 = stablehlo.pad %x, %v, low = [-1, 0], high = [1, 0], interior = [3, 0] : (tensor<4x7xf32>, tensor<f32>) -> tensor<13x7xf32>
  return %0, %1 : tensor<4x19xf32>, tensor<13x7xf32>
}

// Inside of shard_map along some axes only, JAX constrains even the numbers that a
// reduction or a scatter combines.
sdy.mesh @mesh = <["data"=2, "model"=2]>
// CHECK-LABEL: func.func @elements
func.func @elements(%x: tensor<3x4xf32>, %zero: tensor<f32>) -> tensor<3xf32> {
  // CHECK-NOT: spmd.constraint
  // CHECK: tp.reduce sum %arg0
  // CHECK-NOT: spmd.constraint
  // CHECK: return
  %0 = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = sdy.sharding_constraint %a <@mesh, []> : tensor<f32>
    %2 = sdy.sharding_constraint %b <@mesh, []> : tensor<f32>
    %3 = stablehlo.add %1, %2 : tensor<f32>
    %4 = sdy.sharding_constraint %3 <@mesh, []> : tensor<f32>
    "stablehlo.return"(%4) : (tensor<f32>) -> ()
  }) : (tensor<3x4xf32>, tensor<f32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// JAX writes comparators as if they were entries, and ends them as a region.
// CHECK-LABEL: func.func @approximate
// CHECK: tp.top_k
// CHECK-NOT: func.func
func.func @approximate(%x: tensor<8xf32>) -> tensor<2xf32> {
  %v = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %i = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.iota dim = 0 : tensor<8xi32>
  %0:2 = stablehlo.custom_call @ApproxTopK(%x, %n, %v, %i) {called_computations = [@greater], mhlo.backend_config = {aggregate_to_topk = true, reduction_dim = 0 : i64, top_k = 2 : i64}} : (tensor<8xf32>, tensor<8xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
  return %0#0 : tensor<2xf32>
}
func.func @greater(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %0 : tensor<i1>
}

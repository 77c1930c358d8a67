// A step of training with q|k of different sizes in one weight and its bias:
// what the backward pass sums over the parts is a sum of products, and the
// gradients, the updated weight and its momentum are a result for each part. What
// is donated stays so, part by part. Results and arguments without names keep the
// numbers they had.
// RUN: split-file %s %t
// RUN: tp-opt %t/step.mlir --tp-split-packed | FileCheck %s
// RUN: tp-opt %t/step.mlir --tp-shard="mesh=model=2 plan=%t/plan.json" --tp-report="file=%t/report.json" -o %t/local.mlir 2>&1 | FileCheck %s --check-prefix=PACKED
// RUN: tp-opt %t/apart.mlir --tp-shard="mesh=model=2 plan=%t/apart.json" --tp-report="file=%t/report.json" -o /dev/null 2>&1 | FileCheck %s --check-prefix=APART
// RUN: tp-opt %t/step.mlir --tp-shard="mesh=model=2 plan=%t/results.json" | FileCheck %s --check-prefix=RESULTS
// RUN: tp-opt --tp-verify-against=%t/step.mlir %t/local.mlir -o /dev/null
// RUN: sed 's/tp.sub %w/tp.add %w/' %t/step.mlir > %t/other.mlir
// RUN: not tp-opt --tp-verify-against=%t/other.mlir %t/local.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: tp-opt %t/stays.mlir --tp-split-packed | FileCheck %s --check-prefix=STAYS
// RUN: tp-opt %t/norm.mlir --tp-split-packed | FileCheck %s --check-prefix=NORM
// RUN: tp-opt %t/norm.mlir --tp-shard=mesh=model=2 -o %t/local.mlir
// RUN: tp-opt --tp-verify-against=%t/norm.mlir %t/local.mlir -o /dev/null

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {tp.name = "x"}
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<8x8xf32> {tp.donated = 2 : i64, tp.name = "qk.weight#0"
// CHECK-SAME: %[[K:[a-z0-9]+]]: tensor<4x8xf32> {tp.donated = 3 : i64, tp.name = "qk.weight#1"
// CHECK-SAME: tensor<8xf32> {tp.name = "qk.bias#0"
// CHECK-SAME: tensor<4xf32> {tp.name = "qk.bias#1"
// CHECK-SAME: tensor<8x8xf32> {tp.donated = 4 : i64, tp.name = "qk.momentum#0", tp.role = "optimizer_state"
// CHECK-SAME: tensor<4x8xf32> {tp.donated = 5 : i64, tp.name = "qk.momentum#1", tp.role = "optimizer_state"
// CHECK-SAME: tensor<4x8xf32> {tp.name = "arg4"})
// CHECK-SAME: -> (tensor<8xf32> {tp.name = "grad.bias#0", tp.source = #tp.source<"grad.bias", stored=[12], start=[0], size=[8], view=[8], permutation=[0]>}
// CHECK-SAME: tensor<4xf32> {tp.name = "grad.bias#1", tp.source = #tp.source<"grad.bias", stored=[12], start=[8], size=[4], view=[4], permutation=[0]>}
// CHECK-SAME: tensor<8x8xf32> {tp.name = "result1#0"
// CHECK-SAME: tensor<4x8xf32> {tp.name = "result1#1"
// CHECK-SAME: tensor<8x8xf32> {tp.name = "momentum#0"
// CHECK-SAME: tensor<4x8xf32> {tp.name = "momentum#1"
// CHECK-SAME: tensor<4x8xf32> {tp.name = "result3"})
// CHECK-NOT: tp.concat
// CHECK: %[[DQ:.+]] = tp.einsum "so,oi->si" %{{.+}}, %[[Q]] :
// CHECK: %[[DK:.+]] = tp.einsum "so,oi->si" %{{.+}}, %[[K]] :
// CHECK: tp.add %[[DQ]], %[[DK]] :
// CHECK-NOT: tp.concat

// A plan means all parts of a result by its name.
// RESULTS: spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "grad.bias#0"
// RESULTS-SAME: spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "grad.bias#1"

// PACKED: @main: 1 all_reduce; 128 B sent
// APART: @main: 1 all_reduce; 128 B sent
// OTHER: error: [TP0705] function 'main', result #2 ("result1#0")

// The norm of a gradient is a sum of sums, and no gradient is computed twice: one
// that is taken whole somewhere stays so, and so does its weight if it is updated.
// NORM-LABEL: func.func @norm(
// NORM: %[[DA:.+]] = tp.einsum "so,si->oi" {{.+}} -> tensor<6x8xf32>
// NORM: %[[DB:.+]] = tp.einsum "so,si->oi" {{.+}} -> tensor<2x8xf32>
// NORM-NOT: tp.einsum
// NORM: %[[A:.+]] = tp.reduce sum %{{.+}} dims = [0, 1] : tensor<6x8xf32> -> tensor<f32>
// NORM: %[[B:.+]] = tp.reduce sum %{{.+}} dims = [0, 1] : tensor<2x8xf32> -> tensor<f32>
// NORM: tp.add %[[A]], %[[B]] : tensor<f32>
// NORM-LABEL: func.func @largest(
// NORM-NOT: #0
// NORM: return

// A product with what is not made of the parts leaves the weight as it is; a
// result that says how it lies, or is another buffer, stays one.
// STAYS-LABEL: func.func @sums(
// STAYS-NOT: #0
// STAYS-LABEL: func.func @buffer(
// STAYS: "both#0"{{.*}} "both#1"{{.*}}tp.name = "buffer"
// STAYS-SAME: -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32>)
// STAYS-LABEL: func.func @laid(
// STAYS: "laid#0"
// STAYS-SAME: -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32> {spmd.sharding

//--- plan.json
{"qk": "colwise"}
//--- results.json
{"qk": "colwise", "grad.bias": [["model"]]}
//--- apart.json
{"q": "colwise", "k": "colwise"}
//--- step.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<12x8xf32> {tp.name = "qk.weight", tp.source = #tp.source<"qk.weight", stored=[12, 8], start=[0, 0], size=[12, 8], view=[12, 8], permutation=[0, 1]>, tp.donated = 1},
    %b: tensor<12xf32> {tp.name = "qk.bias", tp.source = #tp.source<"qk.bias", stored=[12], start=[0], size=[12], view=[12], permutation=[0]>},
    %m: tensor<12x8xf32> {tp.name = "qk.momentum", tp.role = "optimizer_state", tp.source = #tp.source<"qk.momentum", stored=[12, 8], start=[0, 0], size=[12, 8], view=[12, 8], permutation=[0, 1]>, tp.donated = 2},
    %g: tensor<4x8xf32>)
    -> (tensor<12xf32> {tp.name = "grad.bias"}, tensor<12x8xf32>, tensor<12x8xf32> {tp.name = "momentum"}, tensor<4x8xf32>) {
  %y = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<4x12xf32>
  %0 = tp.broadcast %b dims = [1] : tensor<12xf32> -> tensor<4x12xf32>
  %1 = tp.add %y, %0 : tensor<4x12xf32>
  %q = tp.slice %1 starts = [0, 0] strides = [1, 1] : tensor<4x12xf32> -> tensor<4x8xf32>
  %k = tp.slice %1 starts = [0, 8] strides = [1, 1] : tensor<4x12xf32> -> tensor<4x4xf32>
  %dq = tp.mul %q, %g : tensor<4x8xf32>
  %dk = tp.mul %k, %k : tensor<4x4xf32>
  %2 = tp.transpose %dq [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  %3 = tp.transpose %dk [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
  %4 = tp.concat %2, %3 dim = 0 : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<12x4xf32>
  %dy = tp.transpose %4 [1, 0] : tensor<12x4xf32> -> tensor<4x12xf32>
  %dx = tp.einsum "so,oi->si" %dy, %w : (tensor<4x12xf32>, tensor<12x8xf32>) -> tensor<4x8xf32>
  %dw = tp.einsum "so,si->oi" %dy, %x : (tensor<4x12xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
  %db = tp.reduce sum %dy dims = [0] : tensor<4x12xf32> -> tensor<12xf32>
  %c = tp.constant dense<0.9> : tensor<12x8xf32>
  %5 = tp.mul %m, %c : tensor<12x8xf32>
  %6 = tp.add %5, %dw : tensor<12x8xf32>
  %7 = tp.sub %w, %6 : tensor<12x8xf32>
  return %db, %7, %6, %dx : tensor<12xf32>, tensor<12x8xf32>, tensor<12x8xf32>, tensor<4x8xf32>
}
//--- apart.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %wq: tensor<8x8xf32> {tp.name = "q.weight", tp.donated = 2}, %wk: tensor<4x8xf32> {tp.name = "k.weight", tp.donated = 3},
    %bq: tensor<8xf32> {tp.name = "q.bias"}, %bk: tensor<4xf32> {tp.name = "k.bias"},
    %mq: tensor<8x8xf32> {tp.name = "q.momentum", tp.donated = 4}, %mk: tensor<4x8xf32> {tp.name = "k.momentum", tp.donated = 5},
    %g: tensor<4x8xf32>)
    -> (tensor<8xf32>, tensor<4xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %0 = tp.einsum "si,oi->so" %x, %wq : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.einsum "si,oi->so" %x, %wk : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %2 = tp.broadcast %bq dims = [1] : tensor<8xf32> -> tensor<4x8xf32>
  %3 = tp.broadcast %bk dims = [1] : tensor<4xf32> -> tensor<4x4xf32>
  %q = tp.add %0, %2 : tensor<4x8xf32>
  %k = tp.add %1, %3 : tensor<4x4xf32>
  %dq = tp.mul %q, %g : tensor<4x8xf32>
  %dk = tp.mul %k, %k : tensor<4x4xf32>
  %4 = tp.einsum "so,oi->si" %dq, %wq : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %5 = tp.einsum "so,oi->si" %dk, %wk : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dx = tp.add %4, %5 : tensor<4x8xf32>
  %dwq = tp.einsum "so,si->oi" %dq, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %dwk = tp.einsum "so,si->oi" %dk, %x : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %dbq = tp.reduce sum %dq dims = [0] : tensor<4x8xf32> -> tensor<8xf32>
  %dbk = tp.reduce sum %dk dims = [0] : tensor<4x4xf32> -> tensor<4xf32>
  %cq = tp.constant dense<0.9> : tensor<8x8xf32>
  %ck = tp.constant dense<0.9> : tensor<4x8xf32>
  %6 = tp.mul %mq, %cq : tensor<8x8xf32>
  %7 = tp.mul %mk, %ck : tensor<4x8xf32>
  %8 = tp.add %6, %dwq : tensor<8x8xf32>
  %9 = tp.add %7, %dwk : tensor<4x8xf32>
  %10 = tp.sub %wq, %8 : tensor<8x8xf32>
  %11 = tp.sub %wk, %9 : tensor<4x8xf32>
  return %dbq, %dbk, %10, %11, %8, %9, %dx : tensor<8xf32>, tensor<4xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}
//--- stays.mlir
spmd.mesh @mesh <["model"=2]>
func.func @sums(%x: tensor<4x8xf32> {tp.name = "x"}, %dy: tensor<4x8xf32> {tp.name = "dy"},
    %w: tensor<8x8xf32> {tp.name = "sums", tp.source = #tp.source<"sums", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>})
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>) {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = tp.slice %0 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %3 = tp.einsum "so,oi->si" %dy, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %1, %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x8xf32>
}
func.func @buffer(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8x8xf32> {tp.name = "both", tp.source = #tp.source<"both", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %buffer: tensor<8x8xf32> {tp.name = "buffer", tp.donated = 2})
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32>) {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = tp.slice %0 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %3 = tp.concat %1, %2 dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %4 = tp.einsum "so,si->oi" %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %1, %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32>
}
func.func @laid(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8x8xf32> {tp.name = "laid", tp.source = #tp.source<"laid", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>})
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = tp.slice %0 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %3 = tp.concat %1, %2 dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %4 = tp.einsum "so,si->oi" %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %1, %2, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<8x8xf32>
}
//--- norm.mlir
func.func @norm(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8x8xf32> {tp.name = "norm", tp.source = #tp.source<"norm", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>, tp.donated = 0})
    -> (tensor<8x8xf32> {tp.name = "norm.new"}) {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  %2 = tp.slice %0 starts = [0, 6] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  %3 = tp.concat %1, %2 dim = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %dw = tp.einsum "so,si->oi" %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %4 = tp.mul %dw, %dw : tensor<8x8xf32>
  %5 = tp.reduce sum %4 dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %6 = tp.broadcast %5 dims = [] : tensor<f32> -> tensor<8x8xf32>
  %7 = tp.mul %dw, %6 : tensor<8x8xf32>
  %8 = tp.sub %w, %7 : tensor<8x8xf32>
  return %8 : tensor<8x8xf32>
}
func.func @largest(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<8x8xf32> {tp.name = "largest", tp.source = #tp.source<"largest", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>, tp.donated = 0})
    -> (tensor<8x8xf32> {tp.name = "largest.new"}) {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  %2 = tp.slice %0 starts = [0, 6] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  %3 = tp.concat %1, %2 dim = 1 : (tensor<4x6xf32>, tensor<4x2xf32>) -> tensor<4x8xf32>
  %dw = tp.einsum "so,si->oi" %3, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %5 = tp.reduce max %dw dims = [0, 1] : tensor<8x8xf32> -> tensor<f32>
  %6 = tp.broadcast %5 dims = [] : tensor<f32> -> tensor<8x8xf32>
  %7 = tp.mul %dw, %6 : tensor<8x8xf32>
  %8 = tp.sub %w, %7 : tensor<8x8xf32>
  return %8 : tensor<8x8xf32>
}

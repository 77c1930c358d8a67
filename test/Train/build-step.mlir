// A step of AdamW: parameters, states and the counter are donated to what they become,
// which stands before the loss and the other results. States have the sharding of their
// parameter, and bf16 ones a copy in f32, which is the parameter in the first step. What
// is frozen stays, a weight that is used twice is one, and the program of the loss is kept.
// RUN: tp-opt %s --tp-train="loss=loss train=table,bias optimizer=adamw(lr=0.1,weight_decay=0.5) schedule=constant(warmup=8) no_decay=bias master=f32" --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

spmd.mesh @mesh <["data"=2, "model"=2]>

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[TABLE:[a-z0-9]+]]: tensor<4x8xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.donated = 0 : i64, tp.name = "table", tp.role = "parameter"}
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: tensor<8xf32> {tp.donated = 1 : i64, tp.name = "bias", tp.role = "parameter"}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<8xf32> {tp.name = "frozen", tp.role = "parameter"}
// CHECK-SAME: %{{[a-z0-9]+}}: tensor<6x4xf32> {tp.name = "x"}
// CHECK-SAME: %[[STEP:[a-z0-9]+]]: tensor<i32> {tp.donated = 7 : i64, tp.name = "train.step", tp.role = "optimizer_state"}
// CHECK-SAME: %[[MASTER:[a-z0-9]+]]: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.donated = 2 : i64, tp.name = "adamw.master/table", tp.role = "optimizer_state"}
// CHECK-SAME: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.donated = 3 : i64, tp.name = "adamw.exp_avg/table", tp.role = "optimizer_state"}
// CHECK-SAME: tensor<4x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.donated = 4 : i64, tp.name = "adamw.exp_avg_sq/table", tp.role = "optimizer_state"}
// CHECK-SAME: tensor<8xf32> {tp.donated = 5 : i64, tp.name = "adamw.exp_avg/bias", tp.role = "optimizer_state"}
// CHECK-SAME: tensor<8xf32> {tp.donated = 6 : i64, tp.name = "adamw.exp_avg_sq/bias", tp.role = "optimizer_state"}
// CHECK-SAME: -> (tensor<4x8xbf16> {tp.name = "table"}, tensor<8xf32> {tp.name = "bias"}, tensor<4x8xf32> {tp.name = "adamw.master/table"}
// CHECK-SAME: tensor<i32> {tp.name = "train.step"}, tensor<f32> {tp.name = "loss"}, tensor<6x8xf32> {tp.name = "result0"})

// The factor of the learning rate, from 0 at the first step.
// CHECK: %[[AT:.+]] = tp.convert %[[STEP]] : tensor<i32> -> tensor<f32> loc("train.schedule")
// CHECK: %[[WARMUP:.+]] = tp.constant dense<8.000000e+00> : tensor<f32>
// CHECK: tp.div %[[AT]], %[[WARMUP]] : tensor<f32>

// CHECK: %[[WIDE:.+]] = tp.convert %[[TABLE]] : tensor<4x8xbf16> -> tensor<4x8xf32> loc("adamw(table)")
// CHECK: %[[FIRST:.+]] = tp.compare eq %[[STEP]],
// CHECK: %[[ALL:.+]] = tp.broadcast %[[FIRST]]
// CHECK: %[[OLD:.+]] = tp.select %[[ALL]], %[[WIDE]], %[[MASTER]]
// CHECK: tp.mul %[[OLD]], %{{.+}} : tensor<4x8xf32> loc("adamw(table)")

// CHECK: tp.convert %{{.+}} : tensor<4x8xf32> -> tensor<4x8xbf16> loc("adamw(table)")
// The bias does not decay.
// CHECK-NOT: tp.mul %[[BIAS]]
// CHECK: tp.sub %[[BIAS]], %{{.+}} : tensor<8xf32> loc("adamw(bias)")
// CHECK: tp.add %[[STEP]], %{{.+}} : tensor<i32> loc("train.step")

// CHECK-LABEL: func.func @evaluate(
// CHECK-SAME: tensor<4x8xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.name = "table", tp.role = "parameter"}
// CHECK-SAME: -> (tensor<6x8xf32>, tensor<f32> {tp.name = "loss"})

func.func @main(%table: tensor<4x8xbf16> {tp.name = "table", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
    %bias: tensor<8xf32> {tp.name = "bias"}, %frozen: tensor<8xf32> {tp.name = "frozen", tp.role = "parameter"}, %x: tensor<6x4xf32> {tp.name = "x"})
    -> (tensor<6x8xf32>, tensor<f32> {tp.name = "loss"}) {
  %w = tp.convert %table : tensor<4x8xbf16> -> tensor<4x8xf32>
  %0 = tp.einsum "bi,io->bo" %x, %w : (tensor<6x4xf32>, tensor<4x8xf32>) -> tensor<6x8xf32>
  %1 = tp.add %bias, %frozen : tensor<8xf32>
  %2 = tp.broadcast %1 dims = [1] : tensor<8xf32> -> tensor<6x8xf32>
  %3 = tp.add %0, %2 : tensor<6x8xf32>
  %4 = tp.einsum "bo,io->bi" %3, %w : (tensor<6x8xf32>, tensor<4x8xf32>) -> tensor<6x4xf32>
  %5 = tp.mul %4, %4 : tensor<6x4xf32>
  %loss = tp.reduce sum %5 dims = [0, 1] : tensor<6x4xf32> -> tensor<f32>
  return %3, %loss : tensor<6x8xf32>, tensor<f32>
}

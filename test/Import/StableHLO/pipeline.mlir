// RUN: tp-opt %s --tp-shard=stop-after=collectives | FileCheck %s
// RUN: tp-opt %s --tp-compile=target=cpu --tp-artifact=%t.tpx -o /dev/null
// RUN: tp-run %t.tpx --check
// RUN: tp-opt %s --tp-shard -o %t.local.mlir
// RUN: tp-opt %t.local.mlir --tp-verify-against=%s -o /dev/null
// RUN: tp-run %s --backend=interpreter --print | FileCheck %s --check-prefix=PRINTED

// What JAX exports of a layer in tensor parallel goes through all stages as it is:
// one sum over the devices, and compiled ranks compute what the whole program
// does. So do the checker, and the interpreter, of the file itself.
// PRINTED: result
module @jit_mlp attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["model"=2]> {stablehlo.mesh = {axes = [{name = "model", size = 2 : i64}]}}
  // CHECK-LABEL: func.func public @main
  // CHECK-SAME: tp.name = "params.up"
  // CHECK: tp.einsum
  // CHECK-NOT: spmd.all
  // CHECK: tp.einsum
  // CHECK: spmd.all_reduce %{{.+}} {"model"}
  // CHECK-NOT: spmd.all
  // CHECK: return
  func.func public @main(%arg0: tensor<4x8xf32> loc("x"), %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['up']"), %arg2: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>} loc("params['down']")) -> (tensor<4x8xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %1 = call @relu(%0) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %2 = stablehlo.dot_general %1, %arg2, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
  func.func private @relu(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x16xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<4x16xf32>
    return %1 : tensor<4x16xf32>
  }
}

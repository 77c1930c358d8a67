// What jax.debug.print and jax.debug.callback write gives no result, and is
// dropped with a warning, in loops and functions as well; so is the mesh of one
// device that nothing else is on.
// RUN: tp-opt %s --tp-import-stablehlo 2> %t | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t
// RUN: tp-opt %s --tp-shard -o /dev/null

// CHECK: spmd.mesh @mesh
// CHECK-NOT: spmd.mesh
// CHECK-NOT: custom_call
// WARNING: callbacks.mlir:[[#@LINE+4]]:{{[0-9]+}}: warning: the call of @xla_ffi_python_cpu_callback has no result and is left out of the program, because devices do not call the host
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
sdy.mesh @mesh = <["x"=2]>
func.func @main(%x: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<4x8xf32> {
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<4x8xf32>) -> ()
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %less = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    %next = func.call @body(%c) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %next : tensor<i32>, tensor<4x8xf32>
  }
  return %0#1 : tensor<4x8xf32>
}
// WARNING: callbacks.mlir:[[#@LINE+2]]:{{[0-9]+}}: warning: the call of @xla_ffi_python_cpu_callback
func.func private @body(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%x) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<4x8xf32>) -> ()
  %0 = stablehlo.add %x, %x : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

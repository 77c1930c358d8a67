// What the interpreter and the comparison refuse, each with its code.
//
// RUN: split-file %s %t
// RUN: not tp-opt %t/x.mlir --tp-verify-against -o %t/out 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: [TP0709] cannot read the whole program from ""
// RUN: not tp-opt %t/x.mlir --tp-verify-against=whole=%t/absent.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ABSENT
// ABSENT: error: [TP0709] cannot read the whole program from "{{.*}}absent.mlir"

// RUN: not tp-opt %t/x.mlir --tp-verify-against=whole=%t/g.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: error: [TP0706] function 'g' of the whole program is missing from this program
// RUN: not tp-opt %t/more.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: error: [TP0706] function 'more' is not in the whole program
// RUN: not tp-opt %t/arguments.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ARGUMENTS
// ARGUMENTS: error: [TP0706] function 'f' takes 2 arguments, but in the whole program it takes 1
// RUN: not tp-opt %t/names.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=NAMES
// NAMES: error: [TP0706] function 'f', argument #0: the whole program has no argument called "y"
// RUN: not tp-opt %t/types.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=TYPES
// TYPES: error: [TP0706] function 'f', argument #0: its global type is 'tensor<5xf32>', but its type in the whole program is 'tensor<4xf32>'
// RUN: not tp-opt %t/results.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=RESULTS
// RESULTS: error: [TP0706] function 'f', result #0: its global type is 'tensor<2xf32>', but its type in the whole program is 'tensor<4xf32>'
// RUN: not tp-opt %t/local.mlir --tp-verify-against=whole=%t/local.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: error: [TP0706] expects the whole program, but this program has local types

// RUN: not tp-opt %t/size.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: error: {{.*}}[TP0704] 'tensor<3xf32, {{.*}}>': expects one device's part to have sizes [2]
// RUN: not tp-opt %t/plain.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=PLAIN
// PLAIN: error: [TP0704] result #0 is 'tensor<4xf32>', without #spmd.local, but other types of the function have it
// RUN: not tp-opt %t/unknown-axis.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=AXIS
// AXIS: error: {{.*}}[TP0202] 'tensor<2xf32, {{.*}}>': mesh @mesh has no axis "z"
// RUN: not tp-opt %t/unknown-mesh.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=MESH
// MESH: error: {{.*}}[TP0201] 'tensor<2xf32, {{.*}}>': the module has no mesh @net

// RUN: not tp-opt %t/place.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=PLACE
// PLACE: error: {{.*}}[TP0202] mesh @mesh has no axis "z"
// RUN: not tp-opt %t/reshard.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=RESHARD
// RESHARD: error: [TP0701] a reshard of local values cannot be interpreted: run tp-plan-collectives, which replaces it with collectives
// RUN: not tp-opt %t/foreign.mlir --tp-verify-against=whole=%t/x.mlir --allow-unregistered-dialect -o %t/out 2>&1 | FileCheck %s --check-prefix=FOREIGN
// FOREIGN: error: [TP0701] 'other.op' cannot be interpreted: it implements neither EvaluateOpInterface nor DecomposeOpInterface
// RUN: not tp-opt %t/scalar.mlir --tp-verify-against=whole=%t/scalar.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=SCALAR
// SCALAR: error: [TP0701] argument #0 is 'i32', which is not supported: expects a tensor of floats or integers
// RUN: not tp-opt %t/endless.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=ENDLESS
// ENDLESS: error: [TP0707] the loop has not ended after 1024 iterations
// RUN: not tp-opt %t/recursive.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=RECURSIVE
// RECURSIVE: error: [TP0707] calls are nested more than 256 deep
// RUN: not tp-opt %t/large.mlir --tp-verify-against=whole=%t/large.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=LARGE
// LARGE: error: {{.*}}[TP0708] 'tensor<1000000x1000000xf32>' on 1 devices exceeds the interpreter's limit of {{[0-9]+}} elements
// RUN: not tp-opt %t/devices.mlir --tp-verify-against=whole=%t/x.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=DEVICES
// DEVICES: error: {{.*}}[TP0708] 1000000 devices exceed the interpreter's limit of 4096

//--- x.mlir
func.func @f(%x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
//--- g.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @g() {
  return
}
//--- more.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @more() {
  return
}
//--- arguments.mlir
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
//--- names.mlir
func.func @f(%x: tensor<4xf32> {tp.name = "y"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
//--- types.mlir
func.func @f(%x: tensor<5xf32>) -> tensor<5xf32> {
  return %x : tensor<5xf32>
}
//--- results.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = tp.slice %x starts = [0] strides = [1] : tensor<4xf32> -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
//--- local.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}
//--- size.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<3xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}
//--- plain.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> tensor<4xf32> {
  %0 = tp.constant dense<0.0> : tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- unknown-axis.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"z"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}
//--- unknown-mesh.mlir
!x = tensor<2xf32, #spmd.local<@net, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}
//--- place.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  %0 = spmd.shift %x along @mesh {"z"} by 1 wrap : !x
  return %0 : !x
}
//--- reshard.mlir
spmd.mesh @mesh <["x"=2]>
!x = tensor<2xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  %0 = spmd.reshard %x <@mesh, [{"x"}]> : !x
  return %0 : !x
}
//--- foreign.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "other.op"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- scalar.mlir
func.func @f(%x: i32) -> i32 {
  return %x : i32
}
//--- endless.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %yes = tp.constant dense<true> : tensor<i1>
  %0 = tp.while (%x) cond {
  ^bb0(%c: tensor<4xf32>):
    tp.yield %yes : tensor<i1>
  } do {
  ^bb0(%c: tensor<4xf32>):
    tp.yield %c : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- recursive.mlir
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
//--- large.mlir
func.func @f(%x: tensor<1000000x1000000xf32>) -> tensor<1000000x1000000xf32> {
  return %x : tensor<1000000x1000000xf32>
}
//--- devices.mlir
spmd.mesh @mesh <["x"=1000000]>
!x = tensor<1xf32, #spmd.local<@mesh, [{"x"}], global=[4]>>
func.func @f(%x: !x) -> !x {
  return %x : !x
}

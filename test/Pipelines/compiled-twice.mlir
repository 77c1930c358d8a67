// Steps are no program to compile: an error, whatever the types are that they compute
// with.

// RUN: tp-opt %s --tp-compile="mesh=model=1" -o %t
// RUN: FileCheck %s --check-prefix=STEPS --input-file=%t
// STEPS: i64 to i32
// RUN: not tp-opt %t --tp-compile="mesh=model=1" 2>&1 | FileCheck %s
// CHECK: error: [TP0720] the module has no function with a body, so there is nothing to shard

func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> (tensor<4x6xf32> {tp.name = "y"}) {
  %i = tp.iota dim = 1 : tensor<4x6xi32>
  %f = tp.convert %i : tensor<4x6xi32> -> tensor<4x6xf32>
  %y = tp.mul %x, %f : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

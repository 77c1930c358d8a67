// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// L1: a sharding found only on a use after the loop reaches the initial value.
//
// EXPECT: none
// PROPAGATED: x [a?,b?]; t [a?,b?]; r [a?,b?]

spmd.mesh @mesh <["a"=2, "b"=2]>

func.func @main(%x: tensor<32x96xf32> {tp.name = "x"},
                %z: tensor<32x96xf32> {tp.name = "z", spmd.sharding = #spmd.sharding<@mesh, [{"a"}, {"b"}]>})
    -> (tensor<32x96xf32>) {
  %zero = tp.constant dense<0> : tensor<i32>
  %r:2 = tp.while (%x, %zero) cond {
  ^bb0(%c: tensor<32x96xf32>, %n: tensor<i32>):
    %three = tp.constant dense<3> : tensor<i32>
    %m = tp.compare lt %n, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %m : tensor<i1>
  } do {
  ^bb0(%v: tensor<32x96xf32>, %n: tensor<i32>):
    %one = tp.constant dense<1> : tensor<i32>
    %next = tp.add %n, %one : tensor<i32>
    %t = tp.tanh %v : tensor<32x96xf32>
    tp.yield %t, %next : tensor<32x96xf32>, tensor<i32>
  } : (tensor<32x96xf32>, tensor<i32>) -> (tensor<32x96xf32>, tensor<i32>)
  %y = tp.add %r#0, %z : tensor<32x96xf32>
  return %y : tensor<32x96xf32>
}

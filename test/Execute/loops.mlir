// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Loops come through the whole pipeline: counters and conditions are scalars that
// every device has, carried values are cut, unevenly.
//
// RUN: tp-opt %s --tp-shard -o %t.mlir
// RUN: tp-opt %t.mlir --tp-verify-against=whole=%s -o %t.checked

spmd.mesh @mesh <["model"=4]>
func.func @main(%x: tensor<8x6xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
               %w: tensor<6x6xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
               %n: tensor<i32> {tp.name = "n"}) -> (tensor<8x6xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %r = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %h: tensor<8x6xf32>):
    %3 = tp.einsum "bo,oi->bi" %h, %w : (tensor<8x6xf32>, tensor<6x6xf32>) -> tensor<8x6xf32>
    tp.yield %3 : tensor<8x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %zero = tp.constant dense<0> : tensor<i32>
  %s, %t = tp.while (%zero, %r) cond {
  ^bb0(%i: tensor<i32>, %h: tensor<8x6xf32>):
    %two = tp.constant dense<2> : tensor<i32>
    %c = tp.compare lt %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i32>, %h: tensor<8x6xf32>):
    %one = tp.constant dense<1> : tensor<i32>
    %j = tp.add %i, %one : tensor<i32>
    %a = tp.add %h, %h : tensor<8x6xf32>
    tp.yield %j, %a : tensor<i32>, tensor<8x6xf32>
  } : (tensor<i32>, tensor<8x6xf32>) -> (tensor<i32>, tensor<8x6xf32>)
  return %t : tensor<8x6xf32>
}

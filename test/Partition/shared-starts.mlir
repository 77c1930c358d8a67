// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives that will be combined share a start in the plan. If each paid one
// of 10 us, it would be cheaper to gather the batch and to compute all of it on
// every device.
//
// RUN: tp-opt %s --tp-shard=machine=h100 --tp-report -o /dev/null 2>&1 | FileCheck %s

spmd.mesh @mesh <["data"=4]>
#batch = #spmd.sharding<@mesh, [{"data"}, {}]>
#whole = #spmd.sharding<@mesh, [{}, {}]>
#row = #spmd.sharding<@mesh, [{"data"}]>
!x = tensor<512x256xf32>
!long = tensor<2048x256xf32>
!w = tensor<256x256xf32>
!row = tensor<512xf32>
!column = tensor<256xf32>
!square = tensor<512x512xf32>

// CHECK-LABEL: @data_parallel: 1 all_reduce;
func.func @data_parallel(
    %x: !x {spmd.sharding = #batch},
    %w0: !w,
    %w1: !w,
    %w2: !w,
    %w3: !w)
    -> (!w, !w, !w, !w) {
  %h0 = tp.einsum "bi,ij->bj" %x, %w0 : (!x, !w) -> !x
  %h1 = tp.einsum "bi,ij->bj" %h0, %w1 : (!x, !w) -> !x
  %h2 = tp.einsum "bi,ij->bj" %h1, %w2 : (!x, !w) -> !x
  %h3 = tp.einsum "bi,ij->bj" %h2, %w3 : (!x, !w) -> !x
  %d3 = tp.einsum "bi,bj->ij" %h2, %h3 : (!x, !x) -> !w
  %n3 = tp.sub %w3, %d3 : !w
  %g3 = tp.einsum "bj,ij->bi" %h3, %w3 : (!x, !w) -> !x
  %d2 = tp.einsum "bi,bj->ij" %h1, %g3 : (!x, !x) -> !w
  %n2 = tp.sub %w2, %d2 : !w
  %g2 = tp.einsum "bj,ij->bi" %g3, %w2 : (!x, !w) -> !x
  %d1 = tp.einsum "bi,bj->ij" %h0, %g2 : (!x, !x) -> !w
  %n1 = tp.sub %w1, %d1 : !w
  %g1 = tp.einsum "bj,ij->bi" %g2, %w1 : (!x, !w) -> !x
  %d0 = tp.einsum "bi,bj->ij" %x, %g1 : (!x, !x) -> !w
  %n0 = tp.sub %w0, %d0 : !w
  return %n0, %n1, %n2, %n3 : !w, !w, !w, !w
}

// CHECK-LABEL: @fsdp: 1 all_gather, 1 reduce_scatter;
func.func @fsdp(
    %x: !long {spmd.sharding = #batch},
    %w0: !w {spmd.sharding = #batch},
    %w1: !w {spmd.sharding = #batch},
    %w2: !w {spmd.sharding = #batch},
    %w3: !w {spmd.sharding = #batch})
    -> (!w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch},
        !w {spmd.sharding = #batch}) {
  %h0 = tp.einsum "bi,ij->bj" %x, %w0 : (!long, !w) -> !long
  %h1 = tp.einsum "bi,ij->bj" %h0, %w1 : (!long, !w) -> !long
  %h2 = tp.einsum "bi,ij->bj" %h1, %w2 : (!long, !w) -> !long
  %h3 = tp.einsum "bi,ij->bj" %h2, %w3 : (!long, !w) -> !long
  %d3 = tp.einsum "bi,bj->ij" %h2, %h3 : (!long, !long) -> !w
  %n3 = tp.sub %w3, %d3 : !w
  %g3 = tp.einsum "bj,ij->bi" %h3, %w3 : (!long, !w) -> !long
  %d2 = tp.einsum "bi,bj->ij" %h1, %g3 : (!long, !long) -> !w
  %n2 = tp.sub %w2, %d2 : !w
  %g2 = tp.einsum "bj,ij->bi" %g3, %w2 : (!long, !w) -> !long
  %d1 = tp.einsum "bi,bj->ij" %h0, %g2 : (!long, !long) -> !w
  %n1 = tp.sub %w1, %d1 : !w
  %g1 = tp.einsum "bj,ij->bi" %g2, %w1 : (!long, !w) -> !long
  %d0 = tp.einsum "bi,bj->ij" %x, %g1 : (!long, !long) -> !w
  %n0 = tp.sub %w0, %d0 : !w
  return %n0, %n1, %n2, %n3 : !w, !w, !w, !w
}

// The sum of the loss goes with those of gradients: nothing is gathered so that
// it need not be a sum of its own.
// CHECK-LABEL: @loss: 1 all_reduce;
func.func @loss(
    %x: !x {spmd.sharding = #batch},
    %labels: !row {spmd.sharding = #row},
    %w: !w,
    %v: !column)
    -> (tensor<f32>, !w, !column) {
  %h = tp.einsum "bi,ij->bj" %x, %w : (!x, !w) -> !x
  %z = tp.einsum "bj,j->b" %h, %v : (!x, !column) -> !row
  %p = tp.tanh %z : !row
  %n = tp.neg %p : !row
  %l = tp.mul %labels, %n : !row
  %loss = tp.reduce sum %l dims = [0] : !row -> tensor<f32>
  %d = tp.mul %labels, %p : !row
  %dv = tp.einsum "bj,b->j" %h, %d : (!x, !row) -> !column
  %dh = tp.einsum "b,j->bj" %d, %v : (!row, !column) -> !x
  %dw = tp.einsum "bi,bj->ij" %x, %dh : (!x, !x) -> !w
  return %loss, %dw, %dv : tensor<f32>, !w, !column
}

// Words are of another type than weights, so that no launch gathers both: it is
// no cheaper to gather them than what is computed with a part of them.
// CHECK-LABEL: @words: 1 all_gather;
// CHECK: all_gather {data} of y,
func.func @words(
    %words: tensor<512xi32> {spmd.sharding = #row},
    %table: tensor<4096x512xf32>,
    %w0: !square,
    %w1: !square {spmd.sharding = #batch},
    %w2: !square {spmd.sharding = #batch},
    %w3: !square {spmd.sharding = #batch})
    -> (!square {spmd.sharding = #whole},
        !square {spmd.sharding = #batch}) {
  %rows = tp.embedding %table, %words : (tensor<4096x512xf32>, tensor<512xi32>) -> !square
  %y = tp.einsum "bi,ij->bj" %rows, %w0 : (!square, !square) -> !square
  %w12 = tp.add %w1, %w2 : !square
  %w = tp.add %w12, %w3 : !square
  return %y, %w : !square, !square
}

// Few of the values that may be gathered are: the two weights are not priced as if
// the activation were gathered with them.
// CHECK-LABEL: @few: 1 all_reduce;
spmd.mesh @two <["data"=2, "model"=2]>
func.func @few(
    %x: tensor<2x64x256xf32> {spmd.sharding = #spmd.sharding<@two, [{"data"}, {}, {}]>},
    %up: !w {spmd.sharding = #spmd.sharding<@two, [{}, {"model"}]>},
    %down: !w {spmd.sharding = #spmd.sharding<@two, [{"model"}, {}]>}) -> tensor<2x64x256xf32> {
  %h = tp.einsum "bsi,io->bso" %x, %up : (tensor<2x64x256xf32>, !w) -> tensor<2x64x256xf32>
  %a = tp.gelu %h : tensor<2x64x256xf32>
  %y = tp.einsum "bso,oi->bsi" %a, %down : (tensor<2x64x256xf32>, !w) -> tensor<2x64x256xf32>
  %z = tp.add %x, %y : tensor<2x64x256xf32>
  return %z : tensor<2x64x256xf32>
}

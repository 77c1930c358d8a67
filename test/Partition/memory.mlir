// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A plan that needs more memory than there is makes way for one that fits.
//
// RUN: tp-opt %s --tp-propagate --tp-partition --split-input-file | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: tp-opt %s --tp-propagate --tp-partition=memory=72GiB --split-input-file | FileCheck %s --check-prefixes=ALL
// RUN: tp-opt %s --tp-propagate --tp-partition=memory=12KiB --split-input-file | FileCheck %s --check-prefix=TIGHT

// The gathered weight of the first product waits for the last one, while the
// other needs its own, of 4 KiB like it. With the shards of both, 2 KiB, and the
// input, operand and result of a product, 6 KiB, that is 16 KiB.
spmd.mesh @mesh <["data"=4]>
// ALL-LABEL: func.func @gathers_again
// CHECK-COUNT-2: spmd.reshard
// CHECK-NOT: spmd.reshard
// TIGHT: tp.plan = #tp.plan<memory = 12288>
// TIGHT-LABEL: func.func @gathers_again
// TIGHT:      %[[FIRST:.+]] = spmd.reshard %arg1
// TIGHT-NEXT: = tp.einsum "bi,io->bo" %arg0, %[[FIRST]]
// TIGHT:      spmd.reshard %arg2
// TIGHT-NEXT: = tp.einsum
// TIGHT:      %[[AGAIN:.+]] = spmd.reshard %arg1
// TIGHT-NEXT: = tp.einsum {{.*}}, %[[AGAIN]]
#batch = #spmd.sharding<@mesh, [{"data"}, {}]>
!x = tensor<64x32xf32>
!w = tensor<32x32xf32>
func.func @gathers_again(
    %x: !x {spmd.sharding = #batch},
    %v: !w {spmd.sharding = #batch, tp.role = "parameter"},
    %w: !w {spmd.sharding = #batch, tp.role = "parameter"})
    -> (!x {spmd.sharding = #batch}) {
  %a = tp.einsum "bi,io->bo" %x, %v : (!x, !w) -> !x
  %b = tp.einsum "bi,io->bo" %a, %w : (!x, !w) -> !x
  %c = tp.einsum "bo,io->bi" %b, %v : (!x, !w) -> !x
  return %c : !x
}

// -----

// Decomposed, this attention sums its results, which is less than gathering keys
// and values, and holds scores of 16 KiB. It stays whole where they have no room.
spmd.mesh @mesh <["x"=4]>
// ALL-LABEL: func.func @keeps_no_scores
// ALL-NOT: tp.attention
// ALL: return
// TIGHT-LABEL: func.func @keeps_no_scores
// TIGHT: tp.attention
#keys = #spmd.sharding<@mesh, [{}, {"x"}, {}, {}]>
#whole = #spmd.sharding<@mesh, [{}, {}, {}, {}, {}]>
!q = tensor<1x64x1x1x8xf32>
!k = tensor<1x256x1x8xf32>
func.func @keeps_no_scores(
    %q: !q {spmd.sharding = #whole}, %k: !k {spmd.sharding = #keys},
    %v: !k {spmd.sharding = #keys}) -> (!q {spmd.sharding = #whole}) {
  %a = tp.attention %q, %k, %v {scale = 0.125 : f64} : (!q, !k, !k) -> !q
  return %a : !q
}

// -----

// At equal bytes attention stays whole, however much memory there is.
spmd.mesh @mesh <["x"=4]>
// ALL-LABEL: func.func @stays_whole
// ALL: tp.attention
// TIGHT-LABEL: func.func @stays_whole
// TIGHT: tp.attention
#s = #spmd.sharding<@mesh, [{}, {"x"}, {}, {}, {}]>
#t = #spmd.sharding<@mesh, [{}, {"x"}, {}, {}]>
!q = tensor<4x64x2x1x8xf32>
!k = tensor<4x64x2x8xf32>
func.func @stays_whole(
    %q: !q {spmd.sharding = #s}, %k: !k {spmd.sharding = #t},
    %v: !k {spmd.sharding = #t}) -> (!q {spmd.sharding = #s}) {
  %a = tp.attention %q, %k, %v {scale = 0.125 : f64} : (!q, !k, !k) -> !q
  return %a : !q
}

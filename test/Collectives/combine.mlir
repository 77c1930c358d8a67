// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Collectives that do not wait for each other are one launch, behind the last
// operand and before the first use.
//
// RUN: tp-opt %s --tp-combine-collectives --split-input-file | FileCheck %s
// RUN: tp-opt %s --tp-combine-collectives=bucket-bytes=64 --split-input-file | FileCheck %s --check-prefix=SMALL
// RUN: tp-opt %s --tp-combine-collectives=bucket-bytes=0 --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: spmd.combined

// Both sums wait until the first of them is needed; the third is not there yet,
// and 64 bytes have room for two of 32.
spmd.mesh @mesh <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @until_needed
// CHECK:      %[[A:.+]] = tp.neg
// CHECK-NEXT: %[[B:.+]] = tp.exp
// CHECK-NEXT: %[[AB:.+]]:2 = spmd.combined all_reduce %[[A]], %[[B]] in
// CHECK-SAME: tp.why = #tp.why<reasons = [<kind = moved, user = "one">, <kind = moved, user = "two">]>
// CHECK-NEXT: %[[C:.+]] = tp.add %[[AB]]#0, %[[AB]]#0
// CHECK-NEXT: %[[D:.+]] = spmd.all_reduce %[[C]]
// CHECK-NEXT: return %[[D]], %[[AB]]#1
// SMALL-LABEL: func.func @until_needed
// SMALL: spmd.combined all_reduce
!t = tensor<8xf32>
func.func @until_needed(%x: !t {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) -> (!t, !t) {
  %a = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %0 = spmd.all_reduce %a {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "one">]>} : !t -> !t
  %b = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %c = tp.add %0, %0 {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %1 = spmd.all_reduce %c {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "three">]>} : !t -> !t
  %2 = spmd.all_reduce %b {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "two">]>} : !t -> !t
  return %1, %2 : !t, !t
}

// -----

// What is needed together is one launch, whatever the kind, the reduction and the
// element type, but not if the axes differ, or whether the user asked for it; and
// three of 32 bytes are too much for 64.
spmd.mesh @mesh <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @apart
// CHECK-DAG: spmd.all_reduce {{.*}} {"y"}
// CHECK-DAG: spmd.all_reduce {{.*}}requested = true
// CHECK-DAG: spmd.combined [all_gather, all_reduce, all_reduce, all_reduce, all_reduce, all_reduce] %arg4, %arg2, %arg3, %arg0, %arg0, %arg0 in [{{.*}}], unreduced=max{"x"}>
// CHECK: return
// SMALL-LABEL: func.func @apart
// SMALL-DAG: spmd.combined [all_gather, all_reduce] %arg4, %arg2 in
// SMALL-DAG: spmd.combined all_reduce %arg3, %arg0 in
// SMALL-DAG: spmd.combined all_reduce %arg0, %arg0 in {{.*}}"again"
// SMALL: return
!t = tensor<8xf32>
!i = tensor<8xi32>
func.func @apart(%p: !t, %q: !t, %m: !t, %i: !i, %c: !t) -> (!t, !t, !t, !i, !t, !t, !t, !t) {
  %0 = spmd.all_gather %c [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !t -> !t
  %1 = spmd.all_reduce %q {"y"} in <@mesh, [{}], unreduced={"y"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !t -> !t
  %2 = spmd.all_reduce %m {"x"} in <@mesh, [{}], unreduced=max{"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !t -> !t
  %3 = spmd.all_reduce %i {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !i -> !i
  %4 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">], requested = true>} : !t -> !t
  %5 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !t -> !t
  %6 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "r">]>} : !t -> !t
  %7 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> {tp.why = #tp.why<reasons = [<kind = moved, user = "again">]>} : !t -> !t
  return %0, %1, %2, %3, %4, %5, %6, %7 : !t, !t, !t, !i, !t, !t, !t, !t
}

// -----

// A chain moves as a whole: what scatters first goes with all that is there, and
// the gather behind it comes later.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @chain
// CHECK: %[[S:.+]]:3 = spmd.combined [reduce_scatter, reduce_scatter, all_gather] %arg0, %arg0, %arg1
// CHECK: %[[G:.+]] = spmd.all_gather %[[S]]#0
// CHECK: return %[[G]], %[[S]]#1, %[[S]]#2
!t = tensor<8xf32>
func.func @chain(%p: !t, %c: !t) -> (!t, !t, !t) {
  %0 = spmd.reduce_scatter %p [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !t -> !t
  %1 = spmd.all_gather %0 [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !t -> !t
  %2 = spmd.reduce_scatter %p [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !t -> !t
  %3 = spmd.all_gather %c [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !t -> !t
  return %1, %2, %3 : !t, !t, !t
}

// -----

// A turn of a loop is a block of its own.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @loop
// CHECK: tp.for
// CHECK: spmd.combined all_reduce
// CHECK: tp.yield
// CHECK: spmd.all_reduce
// CHECK: return
!t = tensor<8xf32>
func.func @loop(%x: !t, %p: !t) -> (!t, !t) {
  %0 = tp.for 3 (%x) {
  ^bb0(%i: tensor<i32>, %a: !t):
    %1 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !t -> !t
    %2 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !t -> !t
    %3 = tp.add %1, %2 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !t
    tp.yield %3 : !t
  } : (!t) -> !t
  %4 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !t -> !t
  return %0, %4 : !t, !t
}

// -----

// With links, 4 MiB take 22 starts and go alone; 256 KiB take less than two.
spmd.mesh @mesh <["x"=2]> {links = [#spmd.link<us=2.0, gbps=100.0>]}
// CHECK-LABEL: func.func @links
// CHECK-DAG: spmd.all_reduce %arg0
// CHECK-DAG: spmd.all_reduce %arg0
// CHECK-DAG: spmd.combined all_reduce %arg1, %arg1
// CHECK: return
!l = tensor<1048576xf32>
!s = tensor<65536xf32>
func.func @links(%l: !l, %s: !s) -> (!l, !l, !s, !s) {
  %0 = spmd.all_reduce %l {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !l -> !l
  %1 = spmd.all_reduce %l {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !l -> !l
  %2 = spmd.all_reduce %s {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !s -> !s
  %3 = spmd.all_reduce %s {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !s -> !s
  return %0, %1, %2, %3 : !l, !l, !s, !s
}

// -----

// 1 MiB takes five starts. Three of them fill a launch, although a bucket holds more.
spmd.mesh @mesh <["x"=2]> {links = [#spmd.link<us=2.0, gbps=100.0>]}
// CHECK-LABEL: func.func @full
// CHECK: spmd.combined all_reduce %arg0, %arg1, %arg2
// CHECK: spmd.all_reduce %arg3
// CHECK: return
!m = tensor<262144xf32>
func.func @full(%a: !m, %b: !m, %c: !m, %d: !m) -> (!m, !m, !m, !m) {
  %0 = spmd.all_reduce %a {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !m -> !m
  %1 = spmd.all_reduce %b {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !m -> !m
  %2 = spmd.all_reduce %c {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !m -> !m
  %3 = spmd.all_reduce %d {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !m -> !m
  return %0, %1, %2, %3 : !m, !m, !m, !m
}

// -----

// The gradients of layers are scattered as soon as they fill a bucket, or alone
// if one does. A value that somebody else needs is held anyway and waits. A sum is
// as large as its parts, but a bucket full of sums does not get any fuller.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @free_memory
// CHECK: tp.tanh
// CHECK-NEXT: spmd.combined [reduce_scatter, reduce_scatter, reduce_scatter, all_reduce, all_reduce]
// SMALL-LABEL: func.func @free_memory
// SMALL:      %[[A:.+]] = tp.neg
// SMALL-NEXT: %[[B:.+]] = tp.exp
// SMALL-NEXT: %[[AB:.+]]:2 = spmd.combined reduce_scatter %[[A]], %[[B]]
// SMALL-NEXT: %[[C:.+]] = tp.log
// SMALL-NEXT: %[[D:.+]] = tp.sqrt
// SMALL-NEXT: spmd.combined [reduce_scatter, all_reduce] %[[C]], %[[D]]
// SMALL-NEXT: tp.tanh
// SMALL-NEXT: spmd.all_reduce
// SMALL-NEXT: return
// NONE-LABEL: func.func @free_memory
// NONE:      tp.neg
// NONE-NEXT: spmd.reduce_scatter
// NONE-NEXT: tp.exp
// NONE-NEXT: spmd.reduce_scatter
!t = tensor<8xf32>
func.func @free_memory(%x: !t) -> (!t, !t, !t, !t, !t, !t) {
  %a = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %b = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %c = tp.log %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %d = tp.sqrt %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %e = tp.tanh %c {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !t
  %0 = spmd.reduce_scatter %a [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !t -> !t
  %1 = spmd.reduce_scatter %b [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !t -> !t
  %2 = spmd.reduce_scatter %c [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !t -> !t
  %3 = spmd.all_reduce %d {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !t -> !t
  %4 = spmd.all_reduce %e {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !t -> !t
  return %0, %1, %2, %3, %4, %c : !t, !t, !t, !t, !t, !t
}

// -----

// Two bytes are too few in any case, and one launch holds no more than two.
// CHECK-LABEL: func.func @nothing_fits
// CHECK: spmd.combined all_reduce
module attributes {tp.plan = #tp.plan<memory = 2>} {
spmd.mesh @mesh <["x"=2]>
func.func @nothing_fits(%p: tensor<8xf32>, %q: tensor<8xf32>) -> tensor<8xf32> {
  %0 = spmd.all_reduce %p {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %1 = spmd.all_reduce %q {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %2 = tp.add %0, %1 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<8xf32>
  return %2 : tensor<8xf32>
}
}

// -----

// Sent along with the first, the second would be there while the first is used.
// CHECK-LABEL: func.func @fits_apart
// CHECK-NOT: spmd.combined
// CHECK: return
module attributes {tp.plan = #tp.plan<memory = 112>} {
spmd.mesh @mesh <["x"=2]>
func.func @fits_apart(%p: tensor<8xf32> {tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}, %q: tensor<8xf32> {tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
  %0 = spmd.all_gather %p [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %1 = spmd.all_gather %q [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %2 = tp.exp %0 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : tensor<8xf32>
  %3 = tp.reduce sum %2 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
  %4 = tp.reduce sum %1 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
  %5 = tp.add %3, %4 {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<f32>
  return %5 : tensor<f32>
}
}

// -----

// Waiting for the second, the first would be there with it, instead of one number made
// of it: however small the bucket, both stay where they are.
// CHECK-LABEL: func.func @fits_in_place
// CHECK:      tp.neg
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: tp.reduce
// CHECK-NEXT: tp.exp
// CHECK-NEXT: spmd.all_reduce
// CHECK-NEXT: tp.reduce
// CHECK-NEXT: return
module attributes {tp.plan = #tp.plan<memory = 104>} {
spmd.mesh @mesh <["x"=2]>
func.func @fits_in_place(%x: tensor<8xf32> {tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}]>}) -> (tensor<f32>, tensor<f32>) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<8xf32>
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %1 = tp.reduce sum %0 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : tensor<8xf32>
  %2 = spmd.all_reduce %h {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : tensor<8xf32> -> tensor<8xf32>
  %3 = tp.reduce sum %2 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<8xf32> -> tensor<f32>
  return %1, %3 : tensor<f32>, tensor<f32>
}
}

// -----

// What only moves, scales or adds a sum waits with it: the gradients of both
// layers are one launch, before the first of the weights is needed. The momentum
// that is scaled for one of them goes along.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @updates
// CHECK-SAME: %[[X:.+]]: tensor<4x2xf32>, %[[W:.+]]: tensor<2x4xf32>, %[[V:.+]]: tensor<8xf32>, %[[M:.+]]: tensor<8xf32>
// CHECK:      %[[G:.+]] = tp.neg %[[X]]
// CHECK-NEXT: %[[H:.+]] = tp.exp %[[X]]
// CHECK-NEXT: %[[S:.+]]:2 = spmd.combined all_reduce %[[G]], %[[H]]
// CHECK-NEXT: %[[T:.+]] = tp.transpose %[[S]]#0
// CHECK-NEXT: %[[W2:.+]] = tp.sub %[[W]], %[[T]]
// CHECK-NEXT: %[[R:.+]] = tp.reshape %[[S]]#1
// CHECK-NEXT: %[[M2:.+]] = tp.neg %[[M]]
// CHECK-NEXT: %[[V2:.+]] = tp.add %[[M2]], %[[R]]
// CHECK-NEXT: return %[[W2]], %[[V2]]
!x = tensor<4x2xf32>
!w = tensor<2x4xf32>
!v = tensor<8xf32>
func.func @updates(%x: !x, %w: !w, %v: !v, %m: !v) -> (!w, !v) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : !x
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !x -> !x
  %1 = tp.transpose %0 [1, 0] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !x -> !w
  %2 = tp.sub %w, %1 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !w
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"x"}>]} : !x
  %3 = spmd.all_reduce %h {"x"} in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {}]> : !x -> !x
  %4 = tp.reshape %3 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !x -> !v
  %5 = tp.neg %m {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %6 = tp.add %5, %4 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  return %2, %6 : !w, !v
}

// -----

// A constant that only an op that waits needs is made beside it: it is held from
// there on.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @scales
// CHECK:      tp.exp
// CHECK-NEXT: %[[S:.+]]:2 = spmd.combined all_reduce
// CHECK-NEXT: %[[C:.+]] = tp.constant
// CHECK-NEXT: %[[T:.+]] = tp.mul %[[S]]#0, %[[C]]
// CHECK-NEXT: return %[[T]], %[[S]]#1
!x = tensor<8xf32>
func.func @scales(%x: !x) -> (!x, !x) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !x
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !x -> !x
  %c = tp.constant dense<2.0> : tensor<8xf32> {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]}
  %1 = tp.mul %0, %c {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !x
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !x
  %2 = spmd.all_reduce %h {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !x -> !x
  return %1, %2 : !x, !x
}

// -----

// A sum is broadcast at once, and an operand would be held for longer: neither
// waits, nor does the sum. Nor are the others' operands made first, as much more
// than these would stay from then on.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @now
// CHECK-NOT: spmd.combined
// CHECK: return
!v = tensor<8xf32>
!l = tensor<32x8xf32>
func.func @now(%x: !v, %y: !v) -> (!v, tensor<2x8xf32>, !v, !l, !l) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %1 = tp.broadcast %0 dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !v -> tensor<2x8xf32>
  %h = tp.broadcast %x dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !v -> !l
  %h0 = tp.reduce max %h dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !l -> !v
  %2 = spmd.all_reduce %h0 {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %3 = tp.exp %y {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %4 = tp.exp %3 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %5 = tp.sub %4, %2 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %i = tp.broadcast %y dims = [1] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !v -> !l
  %i0 = tp.reduce max %i dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !l -> !v
  %6 = spmd.all_reduce %i0 {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  return %5, %1, %6, %h, %i : !v, tensor<2x8xf32>, !v, !l, !l
}

// -----

// What takes a few ops to be ready, which wait for no collective, is made first:
// both sums are one, before the exponential. The sum of what is computed of them
// is another one.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @ahead
// CHECK:      %[[G:.+]] = tp.neg %arg0
// CHECK-NEXT: %[[H:.+]] = tp.exp %arg0
// CHECK-NEXT: %[[I:.+]] = tp.log %[[H]]
// CHECK-NEXT: %[[S:.+]]:2 = spmd.combined all_reduce %[[G]], %[[I]] in
// CHECK-NEXT: tp.cumulative sum %[[S]]#0
// CHECK:      %[[J:.+]] = tp.mul
// CHECK-NEXT: spmd.all_reduce %[[J]]
// CHECK:      return
!v = tensor<8xf32>
func.func @ahead(%x: !v) -> (!v, !v, !v) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %1 = tp.cumulative sum %0 dim = 0 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v -> !v
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %i = tp.log %h {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %2 = spmd.all_reduce %i {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %j = tp.mul %1, %h {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %3 = spmd.all_reduce %j {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  return %1, %2, %3 : !v, !v, !v
}

// -----

// Scattered sums, the update of a slice of the weight and its gather: the gathers
// wait for the updates, these for the sums, and all are two launches.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @sharded_updates
// CHECK: spmd.combined reduce_scatter
// CHECK-NOT: spmd.all_gather
// CHECK: spmd.combined all_gather
// CHECK-NOT: spmd.all_gather
// CHECK: return
!v = tensor<8xf32>
func.func @sharded_updates(%x: !v, %v: !v, %w: !v) -> (!v, !v) {
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %0 = spmd.reduce_scatter %g [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !v -> !v
  %1 = spmd.all_slice %v [{"x"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : !v -> !v
  %2 = tp.sub %1, %0 {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : !v
  %3 = spmd.all_gather %2 [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !v -> !v
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %4 = spmd.reduce_scatter %h [{"x"}] in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{"x"}]> : !v -> !v
  %5 = spmd.all_slice %w [{"x"}] in <@mesh, [{}]> out <@mesh, [{"x"}]> : !v -> !v
  %6 = tp.sub %5, %4 {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]} : !v
  %7 = spmd.all_gather %6 [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !v -> !v
  return %3, %7 : !v, !v
}

// -----

// Gradients that a loop writes into the stacks of its iterations, at an index that it
// computes, are one launch of the iteration. They are widened first, and behind the
// sum. They would be gone once they are written: they wait only for as many as fill a
// bucket.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @stacked
// CHECK:      tp.for
// CHECK:      tp.tanh
// CHECK:      %[[S:.+]]:3 = spmd.combined all_reduce
// CHECK-NEXT: tp.convert %[[S]]#0
// CHECK-NOT:  spmd.all_reduce
// CHECK:      tp.yield
// SMALL-LABEL: func.func @stacked
// SMALL:      tp.for
// SMALL:      tp.log
// SMALL-NEXT: %[[S:.+]]:2 = spmd.combined all_reduce
// SMALL-NEXT: tp.convert %[[S]]#0
// SMALL-NEXT: tp.reshape
// SMALL-NEXT: tp.dynamic_update_slice
// SMALL-NEXT: tp.convert %[[S]]#1
// SMALL-NEXT: tp.reshape
// SMALL-NEXT: tp.dynamic_update_slice
// SMALL-NEXT: tp.tanh
// SMALL:      spmd.all_reduce
!v = tensor<16xbf16>
!w = tensor<16xf32>
!r = tensor<1x16xf32>
!s = tensor<3x16xf32>
func.func @stacked(%x: !v, %a: !s, %b: !s, %c: !s) -> (!s, !s, !s) {
  %0:3 = tp.for 3 (%a, %b, %c) {
  ^bb0(%i: tensor<i32>, %p: !s, %q: !s, %r: !s):
    %last = tp.constant dense<2> : tensor<i32> {spmd.shardings = [#spmd.sharding<@mesh, []>]}
    %zero = tp.constant dense<0> : tensor<i32> {spmd.shardings = [#spmd.sharding<@mesh, []>]}
    %j = tp.sub %last, %i {spmd.shardings = [#spmd.sharding<@mesh, []>]} : tensor<i32>
    %g = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
    %1 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
    %2 = tp.convert %1 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v -> !w
    %3 = tp.reshape %2 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !w -> !r
    %4 = tp.dynamic_update_slice %p, %3[%j, %zero] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (!s, !r, tensor<i32>, tensor<i32>) -> !s
    %h = tp.log %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
    %5 = spmd.all_reduce %h {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
    %6 = tp.convert %5 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v -> !w
    %7 = tp.reshape %6 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !w -> !r
    %8 = tp.dynamic_update_slice %q, %7[%j, %zero] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (!s, !r, tensor<i32>, tensor<i32>) -> !s
    %k = tp.tanh %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
    %9 = spmd.all_reduce %k {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
    %10 = tp.convert %9 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v -> !w
    %11 = tp.reshape %10 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !w -> !r
    %12 = tp.dynamic_update_slice %r, %11[%j, %zero] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (!s, !r, tensor<i32>, tensor<i32>) -> !s
    tp.yield %4, %8, %12 : !s, !s, !s
  } : (!s, !s, !s) -> (!s, !s, !s)
  return %0#0, %0#1, %0#2 : !s, !s, !s
}

// -----

// The gradient of a weight that is made of gathered tensors waits like any other:
// all three are one launch, behind the last one that is sent. The bias that is
// broadcast for it goes along.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @products
// CHECK-NOT:  spmd.all
// CHECK:      tp.log
// CHECK-NEXT: %[[S:.+]]:3 = spmd.combined [all_gather, all_gather, all_reduce]
// CHECK-NEXT: tp.einsum "bi,bo->io" %[[S]]#0, %[[S]]#1
// CHECK-NEXT: tp.broadcast %arg3
// CHECK-NEXT: tp.add
// CHECK-NEXT: return
!a = tensor<4x8xf32>
!v = tensor<64xf32>
!w = tensor<8x8xf32>
func.func @products(%x: !a, %y: !a, %v: !v, %b: tensor<8xf32>) -> (!w, !v) {
  %0 = spmd.all_gather %x [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : !a -> !a
  %1 = spmd.all_gather %y [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : !a -> !a
  %2 = tp.einsum "bi,bo->io" %0, %1 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (!a, !a) -> !w
  %3 = tp.broadcast %b dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : tensor<8xf32> -> !w
  %4 = tp.add %2, %3 {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : !w
  %g = tp.log %v {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %5 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  return %4, %5 : !w, !v
}

// -----

// A gather that is larger than the sum does not go along with it, as its result is
// needed only later. A small one does.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @early
// CHECK:      %[[S:.+]]:2 = spmd.combined [all_gather, all_reduce] %arg1, %arg0
// CHECK-NEXT: %[[T:.+]] = tp.cumulative sum %[[S]]#1
// CHECK-NEXT: %[[L:.+]] = spmd.all_gather %arg2
// CHECK-NEXT: return %[[T]], %[[S]]#0, %[[L]]
!v = tensor<8xf32>
!s = tensor<4xf32>
!l = tensor<64xf32>
func.func @early(%v: !v, %s: !s, %l: !l) -> (!v, !s, !l) {
  %0 = spmd.all_gather %s [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !s -> !s
  %1 = spmd.all_gather %l [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !l -> !l
  %2 = spmd.all_reduce %v {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %3 = tp.cumulative sum %2 dim = 0 {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v -> !v
  return %3, %0, %1 : !v, !s, !l
}

// -----

// One launch of both would hold the operands and results of both at once: each is
// a launch, since that takes less memory.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @peak
// CHECK:      %[[G:.+]] = spmd.all_gather %arg0
// CHECK:      tp.reduce sum
// CHECK:      %[[S:.+]] = spmd.all_reduce
// CHECK-NEXT: tp.reduce sum
!v = tensor<64xf32>
func.func @peak(%v: !v {spmd.sharding = #spmd.sharding<@mesh, [{"x"}]>}, %w: !v {spmd.sharding = #spmd.sharding<@mesh, [{}]>}) -> (tensor<f32>, tensor<f32>) {
  %g = tp.exp %w {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %0 = spmd.all_gather %v [{"x"}] in <@mesh, [{"x"}]> out <@mesh, [{}]> : !v -> !v
  %1 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %2 = tp.reduce sum %0 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : !v -> tensor<f32>
  %3 = tp.reduce sum %1 dims = [0] {spmd.shardings = [#spmd.sharding<@mesh, []>]} : !v -> tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}

// -----

// A constant of several users stands before the first of them.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @sunk
// CHECK-NOT:  tp.constant
// CHECK:      spmd.combined
// CHECK-NEXT: %[[C:.+]] = tp.constant
// CHECK-NEXT: tp.mul {{.*}}, %[[C]]
// CHECK-NEXT: tp.mul {{.*}}, %[[C]]
!v = tensor<8xf32>
func.func @sunk(%x: !v) -> (!v, !v) {
  %c = tp.constant dense<2.0> : !v {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]}
  %g = tp.neg %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %0 = spmd.all_reduce %g {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %h = tp.exp %x {spmd.shardings = [#spmd.sharding<@mesh, [{}], unreduced={"x"}>]} : !v
  %1 = spmd.all_reduce %h {"x"} in <@mesh, [{}], unreduced={"x"}> out <@mesh, [{}]> : !v -> !v
  %2 = tp.mul %0, %c {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  %3 = tp.mul %1, %c {spmd.shardings = [#spmd.sharding<@mesh, [{}]>]} : !v
  return %2, %3 : !v, !v
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The table sums collectives by kind and axes, and needs no machine. It says how the
// program was verified, how each argument is cut, and what would be cheaper.

// RUN: tp-opt %s --tp-report -o /dev/null 2>&1 | FileCheck %s --match-full-lines
// RUN: tp-opt %s --tp-report=machine=h100 -o /dev/null 2>&1 | FileCheck %s --check-prefix=TIMED

// CHECK:      @main: 1 all_gather, 3 all_reduce; 9.5 KiB sent and 5.3 KiB held per device
// CHECK-NEXT:   on data=2 x model=4, 8 devices
// CHECK-NEXT:   verified: off, nothing was proved
// CHECK:        collective          axes                         count   payload      sent      time     share
// CHECK-NEXT:   all_gather          data                             1   1.0 KiB     512 B         -       5 %
// CHECK-NEXT:   all_reduce          model                            3   6.0 KiB   9.0 KiB         -      95 %
// CHECK-NEXT:   total                                                4   7.0 KiB   9.5 KiB         -     100 %
// CHECK:        largest, by bytes sent
// CHECK-NEXT:     6.0 KiB  all_reduce {model} x2 of twice, for {{.*}}table.mlir:[[#@LINE+36]]:10
// CHECK-NEXT:         inner dimension: a dimension cut along {model} was contracted, and tp.for needs the sum
// CHECK-NEXT:         cheaper: cut 'twice' along {model}, say on dim 0, with an spmd.constraint or in the
// CHECK-NEXT:         function's result: a reduce_scatter sends half the bytes
// CHECK-NEXT:     3.0 KiB  all_reduce {model} of once, for {{.*}}table.mlir:[[#@LINE+28]]:8
// CHECK:          512 B  all_gather {data} of x, for {{.*}}table.mlir:[[#@LINE+24]]:8
// CHECK-NEXT:         to avoid it: annotate 'x' as [{}, {}]: this saves the gather in every call, but takes the
// CHECK-NEXT:         memory of the whole tensor
// CHECK:        arguments, and bytes of each on a device
// CHECK-NEXT:     x  f32[16,16]  [{"data"}, {}]        512 B
// CHECK-NEXT:     w  f32[16,32]  [{"model"}, {}]       512 B
// CHECK-NEXT:     a  f32[16,16]  [{}, {"model"}]       256 B
// CHECK-NOT:    results
// CHECK:        memory per device
// CHECK-NEXT:     activations        5.3 KiB  most at twice
// CHECK-NEXT:     peak               5.3 KiB  capacity unknown

// TIMED:      on data=2 x model=4, 8 devices (h100)
// TIMED:      predicted: 40.0 us per call, if devices wait for each collective
// TIMED:      all_reduce          model                            3   6.0 KiB   9.0 KiB   30.0 us      75 %
// TIMED:      peak               5.3 KiB  fits: 0.0 % of 74.5 GiB
// TIMED:      compute {{.*}}, communication 40.0 us: ratio {{.*}}, the links are the bottleneck

spmd.mesh @mesh <["data"=2, "model"=4]>

func.func @main(
    %x: tensor<16x16xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x32xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
    %a: tensor<16x16xf32> {tp.name = "a", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = spmd.all_gather %x [{"data"}, {}] in <@mesh, [{"data"}, {}]> out <@mesh, [{}, {}]> : tensor<16x16xf32> -> tensor<16x16xf32>
  %1 = tp.einsum "bi,io->bo" %a, %w {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"model"}>]}
      : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32> loc("once")
  %2 = spmd.all_reduce %1 {"model"} in <@mesh, [{}, {}], unreduced={"model"}> out <@mesh, [{}, {}]> : tensor<16x32xf32> -> tensor<16x32xf32>
  %3 = tp.for 2 (%2) {
  ^bb0(%i: tensor<i32>, %b: tensor<16x32xf32>):
    %4 = tp.einsum "bi,io->bo" %a, %w {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}], unreduced={"model"}>]} : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32> loc("twice")
    %5 = spmd.all_reduce %4 {"model"} in <@mesh, [{}, {}], unreduced={"model"}> out <@mesh, [{}, {}]> {tp.why = #tp.why<reasons = [<kind = contracted, user = "tp.for", axes = <{"model"}>>]>} : tensor<16x32xf32> -> tensor<16x32xf32>
    tp.yield %5 : tensor<16x32xf32>
  } {spmd.shardings = [#spmd.sharding<@mesh, [{}, {}]>]} : (tensor<16x32xf32>) -> tensor<16x32xf32>
  return
}

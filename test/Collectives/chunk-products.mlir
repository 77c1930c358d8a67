// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-chunk-products="machine=h100" --remark-format=emitRemark --remarks-filter=tp-chunk-products > %t 2> %t.remarks
// RUN: FileCheck %s < %t
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks
// RUN: tp-opt %s --tp-shard="machine=h100 stop-after=collectives" --tp-chunk-products="machine=h100" --tp-localize=keep-global --tp-verify-local --tp-verify-partition -o /dev/null --remark-format=emitRemark --remarks-filter=tp-chunk-products 2>&1 | FileCheck %s --check-prefix=UNREDUCED

// Nothing happens without a machine.
// RUN: tp-opt %s --tp-shard=stop-after=collectives --tp-chunk-products | FileCheck %s --check-prefix=NONE
// NONE-NOT: tp.gather_einsum
// NONE-NOT: tp.einsum_scatter

spmd.mesh @mesh <["model"=4]>

// Sequence parallel: rows of x are gathered while they are multiplied by both
// weights, and rows of the sum travel while the next are multiplied.
// CHECK-LABEL: func.func @mlp
// CHECK: %{{.*}}:2 = tp.gather_einsum %{{.*}}, %arg1, %arg2 by ["bi,io->bo", "bi,io->bo"] sides [0, 0] dim 0 pieces 4
// CHECK-NOT: spmd.all_gather
// CHECK: tp.einsum_scatter "bo,oi->bi" {{.*}} dim 0 pieces 1
// CHECK-NOT: spmd.reduce_scatter
// REMARK: remark: [Passed] gathering while multiplying | Category:tp-chunk-products | Remark="gathering while multiplying takes {{[0-9.]+}} us instead of {{[0-9.]+}} us"
// REMARK: remark: [Passed] multiplying while scattering | {{.*}} takes {{[0-9.]+}} us instead of {{[0-9.]+}} us"
func.func @mlp(%x: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
               %gate: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
               %up: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
               %down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %n = tp.silu %x : tensor<8192x4096xbf16>
  %c = spmd.constraint %n <@mesh, [{"model"}, {}]> : tensor<8192x4096xbf16>
  %g = tp.einsum "bi,io->bo" %c, %gate : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %u = tp.einsum "bi,io->bo" %c, %up : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %h = tp.mul %g, %u : tensor<8192x16384xbf16>
  %y = tp.einsum "bo,oi->bi" %h, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

// A sum that all devices want: its rows are scattered while it is computed, and
// gathered then.
// CHECK-LABEL: func.func @sum
// CHECK: %[[S:.*]] = tp.einsum_scatter "oi,bo->ib" %arg0, %arg1 dim 0 pieces {{[124]}}
// CHECK: spmd.all_gather %[[S]] [{"model"}, {}]
// REMARK: remark: [Passed] multiplying while scattering
func.func @sum(%down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
               %h: tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<4096x8192xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %y = tp.einsum "oi,bo->ib" %down, %h : (tensor<16384x4096xbf16>, tensor<8192x16384xbf16>) -> tensor<4096x8192xbf16>
  return %y : tensor<4096x8192xbf16>
}

// Another product sums over the gathered rows: the op has them whole as its last
// result.
// CHECK-LABEL: func.func @kept
// CHECK: %[[K:.*]]:2 = tp.gather_einsum %{{.*}}, %arg1 by ["bi,io->bo"]
// CHECK: tp.einsum "bi,bo->io" %[[K]]#1, %[[K]]#0
// REMARK: remark: [Passed] gathering while multiplying
func.func @kept(%x: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %up: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %n = tp.silu %x : tensor<8192x4096xbf16>
  %c = spmd.constraint %n <@mesh, [{"model"}, {}]> : tensor<8192x4096xbf16>
  %u = tp.einsum "bi,io->bo" %c, %up : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %d = tp.einsum "bi,bo->io" %c, %u : (tensor<8192x4096xbf16>, tensor<8192x16384xbf16>) -> tensor<4096x16384xbf16>
  return %d : tensor<4096x16384xbf16>
}

// What tp-schedule can hide behind other products stays whole.
// CHECK-LABEL: func.func @hidden
// CHECK: spmd.all_gather
// CHECK-NOT: tp.gather_einsum
// REMARK: remark: [Missed] gathering while multiplying | {{.*}} Remark="gathering while multiplying would take {{[0-9.]+}} us; without overlap, the same work takes {{[0-9.]+}} us"
func.func @hidden(%x: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                  %a: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>},
                  %b: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                  %up: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
        tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = tp.einsum "bi,io->bo" %a, %b : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %c = spmd.constraint %x <@mesh, [{"model"}, {}]> : tensor<8192x4096xbf16>
  %u = tp.einsum "bi,io->bo" %c, %up : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  return %u, %0 : tensor<8192x16384xbf16>, tensor<8192x16384xbf16>
}

// The gathered dimension is summed over.
// CHECK-LABEL: func.func @summed
// CHECK-NOT: tp.gather_einsum
// REMARK: remark: [Missed] gathering while multiplying | {{.*}} Remark="devices wait {{[0-9.]+}} us for this collective; gathering while multiplying could hide this time, but every product either sums over the gathered dimension or has it in both operands"
func.func @summed(%x: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                  %up: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>}) {
  %n = tp.silu %x : tensor<8192x4096xbf16>
  %c = spmd.constraint %n <@mesh, [{}, {"model"}]> : tensor<8192x4096xbf16>
  %u = tp.einsum "bi,io->bo" %c, %up : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  return %u : tensor<8192x16384xbf16>
}

// An op between what is gathered and its product, or between a product and its sum.
// CHECK-LABEL: func.func @between
// CHECK-NOT: tp.gather_einsum
// CHECK-NOT: tp.einsum_scatter
// REMARK: remark: [Missed] gathering while multiplying | {{.*}} Remark="devices wait {{[0-9.]+}} us for this collective; gathering while multiplying could hide this time, but tp.silu stands between the collective and the product"
// REMARK: remark: [Missed] multiplying while scattering | {{.*}} Remark="devices wait {{[0-9.]+}} us for this collective; multiplying while scattering could hide this time, but tp.add stands between the collective and the product"
func.func @between(%x: tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                   %up: tensor<4096x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                   %down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                   %g: tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %c = spmd.constraint %x <@mesh, [{}, {}]> : tensor<8192x4096xbf16>
  %n = tp.silu %c : tensor<8192x4096xbf16>
  %d = spmd.constraint %n <@mesh, [{}, {}]> : tensor<8192x4096xbf16>
  %h = tp.einsum "bi,io->bo" %d, %up : (tensor<8192x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<8192x16384xbf16>
  %y = tp.einsum "bo,oi->bi" %h, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  %w = tp.einsum "bo,oi->bi" %g, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  %z = tp.add %y, %w : tensor<8192x4096xbf16>
  return %z : tensor<8192x4096xbf16>
}

// CHECK-LABEL: func.func @unreduced
// By the machine's times it pays to multiply twice and add after: the second product has
// addends as an operand, and does not make them.
// UNREDUCED: remark: [Missed] multiplying while scattering | {{.*}} Remark="devices wait {{[0-9.]+}} us for this collective; multiplying while scattering could hide this time, but an operand of the product is unreduced"
func.func @unreduced(%g: tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                     %down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                     %narrow: tensor<4096x512xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>})
    -> (tensor<8192x512xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %y = tp.einsum "bo,oi->bi" %g, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  %z = tp.einsum "bi,in->bn" %y, %narrow : (tensor<8192x4096xbf16>, tensor<4096x512xbf16>) -> tensor<8192x512xbf16>
  return %z : tensor<8192x512xbf16>
}

// CHECK-LABEL: func.func @two_letters
// The parts of an axis cut two summed dimensions, the minor part the first one.
// CHECK: tp.einsum_scatter "bhd,hdi->bi"
func.func @two_letters(
    %g: tensor<8192x64x256xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model":(2)2}, {"model":(1)2}]>},
    %down: tensor<64x256x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)2}, {"model":(1)2}, {}]>})
    -> (tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %y = tp.einsum "bhd,hdi->bi" %g, %down : (tensor<8192x64x256xbf16>, tensor<64x256x4096xbf16>) -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

// CHECK-LABEL: func.func @rows_by_a_part
// The rows are cut along the major part of the axis already, and the sums are scattered along
// the minor part.
// CHECK: tp.einsum_scatter "bo,oi->bi"
func.func @rows_by_a_part(
    %g: tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {"model":(2)2}]>},
    %down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)2}, {}]>})
    -> (tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %y = tp.einsum "bo,oi->bi" %g, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

// CHECK-LABEL: func.func @neighbours
// The same sums, but each device needs all columns of its rows. With the minor part, the rows
// would be cut along the whole axis. So columns are scattered.
// CHECK: %[[S:.*]] = tp.einsum_scatter "bo,oi->bi" {{.*}} [{"model":(1)2}, {"model":(2)2}]
// CHECK: spmd.all_gather %[[S]] [{}, {"model":(2)2}]
func.func @neighbours(
    %g: tensor<8192x16384xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {"model":(2)2}]>},
    %down: tensor<16384x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)2}, {}]>})
    -> (tensor<8192x4096xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {}]>}) {
  %y = tp.einsum "bo,oi->bi" %g, %down : (tensor<8192x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<8192x4096xbf16>
  return %y : tensor<8192x4096xbf16>
}

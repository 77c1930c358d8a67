// A weight that is several in one becomes one argument for each: q, k and v of
// grouped queries with their bias, stored [out, in], and gate and up behind a
// conversion, told apart by a dimension. The plan is Megatron's, and what is
// given, random or compared is the stored tensor.
// RUN: split-file %s %t
// RUN: tp-opt %t/packed.mlir --tp-split-packed | FileCheck %s
// RUN: tp-opt %t/packed.mlir --tp-shard="mesh=model=2 plan=%t/plan.json" --tp-report=%t/report.json -o %t/local.mlir 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: tp-opt %t/packed.mlir --tp-shard="mesh=model=2 plan=%t/shipped.json" --tp-report=%t/report.json -o /dev/null 2>&1 | FileCheck %s --check-prefix=PLAN
// RUN: tp-opt --tp-verify-against=%t/packed.mlir %t/local.mlir -o /dev/null
// RUN: sed 's/0.5 : f64/0.7 : f64/' %t/packed.mlir > %t/other.mlir
// RUN: not tp-opt --tp-verify-against=%t/other.mlir %t/local.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: tp-opt %t/stays.mlir --tp-split-packed | FileCheck %s --check-prefix=STAYS
// RUN: tp-opt %t/entries.mlir --tp-split-packed | FileCheck %s --check-prefix=ENTRIES

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8xf32> {tp.name = "x"}
// CHECK-SAME: %[[Q:[a-z0-9]+]]: tensor<8x8xf32> {tp.name = "qkv.weight#0", tp.source = #tp.source<"qkv.weight", stored=[16, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>}
// CHECK-SAME: tensor<4x8xf32> {tp.name = "qkv.weight#1", tp.source = #tp.source<"qkv.weight", stored=[16, 8], start=[8, 0], size=[4, 8], view=[4, 8], permutation=[0, 1]>}
// CHECK-SAME: tensor<4x8xf32> {tp.name = "qkv.weight#2"
// CHECK-SAME: %[[B:[a-z0-9]+]]: tensor<8xf32> {tp.name = "qkv.bias#0"
// CHECK-SAME: tensor<16x8xbf16> {tp.name = "up.weight#0"
// CHECK-SAME: tensor<16x8xbf16> {tp.name = "up.weight#1"
// CHECK-NOT: tp.slice
// CHECK: %[[Y:.+]] = tp.einsum "si,oi->so" %[[X]], %[[Q]] :
// CHECK: %[[C:.+]] = tp.broadcast %[[B]] dims = [1]
// CHECK: tp.add %[[Y]], %[[C]] : tensor<4x8xf32>
// CHECK-NOT: tp.slice

// PLAN: @main: 2 all_reduce; 256 B sent

// OTHER: error: [TP0705] function 'main', result #0

// Who takes a part of a stack of layers, all of the product, too, or not all
// of it in parts, needs the weight as it is. So does who has cut it, finds it in
// no file, or gives back what is not made of the parts alone.
// STAYS-LABEL: func.func @main(
// STAYS-NOT: #0
// STAYS: return

// Entries that share a weight split it alike, or not at all.
// ENTRIES-LABEL: func.func @first(
// ENTRIES-SAME: "both#0"{{.*}} "both#1"{{.*}}tp.name = "other"
// ENTRIES-LABEL: func.func @second(
// ENTRIES-SAME: "both#0"{{.*}} "both#1"{{.*}}tp.name = "other"

//--- plan.json
{"qkv": "packed_colwise", "o": "rowwise", "up": "packed_colwise", "down": "rowwise"}
//--- shipped.json
{"tp_plan": {"qkv": "packed_colwise", "o": "rowwise", "up": "colwise_gather_output", "down": "rowwise"}}
//--- packed.mlir
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %w: tensor<16x8xf32> {tp.name = "qkv.weight", tp.source = #tp.source<"qkv.weight", stored=[16, 8], start=[0, 0], size=[16, 8], view=[16, 8], permutation=[0, 1]>},
    %b: tensor<16xf32> {tp.name = "qkv.bias", tp.source = #tp.source<"qkv.bias", stored=[16], start=[0], size=[16], view=[16], permutation=[0]>},
    %o: tensor<8x8xf32> {tp.name = "o.weight", tp.source = #tp.source<"o.weight", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %up: tensor<32x8xbf16> {tp.name = "up.weight", tp.source = #tp.source<"up.weight", stored=[32, 8], start=[0, 0], size=[32, 8], view=[32, 8], permutation=[0, 1]>},
    %down: tensor<8x16xf32> {tp.name = "down.weight", tp.source = #tp.source<"down.weight", stored=[8, 16], start=[0, 0], size=[8, 16], view=[8, 16], permutation=[0, 1]>})
    -> tensor<4x8xf32> {
  %0 = tp.einsum "si,oi->so" %x, %w : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
  %1 = tp.broadcast %b dims = [1] : tensor<16xf32> -> tensor<4x16xf32>
  %2 = tp.add %0, %1 : tensor<4x16xf32>
  %q = tp.slice %2 starts = [0, 0] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x8xf32>
  %k = tp.slice %2 starts = [0, 8] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x4xf32>
  %v = tp.slice %2 starts = [0, 12] strides = [1, 1] : tensor<4x16xf32> -> tensor<4x4xf32>
  %3 = tp.reshape %q : tensor<4x8xf32> -> tensor<1x4x2x2x2xf32>
  %4 = tp.reshape %k : tensor<4x4xf32> -> tensor<1x4x2x2xf32>
  %5 = tp.reshape %v : tensor<4x4xf32> -> tensor<1x4x2x2xf32>
  %6 = tp.attention %3, %4, %5 {causal, scale = 0.5 : f64} : (tensor<1x4x2x2x2xf32>, tensor<1x4x2x2xf32>, tensor<1x4x2x2xf32>) -> tensor<1x4x2x2x2xf32>
  %7 = tp.reshape %6 : tensor<1x4x2x2x2xf32> -> tensor<4x8xf32>
  %8 = tp.einsum "si,oi->so" %7, %o : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %9 = tp.convert %up : tensor<32x8xbf16> -> tensor<32x8xf32>
  %10 = tp.transpose %9 [1, 0] : tensor<32x8xf32> -> tensor<8x32xf32>
  %11 = tp.einsum "si,io->so" %8, %10 : (tensor<4x8xf32>, tensor<8x32xf32>) -> tensor<4x32xf32>
  %12 = tp.reshape %11 : tensor<4x32xf32> -> tensor<4x2x16xf32>
  %13 = tp.slice %12 starts = [0, 0, 0] strides = [1, 1, 1] : tensor<4x2x16xf32> -> tensor<4x1x16xf32>
  %14 = tp.slice %12 starts = [0, 1, 0] strides = [1, 1, 1] : tensor<4x2x16xf32> -> tensor<4x1x16xf32>
  %15 = tp.silu %13 : tensor<4x1x16xf32>
  %16 = tp.mul %15, %14 : tensor<4x1x16xf32>
  %17 = tp.reshape %16 : tensor<4x1x16xf32> -> tensor<4x16xf32>
  %18 = tp.einsum "si,oi->so" %17, %down : (tensor<4x16xf32>, tensor<8x16xf32>) -> tensor<4x8xf32>
  return %18 : tensor<4x8xf32>
}
//--- stays.mlir
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x"},
    %stack: tensor<2x8xf32> {tp.name = "stack", tp.source = #tp.source<"stack", stored=[2, 8], start=[0, 0], size=[2, 8], view=[2, 8], permutation=[0, 1]>},
    %whole: tensor<8x8xf32> {tp.name = "whole", tp.source = #tp.source<"whole", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %gap: tensor<8x8xf32> {tp.name = "gap", tp.source = #tp.source<"gap", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %given: tensor<8x8xf32> {tp.name = "given", tp.source = #tp.source<"given", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>, tp.donated = 0},
    %step: tensor<8x8xf32> {tp.name = "step"},
    %cut: tensor<8x8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>, tp.name = "cut", tp.source = #tp.source<"cut", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %unstored: tensor<8x8xf32> {tp.name = "unstored"})
    -> (tensor<8x8xf32> {tp.name = "given"}, tensor<1x8xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>,
        tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>,
        tensor<4x4xf32>, tensor<4x4xf32>) {
  %s0 = tp.slice %stack starts = [0, 0] strides = [1, 1] : tensor<2x8xf32> -> tensor<1x8xf32>
  %s1 = tp.slice %stack starts = [1, 0] strides = [1, 1] : tensor<2x8xf32> -> tensor<1x8xf32>
  %whole.y = tp.einsum "si,io->so" %x, %whole : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %whole.0 = tp.slice %whole.y starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %whole.1 = tp.slice %whole.y starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %gap.y = tp.einsum "si,io->so" %x, %gap : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %gap.0 = tp.slice %gap.y starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %gap.1 = tp.slice %gap.y starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x3xf32>
  %given.new = tp.sub %given, %step : tensor<8x8xf32>
  %given.y = tp.einsum "si,io->so" %x, %given : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %given.0 = tp.slice %given.y starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %given.1 = tp.slice %given.y starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %cut.y = tp.einsum "si,io->so" %x, %cut : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %cut.0 = tp.slice %cut.y starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %cut.1 = tp.slice %cut.y starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %unstored.y = tp.einsum "si,io->so" %x, %unstored : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %unstored.0 = tp.slice %unstored.y starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %unstored.1 = tp.slice %unstored.y starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  return %given.new, %s0, %s1, %whole.y, %whole.0, %whole.1, %gap.0, %gap.1, %given.0, %given.1, %cut.0, %cut.1, %unstored.0, %unstored.1 : tensor<8x8xf32>, tensor<1x8xf32>, tensor<1x8xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x3xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
//--- entries.mlir
func.func @first(%x: tensor<4x8xf32> {tp.name = "x"},
    %both: tensor<8x8xf32> {tp.name = "both", tp.source = #tp.source<"both", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %other: tensor<8x8xf32> {tp.name = "other", tp.source = #tp.source<"other", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = tp.einsum "si,io->so" %x, %both : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = tp.slice %0 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %3 = tp.einsum "si,io->so" %x, %other : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = tp.slice %3 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %5 = tp.slice %3 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  return %1, %2, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
func.func @second(%x: tensor<4x8xf32> {tp.name = "x"},
    %both: tensor<8x8xf32> {tp.name = "both", tp.source = #tp.source<"both", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>},
    %other: tensor<8x8xf32> {tp.name = "other", tp.source = #tp.source<"other", stored=[8, 8], start=[0, 0], size=[8, 8], view=[8, 8], permutation=[0, 1]>}) -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x2xf32>) {
  %0 = tp.einsum "si,io->so" %x, %both : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = tp.slice %0 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %2 = tp.slice %0 starts = [0, 4] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x4xf32>
  %3 = tp.einsum "si,io->so" %x, %other : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = tp.slice %3 starts = [0, 0] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x6xf32>
  %5 = tp.slice %3 starts = [0, 6] strides = [1, 1] : tensor<4x8xf32> -> tensor<4x2xf32>
  return %1, %2, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x6xf32>, tensor<4x2xf32>
}

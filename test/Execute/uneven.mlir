// 10 inner elements on 4 devices are blocks of 3, 3, 3 and 1. What is computed
// on the padding of the last one must be masked before it is summed.
//
// RUN: split-file %s %t
// RUN: tp-opt %t/masked.mlir --tp-verify-against=whole=%t/whole.mlir | FileCheck %s
// CHECK-LABEL: func.func @f
// CHECK: spmd.mask

// Without the mask, two ones of the constant are summed that are not there.
// RUN: not tp-opt %t/unmasked.mlir --tp-verify-against=whole=%t/whole.mlir -o %t/out 2>&1 | FileCheck %s --check-prefix=UNMASKED
// UNMASKED: error: [TP0705] function 'f', result #2: element [0] is {{[0-9.e+-]+}}, but in the whole program it is {{.*}} (3 of 3 elements differ)
// UNMASKED: remark: the programs first differ at "s": element [0] is

//--- whole.mlir
func.func @f(%x: tensor<3x10xf32>, %b: tensor<10xf32>, %w: tensor<10x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>) {
  %bias = tp.broadcast %b dims = [1] : tensor<10xf32> -> tensor<3x10xf32>
  %one = tp.constant dense<1.0> : tensor<3x10xf32>
  %0 = tp.add %x, %bias : tensor<3x10xf32>
  %h = tp.add %0, %one : tensor<3x10xf32> loc("h")
  %y = tp.einsum "bi,io->bo" %h, %w : (tensor<3x10xf32>, tensor<10x5xf32>) -> tensor<3x5xf32> loc("y")
  %m = tp.reduce max %h dims = [1] : tensor<3x10xf32> -> tensor<3xf32> loc("m")
  %s = tp.reduce sum %h dims = [1] : tensor<3x10xf32> -> tensor<3xf32> loc("s")
  return %y, %m, %s : tensor<3x5xf32>, tensor<3xf32>, tensor<3xf32>
}

//--- masked.mlir
spmd.mesh @mesh <["x"=4]>
!h = tensor<3x3xf32, #spmd.local<@mesh, [{}, {"x"}], global=[3, 10]>>
!b = tensor<3xf32, #spmd.local<@mesh, [{"x"}], global=[10]>>
!w = tensor<3x5xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 5]>>
!yp = tensor<3x5xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[3, 5]>>
!y = tensor<3x2xf32, #spmd.local<@mesh, [{}, {"x"}], global=[3, 5]>>
!mp = tensor<3xf32, #spmd.local<@mesh, [{}], unreduced=max{"x"}, global=[3]>>
!sp = tensor<3xf32, #spmd.local<@mesh, [{}], unreduced={"x"}, global=[3]>>
!m = tensor<3xf32, #spmd.local<@mesh, [{}], global=[3]>>
func.func @f(%x: !h, %b: !b, %w: !w) -> (!y, !m, !sp) {
  %bias = tp.broadcast %b dims = [1] : !b -> !h
  %one = tp.constant dense<1.0> : tensor<3x3xf32> as !h
  %0 = tp.add %x, %bias : !h
  %h = tp.add %0, %one : !h loc("h")
  %hz = spmd.mask %h [1] value(0.0 : f32) : !h loc("h")
  // 5 columns on 4 devices are blocks of 2, 2, 1 and 0.
  %yp = tp.einsum "bi,io->bo" %hz, %w : (!h, !w) -> !yp loc("y")
  %y = spmd.reduce_scatter %yp [{}, {"x"}] in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {"x"}]> : !yp -> !y loc("y")
  %hm = spmd.mask %h [1] value(0xFF800000 : f32) : !h loc("h")
  %mp = tp.reduce max %hm dims = [1] : !h -> !mp loc("m")
  %m = spmd.all_reduce %mp {"x"} in <@mesh, [{}], unreduced=max{"x"}> out <@mesh, [{}]> : !mp -> !m loc("m")
  // A result may stay a partial sum.
  %sp = tp.reduce sum %hz dims = [1] : !h -> !sp loc("s")
  return %y, %m, %sp : !y, !m, !sp
}

//--- unmasked.mlir
spmd.mesh @mesh <["x"=4]>
!h = tensor<3x3xf32, #spmd.local<@mesh, [{}, {"x"}], global=[3, 10]>>
!b = tensor<3xf32, #spmd.local<@mesh, [{"x"}], global=[10]>>
!w = tensor<3x5xf32, #spmd.local<@mesh, [{"x"}, {}], global=[10, 5]>>
!yp = tensor<3x5xf32, #spmd.local<@mesh, [{}, {}], unreduced={"x"}, global=[3, 5]>>
!mp = tensor<3xf32, #spmd.local<@mesh, [{}], unreduced=max{"x"}, global=[3]>>
!sp = tensor<3xf32, #spmd.local<@mesh, [{}], unreduced={"x"}, global=[3]>>
func.func @f(%x: !h, %b: !b, %w: !w) -> (!yp, !mp, !sp) {
  %bias = tp.broadcast %b dims = [1] : !b -> !h
  %one = tp.constant dense<1.0> : tensor<3x3xf32> as !h
  %0 = tp.add %x, %bias : !h
  %h = tp.add %0, %one : !h loc("h")
  // The padding of the weight, an argument, is zero, so this is still right.
  %yp = tp.einsum "bi,io->bo" %h, %w : (!h, !w) -> !yp loc("y")
  %hm = spmd.mask %h [1] value(0xFF800000 : f32) : !h loc("h")
  %mp = tp.reduce max %hm dims = [1] : !h -> !mp loc("m")
  %sp = tp.reduce sum %h dims = [1] : !h -> !sp loc("s")
  return %yp, %mp, %sp : !yp, !mp, !sp
}

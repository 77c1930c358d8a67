// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

spmd.mesh @mesh <["x"=4, "y"=2]>

// A ring over one manual axis, while another axis cuts outside only; uneven
// blocks are as long as the longest.
// CHECK-LABEL: func.func @ring
func.func @ring(%0: tensor<10x512xf32>, %s: tensor<512xf32>) -> tensor<10x512xf32> {
  // CHECK: spmd.manual(%{{.+}}, %{{.+}}) in [<@mesh, [{"x", "y"}, {}]>, <@mesh, [{}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  // CHECK-NEXT: ^bb0(%[[A:.+]]: tensor<3x512xf32>, %{{.+}}: tensor<512xf32>):
  %1 = spmd.manual (%0, %s) in [<@mesh, [{"x", "y"}, {}]>, <@mesh, [{}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<3x512xf32>, %t: tensor<512xf32>):
    // CHECK-NEXT: spmd.axis_index @mesh {"x"} : tensor<i32>
    %i = spmd.axis_index @mesh {"x"} : tensor<i32>
    // CHECK-NEXT: spmd.shift %[[A]] along @mesh {"x"} by 1 wrap : tensor<3x512xf32>
    %b = spmd.shift %a along @mesh {"x"} by 1 wrap : tensor<3x512xf32>
    // CHECK-NEXT: spmd.shift %{{.+}} along @mesh {"x"} by -2 fill : tensor<3x512xf32>
    %c = spmd.shift %b along @mesh {"x"} by -2 fill : tensor<3x512xf32>
    // CHECK-NEXT: spmd.block %{{.+}} dim 1 along @mesh {"x"} plus 2 : tensor<3x512xf32> -> tensor<3x128xf32>
    %p = spmd.block %c dim 1 along @mesh {"x"} plus 2 : tensor<3x512xf32> -> tensor<3x128xf32>
    // CHECK-NEXT: spmd.assemble %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} dim 0 along @mesh {"x"} : (tensor<3x128xf32>, tensor<3x128xf32>, tensor<3x128xf32>, tensor<3x128xf32>) -> tensor<12x128xf32>
    %q = spmd.assemble %p, %p, %p, %p dim 0 along @mesh {"x"} : (tensor<3x128xf32>, tensor<3x128xf32>, tensor<3x128xf32>, tensor<3x128xf32>) -> tensor<12x128xf32>
    // CHECK-NEXT: spmd.return %{{.+}} : tensor<3x512xf32>
    spmd.return %c : tensor<3x512xf32>
  } : (tensor<10x512xf32>, tensor<512xf32>) -> tensor<10x512xf32>
  return %1 : tensor<10x512xf32>
}

// In a region over "x", types are cut by it, and by "x" alone: a gather makes
// them longer, a sum over "y" is none of theirs.
// CHECK-LABEL: func.func @exchange
func.func @exchange(%0: tensor<8x16xf32>) -> tensor<32x16xf32> {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x16xf32>):
    // CHECK: spmd.all_gather %{{.+}} [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : tensor<2x16xf32> -> tensor<8x16xf32>
    %b = spmd.all_gather %a [{"x"}, {}] in <@mesh, [{"x"}, {}]> out <@mesh, [{}, {}]> : tensor<2x16xf32> -> tensor<8x16xf32>
    // CHECK-NEXT: spmd.reduce_scatter %{{.+}} [{}, {"x"}] {{.*}} : tensor<8x16xf32> -> tensor<8x4xf32>
    %c = spmd.reduce_scatter %b [{}, {"x"}] in <@mesh, [{}, {}], unreduced={"x"}> out <@mesh, [{}, {"x"}]> : tensor<8x16xf32> -> tensor<8x4xf32>
    // CHECK-NEXT: spmd.all_to_all %{{.+}} ["x": 1 -> 0] {{.*}} : tensor<8x4xf32> -> tensor<2x16xf32>
    %d = spmd.all_to_all %c ["x": 1 -> 0] in <@mesh, [{}, {"x"}]> out <@mesh, [{"x"}, {}]> : tensor<8x4xf32> -> tensor<2x16xf32>
    // CHECK-NEXT: spmd.all_gather %{{.+}} {{.*}} : tensor<2x16xf32> -> tensor<2x16xf32>
    %e = spmd.all_gather %d [{"y"}, {}] in <@mesh, [{"y"}, {}]> out <@mesh, [{}, {}]> : tensor<2x16xf32> -> tensor<2x16xf32>
    // CHECK-NEXT: spmd.all_slice %{{.+}} {{.*}} : tensor<8x16xf32> -> tensor<8x4xf32>
    %f = spmd.all_slice %b [{}, {"x"}] in <@mesh, [{}, {}]> out <@mesh, [{}, {"x"}]> : tensor<8x16xf32> -> tensor<8x4xf32>
    spmd.return %b : tensor<8x16xf32>
  } : (tensor<8x16xf32>) -> tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}

// A region in another one: along "y" it cuts what "x" has cut already, and speaks of one
// place along both.
// CHECK-LABEL: func.func @nested
func.func @nested(%0: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %1 = spmd.manual (%0) in [<@mesh, [{"x"}, {}]>] out [<@mesh, [{"x"}, {}]>] axes {"x"} {
  ^bb0(%a: tensor<2x16xf32>):
    // CHECK: spmd.manual(%{{.+}}) in [<@mesh, [{}, {"y"}]>] out [<@mesh, [{}, {"y"}]>] axes {"y"} {
    // CHECK-NEXT: ^bb0(%{{.+}}: tensor<2x8xf32>):
    %2 = spmd.manual (%a) in [<@mesh, [{}, {"y"}]>] out [<@mesh, [{}, {"y"}]>] axes {"y"} {
    ^bb0(%b: tensor<2x8xf32>):
      // CHECK-NEXT: spmd.axis_index @mesh {"x", "y"} : tensor<i32>
      %i = spmd.axis_index @mesh {"x", "y"} : tensor<i32>
      // CHECK-NEXT: spmd.all_gather %{{.+}} [{"x"}, {"y"}] {{.*}} : tensor<2x8xf32> -> tensor<8x16xf32>
      %c = spmd.all_gather %b [{"x"}, {"y"}] in <@mesh, [{"x"}, {"y"}]> out <@mesh, [{}, {}]> : tensor<2x8xf32> -> tensor<8x16xf32>
      spmd.return %b : tensor<2x8xf32>
    } : (tensor<2x16xf32>) -> tensor<2x16xf32>
    spmd.return %2 : tensor<2x16xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  return %1 : tensor<8x16xf32>
}

// After Localize: what a type says of the whole tensor, the padding behind it,
// and the device's place.
// CHECK-LABEL: func.func @local(
// CHECK-SAME: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], unreduced={"y"}, global=[14, 6]>>
func.func @local(%a: tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], unreduced={"y"}, global=[14, 6]>>) {
  // CHECK: spmd.mask %{{.+}} [0] value(0.000000e+00 : f32) : tensor<4x6xf32,
  %0 = spmd.mask %a [0] value(0.0 : f32) : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], unreduced={"y"}, global=[14, 6]>>
  // CHECK: spmd.mask %{{.+}} [0, 1] value(0xFF800000 : f32) : tensor<4x6xf32,
  %1 = spmd.mask %a [0, 1] value(0xFF800000 : f32) : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], unreduced={"y"}, global=[14, 6]>>
  // CHECK: spmd.axis_index @mesh {"y", "x":(2)2} : tensor<i32>
  %2 = spmd.axis_index @mesh {"y", "x":(2)2} : tensor<i32>
  // CHECK: spmd.shift %{{.+}} along @mesh {"y"} by 1 wrap
  %3 = spmd.shift %a along @mesh {"y"} by 1 wrap : tensor<4x6xf32, #spmd.local<@mesh, [{"x"}, {}], unreduced={"y"}, global=[14, 6]>>
  return
}

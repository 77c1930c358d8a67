// RUN: tp-opt %s --tp-lower-to-step | FileCheck %s

// What a loop carries has one place, in which it starts; what it only looks at is
// read where it lies, a layer of stacked weights through a view that moves. Values
// of the body go into the result's own storage at the end of each turn.
// CHECK-LABEL: step.program @scan
// CHECK:       ^bb0(%[[X:.*]]: memref<4x16xf32>, %[[W:.*]]: memref<3x16x16xf32>, %[[Y:.*]]: memref<4x16xf32>):
// CHECK:         %[[FROM:.*]] = step.view %[[X]]
// CHECK:         %[[PLACE:.*]] = step.view %[[Y]]
// CHECK:         step.copy %[[FROM]] to %[[PLACE]]
// CHECK-NEXT:    step.loop 3 {
// CHECK:           %[[LAYER:.*]] = step.view %[[W]] by 256 of loop 0 : memref<3x16x16xf32> as memref<1x1x1x16x16xf32
// CHECK-NOT:       step.copy
// CHECK:           step.matmul {{.*}}, %[[LAYER]] into
// CHECK-NOT:       constant_b
// CHECK:           step.rows
// CHECK:             math.tanh
// CHECK:           step.copy %{{.*}} to %[[PLACE]]
// CHECK-NEXT:    }
// CHECK-NOT:     step.copy
func.func @scan(%x: tensor<4x16xf32>, %w: tensor<3x16x16xf32> {tp.source = #tp.source<"w", stored=[3, 16, 16], start=[0, 0, 0], size=[3, 16, 16], view=[3, 16, 16], permutation=[0, 1, 2]>}) -> tensor<4x16xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %r, %u = tp.for 3 (%x, %w) {
  ^bb0(%i: tensor<i32>, %h: tensor<4x16xf32>, %all: tensor<3x16x16xf32>):
    %layer = tp.dynamic_slice %all [%i, %zero, %zero] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %flat = tp.reshape %layer : tensor<1x16x16xf32> -> tensor<16x16xf32>
    %y = tp.einsum "bi,io->bo" %h, %flat : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
    %t = tp.tanh %y : tensor<4x16xf32>
    tp.yield %t, %all : tensor<4x16xf32>, tensor<3x16x16xf32>
  } : (tensor<4x16xf32>, tensor<3x16x16xf32>) -> (tensor<4x16xf32>, tensor<3x16x16xf32>)
  return %r : tensor<4x16xf32>
}

// A stack of results is written slice by slice where it is, by what computes a
// slice.
// CHECK-LABEL: step.program @stack
// CHECK:       ^bb0(%{{.*}}: memref<4xf32>, %[[Y:.*]]: memref<3x4xf32>):
// CHECK:         %[[ALL:.*]] = step.view %[[Y]] : memref<3x4xf32> as memref<12xf32>
// CHECK:         step.rows {{.*}} writes(%[[ALL]]
// CHECK:         step.loop 3 {
// CHECK-NEXT:      %[[SLICES:.*]] = step.view %[[Y]] : memref<3x4xf32> as memref<4x3xf32, strided<[1, 4]>>
// CHECK-NEXT:      step.rows [4] reads(%{{.*}}) writes(%[[SLICES]]
// CHECK:             math.exp
// CHECK:             %[[I:.*]] = step.index 0
// CHECK:             step.counter 0
// CHECK:             step.store %{{.*}} to %{{.*}}[%[[I]], %{{.*}}]
// CHECK-NOT:       step.copy
// CHECK-NOT:       step.rows
// CHECK:         }
func.func @stack(%x: tensor<4xf32>) -> tensor<3x4xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %none = tp.constant dense<0.0> : tensor<3x4xf32>
  %r = tp.for 3 (%none) {
  ^bb0(%i: tensor<i32>, %s: tensor<3x4xf32>):
    %y = tp.exp %x : tensor<4xf32>
    %row = tp.reshape %y : tensor<4xf32> -> tensor<1x4xf32>
    %n = tp.dynamic_update_slice %s, %row [%i, %zero] : (tensor<3x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<3x4xf32>
    tp.yield %n : tensor<3x4xf32>
  } : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return %r : tensor<3x4xf32>
}

// If slices are aligned, they are written through a view that moves, here from
// the last one to the first.
// CHECK-LABEL: step.program @moving
// CHECK:       ^bb0(%{{.*}}: memref<16xf32>, %[[Y:.*]]: memref<3x16xf32>):
// CHECK:         step.loop 3 {
// CHECK-NEXT:      %[[SLICE:.*]] = step.view %[[Y]] by -16 of loop 0 : memref<3x16xf32> as memref<16xf32, strided<[1], offset: 32>>
// CHECK-NEXT:      step.rows [16] reads(%{{.*}}) writes(%[[SLICE]]
// CHECK:             math.exp
// CHECK-NOT:         step.counter
// CHECK:             step.store
// CHECK-NOT:       step.rows
// CHECK:         }
func.func @moving(%x: tensor<16xf32>) -> tensor<3x16xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %two = tp.constant dense<2> : tensor<i32>
  %none = tp.constant dense<0.0> : tensor<3x16xf32>
  %r = tp.for 3 (%none) {
  ^bb0(%i: tensor<i32>, %s: tensor<3x16xf32>):
    %y = tp.exp %x : tensor<16xf32>
    %row = tp.reshape %y : tensor<16xf32> -> tensor<1x16xf32>
    %j = tp.sub %two, %i : tensor<i32>
    %n = tp.dynamic_update_slice %s, %row [%j, %zero] : (tensor<3x16xf32>, tensor<1x16xf32>, tensor<i32>, tensor<i32>) -> tensor<3x16xf32>
    tp.yield %n : tensor<3x16xf32>
  } : (tensor<3x16xf32>) -> tensor<3x16xf32>
  return %r : tensor<3x16xf32>
}

// A slice that begins at a known place is a view; one that does not move evenly is
// computed.
// CHECK-LABEL: step.program @starts
// CHECK:         step.view %{{.*}} : memref<9x16xf32> as memref<16xf32, strided<[1], offset: 48>>
// CHECK:         step.loop 4 {
// CHECK-NOT:       by
// CHECK:           step.rows
// CHECK:             step.counter 0
// CHECK:             step.load %{{.*}}[
func.func @starts(%x: tensor<9x16xf32>) -> tensor<1x16xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %three = tp.constant dense<3> : tensor<i32>
  %first = tp.dynamic_slice %x [%three, %zero] : (tensor<9x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
  %y = tp.exp %first : tensor<1x16xf32>
  %r = tp.for 4 (%y) {
  ^bb0(%i: tensor<i32>, %h: tensor<1x16xf32>):
    %square = tp.mul %i, %i : tensor<i32>
    %part = tp.dynamic_slice %x [%square, %zero] : (tensor<9x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %n = tp.add %h, %part : tensor<1x16xf32>
    tp.yield %n : tensor<1x16xf32>
  } : (tensor<1x16xf32>) -> tensor<1x16xf32>
  return %r : tensor<1x16xf32>
}

// A branch writes its values into the place of the result.
// CHECK-LABEL: step.program @choice
// CHECK:       ^bb0(%{{.*}}: memref<4xf32>, %{{.*}}: memref<i1>, %[[Y:.*]]: memref<4xf32>):
// CHECK:         step.if %{{.*}} {
// CHECK-NEXT:      step.copy %{{.*}} to %[[Y]]
// CHECK-NEXT:    } else {
// CHECK-NEXT:      step.rows {{.*}} writes(%[[Y]]
func.func @choice(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %r = tp.case %p {
    tp.yield %x : tensor<4xf32>
  }, {
    %y = tp.exp %x : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  } : (tensor<i1>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// The condition has a place of its own.
// CHECK-LABEL: step.program @count
// CHECK:         %[[P:.*]] = step.alloc : memref<i1>
// CHECK:         step.while %[[P]] cond {
// CHECK:           %[[ONE:.*]] = step.view %[[P]] : memref<i1> as memref<1xi1>
// CHECK:           step.rows {{.*}} writes(%[[ONE]]
// CHECK-NOT:       step.copy
// CHECK:         } do {
func.func @count(%n: tensor<i32>) -> tensor<i32> {
  %nine = tp.constant dense<9> : tensor<i32>
  %one = tp.constant dense<1> : tensor<i32>
  %m = tp.while (%n) cond {
  ^bb0(%c: tensor<i32>):
    %more = tp.compare lt %c, %nine : (tensor<i32>, tensor<i32>) -> tensor<i1>
    tp.yield %more : tensor<i1>
  } do {
  ^bb0(%c: tensor<i32>):
    %next = tp.add %c, %one : tensor<i32>
    tp.yield %next : tensor<i32>
  } : (tensor<i32>) -> tensor<i32>
  return %m : tensor<i32>
}

// A scatter begins with zeros that are made where the result is to lie; halves are
// added in f32. The largest elements need no full sort.
// CHECK-LABEL: step.program @indexed
// CHECK:         step.scatter add %{{.*}} at %{{.*}} into %{{.*}} : memref<1x1x5x2xf32{{.*}}>, memref<1x5xi64{{.*}}> into memref<1x1x7x2xf32
// CHECK:         step.sort descending %{{.*}} into %{{.*}}, %{{.*}} : memref<7x2xf16{{.*}}> into memref<7x1xf16>, memref<7x1xi32>
func.func @indexed(%i: tensor<5xi32>, %u: tensor<5x2xf16>) -> (tensor<7x2xf16>, tensor<7x1xi32>) {
  %zero = tp.constant dense<0.0> : tensor<7x2xf16>
  %s = tp.scatter add %zero, %i, %u axis = 0 batch = 0 : (tensor<7x2xf16>, tensor<5xi32>, tensor<5x2xf16>) -> tensor<7x2xf16>
  %v, %k = tp.top_k %s : tensor<7x2xf16> -> tensor<7x1xf16>, tensor<7x1xi32>
  return %s, %k : tensor<7x2xf16>, tensor<7x1xi32>
}

// RUN: tp-opt %s --tp-lower-to-step --split-input-file | FileCheck %s

// Rotary keys go from the program that computes them into the cache, each half
// to its features; the values that follow go with them, half by half.
// CHECK-LABEL: step.program @decode
// CHECK-SAME:  positions 9
// CHECK:       ^bb0(%[[KEYS:.*]]: memref<1x9x3x8xf32>, %[[VALUES:.*]]: memref<1x9x3x8xf32>, %[[K:.*]]: memref<1x1x3x8xf32>, %[[V:.*]]: memref<1x1x3x8xf32>, %[[COS:.*]]: memref<1x4xf32>, %{{.*}}: memref<1x4xf32>, %{{.*}}: memref<i32>):
// CHECK-NOT:   step.alloc
// CHECK-DAG:   %[[K0:.*]] = step.view %[[KEYS]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1]>>
// CHECK-DAG:   %[[K1:.*]] = step.view %[[KEYS]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1], offset: 4>>
// CHECK-DAG:   %[[V0:.*]] = step.view %[[VALUES]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1]>>
// CHECK-DAG:   %[[V1:.*]] = step.view %[[VALUES]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1], offset: 4>>
// CHECK:       step.rows [1, 1, 3, 4] {{.*}} writes(%[[K0]], %[[K1]], %[[V0]], %[[V1]] :
// CHECK:         %[[H:.*]] = step.index 2
// CHECK:         %[[D:.*]] = step.index 3
// CHECK:         step.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}, %[[H]], %[[D]]]
// CHECK-COUNT-3: step.store
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @decode(%keys: tensor<1x9x3x8xf32> {tp.donated = 0 : i64}, %values: tensor<1x9x3x8xf32> {tp.donated = 1 : i64}, %k: tensor<1x1x3x8xf32>, %v: tensor<1x1x3x8xf32>, %cos: tensor<1x4xf32>, %sin: tensor<1x4xf32>, %p: tensor<i32>) -> (tensor<1x9x3x8xf32>, tensor<1x9x3x8xf32>) {
  %zero = tp.constant dense<0> : tensor<i32>
  %r = tp.rotary %k, %cos, %sin : (tensor<1x1x3x8xf32>, tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x1x3x8xf32>
  %0 = tp.dynamic_update_slice %keys, %r [%zero, %p, %zero, %zero] : (tensor<1x9x3x8xf32>, tensor<1x1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x3x8xf32>
  %1 = tp.dynamic_update_slice %values, %v [%zero, %p, %zero, %zero] : (tensor<1x9x3x8xf32>, tensor<1x1x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x3x8xf32>
  return %0, %1 : tensor<1x9x3x8xf32>, tensor<1x9x3x8xf32>
}

// -----

// In bf16, too: narrowed once, where it is stored.
// CHECK-LABEL: step.program @narrow
// CHECK-NOT:   step.alloc
// CHECK:       step.rows [1, 5, 3, 4]
// CHECK-SAME:  writes({{.*}}memref<1x9x3x4xbf16
// CHECK-COUNT-2: arith.truncf
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @narrow(%keys: tensor<1x9x3x8xbf16> {tp.donated = 0 : i64}, %k: tensor<1x5x3x8xbf16>, %cos: tensor<5x4xf32>, %sin: tensor<5x4xf32>, %p: tensor<i32>) -> tensor<1x9x3x8xbf16> {
  %zero = tp.constant dense<0> : tensor<i32>
  %r = tp.rotary %k, %cos, %sin : (tensor<1x5x3x8xbf16>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<1x5x3x8xbf16>
  %0 = tp.dynamic_update_slice %keys, %r [%zero, %p, %zero, %zero] : (tensor<1x9x3x8xbf16>, tensor<1x5x3x8xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x3x8xbf16>
  return %0 : tensor<1x9x3x8xbf16>
}

// -----

// Keys that something else reads, too, are stored twice by one program.
// CHECK-LABEL: step.program @prefill
// CHECK:       ^bb0(%[[KEYS:[^:]*]]:
// CHECK:       %[[R:.*]] = step.alloc : memref<1x5x3x8xf32>
// CHECK-DAG:   %[[R0:.*]] = step.view %[[R]] : {{.*}} as memref<1x5x3x4xf32, strided<[120, 24, 8, 1]>>
// CHECK-DAG:   %[[R1:.*]] = step.view %[[R]] : {{.*}} as memref<1x5x3x4xf32, strided<[120, 24, 8, 1], offset: 4>>
// CHECK-DAG:   %[[K0:.*]] = step.view %[[KEYS]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1]>>
// CHECK-DAG:   %[[K1:.*]] = step.view %[[KEYS]] : {{.*}} as memref<1x9x3x4xf32, strided<[216, 24, 8, 1], offset: 4>>
// CHECK:       step.rows [1, 5, 3, 4] {{.*}} writes(%[[R0]], %[[R1]], %[[K0]], %[[K1]] :
// CHECK-COUNT-4: step.store
// CHECK-NOT:   step.copy
// CHECK:       step.matmul
// CHECK-NOT:   step.copy
func.func @prefill(%keys: tensor<1x9x3x8xf32> {tp.donated = 0 : i64}, %k: tensor<1x5x3x8xf32>, %w: tensor<8x8xf32>, %cos: tensor<5x4xf32>, %sin: tensor<5x4xf32>) -> (tensor<1x9x3x8xf32>, tensor<1x5x3x8xf32>) {
  %zero = tp.constant dense<0> : tensor<i32>
  %r = tp.rotary %k, %cos, %sin : (tensor<1x5x3x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<1x5x3x8xf32>
  %0 = tp.dynamic_update_slice %keys, %r [%zero, %zero, %zero, %zero] : (tensor<1x9x3x8xf32>, tensor<1x5x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x3x8xf32>
  %1 = tp.einsum "bshd,de->bshe" %r, %w : (tensor<1x5x3x8xf32>, tensor<8x8xf32>) -> tensor<1x5x3x8xf32>
  return %0, %1 : tensor<1x9x3x8xf32>, tensor<1x5x3x8xf32>
}

// -----

// Into a cache that has heads before positions: the program stays in its own
// order.
// CHECK-LABEL: step.program @transposed
// CHECK-NOT:   step.alloc
// CHECK:       step.rows [1, 5, 3, 4] {{.*}} writes({{.*}} : memref<1x9x3x4xf32, strided<[216, 8, 72, 1]>>, memref<1x9x3x4xf32, strided<[216, 8, 72, 1], offset: 4>>)
// CHECK:         %[[S:.*]] = step.index 1
// CHECK:         %[[P:.*]] = arith.addi %{{.*}}, %[[S]]
// CHECK:         %[[H:.*]] = step.index 2
// CHECK:         step.store %{{.*}} to %{{.*}}[%{{.*}}, %[[P]], %[[H]], %{{.*}}]
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @transposed(%keys: tensor<1x3x9x8xf32> {tp.donated = 0 : i64}, %k: tensor<1x5x3x8xf32>, %cos: tensor<5x4xf32>, %sin: tensor<5x4xf32>, %p: tensor<i32>) -> tensor<1x3x9x8xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %r = tp.rotary %k, %cos, %sin : (tensor<1x5x3x8xf32>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<1x5x3x8xf32>
  %t = tp.transpose %r [0, 2, 1, 3] : tensor<1x5x3x8xf32> -> tensor<1x3x5x8xf32>
  %0 = tp.dynamic_update_slice %keys, %t [%zero, %zero, %p, %zero] : (tensor<1x3x9x8xf32>, tensor<1x3x5x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x3x9x8xf32>
  return %0 : tensor<1x3x9x8xf32>
}

// -----

// Values that are narrowed before their heads are told apart.
// CHECK-LABEL: step.program @reshaped
// CHECK-NOT:   step.alloc
// CHECK:       step.rows [2, 5, 24] {{.*}} writes({{.*}} : memref<2x9x24xbf16>)
// CHECK:         arith.truncf
// CHECK:         step.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}, %{{.*}}]
// CHECK-NOT:   step.rows
// CHECK-NOT:   step.copy
func.func @reshaped(%values: tensor<2x9x3x8xbf16> {tp.donated = 0 : i64}, %v: tensor<2x5x24xf32>, %p: tensor<i32>) -> tensor<2x9x3x8xbf16> {
  %zero = tp.constant dense<0> : tensor<i32>
  %n = tp.convert %v : tensor<2x5x24xf32> -> tensor<2x5x24xbf16>
  %h = tp.reshape %n : tensor<2x5x24xbf16> -> tensor<2x5x3x8xbf16>
  %0 = tp.dynamic_update_slice %values, %h [%zero, %p, %zero, %zero] : (tensor<2x9x3x8xbf16>, tensor<2x5x3x8xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x9x3x8xbf16>
  return %0 : tensor<2x9x3x8xbf16>
}

// -----

// Not where a dimension that the update begins in is one with another before:
// no strides say where the elements belong.
// CHECK-LABEL: step.program @split
// CHECK:       step.alloc
// CHECK:       step.rows
// CHECK:         math.exp
// CHECK:       step.rows [5, 3, 8]
// CHECK-NOT:   step.rows
func.func @split(%x: tensor<9x3x8xf32> {tp.donated = 0 : i64}, %v: tensor<15x8xf32>, %p: tensor<i32>) -> tensor<9x3x8xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %e = tp.exp %v : tensor<15x8xf32>
  %h = tp.reshape %e : tensor<15x8xf32> -> tensor<5x3x8xf32>
  %0 = tp.dynamic_update_slice %x, %h [%p, %zero, %zero] : (tensor<9x3x8xf32>, tensor<5x3x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<9x3x8xf32>
  return %0 : tensor<9x3x8xf32>
}

// -----

// An update that reads what it overwrites is stored into a copy.
// CHECK-LABEL: step.program @reads
// CHECK:       ^bb0(%[[X:.*]]: memref<9x8xf32>
// CHECK:       %[[OWN:.*]] = step.alloc : memref<9x8xf32>
// CHECK:       step.copy
// CHECK:       step.rows [4, 8] reads(%{{.*}} : memref<4x8xf32, strided<[8, 1], offset: 16>>{{.*}}) writes(%[[OWN]] : memref<9x8xf32>)
// CHECK-NOT:   step.rows
func.func @reads(%x: tensor<9x8xf32> {tp.donated = 0 : i64}, %p: tensor<i32>) -> tensor<9x8xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %s = tp.slice %x starts = [2, 0] strides = [1, 1] : tensor<9x8xf32> -> tensor<4x8xf32>
  %e = tp.exp %s : tensor<4x8xf32>
  %0 = tp.dynamic_update_slice %x, %e [%p, %zero] : (tensor<9x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}

// -----

// Two updates of one tensor stay in their order, though one program computes
// both.
// CHECK-LABEL: step.program @ordered
// CHECK:       ^bb0(%[[X:.*]]: memref<9x8xf32>
// CHECK:       step.rows [4, 8] {{.*}} writes({{.*}}%[[X]] :
// CHECK:         math.exp
// CHECK:       step.rows [4, 8] {{.*}} writes(%[[X]] : memref<9x8xf32>)
// CHECK-NOT:   step.copy
func.func @ordered(%x: tensor<9x8xf32> {tp.donated = 0 : i64}, %v: tensor<4x8xf32>, %p: tensor<i32>, %q: tensor<i32>) -> tensor<9x8xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %e = tp.exp %v : tensor<4x8xf32>
  %t = tp.tanh %e : tensor<4x8xf32>
  %0 = tp.dynamic_update_slice %x, %e [%p, %zero] : (tensor<9x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<9x8xf32>
  %1 = tp.dynamic_update_slice %0, %t [%q, %zero] : (tensor<9x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<9x8xf32>
  return %1 : tensor<9x8xf32>
}

// -----

// Nor can a place that depends on what is stored be known to the program that
// computes it.
// CHECK-LABEL: step.program @placed
// CHECK:       step.rows
// CHECK:         math.exp
// CHECK:       step.rows [4, 8]
// CHECK:         step.store %{{.*}} to %{{.*}}[%{{.*}}, %{{.*}}]
func.func @placed(%x: tensor<9x8xf32> {tp.donated = 0 : i64}, %v: tensor<4x8xf32>) -> tensor<9x8xf32> {
  %zero = tp.constant dense<0> : tensor<i32>
  %e = tp.exp %v : tensor<4x8xf32>
  %m = tp.reduce max %e dims = [0, 1] : tensor<4x8xf32> -> tensor<f32>
  %i = tp.convert %m : tensor<f32> -> tensor<i32>
  %0 = tp.dynamic_update_slice %x, %e [%i, %zero] : (tensor<9x8xf32>, tensor<4x8xf32>, tensor<i32>, tensor<i32>) -> tensor<9x8xf32>
  return %0 : tensor<9x8xf32>
}

// RUN: tp-opt %s --tp-raise --split-input-file | FileCheck %s

// Norms as exporters write them are raised: RMS norm with the root below, layer norm
// with x - mean(x) computed twice, with its variance as a difference of means, with and
// without scale and bias.

// CHECK-LABEL: func.func @rms
// CHECK-SAME: %[[X:.*]]: tensor<3x5xf32>, %[[W:.*]]: tensor<5xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.rms_norm %[[X]], %[[W]] epsilon = 9.99
// CHECK-NEXT: return %[[Y]]
func.func @rms(%x: tensor<3x5xf32>, %w: tensor<5xf32>) -> tensor<3x5xf32> {
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %keep = tp.broadcast %sum dims = [0] : tensor<3xf32> -> tensor<3x1xf32>
  %five = tp.constant dense<5.0> : tensor<3x1xf32>
  %mean = tp.div %keep, %five : tensor<3x1xf32>
  %epsilon = tp.constant dense<1.0e-5> : tensor<3x1xf32>
  %more = tp.add %mean, %epsilon : tensor<3x1xf32>
  %root = tp.sqrt %more : tensor<3x1xf32>
  %flat = tp.reshape %root : tensor<3x1xf32> -> tensor<3xf32>
  %wide = tp.broadcast %flat dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %normal = tp.div %x, %wide : tensor<3x5xf32>
  %rows = tp.broadcast %w dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %y = tp.mul %normal, %rows : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func.func @layer
// CHECK-SAME: %[[X:.*]]: tensor<3x5xf32>, %[[W:.*]]: tensor<5xf32>, %[[B:.*]]: tensor<5xf32>
// CHECK-NEXT: %[[Y:.*]] = tp.layer_norm %[[X]], %[[W]], %[[B]] epsilon = 9.99
// CHECK-NEXT: return %[[Y]]
func.func @layer(%x: tensor<3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>) -> tensor<3x5xf32> {
  %sum = tp.reduce sum %x dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %fifth = tp.constant dense<0.2> : tensor<3xf32>
  %mean = tp.mul %fifth, %sum : tensor<3xf32>
  %mean0 = tp.broadcast %mean dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %centred0 = tp.sub %x, %mean0 : tensor<3x5xf32>
  %two = tp.constant dense<2.0> : tensor<3x5xf32>
  %square = tp.pow %centred0, %two : tensor<3x5xf32>
  %squares = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %variance = tp.mul %squares, %fifth : tensor<3xf32>
  %epsilon = tp.constant dense<1.0e-5> : tensor<3xf32>
  %more = tp.add %epsilon, %variance : tensor<3xf32>
  %root = tp.rsqrt %more : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %rows = tp.broadcast %w dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %factor = tp.mul %wide, %rows : tensor<3x5xf32>
  %mean1 = tp.broadcast %mean dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %centred1 = tp.sub %x, %mean1 : tensor<3x5xf32>
  %scaled = tp.mul %centred1, %factor : tensor<3x5xf32>
  %bias = tp.broadcast %b dims = [1] : tensor<5xf32> -> tensor<3x5xf32>
  %y = tp.add %bias, %scaled : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func.func @variance_of_means
// CHECK: tp.layer_norm
// CHECK-NEXT: return
func.func @variance_of_means(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %five = tp.constant dense<5.0> : tensor<3xf32>
  %sum = tp.reduce sum %x dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %mean = tp.div %sum, %five : tensor<3xf32>
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %squares = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %means = tp.div %squares, %five : tensor<3xf32>
  %second = tp.mul %mean, %mean : tensor<3xf32>
  %difference = tp.sub %means, %second : tensor<3xf32>
  %zero = tp.constant dense<0.0> : tensor<3xf32>
  %variance = tp.max %zero, %difference : tensor<3xf32>
  %root = tp.rsqrt %variance : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %mean0 = tp.broadcast %mean dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %centred = tp.sub %x, %mean0 : tensor<3x5xf32>
  %y = tp.mul %centred, %wide : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Between converts, the norm is one of 16 bits: it computes in f32 by itself.
// CHECK-LABEL: func.func @narrow
// CHECK-SAME: %[[X:.*]]: tensor<3x5xbf16>
// CHECK-NEXT: %[[W:.*]] = tp.constant dense<1.000000e+00> : tensor<5xbf16>
// CHECK-NEXT: %[[Y:.*]] = tp.rms_norm %[[X]], %[[W]]
// CHECK-NEXT: return %[[Y]]
func.func @narrow(%x: tensor<3x5xbf16>) -> tensor<3x5xbf16> {
  %x32 = tp.convert %x : tensor<3x5xbf16> -> tensor<3x5xf32>
  %square = tp.mul %x32, %x32 : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %five = tp.constant dense<5.0> : tensor<3xf32>
  %mean = tp.div %sum, %five : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %normal = tp.mul %x32, %wide : tensor<3x5xf32>
  %y = tp.convert %normal : tensor<3x5xf32> -> tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// -----

// Near misses: what is almost a norm stays as it is.
// CHECK-LABEL: func.func @epsilon_outside
// CHECK-NOT: _norm
func.func @epsilon_outside(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %five = tp.constant dense<5.0> : tensor<3xf32>
  %mean = tp.div %sum, %five : tensor<3xf32>
  %root = tp.sqrt %mean : tensor<3xf32>
  %epsilon = tp.constant dense<1.0e-5> : tensor<3xf32>
  %more = tp.add %root, %epsilon : tensor<3xf32>
  %wide = tp.broadcast %more dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.div %x, %wide : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// CHECK-LABEL: func.func @wrong_count
// CHECK-NOT: _norm
func.func @wrong_count(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %four = tp.constant dense<4.0> : tensor<3xf32>
  %mean = tp.div %sum, %four : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.mul %x, %wide : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// Another dim than the last.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: _norm
func.func @columns(%x: tensor<5x3xf32>) -> tensor<5x3xf32> {
  %square = tp.mul %x, %x : tensor<5x3xf32>
  %sum = tp.reduce sum %square dims = [0] : tensor<5x3xf32> -> tensor<3xf32>
  %five = tp.constant dense<5.0> : tensor<3xf32>
  %mean = tp.div %sum, %five : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [1] : tensor<3xf32> -> tensor<5x3xf32>
  %y = tp.mul %x, %wide : tensor<5x3xf32>
  return %y : tensor<5x3xf32>
}

// -----

// The root is needed besides, as a gradient needs it.
// CHECK-LABEL: func.func @other_user
// CHECK-NOT: _norm
func.func @other_user(%x: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<3xf32>) {
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %five = tp.constant dense<5.0> : tensor<3xf32>
  %mean = tp.div %sum, %five : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.mul %x, %wide : tensor<3x5xf32>
  return %y, %root : tensor<3x5xf32>, tensor<3xf32>
}

// -----

// Rounded to 16 bits between: another function than that of the op.
// CHECK-LABEL: func.func @rounded
// CHECK-NOT: _norm
func.func @rounded(%x: tensor<3x5xbf16>) -> tensor<3x5xbf16> {
  %square = tp.mul %x, %x : tensor<3x5xbf16>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xbf16> -> tensor<3xbf16>
  %fifth = tp.constant dense<0.2> : tensor<3xbf16>
  %mean = tp.mul %sum, %fifth : tensor<3xbf16>
  %root = tp.rsqrt %mean : tensor<3xbf16>
  %wide = tp.broadcast %root dims = [0] : tensor<3xbf16> -> tensor<3x5xbf16>
  %y = tp.mul %x, %wide : tensor<3x5xbf16>
  return %y : tensor<3x5xbf16>
}

// -----

// A sharding said of a value between is kept, and so is the value.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @annotated
// CHECK-NOT: _norm
// CHECK: spmd.shardings
// CHECK-NOT: _norm
func.func @annotated(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %square = tp.mul %x, %x {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %fifth = tp.constant dense<0.2> : tensor<3xf32>
  %mean = tp.mul %sum, %fifth : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.mul %x, %wide : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

// -----

// One said of the result stays with it.
spmd.mesh @mesh <["x"=2]>
// CHECK-LABEL: func.func @annotated_result
// CHECK: tp.rms_norm {{.*}} {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]}
func.func @annotated_result(%x: tensor<3x5xf32>) -> tensor<3x5xf32> {
  %square = tp.mul %x, %x : tensor<3x5xf32>
  %sum = tp.reduce sum %square dims = [1] : tensor<3x5xf32> -> tensor<3xf32>
  %fifth = tp.constant dense<0.2> : tensor<3xf32>
  %mean = tp.mul %sum, %fifth : tensor<3xf32>
  %root = tp.rsqrt %mean : tensor<3xf32>
  %wide = tp.broadcast %root dims = [0] : tensor<3xf32> -> tensor<3x5xf32>
  %y = tp.mul %x, %wide {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}, {}]>]} : tensor<3x5xf32>
  return %y : tensor<3x5xf32>
}

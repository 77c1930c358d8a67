// RUN: tp-opt %s --tp-shard=stop-after=partition | FileCheck %s
// RUN: tp-opt %s --tp-shard="stop-after=partition memory=1100KB" | FileCheck %s --check-prefix=SMALL
// RUN: tp-opt %s --tp-shard -o /dev/null

// The gradients of a loop over layers, as jax.lax.scan has them.
spmd.mesh @mesh <["data"=2]>
!i = tensor<i32>
!w = tensor<4x4xf32>
!r = tensor<1x4x4xf32>
!s = tensor<3x4x4xf32>
!x = tensor<256x4xf32>

// What a loop stacks stays partial, and is summed once behind the loop: the same
// bytes in one launch instead of three.
// CHECK-LABEL: func.func @stacked
// CHECK: tp.for 3
// CHECK-NOT: spmd.reshard
// CHECK: tp.dynamic_update_slice {{.*}}spmd.sharding<@mesh, [{}, {}, {}], unreduced={"data"}>
// CHECK-NOT: spmd.reshard
// CHECK: tp.yield
// CHECK-NEXT: }
// CHECK-NEXT: spmd.reshard %{{.+}} <@mesh, [{}, {}, {}]> {{.*}}kind = contracted
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @stacked(%x: !x {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (!s {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = tp.constant dense<0.0> : !s
  %1:2 = tp.for 3 (%x, %0) {
  ^bb0(%i: !i, %h: !x, %stack: !s):
    %zero = tp.constant dense<0> : !i
    %last = tp.constant dense<2> : !i
    %j = tp.sub %last, %i : !i
    %a = tp.tanh %h : !x
    %g = tp.einsum "bi,bo->io" %h, %a : (!x, !x) -> !w
    %row = tp.reshape %g : !w -> !r
    %more = tp.dynamic_update_slice %stack, %row[%j, %zero, %zero] : (!s, !r, !i, !i, !i) -> !s
    tp.yield %a, %more : !x, !s
  } : (!x, !s) -> (!x, !s)
  return %1#1 : !s
}

// What is cut is scattered in each iteration, as a stack of partial gradients would
// be twice as large.
// CHECK-LABEL: func.func @scattered
// CHECK: tp.for 3
// CHECK: spmd.reshard %{{.+}} <@mesh, [{"data"}, {}]> {{.*}}kind = contracted
// CHECK: tp.yield
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @scattered(%x: !x {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (!s {spmd.sharding = #spmd.sharding<@mesh, [{}, {"data"}, {}]>}) {
  %0 = tp.constant dense<0.0> : !s
  %1:2 = tp.for 3 (%x, %0) {
  ^bb0(%i: !i, %h: !x, %stack: !s):
    %zero = tp.constant dense<0> : !i
    %a = tp.tanh %h : !x
    %g = tp.einsum "bi,bo->io" %h, %a : (!x, !x) -> !w
    %row = tp.reshape %g : !w -> !r
    %more = tp.dynamic_update_slice %stack, %row[%i, %zero, %zero] : (!s, !r, !i, !i, !i) -> !s
    tp.yield %a, %more : !x, !s
  } : (!x, !s) -> (!x, !s)
  return %1#1 : !s
}

// Halves of a gradient in 16 bits are summed in 16 bits: behind the loop, they would
// be twice the bytes.
// CHECK-LABEL: func.func @widened
// CHECK: tp.for 3
// CHECK: %[[G:.+]] = spmd.reshard %{{.+}} <@mesh, [{}, {}]> {{.*}} : tensor<4x4xbf16>
// CHECK: tp.convert %[[G]]
// CHECK: tp.yield
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @widened(%x: tensor<256x4xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (!s {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = tp.constant dense<0.0> : !s
  %1:2 = tp.for 3 (%x, %0) {
  ^bb0(%i: !i, %h: tensor<256x4xbf16>, %stack: !s):
    %zero = tp.constant dense<0> : !i
    %a = tp.tanh %h : tensor<256x4xbf16>
    %g = tp.einsum "bi,bo->io" %h, %a : (tensor<256x4xbf16>, tensor<256x4xbf16>) -> tensor<4x4xbf16>
    %wide = tp.convert %g : tensor<4x4xbf16> -> !w
    %row = tp.reshape %wide : !w -> !r
    %more = tp.dynamic_update_slice %stack, %row[%i, %zero, %zero] : (!s, !r, !i, !i, !i) -> !s
    tp.yield %a, %more : tensor<256x4xbf16>, !s
  } : (tensor<256x4xbf16>, !s) -> (tensor<256x4xbf16>, !s)
  return %1#1 : !s
}

// What a loop adds up is summed once.
// CHECK-LABEL: func.func @accumulated
// CHECK: tp.for 3
// CHECK-NOT: spmd.reshard
// CHECK: tp.yield
// CHECK-NEXT: }
// CHECK-NEXT: spmd.reshard %{{.+}} <@mesh, [{}, {}]> {{.*}}kind = contracted
// CHECK-NOT: spmd.reshard
// CHECK: return
func.func @accumulated(%x: !x {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (!w {spmd.sharding = #spmd.sharding<@mesh, [{}, {}]>}) {
  %0 = tp.constant dense<0.0> : !w
  %1:2 = tp.for 3 (%x, %0) {
  ^bb0(%i: !i, %h: !x, %sum: !w):
    %a = tp.tanh %h : !x
    %g = tp.einsum "bi,bo->io" %h, %a : (!x, !x) -> !w
    %more = tp.add %sum, %g : !w
    tp.yield %a, %more : !x, !w
  } : (!x, !w) -> (!x, !w)
  return %1#1 : !w
}

// While it is summed, a stack is there twice. If that does not fit, its rows are summed
// in the loop.
// CHECK-LABEL: func.func @twice
// CHECK: tp.for 32
// CHECK-NOT: spmd.reshard
// CHECK: tp.yield
// CHECK: spmd.reshard %{{.+}} <@mesh, [{}, {}, {}]> {{.*}}kind = contracted
// SMALL-LABEL: func.func @twice
// SMALL: tp.for 32
// SMALL: spmd.reshard %{{.+}} <@mesh, [{}, {"data"}, {}]> {{.*}}kind = contracted
// SMALL: tp.yield
// SMALL-NOT: kind = contracted
// SMALL: return
func.func @twice(%x: tensor<512x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<32x64x64xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = tp.constant dense<0.0> : tensor<32x64x64xf32>
  %1:2 = tp.for 32 (%x, %0) {
  ^bb0(%i: !i, %h: tensor<512x64xf32>, %stack: tensor<32x64x64xf32>):
    %zero = tp.constant dense<0> : !i
    %rows = spmd.constraint %h <@mesh, [{"data"}, {}]> : tensor<512x64xf32>
    %a = tp.tanh %rows : tensor<512x64xf32>
    %g = tp.einsum "bi,bo->io" %rows, %a : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %row = tp.reshape %g : tensor<64x64xf32> -> tensor<1x64x64xf32>
    %more = tp.dynamic_update_slice %stack, %row[%i, %zero, %zero] : (tensor<32x64x64xf32>, tensor<1x64x64xf32>, !i, !i, !i) -> tensor<32x64x64xf32>
    tp.yield %a, %more : tensor<512x64xf32>, tensor<32x64x64xf32>
  } : (tensor<512x64xf32>, tensor<32x64x64xf32>) -> (tensor<512x64xf32>, tensor<32x64x64xf32>)
  return %1#1 : tensor<32x64x64xf32>
}

// Attention of few queries has its keys in parts, in numbers for GPUs of several sizes, and in
// 16-bit floats one warp or two. The runtime times them at load and keeps the fastest for the device: each gives what the
// program means, of queries that share keys, keys that fill no tile and are not all there,
// with a mask and without, in f32 and bf16. The fake GPU runs blocks in other orders from
// launch to launch, and each run leaves counters as the next one needs them.

// With sanitizers it takes minutes; the other emulated kernels run with them.
// UNSUPPORTED: sanitizer

// RUN: rm -rf %t && mkdir -p %t/0 %t/1 %t/2
// RUN: tp-opt %s --tp-compile="mesh=x=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so

// The fastest is the first where all are as fast, else the first that is not slow. Kernels
// are numbered in turn: attention1, attention2, ..
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/0 TPRT_EMULATED_KERNELS=%t/a.so \
// RUN:   tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/1 TPRT_EMULATED_KERNELS=%t/a.so TPRT_FAKE_SLOW=attention1:9,attention2:9,attention4:9 \
// RUN:   tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/2 TPRT_EMULATED_KERNELS=%t/a.so TPRT_FAKE_SLOW=attention4:9,attention5:9 \
// RUN:   tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// SAME: check y: {{.*}}: ok
// SAME: check z: {{.*}}: ok

// What was kept is executed by the next session, which times nothing.
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/0 TPRT_RECORD=%t/0.log tp-run %t/a.tpx --backend=cuda
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/1 TPRT_RECORD=%t/1.log tp-run %t/a.tpx --backend=cuda
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t/2 TPRT_RECORD=%t/2.log tp-run %t/a.tpx --backend=cuda
// RUN: cat %t/0.log %t/1.log %t/2.log | grep '^launch attention\|^launch graph' | FileCheck %s --check-prefix=KEPT
// KEPT:      launch attention1
// KEPT-NEXT: launch attention4
// KEPT-NEXT: launch attention3
// KEPT-NEXT: launch attention5 <{{[0-9]+}}, 32,
// KEPT-NEXT: launch attention1
// KEPT-NEXT: launch attention6 <{{[0-9]+}}, 64,
// KEPT-NOT:  launch

// CHECK-COUNT-2: step.fill {{.*}} with 0 : i32
// CHECK-NOT:     step.fill
// CHECK:       step.choose {
// CHECK:         step.attention {{.*}} parts({{.*}} : memref<7x8x1x10x3x64xf32
// CHECK:       } or {
// CHECK-NEXT:    step.choose {
// CHECK:           step.attention {{.*}} parts({{.*}} : memref<3x8x1x10x3x64xf32
// CHECK:         } or {
// CHECK:           step.attention {{.*}} parts({{.*}} : memref<5x8x1x10x3x64xf32
// CHECK:       step.choose {
// CHECK:         step.attention {{.*}} parts({{.*}} : memref<4x1x1x2x2x24xf32
// CHECK:       } or {
// CHECK-NEXT:    step.choose {
// CHECK:           step.attention {{.*}} parts({{.*}} : memref<2x1x1x2x2x24xf32
// CHECK:         } or {
// CHECK:           step.attention {{.*}} parts({{.*}} : memref<4x1x1x2x2x24xf32{{.*}} two_warps

func.func @main(%q: tensor<8x1x10x3x64xf32>, %k: tensor<8x1030x10x64xf32>, %v: tensor<8x1030x10x64xf32>,
                %m: tensor<1x1x600xi1>, %a: tensor<1x1x2x2x16xbf16>, %b: tensor<1x600x2x16xbf16>, %c: tensor<1x600x2x24xbf16>)
    -> (tensor<8x1x10x3x64xf32> {tp.name = "y"}, tensor<1x1x2x2x24xbf16> {tp.name = "z"}) {
  %p = tp.constant dense<901> : tensor<i32>
  %y = tp.attention %q, %k, %v offset(%p : tensor<i32>) {causal, scale = 0.125 : f64}
      : (tensor<8x1x10x3x64xf32>, tensor<8x1030x10x64xf32>, tensor<8x1030x10x64xf32>) -> tensor<8x1x10x3x64xf32>
  %z = tp.attention %a, %b, %c mask(%m : tensor<1x1x600xi1>) {scale = 0.25 : f64}
      : (tensor<1x1x2x2x16xbf16>, tensor<1x600x2x16xbf16>, tensor<1x600x2x24xbf16>) -> tensor<1x1x2x2x24xbf16>
  return %y, %z : tensor<8x1x10x3x64xf32>, tensor<1x1x2x2x24xbf16>
}

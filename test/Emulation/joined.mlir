// Layers whose products are one, on a GPU and a CPU, with queries of several heads
// for each key, sizes that fill no block, a bias, 16-bit floats, weights [in, out]
// and [out, in], and on two devices, each of which has its own heads. What kernels
// and products give together is what the program means.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so TPRT_FAKE_DEVICES=2 TPRT_RECORD=%t/log tp-run %t/a.tpx --backend=cuda --check --entry=f32 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so TPRT_FAKE_DEVICES=2 tp-run %t/a.tpx --backend=cuda --check --entry=bf16 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so tp-run %t/a.tpx --backend=virtual --check --entry=f32 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: not grep 'misuse\|leak' %t/log
// RUN: tp-opt %s --tp-compile="target=cpu" --tp-artifact=%t/c.tpx -o %t/c.step
// RUN: FileCheck %s --check-prefix=CPU --input-file=%t/c.step
// RUN: tp-run %t/c.tpx --check --entry=f32 2>&1 | FileCheck %s --check-prefix=SAME
// RUN: tp-run %t/c.tpx --check --entry=bf16 2>&1 | FileCheck %s --check-prefix=SAME

// Of each entry: queries, keys and values; what leaves attention; gate and up.
// CHECK-LABEL:   step.program @f32
// CHECK:         step.bundle %{{.*}}, %{{.*}}, %{{.*}} rows 20 : memref<20x1x3x16xf32>, memref<20x1x16xf32>, memref<20x1x16xf32> as memref<20x80xf32>
// CHECK:         step.matmul
// CHECK-SAME:    constant_b
// CHECK:         step.together
// CHECK-COUNT-2: step.rows
// CHECK:         step.attention
// CHECK:         step.bundle %{{.*}}, %{{.*}} rows 20 : memref<20x9xf32>, memref<20x9xf32> as memref<20x18xf32>
// CHECK-LABEL:   step.program @bf16
// CHECK:         step.bundle %{{.*}}, %{{.*}}, %{{.*}} rows 1 : memref<1x3x16x24xbf16>, memref<1x16x24xbf16>, memref<1x16x24xbf16> as memref<80x24xbf16>
// CHECK:         step.bundle %{{.*}}, %{{.*}}, %{{.*}} rows 1 : memref<1x3x16xbf16>, memref<1x16xbf16>, memref<1x16xbf16> as memref<80xbf16>
// CHECK:         step.matmul
// CHECK-SAME:    post add
// CHECK:         step.together
// CHECK-COUNT-2: step.rows
// CHECK:         step.attention
// CHECK:         step.matmul
// CHECK-NOT:     step.bundle

// Gate and up stay apart on a CPU, whose library multiplies by one behind the other.
// CPU-LABEL:     step.program @f32
// CPU:           step.bundle
// CPU:           step.together
// CPU-NOT:       step.bundle
// CPU:           post multiply
// CPU-LABEL:     step.program @bf16

// SAME: check keys{{.*}}: ok
// SAME: check y{{.*}}: ok

spmd.mesh @mesh <["model"=2]>

func.func @f32(%x: tensor<1x5x20xf32> {tp.name = "f32.x"},
                %wq: tensor<20x2x3x16xf32> {tp.name = "f32.wq", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}, {}]>},
                %wk: tensor<20x2x16xf32> {tp.name = "f32.wk", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>},
                %wv: tensor<20x2x16xf32> {tp.name = "f32.wv", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>},
                %wo: tensor<2x3x16x20xf32> {tp.name = "f32.wo", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}, {}]>},
                %gate: tensor<20x18xf32> {tp.name = "f32.gate", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %up: tensor<20x18xf32> {tp.name = "f32.up", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %down: tensor<18x20xf32> {tp.name = "f32.down", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %keys: tensor<1x9x2x16xf32> {tp.name = "f32.keys", tp.role = "kv_cache", tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %values: tensor<1x9x2x16xf32> {tp.name = "f32.values", tp.role = "kv_cache", tp.donated = 1 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %cos: tensor<5x8xf32> {tp.name = "f32.cos"},
                %sin: tensor<5x8xf32> {tp.name = "f32.sin"})
    -> (tensor<1x9x2x16xf32> {tp.name = "keys"}, tensor<1x9x2x16xf32> {tp.name = "values"}, tensor<1x5x20xf32> {tp.name = "y"}) {
  %q0 = tp.einsum "bsd,dkgh->bskgh" %x, %wq : (tensor<1x5x20xf32>, tensor<20x2x3x16xf32>) -> tensor<1x5x2x3x16xf32>
  %k0 = tp.einsum "bsd,dkh->bskh" %x, %wk : (tensor<1x5x20xf32>, tensor<20x2x16xf32>) -> tensor<1x5x2x16xf32>
  %v0 = tp.einsum "bsd,dkh->bskh" %x, %wv : (tensor<1x5x20xf32>, tensor<20x2x16xf32>) -> tensor<1x5x2x16xf32>
  %q = tp.rotary %q0, %cos, %sin : (tensor<1x5x2x3x16xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<1x5x2x3x16xf32>
  %k = tp.rotary %k0, %cos, %sin : (tensor<1x5x2x16xf32>, tensor<5x8xf32>, tensor<5x8xf32>) -> tensor<1x5x2x16xf32>
  %zero = tp.constant dense<0> : tensor<i32>
  %keys1 = tp.dynamic_update_slice %keys, %k [%zero, %zero, %zero, %zero] : (tensor<1x9x2x16xf32>, tensor<1x5x2x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x2x16xf32>
  %values1 = tp.dynamic_update_slice %values, %v0 [%zero, %zero, %zero, %zero] : (tensor<1x9x2x16xf32>, tensor<1x5x2x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x9x2x16xf32>
  %a = tp.attention %q, %k, %v0 {causal, scale = 0.25 : f64} : (tensor<1x5x2x3x16xf32>, tensor<1x5x2x16xf32>, tensor<1x5x2x16xf32>) -> tensor<1x5x2x3x16xf32>
  %o = tp.einsum "bskgh,kghd->bsd" %a, %wo : (tensor<1x5x2x3x16xf32>, tensor<2x3x16x20xf32>) -> tensor<1x5x20xf32>
  %r = tp.add %x, %o : tensor<1x5x20xf32>
  %g = tp.einsum "bsd,df->bsf" %r, %gate : (tensor<1x5x20xf32>, tensor<20x18xf32>) -> tensor<1x5x18xf32>
  %u = tp.einsum "bsd,df->bsf" %r, %up : (tensor<1x5x20xf32>, tensor<20x18xf32>) -> tensor<1x5x18xf32>
  %h = tp.silu %g : tensor<1x5x18xf32>
  %m = tp.mul %h, %u : tensor<1x5x18xf32>
  %y = tp.einsum "bsf,fd->bsd" %m, %down : (tensor<1x5x18xf32>, tensor<18x20xf32>) -> tensor<1x5x20xf32>
  return %keys1, %values1, %y : tensor<1x9x2x16xf32>, tensor<1x9x2x16xf32>, tensor<1x5x20xf32>
}

func.func @bf16(%x: tensor<1x3x24xbf16> {tp.name = "bf16.x"},
                %wq: tensor<2x3x16x24xbf16> {tp.name = "bf16.wq", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}, {}]>},
                %wk: tensor<2x16x24xbf16> {tp.name = "bf16.wk", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}]>},
                %wv: tensor<2x16x24xbf16> {tp.name = "bf16.wv", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}]>},
                %bq: tensor<2x3x16xbf16> {tp.name = "bf16.bq", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}]>},
                %bk: tensor<2x16xbf16> {tp.name = "bf16.bk", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %bv: tensor<2x16xbf16> {tp.name = "bf16.bv", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %wo: tensor<2x3x16x24xbf16> {tp.name = "bf16.wo", tp.role = "parameter", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}, {}, {}]>},
                %keys: tensor<1x7x2x16xbf16> {tp.name = "bf16.keys", tp.role = "kv_cache", tp.donated = 0 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %values: tensor<1x7x2x16xbf16> {tp.name = "bf16.values", tp.role = "kv_cache", tp.donated = 1 : i64, spmd.sharding = #spmd.sharding<@mesh, [{}, {}, {"model"}, {}]>},
                %cos: tensor<3x8xf32> {tp.name = "bf16.cos"},
                %sin: tensor<3x8xf32> {tp.name = "bf16.sin"})
    -> (tensor<1x7x2x16xbf16> {tp.name = "keys"}, tensor<1x7x2x16xbf16> {tp.name = "values"}, tensor<1x3x24xbf16> {tp.name = "y"}) {
  %q0 = tp.einsum "bsd,kghd->bskgh" %x, %wq : (tensor<1x3x24xbf16>, tensor<2x3x16x24xbf16>) -> tensor<1x3x2x3x16xbf16>
  %k0 = tp.einsum "bsd,khd->bskh" %x, %wk : (tensor<1x3x24xbf16>, tensor<2x16x24xbf16>) -> tensor<1x3x2x16xbf16>
  %v0 = tp.einsum "bsd,khd->bskh" %x, %wv : (tensor<1x3x24xbf16>, tensor<2x16x24xbf16>) -> tensor<1x3x2x16xbf16>
  %bq0 = tp.broadcast %bq dims = [2, 3, 4] : tensor<2x3x16xbf16> -> tensor<1x3x2x3x16xbf16>
  %q1 = tp.add %q0, %bq0 : tensor<1x3x2x3x16xbf16>
  %bk0 = tp.broadcast %bk dims = [2, 3] : tensor<2x16xbf16> -> tensor<1x3x2x16xbf16>
  %k1 = tp.add %k0, %bk0 : tensor<1x3x2x16xbf16>
  %bv0 = tp.broadcast %bv dims = [2, 3] : tensor<2x16xbf16> -> tensor<1x3x2x16xbf16>
  %v1 = tp.add %v0, %bv0 : tensor<1x3x2x16xbf16>
  %q = tp.rotary %q1, %cos, %sin : (tensor<1x3x2x3x16xbf16>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<1x3x2x3x16xbf16>
  %k = tp.rotary %k1, %cos, %sin : (tensor<1x3x2x16xbf16>, tensor<3x8xf32>, tensor<3x8xf32>) -> tensor<1x3x2x16xbf16>
  %zero = tp.constant dense<0> : tensor<i32>
  %keys1 = tp.dynamic_update_slice %keys, %k [%zero, %zero, %zero, %zero] : (tensor<1x7x2x16xbf16>, tensor<1x3x2x16xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x7x2x16xbf16>
  %values1 = tp.dynamic_update_slice %values, %v1 [%zero, %zero, %zero, %zero] : (tensor<1x7x2x16xbf16>, tensor<1x3x2x16xbf16>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x7x2x16xbf16>
  %a = tp.attention %q, %k, %v1 {causal, scale = 0.25 : f64} : (tensor<1x3x2x3x16xbf16>, tensor<1x3x2x16xbf16>, tensor<1x3x2x16xbf16>) -> tensor<1x3x2x3x16xbf16>
  %o = tp.einsum "bskgh,kghd->bsd" %a, %wo : (tensor<1x3x2x3x16xbf16>, tensor<2x3x16x24xbf16>) -> tensor<1x3x24xbf16>
  %r = tp.add %x, %o : tensor<1x3x24xbf16>
  return %keys1, %values1, %r : tensor<1x7x2x16xbf16>, tensor<1x7x2x16xbf16>, tensor<1x3x24xbf16>
}

// Inputs without a value are filled on the GPU, and nothing is copied to it: with
// the numbers that the CPU has, in every type, in blocks with padding and without,
// along parts of an axis, and where a rank has padding alone.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cpu" --tp-artifact=%t/cpu.tpx -o /dev/null
// RUN: tp-run %t/cpu.tpx --seed=3 --print > %t/cpu.txt
// RUN: FileCheck %s --input-file=%t/cpu.txt
// RUN: tp-opt %s --tp-compile="target=cuda" --tp-artifact=%t/cuda.tpx -o %t/cuda.step
// RUN: tp-emulate-kernels %t/cuda.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=6 TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log \
// RUN:   tp-run %t/cuda.tpx --backend=cuda --seed=3 --print > %t/cuda.txt
// RUN: cmp %t/cpu.txt %t/cuda.txt
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/cuda.tpx --backend=virtual --seed=3 --print > %t/virtual.txt
// RUN: cmp %t/cpu.txt %t/virtual.txt
// RUN: FileCheck %s --input-file=%t/log --check-prefix=LOG --implicit-check-not=misuse --implicit-check-not=leak --implicit-check-not="from host"
// CHECK: f32: f32[5, 7, 4]
// LOG: launch random{{[0-9]+}} <512, 256, 0> {{.*}} on d0.s0

spmd.mesh @mesh <["model"=6]>
func.func @main(%f32: tensor<5x7x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>, tp.name = "f32"},
                %bf16: tensor<10x9xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {"model":(2)3}]>, tp.name = "bf16"},
                %f16: tensor<7xf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "f16"},
                %f64: tensor<3x5x4xf64> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)3}, {"model":(1)2}, {}]>, tp.name = "f64"},
                %f8E4M3FN: tensor<33xf8E4M3FN> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}]>, tp.name = "f8E4M3FN"},
                %f8E5M2: tensor<3x1xf8E5M2> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)3}, {}]>, tp.name = "f8E5M2"},
                %i1: tensor<65xi1> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "i1"},
                %i8: tensor<3x3xi8> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model":(2)3}]>, tp.name = "i8"},
                %ui8: tensor<4x3xui8> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.name = "ui8"},
                %i16: tensor<2x3x5xi16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model":(1)2}, {"model":(2)3}]>, tp.name = "i16"},
                %i32: tensor<13xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>, tp.name = "i32"},
                %ui32: tensor<2x2xui32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>, tp.name = "ui32"},
                %i64: tensor<11x2xi64> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.name = "i64"})
    -> (tensor<5x7x4xf32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}, {}]>, tp.name = "f32"},
        tensor<10x9xbf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}, {"model":(2)3}]>, tp.name = "bf16"},
        tensor<7xf16> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "f16"},
        tensor<3x5x4xf64> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)3}, {"model":(1)2}, {}]>, tp.name = "f64"},
        tensor<33xf8E4M3FN> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(1)2}]>, tp.name = "f8E4M3FN"},
        tensor<3x1xf8E5M2> {spmd.sharding = #spmd.sharding<@mesh, [{"model":(2)3}, {}]>, tp.name = "f8E5M2"},
        tensor<65xi1> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>, tp.name = "i1"},
        tensor<3x3xi8> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model":(2)3}]>, tp.name = "i8"},
        tensor<4x3xui8> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.name = "ui8"},
        tensor<2x3x5xi16> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model":(1)2}, {"model":(2)3}]>, tp.name = "i16"},
        tensor<13xi32> {spmd.sharding = #spmd.sharding<@mesh, [{}]>, tp.name = "i32"},
        tensor<2x2xui32> {spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>, tp.name = "ui32"},
        tensor<11x2xi64> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>, tp.name = "i64"}) {
  return %f32, %bf16, %f16, %f64, %f8E4M3FN, %f8E5M2, %i1, %i8, %ui8, %i16, %i32, %ui32, %i64 : tensor<5x7x4xf32>, tensor<10x9xbf16>, tensor<7xf16>, tensor<3x5x4xf64>, tensor<33xf8E4M3FN>, tensor<3x1xf8E5M2>, tensor<65xi1>, tensor<3x3xi8>, tensor<4x3xui8>, tensor<2x3x5xi16>, tensor<13xi32>, tensor<2x2xui32>, tensor<11x2xi64>
}

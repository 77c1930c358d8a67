// 8-bit floats multiplied as such on two ranks that share a GPU that is none,
// cut along what is summed and along the columns, with a bias, a residual, and a
// weight that does not lie along k. Sizes that 16 does not divide, here or on each
// rank, take bf16.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cuda ptxas=none fp8=true" --tp-artifact=%t/a.tpx -o %t/a.step 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: grep -c 'step.matmul.*f8E4M3FN' %t/a.step | FileCheck %s --check-prefix=STEPS
// RUN: tp-emulate-kernels %t/a.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log \
// RUN:   tp-run %t/a.tpx --backend=virtual --check 2>&1 | FileCheck %s
// RUN: FileCheck %s --check-prefix=RECORD --input-file=%t/log
// RUN: not grep 'misuse\|leak' %t/log

// REMARK-COUNT-2: remark: 'f8E4M3FN' is converted to a wider type before it is multiplied:
// REMARK-NOT:     remark

// STEPS: {{^}}3

// CHECK-COUNT-5: check {{.*}}: ok
// CHECK-NOT:     check

// Of each rank, k of the first is 32, and n of the next two 16; m is what it is.
// RECORD-DAG: matmul 48x5x32 {{.*}} fp8
// RECORD-DAG: matmul 16x5x64 {{.*}} epilogue 6 {{.*}} fp8
// RECORD-DAG: matmul 16x5x64 {{.*}} beta 1 fp8
// RECORD-DAG: matmul 20x5x64 {{.*}} beta 0 d
// RECORD-DAG: matmul 24x5x7 {{.*}} beta 0 d

// A GPU that does not multiply them is named, and what to do about it.
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_CHIP=86 not tp-run %t/a.tpx --backend=virtual 2>&1 | FileCheck %s --check-prefix=EARLIER
// EARLIER: [TP0885] {{.*}}compiled with fp8=true and multiplies 8-bit floats, but this Fake GPU of sm_86 cannot: a GPU of sm_89 or later is needed; compile the program without fp8=true

// Without being asked, nothing is multiplied so, and GPUs from sm_80 on do.
// RUN: tp-opt %s --tp-compile="target=cuda ptxas=none" --tp-artifact=%t/b.tpx -o - | not grep 'step.matmul.*f8E4M3FN'
// RUN: env LD_LIBRARY_PATH=%fake_gpu TPRT_FAKE_CHIP=80 XDG_CACHE_HOME=%t tp-run %t/b.tpx --backend=virtual

spmd.mesh @mesh <["x"=2]>
func.func @main(%a: tensor<5x64xf8E4M3FN> {tp.name = "a"},
                %u: tensor<48x64xf8E4M3FN> {tp.name = "u", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>},
                %v: tensor<32x64xf8E4M3FN> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<32xbf16> {tp.name = "b"},
                %w: tensor<64x32xf8E4M3FN> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{}, {"x"}]>}, %r: tensor<5x32xf32> {tp.name = "r"},
                %o: tensor<40x64xf8E4M3FN> {tp.name = "o", spmd.sharding = #spmd.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<5x7xf8E4M3FN> {tp.name = "c"}, %d: tensor<24x7xf8E4M3FN> {tp.name = "d"})
    -> (tensor<5x48xf32> {tp.name = "summed"}, tensor<5x32xbf16> {tp.name = "bias"},
        tensor<5x32xf32> {tp.name = "residual"}, tensor<5x40xf32> {tp.name = "odd"},
        tensor<5x24xf8E4M3FN> {tp.name = "uneven"}) {
  %summed = tp.einsum "md,ed->me" %a, %u : (tensor<5x64xf8E4M3FN>, tensor<48x64xf8E4M3FN>) -> tensor<5x48xf32>
  %0 = tp.einsum "md,ed->me" %a, %v : (tensor<5x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>) -> tensor<5x32xbf16>
  %1 = tp.broadcast %b dims = [1] : tensor<32xbf16> -> tensor<5x32xbf16>
  %2 = tp.add %0, %1 : tensor<5x32xbf16>
  %bias = tp.relu %2 : tensor<5x32xbf16>
  %3 = tp.einsum "md,de->me" %a, %w : (tensor<5x64xf8E4M3FN>, tensor<64x32xf8E4M3FN>) -> tensor<5x32xf32>
  %residual = tp.add %3, %r : tensor<5x32xf32>
  %odd = tp.einsum "md,ed->me" %a, %o : (tensor<5x64xf8E4M3FN>, tensor<40x64xf8E4M3FN>) -> tensor<5x40xf32>
  %uneven = tp.einsum "md,ed->me" %c, %d : (tensor<5x7xf8E4M3FN>, tensor<24x7xf8E4M3FN>) -> tensor<5x24xf8E4M3FN>
  return %summed, %bias, %residual, %odd, %uneven : tensor<5x48xf32>, tensor<5x32xbf16>, tensor<5x32xf32>, tensor<5x40xf32>, tensor<5x24xf8E4M3FN>
}

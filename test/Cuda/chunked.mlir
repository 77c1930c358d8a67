// Blocks of products travel on the second stream while others are multiplied, each
// written at its device's place; the numbers stay what they are, also in a graph whose
// streams run as late and as early as its edges allow.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cuda machine=%S/../Collectives/Inputs/slow.json" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --check-prefix=STEP --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=3 TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log \
// RUN:   tp-run %t/a.tpx --backend=cuda --check --bench=3 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: not grep 'misuse\|leak' %t/log
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/a.tpx --backend=virtual --check --bench=3 2>&1 | FileCheck %s --check-prefix=CHECKED

// STEP:      step.collective_start collective_permute
// STEP:      step.collective_start collective_permute
// STEP:      step.matmul
// STEP:      by 256 of place <{"model"}>
// STEP:      step.collective_done

// CHECKED: check y: {{.*}}: ok

spmd.mesh @mesh <["model"=3]>
func.func @main(%x: tensor<24x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %u: tensor<64x96xf32> {tp.name = "u", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %v: tensor<96x64xf32> {tp.name = "v", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<24x64xf32> {tp.name = "y", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>}) {
  %t = tp.tanh %x : tensor<24x64xf32>
  %c = spmd.constraint %t <@mesh, [{"model"}, {}]> : tensor<24x64xf32>
  %a = tp.einsum "bi,io->bo" %c, %u : (tensor<24x64xf32>, tensor<64x96xf32>) -> tensor<24x96xf32>
  %r = tp.relu %a : tensor<24x96xf32>
  %y = tp.einsum "bo,oi->bi" %r, %v : (tensor<24x96xf32>, tensor<96x64xf32>) -> tensor<24x64xf32>
  return %y : tensor<24x64xf32>
}

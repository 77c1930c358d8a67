// Two branches: what the first sums over devices travels while the second is
// computed, on a stream of its own, and the numbers stay what they are. The first
// run is issued, the second captured, the others launch the graph, whose second
// stream the fake GPU runs as late and as early as the edges allow.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="target=cuda machine=%S/../Schedule/Inputs/slow-link.json" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --check-prefix=STEP --input-file=%t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/kernels.so
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_FAKE_DEVICES=2 TPRT_EMULATED_KERNELS=%t/kernels.so TPRT_RECORD=%t/log \
// RUN:   tp-run %t/a.tpx --backend=cuda --check --bench=3 2>&1 | FileCheck %s --check-prefix=CHECKED
// RUN: not grep 'misuse\|leak' %t/log
// RUN: env LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/kernels.so \
// RUN:   tp-run %t/a.tpx --backend=virtual --check --bench=3 2>&1 | FileCheck %s --check-prefix=CHECKED

// STEP:      step.collective_start all_reduce
// STEP:      step.matmul
// STEP:      step.matmul
// STEP:      step.collective_done

// CHECKED: check y: {{.*}}: ok
// CHECKED: check z: {{.*}}: ok

spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<8x64xf32> {tp.name = "x", spmd.sharding = #spmd.sharding<@mesh, [{}, {"model"}]>},
                %w: tensor<64x48xf32> {tp.name = "w", spmd.sharding = #spmd.sharding<@mesh, [{"model"}, {}]>},
                %u: tensor<8x96xf32> {tp.name = "u"},
                %v: tensor<96x96xf32> {tp.name = "v"})
    -> (tensor<8x48xf32> {tp.name = "y"}, tensor<8x96xf32> {tp.name = "z"}) {
  %y = tp.einsum "bi,io->bo" %x, %w : (tensor<8x64xf32>, tensor<64x48xf32>) -> tensor<8x48xf32>
  %a = tp.einsum "bi,io->bo" %u, %v : (tensor<8x96xf32>, tensor<96x96xf32>) -> tensor<8x96xf32>
  %r = tp.relu %a : tensor<8x96xf32>
  %z = tp.einsum "bi,io->bo" %r, %v : (tensor<8x96xf32>, tensor<96x96xf32>) -> tensor<8x96xf32>
  return %y, %z : tensor<8x48xf32>, tensor<8x96xf32>
}

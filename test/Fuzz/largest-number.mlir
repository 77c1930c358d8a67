// The identity of a minimum of f8E4M3FN, which has no infinity, is its largest
// number: verification takes it for one that nothing exceeds.
// RUN: tp-fuzz %s --no-refusals --seed=20386
spmd.mesh @mesh <["x"=2, "y"=2]>
func.func @main(%a: tensor<1x5x10xf8E4M3FN>) -> tensor<10xf8E4M3FN> {
  %0 = tp.reduce min %a dims = [0, 1] {spmd.shardings = [#spmd.sharding<@mesh, [{"x", ?}], replicated={"y"}>]} : tensor<1x5x10xf8E4M3FN> -> tensor<10xf8E4M3FN>
  return %0 : tensor<10xf8E4M3FN>
}

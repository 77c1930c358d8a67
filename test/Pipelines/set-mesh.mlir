// RUN: tp-opt %s --tp-set-mesh="axes=data=2,model=4" | FileCheck %s
// RUN: not tp-opt %s --tp-set-mesh="axes=data" 2>&1 | FileCheck %s --check-prefix=NO-SIZE
// RUN: not tp-opt %s --tp-set-mesh="axes=data=2,data=2" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not tp-opt %s --tp-set-mesh="axes=data=2" 2>&1 | FileCheck %s --check-prefix=LOST

// The module's mesh takes the axes given, and loses the links of the old ones.
// CHECK: spmd.mesh @mesh <["data"=2, "model"=4]>{{$}}
// NO-SIZE: error: [TP0601] 'data' in mesh=data is not an axis with a size: write mesh=data=2,model=4
// TWICE: error: [TP0207] two axes of the mesh have the same name, "data"
// LOST: error: [TP0202] mesh @mesh has no axis "model"
spmd.mesh @mesh <["model"=2]> {links = [#spmd.link<us=1.0, gbps=100.0>]}
func.func @f(%x: tensor<8xf32> {spmd.sharding = #spmd.sharding<@mesh, [{"model"}]>}) {
  return
}

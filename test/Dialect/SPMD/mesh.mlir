// RUN: tp-opt %s --verify-roundtrip | FileCheck %s
// RUN: tp-opt %s --mlir-print-op-generic | tp-opt | FileCheck %s

// Meshes of no, one and several axes, with device numbers and with links.
// CHECK: spmd.mesh @none <[]>
spmd.mesh @none <[]>
// CHECK: spmd.mesh @one <["x"=1]>
spmd.mesh @one <["x"=1]>
// CHECK: spmd.mesh @mesh <["data"=2, "model"=4]>
spmd.mesh @mesh <["data"=2, "model"=4]>
// CHECK: spmd.mesh @turned <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
spmd.mesh @turned <["x"=2, "y"=2], device_ids=[3, 1, 2, 0]>
// CHECK: spmd.mesh @pod <["node"=2, "gpu"=8]> {links = [#spmd.link<us=5.000000e+00, gbps=5.000000e+01>, #spmd.link<us=0.000000e+00, gbps=3.700000e+02>]}
spmd.mesh @pod <["node"=2, "gpu"=8]> {links = [#spmd.link<us=5.0, gbps=50.0>, #spmd.link<us=0.0, gbps=370.0>]}

// Attributes on their own.
// CHECK: module attributes {
// CHECK-SAME: a.axes = #spmd.axes<{"x", "y":(1)2}>
// CHECK-SAME: a.axis = #spmd.axis<"x":(1)2>
// CHECK-SAME: a.dim = #spmd.dim<{"x", ?}p1>
// CHECK-SAME: a.empty = #spmd.dim<{}>
// CHECK-SAME: a.mesh = #spmd.mesh<["x"=2], device_ids=[1, 0]>
// CHECK-SAME: a.open = #spmd.dim<{?}>
module attributes {a.mesh = #spmd.mesh<["x"=2], device_ids=[1, 0]>, a.axis = #spmd.axis<"x":(1)2>,
                   a.axes = #spmd.axes<{"x", "y":(1)2}>, a.dim = #spmd.dim<{"x", ?}p1>,
                   a.empty = #spmd.dim<{}>, a.open = #spmd.dim<{?}>} {}

// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What a mesh and a link must be.


// #spmd.mesh: axis names are not empty
// expected-error @below {{[TP0207] every mesh axis must have a name}}
spmd.mesh @mesh <[""=2]>

// -----

// #spmd.mesh: axis names are distinct
// expected-error @below {{[TP0207] two axes of the mesh have the same name, "x"}}
spmd.mesh @mesh <["x"=2, "x"=2]>

// -----

// #spmd.mesh: sizes are at least one
// expected-error @below {{[TP0207] mesh axis "x" has size 0: a size must be at least 1}}
spmd.mesh @mesh <["x"=0]>

// -----

// #spmd.mesh: a mesh has at most 2^20 devices
// expected-error @below {{[TP0207] a mesh may have at most 1048576 devices; write smaller axes}}
spmd.mesh @mesh <["x"=2097152]>

// -----

// #spmd.mesh: that counts all axes, and does not overflow
// expected-error @below {{[TP0207] a mesh may have at most 1048576 devices; write smaller axes}}
spmd.mesh @mesh <["x"=4294967296, "y"=4294967296, "z"=4294967296]>

// -----

// #spmd.mesh: device_ids has every device
// expected-error @below {{[TP0207] device_ids has 1 entries, but the mesh has 2 devices}}
spmd.mesh @mesh <["x"=2], device_ids=[0]>

// -----

// #spmd.mesh: device_ids is a permutation
// expected-error @below {{[TP0207] device_ids must name every device from 0 to 1 once}}
spmd.mesh @mesh <["x"=2], device_ids=[1, 1]>

// -----

// #spmd.link: a latency below 0
// expected-error @below {{[TP0207] expects a link with a latency of at least 0 us and a bandwidth above 0 gbps}}
spmd.mesh @mesh <["x"=2]> {links = [#spmd.link<us=-1.0, gbps=1.0>]}

// -----

// #spmd.link: no bandwidth
// expected-error @below {{[TP0207] expects a link with a latency of at least 0 us and a bandwidth above 0 gbps}}
spmd.mesh @mesh <["x"=2]> {links = [#spmd.link<us=1.0, gbps=0.0>]}

// -----

// spmd.mesh 1: too few links
// expected-error @below {{[TP0207] `links` must have one #spmd.link<..> for each of the 2 axes}}
spmd.mesh @mesh <["x"=2, "y"=2]> {links = [#spmd.link<us=1.0, gbps=1.0>]}

// -----

// spmd.mesh 1: something else
// expected-error @below {{[TP0207] `links` must have one #spmd.link<..> for each of the 1 axes}}
spmd.mesh @mesh <["x"=2]> {links = ["fast"]}

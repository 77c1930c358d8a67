// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What the parser refuses in the text of attributes.


// nothing follows a ?
// expected-error @below {{[TP0307] '?' must come last in the list of a dimension's axes}}
module attributes {a.a = #spmd.sharding<@mesh, [{?, "x"}]>} {}

// -----

// a priority is a number
// expected-error @below {{[TP0307] expects a priority such as p1 after the dimension}}
module attributes {a.a = #spmd.sharding<@mesh, [{"x"}q]>} {}

// -----

// a priority is no huge number
// expected-error @below {{[TP0307] expects a priority such as p1 after the dimension}}
module attributes {a.a = #spmd.sharding<@mesh, [{"x"}p99999999999999999999]>} {}

// -----

// words that a sharding does not have
// expected-error @below {{[TP0307] expects 'replicated' or 'unreduced', got 'reduced'}}
module attributes {a.a = #spmd.sharding<@mesh, [{}], reduced={"x"}>} {}

// -----

// words that a local type does not have
// expected-error @below {{[TP0307] expects 'replicated' or 'unreduced' or 'global', got 'whole'}}
module attributes {a.a = #spmd.local<@mesh, [{}], whole=[4]>} {}

// -----

// a local type says the global size
// expected-error @below {{[TP0307] expects 'global=[..]', the sizes of the whole tensor}}
module attributes {a.a = #spmd.local<@mesh, [{}]>} {}

// -----

// a sub-axis of nothing
// expected-error @below {{[TP0205] the pre-size and the size of a sub-axis must be at least 1}}
module attributes {a.a = #spmd.axis<"x":(1)0>} {}

// -----

// a sub-axis before the first
// expected-error @below {{[TP0205] the pre-size and the size of a sub-axis must be at least 1}}
module attributes {a.a = #spmd.axis<"x":(0)2>} {}

// -----

// a mesh in words
// expected-error @below {{expected string}}
module attributes {a.a = #spmd.mesh<[x=2]>} {}

// -----

// an axis without a size
// expected-error @below {{expected '='}}
module attributes {a.a = #spmd.mesh<["x"]>} {}

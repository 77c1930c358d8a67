// RUN: tp-opt %s --split-input-file --verify-diagnostics

// An attribute of ours that nobody knows says which one is meant.
// expected-error @below {{[TP0309] no attribute is called "tp.sourc"; did you mean 'tp.source'?}}
func.func @argument(%x: tensor<4xf32> {tp.sourc = "a"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0309] no attribute is called "spmd.shardng"; did you mean 'spmd.sharding'?}}
func.func @result(%x: tensor<4xf32>) -> (tensor<4xf32> {spmd.shardng = 1}) {
  return %x : tensor<4xf32>
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0309] no attribute is called "tp.nonsense"}}
  %0 = tp.exp %x {tp.nonsense} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @sharded(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0309] no attribute is called "spmd.sharings"; did you mean 'spmd.shardings'?}}
  %0 = tp.exp %x {spmd.sharings = []} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// One that is somewhere else says where it belongs.
// expected-error @below {{[TP0306] "tp.name" belongs to arguments of functions and to results of functions, not to modules}}
module attributes {tp.name = "x"} {}

// -----

// expected-error @below {{[TP0306] "tp.machine" belongs to modules, not to functions}}
func.func @function(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tp.machine = "h100"} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0306] "tp.donated" belongs to arguments of functions, not to results of functions}}
func.func @donated(%x: tensor<4xf32>) -> (tensor<4xf32> {tp.donated = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0306] `spmd.shardings` belongs to operations; arguments and results carry `spmd.sharding`}}
func.func @shardings(%x: tensor<4xf32> {spmd.shardings = [#spmd.sharding<@mesh, [{"x"}]>]}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// A role is one of a few words.
// expected-error @below {{[TP0304] argument #0: `tp.role` expects one of "input", "parameter", "state", "kv_cache", "gradient", "optimizer_state", got "kvcache"; did you mean "kv_cache"?}}
func.func @role(%x: tensor<4xf32> {tp.role = "kvcache"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0304] argument #0: `tp.role` expects one of "input", "parameter", "state", "kv_cache", "gradient", "optimizer_state", got 3 : i32}}
func.func @number(%x: tensor<4xf32> {tp.role = 3 : i32}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0304] result #0: `tp.role` expects one of "parameter", "state", "kv_cache", "gradient", "optimizer_state", got "input"}}
func.func @input(%x: tensor<4xf32>) -> (tensor<4xf32> {tp.role = "input"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0304] result #0: `tp.role` is "state", but argument #0, which it overwrites, is "kv_cache"}}
func.func @two(%x: tensor<4xf32> {tp.role = "kv_cache", tp.donated = 0 : i64}) -> (tensor<4xf32> {tp.role = "state"}) {
  return %x : tensor<4xf32>
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0306] "tp.role" belongs to arguments of functions and to results of functions, not to operations}}
  %0 = tp.exp %x {tp.role = "state"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

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
// expected-error @below {{[TP0306] attribute "tp.name" belongs to arguments of functions and to results of functions, not to modules}}
module attributes {tp.name = "x"} {}

// -----

// expected-error @below {{[TP0306] attribute "tp.plan" belongs to modules, not to functions}}
func.func @function(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tp.plan = #tp.plan<machine = "h100">} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0306] attribute "tp.donated" belongs to arguments of functions, not to results of functions}}
func.func @donated(%x: tensor<4xf32>) -> (tensor<4xf32> {tp.donated = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

spmd.mesh @mesh <["x"=2]>
// expected-error @below {{[TP0306] `spmd.shardings` is only for operations; write `spmd.sharding` on an argument or a result}}
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

// expected-error @below {{[TP0304] result #0: `tp.role` is "state", but the result overwrites argument #0, whose role is "kv_cache"}}
func.func @two(%x: tensor<4xf32> {tp.role = "kv_cache", tp.donated = 0 : i64}) -> (tensor<4xf32> {tp.role = "state"}) {
  return %x : tensor<4xf32>
}

// -----

func.func @op(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0306] attribute "tp.role" belongs to arguments of functions and to results of functions, not to operations}}
  %0 = tp.exp %x {tp.role = "state"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What an attribute is says its declaration.
// expected-error @below {{[TP0304] `tp.plan` must be a #tp.plan<..>}}
module attributes {tp.plan = "h100"} {}

// -----

// expected-error @below {{[TP0304] `tp.programs` must be a dictionary of `whole` and `local` bytes}}
module attributes {tp.programs = {half = 1 : i32}} {}

// -----

// expected-error @below {{[TP0304] `tp.explanations` must be an array of #tp.explanation<..>}}
func.func @explained(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tp.explanations = ["x"]} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0304] `tp.digests` must be a #tp.digests<..>}}
func.func @digested(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tp.digests = array<i64: 1>} {
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{[TP0304] `tp.prices` must be a #tp.prices<..>}}
func.func @priced(%x: tensor<4xf32>) -> tensor<4xf32> attributes {tp.prices = 3.0 : f64} {
  return %x : tensor<4xf32>
}

// -----

func.func @why(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0304] `tp.why` must be a #tp.why<..>}}
  %0 = tp.exp %x {tp.why = "because"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @marked(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0304] `tp.global_op` must be nothing, or a list of integers}}
  %0 = tp.exp %x {tp.global_op = "x"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Two attributes that became one are none any more.
func.func @old(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0309] no attribute is called "tp.reason"}}
  %0 = tp.exp %x {tp.reason = "because"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// The shardings in a record are those of the module.
func.func @elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0201] the module has no mesh @none}}
  %0 = tp.exp %x {tp.why = #tp.why<reasons = [<kind = moved, user = "f", from = <@none, [{"x"}]>, to = <@none, [{}]>>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What is counted are batch dimensions of a gather or scatter.
func.func @counted(%x: tensor<4x8xf32>, %i: tensor<4x2xi32>) -> tensor<4x2xf32> {
  // expected-error @below {{[TP0304] `tp.counted` must be a list of batch dimensions of a gather or scatter}}
  %0 = tp.gather %x, %i axis = 1 batch = 1 {tp.counted = array<i64: 1>} : (tensor<4x8xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}

// -----

func.func @counted_elsewhere(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0304] `tp.counted` must be a list of batch dimensions of a gather or scatter}}
  %0 = tp.exp %x {tp.counted = array<i64: 0>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A gradient has a name for each result.
func.func @gradient_of_none(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0304] `tp.gradient` must be a list of names, one per result}}
  %0 = tp.exp %x {tp.gradient = ["w", "b"]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @gradient_by_number(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{[TP0304] `tp.gradient` must be a list of names, one per result}}
  %0 = tp.exp %x {tp.gradient = [3]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A stack has a dimension for its micro-batches.
// expected-error @below {{[TP0304] argument #0: `tp.micro_batches` must be a unit attribute on a tensor of rank 1 or more}}
func.func @micro_batches(%x: tensor<f32> {tp.micro_batches}) {
  return
}

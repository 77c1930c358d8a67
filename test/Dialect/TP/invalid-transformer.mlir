// RUN: tp-opt %s --split-input-file --verify-diagnostics

// A case for each line of the Constraints of every op, in their order, and under
// "types" what the types of operands rule out.


// tp.embedding 1: a table of one dimension
func.func @f(%t: tensor<512xf32>, %i: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.embedding' op expects a table [vocabulary, features], got 'tensor<512xf32>'}}
  %0 = tp.embedding %t, %i : (tensor<512xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

// tp.embedding 1: another shape
func.func @f(%t: tensor<512x32xf32>, %i: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.embedding' op result must be 'tensor<4x32xf32>'}}
  %0 = tp.embedding %t, %i : (tensor<512x32xf32>, tensor<4xi32>) -> tensor<4x33xf32>
  return
}

// -----

// tp.embedding 1: another element type
func.func @f(%t: tensor<512x32xf32>, %i: tensor<4xi32>) {
  // expected-error @below {{[TP0303] 'tp.embedding' op result must be 'tensor<4x32xf32>'}}
  %0 = tp.embedding %t, %i : (tensor<512x32xf32>, tensor<4xi32>) -> tensor<4x32xbf16>
  return
}

// -----

// tp.layer_norm 1: a scalar
func.func @f(%x: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.layer_norm' op expects an input of rank 1 or more}}
  %0 = tp.layer_norm %x, %x, %x epsilon = 0.0 : (tensor<f32>, tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// tp.layer_norm 1: a bias of another size
func.func @f(%x: tensor<4x16xf32>, %s: tensor<16xf32>, %b: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.layer_norm' op expects parameters of type 'tensor<16xf32>', got 'tensor<4xf32>'}}
  %0 = tp.layer_norm %x, %s, %b epsilon = 0.0 : (tensor<4x16xf32>, tensor<16xf32>, tensor<4xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.layer_norm 2: two element types
func.func @f(%x: tensor<4x16xbf16>, %s: tensor<16xf32>) {
  // expected-error @below {{[TP0303] 'tp.layer_norm' op expects parameters of type 'tensor<16xbf16>', got 'tensor<16xf32>'}}
  %0 = tp.layer_norm %x, %s, %s epsilon = 0.0 : (tensor<4x16xbf16>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xbf16>
  return
}

// -----

// tp.layer_norm 2: another result
func.func @f(%x: tensor<4x16xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{[TP0303] 'tp.layer_norm' op result must have the input's type}}
  %0 = tp.layer_norm %x, %s, %s epsilon = 0.0 : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xbf16>
  return
}

// -----

// tp.layer_norm 3: a negative epsilon
func.func @f(%x: tensor<4x16xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{[TP0304] 'tp.layer_norm' op expects an epsilon of at least 0}}
  %0 = tp.layer_norm %x, %s, %s epsilon = -1.0 : (tensor<4x16xf32>, tensor<16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.rms_norm 1: a scale of another size
func.func @f(%x: tensor<4x16xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{[TP0303] 'tp.rms_norm' op expects parameters of type 'tensor<16xf32>', got 'tensor<4xf32>'}}
  %0 = tp.rms_norm %x, %s epsilon = 0.0 : (tensor<4x16xf32>, tensor<4xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.rms_norm 2: another result
func.func @f(%x: tensor<4x16xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{[TP0303] 'tp.rms_norm' op result must have the input's type}}
  %0 = tp.rms_norm %x, %s epsilon = 0.0 : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<16x4xf32>
  return
}

// -----

// tp.rms_norm 3: an epsilon that is no number
func.func @f(%x: tensor<4x16xf32>, %s: tensor<16xf32>) {
  // expected-error @below {{[TP0304] 'tp.rms_norm' op expects an epsilon of at least 0}}
  %0 = "tp.rms_norm"(%x, %s) <{epsilon = 0x7FF8000000000000 : f64}> : (tensor<4x16xf32>, tensor<16xf32>) -> tensor<4x16xf32>
  return
}

// -----

// tp.softmax 1: another result
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{requires the same type for all operands and results}}
  %0 = "tp.softmax"(%x) <{dim = 1 : i64}> : (tensor<4x16xf32>) -> tensor<4x16xbf16>
  return
}

// -----

// tp.softmax 2: a dimension that is not there
func.func @f(%x: tensor<4x16xf32>) {
  // expected-error @below {{[TP0304] 'tp.softmax' op dim 2 is out of range for a tensor of rank 2}}
  %0 = tp.softmax %x dim = 2 : tensor<4x16xf32>
  return
}

// -----

// tp.rotary 1: two dimensions
func.func @f(%q: tensor<16x64xf32>, %c: tensor<16x32xf32>, %s: tensor<16x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects an input [batch, position, .., feature], got 'tensor<16x64xf32>'}}
  %0 = tp.rotary %q, %c, %s : (tensor<16x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x64xf32>
  return
}

// -----

// tp.rotary 2: two types
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<16x32xf32>, %s: tensor<16x16xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects cos and sin [position, h] or [batch, position, h], where 2h is at most 64}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<16x32xf32>, tensor<16x16xf32>) -> tensor<2x16x8x64xf32>
  return
}

// -----

// tp.rotary 2: a scalar
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<f32>, %s: tensor<f32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects cos and sin [position, h] or [batch, position, h], where 2h is at most 64}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<f32>, tensor<f32>) -> tensor<2x16x8x64xf32>
  return
}

// -----

// tp.rotary 2: other positions
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<15x32xf32>, %s: tensor<15x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects cos and sin [position, h] or [batch, position, h], where 2h is at most 64}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<15x32xf32>, tensor<15x32xf32>) -> tensor<2x16x8x64xf32>
  return
}

// -----

// tp.rotary 2: another batch
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<3x16x32xf32>, %s: tensor<3x16x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects cos and sin [position, h] or [batch, position, h], where 2h is at most 64}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<3x16x32xf32>, tensor<3x16x32xf32>) -> tensor<2x16x8x64xf32>
  return
}

// -----

// tp.rotary 2: more angles than pairs
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<16x33xf32>, %s: tensor<16x33xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op expects cos and sin [position, h] or [batch, position, h], where 2h is at most 64}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<16x33xf32>, tensor<16x33xf32>) -> tensor<2x16x8x64xf32>
  return
}

// -----

// tp.rotary 3: another result
func.func @f(%q: tensor<2x16x8x64xf32>, %c: tensor<16x32xf32>, %s: tensor<16x32xf32>) {
  // expected-error @below {{[TP0303] 'tp.rotary' op result must have the input's type}}
  %0 = tp.rotary %q, %c, %s : (tensor<2x16x8x64xf32>, tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<2x16x8x64xbf16>
  return
}

// -----

// tp.attention 1: a query of four dimensions
func.func @f(%k: tensor<2x64x3x64xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and result [b,s,k,g,e], all of the same element type}}
  %0 = tp.attention %k, %k, %k {scale = 1.0 : f64} : (tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x64x3x64xf32>
  return
}

// -----

// tp.attention 1: other heads
func.func @f(%q: tensor<2x16x4x3x64xf32>, %k: tensor<2x64x3x64xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and result [b,s,k,g,e], all of the same element type}}
  %0 = tp.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x16x4x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x4x3x64xf32>
  return
}

// -----

// tp.attention 1: another element type
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and result [b,s,k,g,e], all of the same element type}}
  %0 = tp.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xbf16>
  return
}

// -----

// tp.attention 2: offsets for another batch
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>, %o: tensor<3xi32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects offset to be a scalar or to have one value per batch entry, got 'tensor<3xi32>'}}
  %0 = tp.attention %q, %k, %k offset(%o : tensor<3xi32>) {scale = 1.0 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  return
}

// -----

// tp.attention 2: one length for all
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>, %o: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects lengths to have one value per batch entry, got 'tensor<i32>'}}
  %0 = tp.attention %q, %k, %k lengths(%o : tensor<i32>) {scale = 1.0 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  return
}

// -----

// tp.attention 2: a mask without the batch
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>, %m: tensor<16x64xi1>) {
  // expected-error @below {{[TP0303] 'tp.attention' op expects mask [b,s,t], got 'tensor<16x64xi1>'}}
  %0 = tp.attention %q, %k, %k mask(%m : tensor<16x64xi1>) {scale = 1.0 : f64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  return
}

// -----

// tp.attention 3: an empty window
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>) {
  // expected-error @below {{[TP0304] 'tp.attention' op expects a window of at least 1, together with `causal`}}
  %0 = tp.attention %q, %k, %k {causal, scale = 1.0 : f64, window = 0 : i64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  return
}

// -----

// tp.attention 3: a window without causal
func.func @f(%q: tensor<2x16x3x3x64xf32>, %k: tensor<2x64x3x64xf32>) {
  // expected-error @below {{[TP0304] 'tp.attention' op expects a window of at least 1, together with `causal`}}
  %0 = tp.attention %q, %k, %k {scale = 1.0 : f64, window = 8 : i64} : (tensor<2x16x3x3x64xf32>, tensor<2x64x3x64xf32>, tensor<2x64x3x64xf32>) -> tensor<2x16x3x3x64xf32>
  return
}

// -----

// tp.attention 4: a log-sum-exp without groups
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op logsumexp must be [b,s,k,g] of 'f32', got 'tensor<2x8x3xf32>'}}
  %0, %1 = tp.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x8x3x2x4xf32>, tensor<2x8x3xf32>
  return
}

// -----

// tp.attention 4: a log-sum-exp of 16 bits
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention' op logsumexp must be [b,s,k,g] of 'f32', got 'tensor<2x8x3x2xbf16>'}}
  %0, %1 = tp.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>) -> tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xbf16>
  return
}

// -----

// tp.attention_query_gradient 1: a gradient of other features
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %g: tensor<2x8x3x2x5xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_query_gradient' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and the gradient of the result [b,s,k,g,e], all of the same element type}}
  %0 = tp.attention_query_gradient %q, %k, %k, %g, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x5xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x8x3x2x4xf32>
  return
}

// -----

// tp.attention_query_gradient 1: a gradient of another element type
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %g: tensor<2x8x3x2x4xbf16>) {
  // expected-error @below {{[TP0303] 'tp.attention_query_gradient' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and the gradient of the result [b,s,k,g,e], all of the same element type}}
  %0 = tp.attention_query_gradient %q, %k, %k, %g, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xbf16>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x8x3x2x4xf32>
  return
}

// -----

// tp.attention_query_gradient 2: a window without causal
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0304] 'tp.attention_query_gradient' op expects a window of at least 1, together with `causal`}}
  %0 = tp.attention_query_gradient %q, %k, %k, %q, %l, %l {scale = 1.0 : f64, window = 3 : i64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x8x3x2x4xf32>
  return
}

// -----

// tp.attention_query_gradient 3: a log-sum-exp of keys
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %m: tensor<2x6x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_query_gradient' op logsumexp must be [b,s,k,g] of 'f32', got 'tensor<2x6x3x2xf32>'}}
  %0 = tp.attention_query_gradient %q, %k, %k, %q, %m, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x6x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x8x3x2x4xf32>
  return
}

// -----

// tp.attention_query_gradient 3: a delta of 64 bits
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %m: tensor<2x8x3x2xf64>) {
  // expected-error @below {{[TP0303] 'tp.attention_query_gradient' op delta must be [b,s,k,g] of 'f32', got 'tensor<2x8x3x2xf64>'}}
  %0 = tp.attention_query_gradient %q, %k, %k, %q, %l, %m {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf64>) -> tensor<2x8x3x2x4xf32>
  return
}

// -----

// tp.attention_query_gradient 4: the shape of the key
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_query_gradient' op expects the gradient of the query to have the type of the query, 'tensor<2x8x3x2x4xf32>', got 'tensor<2x6x3x4xf32>'}}
  %0 = tp.attention_query_gradient %q, %k, %k, %q, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> tensor<2x6x3x4xf32>
  return
}

// -----

// tp.attention_key_value_gradient 1: a gradient of other features
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %g: tensor<2x8x3x2x5xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_key_value_gradient' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and the gradient of the result [b,s,k,g,e], all of the same element type}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %g, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x5xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

// tp.attention_key_value_gradient 1: a gradient of another element type
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %g: tensor<2x8x3x2x4xbf16>) {
  // expected-error @below {{[TP0303] 'tp.attention_key_value_gradient' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] and the gradient of the result [b,s,k,g,e], all of the same element type}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %g, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xbf16>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

// tp.attention_key_value_gradient 2: a window without causal
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0304] 'tp.attention_key_value_gradient' op expects a window of at least 1, together with `causal`}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %q, %l, %l {scale = 1.0 : f64, window = 3 : i64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

// tp.attention_key_value_gradient 3: a log-sum-exp of keys
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %m: tensor<2x6x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_key_value_gradient' op logsumexp must be [b,s,k,g] of 'f32', got 'tensor<2x6x3x2xf32>'}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %q, %m, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x6x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

// tp.attention_key_value_gradient 3: a delta of 64 bits
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>, %m: tensor<2x8x3x2xf64>) {
  // expected-error @below {{[TP0303] 'tp.attention_key_value_gradient' op delta must be [b,s,k,g] of 'f32', got 'tensor<2x8x3x2xf64>'}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %q, %l, %m {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf64>) -> (tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>)
  return
}

// -----

// tp.attention_key_value_gradient 4: the shape of the query
func.func @f(%q: tensor<2x8x3x2x4xf32>, %k: tensor<2x6x3x4xf32>, %l: tensor<2x8x3x2xf32>) {
  // expected-error @below {{[TP0303] 'tp.attention_key_value_gradient' op expects the gradient of the value to have the type of the value, 'tensor<2x6x3x4xf32>', got 'tensor<2x8x3x2x4xf32>'}}
  %0, %1 = tp.attention_key_value_gradient %q, %k, %k, %q, %l, %l {scale = 1.0 : f64} : (tensor<2x8x3x2x4xf32>, tensor<2x6x3x4xf32>, tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>, tensor<2x8x3x2xf32>, tensor<2x8x3x2xf32>) -> (tensor<2x6x3x4xf32>, tensor<2x8x3x2x4xf32>)
  return
}

// -----

// tp.cross_entropy 1: labels of another shape
func.func @f(%l: tensor<24x256xf32>, %y: tensor<25xi32>) {
  // expected-error @below {{[TP0303] 'tp.cross_entropy' op expects labels shaped like the logits without the last dimension}}
  %0 = tp.cross_entropy %l, %y : (tensor<24x256xf32>, tensor<25xi32>) -> tensor<24xf32>
  return
}

// -----

// tp.cross_entropy 1: a scalar
func.func @f(%l: tensor<f32>, %y: tensor<i32>) {
  // expected-error @below {{[TP0303] 'tp.cross_entropy' op expects labels shaped like the logits without the last dimension}}
  %0 = tp.cross_entropy %l, %y : (tensor<f32>, tensor<i32>) -> tensor<f32>
  return
}

// -----

// tp.cross_entropy 1: labels that are no integers
func.func @f(%l: tensor<24x256xf32>, %y: tensor<24xf32>) {
  // expected-error @below {{operand #1 must be static tensor of integers}}
  %0 = tp.cross_entropy %l, %y : (tensor<24x256xf32>, tensor<24xf32>) -> tensor<24xf32>
  return
}

// -----

// tp.cross_entropy 2: another shape
func.func @f(%l: tensor<24x256xf32>, %y: tensor<24xi32>) {
  // expected-error @below {{[TP0303] 'tp.cross_entropy' op expects a result with the labels' shape and the logits' element type}}
  %0 = tp.cross_entropy %l, %y : (tensor<24x256xf32>, tensor<24xi32>) -> tensor<f32>
  return
}

// One case for each line of the Constraints of attention.

// RUN: tp-opt %s --split-input-file --verify-diagnostics

step.program @attentionShapes inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %v = step.alloc : memref<2x9x1x16xf16>
  // expected-error @below {{[TP0303] 'step.attention' op expects query [b,s,k,g,d], key [b,t,k,d] and value [b,t,k,e] of the same element type, f32, f16 or bf16}}
  step.attention %q, %k, %v into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x9x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionOutput inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf32>
  // expected-error @below {{[TP0303] 'step.attention' op expects an output [b,s,k,g,e] of the query's type}}
  step.attention %q, %k, %k into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf32>
}

// -----

step.program @attentionOffset inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %o = step.alloc : memref<2xi64>
  // expected-error @below {{[TP0303] 'step.attention' op expects offset i32 [] or [b], lengths i32 [b] and mask i1 [b,s,t]}}
  step.attention %q, %k, %k offset(%o : memref<2xi64>) into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionLengths inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %o = step.alloc : memref<i32>
  // expected-error @below {{[TP0303] 'step.attention' op expects offset i32 [] or [b], lengths i32 [b] and mask i1 [b,s,t]}}
  step.attention %q, %k, %k lengths(%o : memref<i32>) into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionMask inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %o = step.alloc : memref<2x4x9xi1>
  // expected-error @below {{[TP0303] 'step.attention' op expects offset i32 [] or [b], lengths i32 [b] and mask i1 [b,s,t]}}
  step.attention %q, %k, %k mask(%o : memref<2x4x9xi1>) into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionPieces inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %r = step.alloc : memref<300xf16>
  %a = step.view %r : memref<300xf16> as memref<2x4x1x2x16xf16, strided<[128, 32, 32, 16, 1], offset: 4>>
  // expected-error @below {{[TP0303] 'step.attention' op expects the features of a row to be contiguous and to take at most 512 bytes, and their size, offset and strides to be multiples of 16 bytes}}
  step.attention %a, %k, %k into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16, strided<[128, 32, 32, 16, 1], offset: 4>>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionFeatures inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %a = step.alloc : memref<2x4x1x2x264xf16>
  %b = step.alloc : memref<2x8x1x264xf16>
  %y = step.alloc : memref<2x4x1x2x16xf16>
  // expected-error @below {{[TP0303] 'step.attention' op expects the features of a row to be contiguous and to take at most 512 bytes}}
  step.attention %a, %b, %k into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x264xf16>, memref<2x8x1x264xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionScale inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  // expected-error @below {{[TP0304] 'step.attention' op expects a scale that is positive and finite}}
  step.attention %q, %k, %k into %y {scale = 0.0 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionWindow inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  // expected-error @below {{[TP0304] 'step.attention' op expects a window of at least 1, together with `causal`}}
  step.attention %q, %k, %k into %y {scale = 1.0 : f64, window = 4 : i64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionSize inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %r = step.alloc : memref<16xf16>
  %a = step.view %r : memref<16xf16> as memref<1x1048576x128x16xf16, strided<[0, 0, 0, 1]>>
  %x = step.alloc : memref<1x4x128x1x16xf16>
  %z = step.alloc : memref<1x4x128x1x16xf16>
  // expected-error @below {{[TP0303] 'step.attention' op expects fewer than 2^31 rows, keys and values}}
  step.attention %x, %a, %a into %z {scale = 0.125 : f64}
      : memref<1x4x128x1x16xf16>, memref<1x1048576x128x16xf16, strided<[0, 0, 0, 1]>>, memref<1x1048576x128x16xf16, strided<[0, 0, 0, 1]>> into memref<1x4x128x1x16xf16>
}

// -----

step.program @attentionPartial inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf16>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi32>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x2x4x1x2x16xf16>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionPartialRank inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<2x4x1x2x16xf32>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi32>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<2x4x1x2x16xf32>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionStatistics inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf32>
  %s = step.alloc : memref<2x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi32>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x2x4x1x2x16xf32>, memref<2x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionCounters inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf32>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi64>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x2x4x1x2x16xf32>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi64>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionRows inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<268435456x2x4x1x2x16xf32>
  %s = step.alloc : memref<268435456x2x4x1x2x2xf32>
  %c = step.alloc : memref<2x4x1x2xi32>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<268435456x2x4x1x2x16xf32>, memref<268435456x2x4x1x2x2xf32>, memref<2x4x1x2xi32>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionStrides inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %p = step.alloc : memref<3x2x4x1x2x16xf32>
  %s = step.alloc : memref<3x2x4x1x2x2xf32>
  %r = step.alloc : memref<32xi32>
  %c = step.view %r : memref<32xi32> as memref<2x4x1x2xi32, strided<[16, 4, 4, 2]>>
  // expected-error @below {{[TP0303] 'step.attention' op expects parts to be dense f32 [p,b,s,k,g,e], f32 [p,b,s,k,g,2] and i32 [b,s,k,g], with fewer than 2^31 rows}}
  step.attention %q, %k, %k into %y parts(%p, %s, %c : memref<3x2x4x1x2x16xf32>, memref<3x2x4x1x2x2xf32>, memref<2x4x1x2xi32, strided<[16, 4, 4, 2]>>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionLogSumExp inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf16>
  // expected-error @below {{[TP0303] 'step.attention' op expects logsumexp to be f32 [b,s,k,g], and not to be combined with parts}}
  step.attention %q, %k, %k into %y logsumexp(%l : memref<2x4x1x2xf16>) {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x4x1x2x16xf16>
}

// -----

step.program @attentionTwoWarpsOfSingles inputs [#step.input<"q", input, tensor<2x4x1x2x16xf32>>, #step.input<"k", input, tensor<2x8x1x16xf32>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf32>, %k: memref<2x8x1x16xf32>):
  %y = step.alloc : memref<2x4x1x2x16xf32>
  // expected-error @below {{[TP0304] 'step.attention' op expects two_warps only for 16-bit floats and at most 16 rows}}
  step.attention %q, %k, %k into %y {scale = 0.125 : f64, two_warps}
      : memref<2x4x1x2x16xf32>, memref<2x8x1x16xf32>, memref<2x8x1x16xf32> into memref<2x4x1x2x16xf32>
}

// -----

step.program @attentionTwoWarpsOfManyRows inputs [#step.input<"q", input, tensor<2x9x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x9x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x9x1x2x16xf16>
  // expected-error @below {{[TP0304] 'step.attention' op expects two_warps only for 16-bit floats and at most 16 rows}}
  step.attention %q, %k, %k into %y {scale = 0.125 : f64, two_warps}
      : memref<2x9x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16> into memref<2x9x1x2x16xf16>
}

// -----

step.program @gradientShape inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf32>
  // expected-error @below {{[TP0303] 'step.attention_query_gradient' op expects a gradient [b,s,k,g,e] of the query's type}}
  step.attention_query_gradient %q, %k, %k, %k, %l, %l into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1x2xf32> into memref<2x4x1x2x16xf16>
}

// -----

step.program @gradientRows inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf32>
  %d = step.alloc : memref<2x4x1xf32>
  // expected-error @below {{[TP0303] 'step.attention_query_gradient' op expects logsumexp and delta to be f32 [b,s,k,g]}}
  step.attention_query_gradient %q, %k, %k, %q, %l, %d into %y {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1xf32> into memref<2x4x1x2x16xf16>
}

// -----

step.program @gradientOutput inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf32>
  %w = step.alloc : memref<2x8x1x16xf32>
  // expected-error @below {{[TP0303] 'step.attention_key_value_gradient' op expects each gradient to have the shape and type of its operand}}
  step.attention_key_value_gradient %q, %k, %k, %q, %l, %l into %k, %w {scale = 0.125 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1x2xf32> into memref<2x8x1x16xf16>, memref<2x8x1x16xf32>
}

// -----

step.program @gradientScale inputs [#step.input<"q", input, tensor<2x4x1x2x16xf16>>, #step.input<"k", input, tensor<2x8x1x16xf16>>] outputs [] {
^bb0(%q: memref<2x4x1x2x16xf16>, %k: memref<2x8x1x16xf16>):
  %y = step.alloc : memref<2x4x1x2x16xf16>
  %l = step.alloc : memref<2x4x1x2xf32>
  // expected-error @below {{[TP0304] 'step.attention_query_gradient' op expects a scale that is positive and finite}}
  step.attention_query_gradient %q, %k, %k, %q, %l, %l into %y {scale = 0.0 : f64}
      : memref<2x4x1x2x16xf16>, memref<2x8x1x16xf16>, memref<2x8x1x16xf16>, memref<2x4x1x2x16xf16>, memref<2x4x1x2xf32>, memref<2x4x1x2xf32> into memref<2x4x1x2x16xf16>
}

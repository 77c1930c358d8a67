// The gradients of attention as kernels: what they give is what the program
// means, where positions, sequences and heads end early and whatever hides keys.

// RUN: rm -rf %t && mkdir %t
// RUN: tp-opt %s --tp-compile="mesh=model=1 target=cuda ptxas=none" --tp-artifact=%t/a.tpx -o %t/a.step
// RUN: FileCheck %s --check-prefix=STEP < %t/a.step
// RUN: tp-emulate-kernels %t/a.step -o %t/a.so
// RUN: env TPRT_FAKE_CHIP=90 LD_LIBRARY_PATH=%fake_gpu XDG_CACHE_HOME=%t TPRT_EMULATED_KERNELS=%t/a.so tp-run %t/a.tpx --backend=cuda --check 2>&1 | FileCheck %s --check-prefix=SAME
// SAME-COUNT-10: check {{.*}}: ok

// The log-sum-exp comes from the kernel of the attention.
// STEP:     step.attention {{.*}} logsumexp(
// STEP:     step.attention_query_gradient
// STEP:     step.attention_key_value_gradient
// STEP-NOT: step.matmul
func.func @main(%q: tensor<2x37x2x3x16xf32>, %k: tensor<2x41x2x16xf32>, %v: tensor<2x41x2x20xf32>, %g: tensor<2x37x2x3x20xf32>,
                %r: tensor<2x37x2x3xf32>, %m: tensor<2x37x41xi1>,
                %hq: tensor<1x70x1x1x64xbf16>, %hk: tensor<1x70x1x64xbf16>, %hg: tensor<1x70x1x1x64xbf16>, %hr: tensor<1x70x1x1xf32>)
    -> (tensor<2x37x2x3xf32>, tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>,
        tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>,
        tensor<1x70x1x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>) {
  // Rows see 5 to 8 keys; the first ones of the second sequence see none.
  %p = tp.constant dense<[4, -3]> : tensor<2xi32>
  %n = tp.constant dense<[41, 30]> : tensor<2xi32>
  %0, %l = tp.attention %q, %k, %v offset(%p : tensor<2xi32>) lengths(%n : tensor<2xi32>) {causal, window = 8, scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>) -> tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>
  %dq = tp.attention_query_gradient %q, %k, %v, %g, %l, %r offset(%p : tensor<2xi32>) lengths(%n : tensor<2xi32>) {causal, window = 8, scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>, tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>, tensor<2x37x2x3xf32>) -> tensor<2x37x2x3x16xf32>
  %dk, %dv = tp.attention_key_value_gradient %q, %k, %v, %g, %l, %r offset(%p : tensor<2xi32>) lengths(%n : tensor<2xi32>) {causal, window = 8, scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>, tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>, tensor<2x37x2x3xf32>) -> (tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>)

  // A mask alone.
  %1, %ml = tp.attention %q, %k, %v mask(%m : tensor<2x37x41xi1>) {scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>) -> tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>
  %mq = tp.attention_query_gradient %q, %k, %v, %g, %ml, %r mask(%m : tensor<2x37x41xi1>) {scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>, tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>, tensor<2x37x2x3xf32>) -> tensor<2x37x2x3x16xf32>
  %mk, %mv = tp.attention_key_value_gradient %q, %k, %v, %g, %ml, %r mask(%m : tensor<2x37x41xi1>) {scale = 0.3 : f64}
      : (tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>, tensor<2x37x2x3x20xf32>, tensor<2x37x2x3xf32>, tensor<2x37x2x3xf32>) -> (tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>)

  // Numbers of 16 bits.
  %2, %hl = tp.attention %hq, %hk, %hk {causal, scale = 0.125 : f64}
      : (tensor<1x70x1x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>) -> tensor<1x70x1x1x64xbf16>, tensor<1x70x1x1xf32>
  %h0 = tp.attention_query_gradient %hq, %hk, %hk, %hg, %hl, %hr {causal, scale = 0.125 : f64}
      : (tensor<1x70x1x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x1x64xbf16>, tensor<1x70x1x1xf32>, tensor<1x70x1x1xf32>) -> tensor<1x70x1x1x64xbf16>
  %h1, %h2 = tp.attention_key_value_gradient %hq, %hk, %hk, %hg, %hl, %hr {causal, scale = 0.125 : f64}
      : (tensor<1x70x1x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x1x64xbf16>, tensor<1x70x1x1xf32>, tensor<1x70x1x1xf32>) -> (tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>)
  return %l, %dq, %dk, %dv, %mq, %mk, %mv, %h0, %h1, %h2 : tensor<2x37x2x3xf32>, tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>,
        tensor<2x37x2x3x16xf32>, tensor<2x41x2x16xf32>, tensor<2x41x2x20xf32>,
        tensor<1x70x1x1x64xbf16>, tensor<1x70x1x64xbf16>, tensor<1x70x1x64xbf16>
}

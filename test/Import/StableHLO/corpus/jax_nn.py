# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every public function of jax.nn."""

from cases import case, cases

EXCLUDED = {
    "get_scaled_dot_general_config": "returns no array",
    "scaled_dot_general": "wants GPU block scaling",
    "scaled_matmul": "wants GPU block scaling",
}

cases("jax.nn celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh identity "
      "leaky_relu log_sigmoid log_softmax logmeanexp logsumexp mish relu relu6 selu "
      "sigmoid silu soft_sign softmax softplus sparse_plus sparse_sigmoid squareplus "
      "standardize swish tanh", "nm")
case("jax.nn.gelu", "nm", form="exact", approximate=False)
case("jax.nn.softmax", "bnm", "bnm:bool", form="where",
     call=lambda f, s, x, where: f(x, axis=1, where=where))
case("jax.nn.logsumexp", "bnm", form="axes", call=lambda f, s, x: f(
    x, axis=(0, 2), keepdims=True))
case("jax.nn.glu", "nmc", call=lambda f, s, x: f(x, axis=2))
case("jax.nn.log1mexp", "nm@pos")
case("jax.nn.one_hot", "n:i32@<m", call=lambda f, s, x: f(x, s.m))
case("jax.nn.dot_product_attention", "bn24", "bn24", "bn24")
case("jax.nn.dot_product_attention", "bn44", "bm24", "bm24", form="causal",
     is_causal=True)
case("jax.nn.dot_product_attention", "bn24", "bn24", "bn24", "b1nn:bool", form="mask",
     call=lambda f, s, q, k, v, mask: f(q, k, v, mask=mask, scale=0.25))

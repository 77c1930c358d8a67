# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers in JAX under jit: a donated cache, and jax.nn.dot_product_attention by
cuDNN and by XLA. As in torch_peer.py, products of the same rows are one, and that the
cache is full is known when compiling."""

import functools
import os

# Others use the GPU, too.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
from jax import numpy as jnp  # noqa: E402

import peers  # noqa: E402


def get_dtype(case):
    return {"bf16": jnp.bfloat16, "f32": jnp.float32}[case["dtype"]]


def make_weights(case, read):
    """`read` gives a weight by its name in a checkpoint; products have them [in, out]."""
    config = case["config"]
    hidden, vocabulary = config["hidden_size"], config["vocab_size"]
    inner = config["intermediate_size"]
    rows = config["num_attention_heads"] * config["head_dim"]
    kv_rows = config["num_key_value_heads"] * config["head_dim"]

    def make_layer(i):
        def get(name, *shape):
            return read(f"model.layers.{i}.{name}.weight", shape)
        return {
            "input_norm": get("input_layernorm", hidden),
            "inner_norm": get("post_attention_layernorm", hidden),
            "qkv": jnp.concatenate((
                get("self_attn.q_proj", rows, hidden), get("self_attn.k_proj", kv_rows, hidden),
                get("self_attn.v_proj", kv_rows, hidden))).T,
            "out": get("self_attn.o_proj", hidden, rows).T,
            "gate_up": jnp.concatenate((
                get("mlp.gate_proj", inner, hidden), get("mlp.up_proj", inner, hidden))).T,
            "down": get("mlp.down_proj", hidden, inner).T}

    return {"table": read("model.embed_tokens.weight", (vocabulary, hidden)),
            "layers": [make_layer(i) for i in range(config["num_hidden_layers"])],
            "norm": read("model.norm.weight", (hidden,)),
            "head": read("lm_head.weight", (vocabulary, hidden)).T}


def make_cache(case):
    if case["phase"] == "prefill":
        return None
    config = case["config"]
    shape = (case["batch"], case["tokens"], config["num_key_value_heads"], config["head_dim"])
    return [(jnp.zeros(shape, get_dtype(case)), jnp.zeros(shape, get_dtype(case)))
            for _ in range(config["num_hidden_layers"])]


def normalize(x, weight, epsilon):
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + epsilon)
    return (wide * weight.astype(jnp.float32)).astype(x.dtype)


def make_rotation(case):
    half = case["config"]["head_dim"] // 2
    rates = case["config"]["rope_theta"] ** -(jnp.arange(half) / half)
    first = case["tokens"] - 1 if case["phase"] == "decode" else 0
    angles = jnp.outer(jnp.arange(first, case["tokens"], dtype=jnp.float32), rates)[:, None, :]
    cosine, sine = jnp.cos(angles), jnp.sin(angles)

    def rotate(x):
        a, b = jnp.split(x.astype(jnp.float32), 2, -1)
        return jnp.concatenate((a * cosine - b * sine, b * cosine + a * sine), -1).astype(x.dtype)
    return rotate


def make_step(case, implementation):
    """(weights, cache, tokens) to (logits of the last token, cache)."""
    config = case["config"]
    features, epsilon = config["head_dim"], config["rms_norm_eps"]
    rows = config["num_attention_heads"] * features
    kv_rows = config["num_key_value_heads"] * features
    rotate = make_rotation(case)

    def attend(layer, x, cache):
        batch, tokens, _ = x.shape
        parts = jnp.split(x @ layer["qkv"], (rows, rows + kv_rows), -1)
        query, key, value = (part.reshape(batch, tokens, -1, features) for part in parts)
        query, key = rotate(query), rotate(key)
        if cache:
            cache = tuple(old.at[:, -1:].set(new) for old, new in zip(cache, (key, value)))
            key, value = cache
        y = jax.nn.dot_product_attention(query, key, value, is_causal=cache is None,
                                         implementation=implementation)
        return y.reshape(batch, tokens, -1) @ layer["out"], cache

    def step(weights, caches, tokens):
        x, news = weights["table"][tokens], []
        for i, layer in enumerate(weights["layers"]):
            y, new = attend(layer, normalize(x, layer["input_norm"], epsilon),
                            caches and caches[i])
            news.append(new)
            x = x + y
            gate, up = jnp.split(
                normalize(x, layer["inner_norm"], epsilon) @ layer["gate_up"], 2, -1)
            x = x + (jax.nn.silu(gate) * up) @ layer["down"]
        x = normalize(x[:, -1], weights["norm"], epsilon)
        logits = jnp.matmul(x, weights["head"], preferred_element_type=jnp.float32)
        return logits, news if caches else None

    return jax.jit(step, donate_argnums=1)


class Answers(peers.Ways):
    def __init__(self):
        super().__init__()
        self.device, self.last = jax.devices()[0], None

    def hello(self):
        if self.device.platform != "gpu":
            return {"error": f"jax {jax.__version__} finds no GPU"}
        return {"is": f"jax {jax.__version__}"}

    def wait(self):
        jax.block_until_ready(self.last)

    def prepare(self, case):
        self.calls, self.last = {}, None
        keys = iter(jax.random.split(jax.random.key(1), 1 << 10))

        def read(name, shape):
            if name.endswith("norm.weight"):
                return jnp.ones(shape, get_dtype(case))
            return 0.02 * jax.random.normal(next(keys), shape, get_dtype(case))

        weights = make_weights(case, read)
        length = 1 if case["phase"] == "decode" else case["tokens"]
        tokens = jnp.zeros((case["batch"], length), jnp.int32)

        def make(implementation):
            step, cache = make_step(case, implementation), make_cache(case)

            def call():
                nonlocal cache
                self.last, cache = step(weights, cache, tokens)
            for _ in range(2):
                call()
                self.wait()
            return call

        return self.make_all({f"jit, {name}": functools.partial(make, name)
                              for name in ("cudnn", "xla")})


if __name__ == "__main__":
    peers.serve(Answers())

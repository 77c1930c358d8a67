#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of a Llama in plain JAX, exported for two devices.

    overlap_steps.py FOLDER LAYERS    writes FOLDER/NAME/model.mlir

NAME is the plan, `data`, `fsdp` or `tensor` (as Megatron cuts layers), and `-scanned`, whose
layers are one lax.scan, or `-unrolled`. Weights are shapes only.
"""

import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P  # noqa: E402

import tp_export  # noqa: E402

WIDTH, HEADS, INNER, VOCABULARY, BATCH, TOKENS = 512, 8, 1408, 8192, 4, 256
SIZE = WIDTH // HEADS
LAYER = {"q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "o": (WIDTH, WIDTH),
         "gate": (WIDTH, INNER), "up": (WIDTH, INNER), "down": (INNER, WIDTH),
         "norm1": (WIDTH,), "norm2": (WIDTH,)}
# The dimension of each weight that a device has a part of.
MEGATRON = {"q": 1, "k": 1, "v": 1, "o": 0, "gate": 1, "up": 1, "down": 0}
CUTS = {
    "data": lambda name, shape: None,
    "fsdp": lambda name, shape: 0 if len(shape) > 1 else None,
    "tensor": lambda name, shape: MEGATRON.get(name),
}


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * scale


def rotate(x):
    angles = np.arange(TOKENS)[:, None] * 1e4 ** (-np.arange(0, SIZE, 2) / SIZE)
    cos, sin = (f(angles).astype(np.float32)[:, None] for f in (np.cos, np.sin))
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def layer(x, w):
    y = norm(x, w["norm1"])
    q, k, v = ((y @ w[name]).reshape(BATCH, TOKENS, HEADS, SIZE) for name in "qkv")
    scores = jnp.einsum("bqhd,bkhd->bhqk", rotate(q), rotate(k)) * SIZE ** -0.5
    mask = jnp.tril(jnp.ones((TOKENS, TOKENS), bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e30), -1)
    x = x + jnp.einsum("bhqk,bkhd->bqhd", weights, v).reshape(BATCH, TOKENS, WIDTH) @ w["o"]
    y = norm(x, w["norm2"])
    return x + (jax.nn.silu(y @ w["gate"]) * (y @ w["up"])) @ w["down"]


def loss(params, tokens, labels):
    x = params["embedding"][tokens]
    if isinstance(params["layers"], list):
        for weights in params["layers"]:
            x = layer(x, weights)
    else:
        x, _ = jax.lax.scan(lambda x, w: (layer(x, w), None), x, params["layers"])
    logits = norm(x, params["norm"]) @ params["embedding"].T
    label = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - label)


def train(params, tokens, labels):
    value, gradients = jax.value_and_grad(loss)(params, tokens, labels)
    return jax.tree.map(lambda a, b: a - 1e-3 * b, params, gradients), value


def export(folder, plan, is_scanned, layers):
    mesh = Mesh(np.array(jax.devices()), ("x",))

    def get(name, shape, stacked=()):
        cut = CUTS[plan](name, shape)
        axes = [None] * len(stacked + shape)
        if cut is not None:
            axes[cut + len(stacked)] = "x"
        return (jax.ShapeDtypeStruct(stacked + shape, jnp.float32),
                NamedSharding(mesh, P(*axes)))

    def get_layer(*stacked):
        return {name: get(name, shape, stacked) for name, shape in LAYER.items()}

    both = {"embedding": get("embedding", (VOCABULARY, WIDTH)), "norm": get("norm", (WIDTH,)),
            "layers": get_layer(layers) if is_scanned else [get_layer() for _ in range(layers)]}
    leaves, tree = jax.tree.flatten(both, is_leaf=lambda x: isinstance(x, tuple))
    params, shardings = (jax.tree.unflatten(tree, part) for part in zip(*leaves))
    tokens = jax.ShapeDtypeStruct((BATCH, TOKENS), jnp.int32)
    batch = NamedSharding(mesh, P() if plan == "tensor" else P("x"))
    name = f"{plan}-{'scanned' if is_scanned else 'unrolled'}"
    tp_export.export(train, params, tokens, tokens, to=f"{folder}/{name}",
                     in_shardings=(shardings, batch, batch),
                     out_shardings=(shardings, NamedSharding(mesh, P())))


def main():
    folder, layers = sys.argv[1], int(sys.argv[2])
    for plan in CUTS:
        for is_scanned in (False, True):
            export(folder, plan, is_scanned, layers)


main()

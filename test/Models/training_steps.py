#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small training steps of Flax models by the optimizers of Optax, whose outputs rounding
moves in different ways: gradients that should be zero, signs of small numbers, orthogonal
updates, and computation in bfloat16 and in 8-bit floats.

    training_steps.py FOLDER [NAME...]    writes those, or all: FOLDER/NAME/model.mlir and
                                          in.safetensors, for check_campaign.py"""

import functools
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import flax.linen as nn  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
import safetensors.numpy  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402

import tp_export  # noqa: E402
from tp_export.naming import name_leaves  # noqa: E402

BATCH, TOKENS, WIDTH, VOCABULARY = 4, 6, 16, 24


class Attention(nn.Module):
    """The gradient of a key's bias is zero: it moves all scores of a query alike."""
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, x):
        q, k, v = (nn.Dense(WIDTH, dtype=self.dtype, name=name,
                            bias_init=nn.initializers.normal(0.1))(x)
                   for name in ("query", "key", "value"))
        return jax.nn.softmax(q @ jnp.swapaxes(k, 1, 2) / 4) @ v


class Block(nn.Module):
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, x):
        attention = functools.partial(nn.MultiHeadDotProductAttention, num_heads=4)
        x = x + attention(dtype=self.dtype)(nn.LayerNorm()(x))
        y = nn.Dense(32, dtype=self.dtype)(nn.LayerNorm()(x))
        return x + nn.Dense(WIDTH, dtype=self.dtype)(nn.gelu(y))


class Mlp(nn.Module):
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, x):
        x = nn.tanh(nn.Dense(32, dtype=self.dtype)(x))
        return nn.Dense(WIDTH, dtype=self.dtype)(x)


class Convolution(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.GroupNorm(4)(nn.Conv(WIDTH, (3,))(x))
        return nn.avg_pool(nn.silu(nn.Conv(WIDTH, (3,))(x)), (2,))


class Recurrent(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.RNN(nn.GRUCell(WIDTH))(x)


class Quantized(nn.Module):
    """Products of 8-bit floats."""
    dtype: jnp.dtype = jnp.float8_e4m3fn

    @nn.compact
    def __call__(self, x):
        for name, width in (("up", 32), ("down", WIDTH)):
            w = self.param(name, nn.initializers.normal(0.3), (x.shape[-1], width))
            x = nn.tanh(jnp.dot(x.astype(self.dtype), w.astype(self.dtype),
                                preferred_element_type=jnp.float32))
        return x


class LanguageModel(nn.Module):
    dtype: jnp.dtype = jnp.float32

    @nn.compact
    def __call__(self, x):
        tokens = jnp.abs(x[..., 0] * 100).astype(jnp.int32) % VOCABULARY
        embed = nn.Embed(VOCABULARY, WIDTH, dtype=self.dtype)
        return nn.log_softmax(embed.attend(Block(self.dtype)(embed(tokens))))


HALF, EIGHT = jnp.bfloat16, jnp.float8_e5m2
GRADIENTS = optax.identity()  # added to the weights as they are
STEPS = {
    "attention-adam": (Attention(), optax.adam(1e-2)),
    "attention-gradients": (Attention(), GRADIENTS),
    "attention_bf16-gradients": (Attention(HALF), GRADIENTS),
    "attention_bf16-adam": (Attention(HALF), optax.adam(1e-2)),
    "attention-sgd": (Attention(), optax.sgd(1e-1, momentum=0.9)),
    "block-adamw": (Block(), optax.adamw(1e-2)),
    "block-lamb": (Block(), optax.lamb(1e-2)),
    "block-lars": (Block(), optax.lars(1e-2)),
    "block-sm3": (Block(), optax.sm3(1e-2)),
    "block-adafactor": (Block(), optax.adafactor(1e-2, min_dim_size_to_factor=8)),
    "block_bf16-lion": (Block(HALF), optax.lion(1e-3)),
    "block_bf16-gradients": (Block(HALF), GRADIENTS),
    "mlp-muon": (Mlp(), optax.contrib.muon(1e-2)),
    "mlp_bf16-muon": (Mlp(HALF), optax.contrib.muon(1e-2)),
    "mlp-lion": (Mlp(), optax.lion(1e-3)),
    "mlp-novograd": (Mlp(), optax.novograd(1e-2)),
    "mlp-radam": (Mlp(), optax.radam(1e-2)),
    "convolution-rmsprop": (Convolution(), optax.rmsprop(1e-2)),
    "convolution-yogi": (Convolution(), optax.yogi(1e-2)),
    "recurrent-adagrad": (Recurrent(), optax.adagrad(1e-2)),
    "recurrent-adabelief": (Recurrent(), optax.adabelief(1e-2)),
    "quantized-sgd": (Quantized(), optax.sgd(1e-1)),
    "quantized_e5m2-gradients": (Quantized(EIGHT), GRADIENTS),
    "quantized-adam": (Quantized(), optax.adam(1e-2)),
    "language_bf16-adamw": (LanguageModel(HALF), optax.adamw(1e-2)),
    "language-adam": (LanguageModel(), optax.chain(optax.clip_by_global_norm(1.0),
                                                   optax.adam(1e-2))),
}


def make_step(model, optimizer):
    def loss(params, x, y):
        made = model.apply(params, x).astype(jnp.float32)
        return jnp.mean((made - y[:, :made.shape[1], :made.shape[2]]) ** 2)

    def step(params, state, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value
    return step


def write(name, folder):
    """The second step of a training, with the batch cut over two devices and weights over
    two more, where they divide."""
    model, optimizer = STEPS[name]
    draw = lambda i, *dims: jax.random.normal(jax.random.key(i), dims)
    x, y = draw(1, BATCH, TOKENS, WIDTH), draw(2, BATCH, TOKENS, VOCABULARY)
    params = model.init(jax.random.key(0), x)
    step = make_step(model, optimizer)
    params, state, _ = jax.jit(step)(params, optimizer.init(params), x, y)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("data", "model"))
    named = lambda *spec: NamedSharding(mesh, P(*spec))

    def cut(leaf):
        last = leaf.ndim - 1
        return (named(*[None] * last, "model")
                if leaf.ndim > 1 and leaf.shape[last] % 2 == 0 else named())
    shardings = (jax.tree.map(cut, params), jax.tree.map(cut, state), named("data"),
                 named("data"))
    folder = pathlib.Path(folder)
    tp_export.export(step, params, state, x, y, to=folder, in_shardings=shardings,
                     out_shardings=(*shardings[:2], named()))
    tensors = {}
    for prefix, tree in (("", params), ("state", state), ("x", x), ("y", y)):
        tensors |= {key: np.asarray(leaf) for key, leaf in name_leaves(tree, prefix)}
    safetensors.numpy.save_file(tensors, folder / "in.safetensors")


def main():
    for name in sys.argv[2:] or STEPS:
        write(name, pathlib.Path(sys.argv[1]) / name)


if __name__ == "__main__":
    main()

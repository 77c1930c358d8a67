# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Blocks of models whose images or sequences are cut, not their weights: what lies on
the other side of a border is all that has to be sent.

    program = build("convnext", "rows", "train", devices=4)
    program.jitted.lower(*program.arguments)"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec as P

import jax_models

WIDTH = 32
IMAGE, SEQUENCE = (2, 32, 32, WIDTH), (2, 64, WIDTH)


def conv(x, weight, stride=1):
    return lax.conv_general_dilated(
        x, weight, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
        feature_group_count=x.shape[-1] // weight.shape[2])


def causal_conv(x, weight):
    return lax.conv_general_dilated(
        x, weight, (1,), [(weight.shape[0] - 1, 0)], dimension_numbers=("NHC", "HIO", "NHC"),
        feature_group_count=x.shape[-1])


def max_pool(x, size):
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, 2, 2, 1), "SAME")


def norm(x):
    return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)


def attention(x, weight, mask=None):
    q, k, v = jnp.split(norm(x) @ weight, 3, -1)
    return attend(q, k, v, mask)


def attend(q, k, v, mask=None):
    scores = jnp.einsum("...qd,...kd->...qk", q, k)
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    return jnp.einsum("...qk,...kd->...qd", jax.nn.softmax(scores, -1), v)


def window_attention(x, weight, size=4):
    """Among the pixels of each window."""
    n, h, w, c = x.shape
    x = x.reshape(n, h // size, size, w // size, size, c).transpose(0, 1, 3, 2, 4, 5)
    y = attention(x.reshape(*x.shape[:3], size * size, c), weight)
    return y.reshape(x.shape).transpose(0, 1, 3, 2, 4, 5).reshape(n, h, w, c)


def grid_attention(x, weight, size=4):
    """Among pixels that are far from each other."""
    n, h, w, c = x.shape
    x = x.reshape(n, size, h // size, size, w // size, c).transpose(0, 2, 4, 1, 3, 5)
    y = attention(x.reshape(*x.shape[:3], size * size, c), weight)
    return y.reshape(x.shape).transpose(0, 3, 1, 4, 2, 5).reshape(n, h, w, c)


def convnext(p, x):
    return x + jax.nn.gelu(norm(conv(x, p["deep"])) @ p["up"]) @ p["down"]


def resnet(p, x):
    """A stem, and a block."""
    x = max_pool(jax.nn.relu(conv(x, p["stem"], 2)), 3)
    return jax.nn.relu(x + conv(jax.nn.relu(conv(x, p["a"])), p["b"]))


def unet(p, x):
    high = jax.nn.relu(conv(x, p["down"]))
    low = jax.nn.relu(conv(max_pool(high, 2), p["bottom"]))
    back = lax.conv_transpose(low, p["up"], (2, 2), "SAME",
                              dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return conv(jax.nn.relu(conv(jnp.concatenate([high, back], -1), p["merge"])), p["head"])


def swin(p, x):
    """Windows, and windows moved by half their size."""
    x = x + window_attention(x, p["a"])
    x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    return x + jnp.roll(window_attention(jnp.roll(x, (-2, -2), (1, 2)), p["b"]), (2, 2), (1, 2))


def maxvit(p, x):
    x = x + jax.nn.gelu(conv(x, p["deep"])) @ p["wide"]
    x = x + window_attention(x, p["a"])
    return x + grid_attention(x, p["b"])


def twins(p, x):
    """Windows, and all pixels to a smaller image."""
    n, h, w, c = x.shape
    x = x + window_attention(x, p["a"])
    x = x + conv(x, p["place"])
    small = norm(conv(x, p["small"], 4)).reshape(n, -1, c)
    k, v = jnp.split(small @ p["kv"], 2, -1)
    return x + attend((norm(x) @ p["q"]).reshape(n, -1, c), k, v).reshape(x.shape)


def recurrence(a, b):
    """h[t] = a[t] * h[t - 1] + b[t], along dimension 1."""
    return lax.associative_scan(
        lambda left, right: (left[0] * right[0], left[1] * right[0] + right[1]), (a, b),
        axis=1)[1]


def mamba(p, x):
    u, z = jnp.split(x @ p["in"], 2, -1)
    u = jax.nn.silu(causal_conv(u, p["conv"]))
    step = jax.nn.softplus(u @ p["step"])
    a = jnp.exp(-step[..., None] * jnp.exp(p["a"]))
    h = recurrence(a, (step * u)[..., None] * (u @ p["b"])[:, :, None])
    return ((h * (u @ p["c"])[:, :, None]).sum(-1) * jax.nn.silu(z)) @ p["out"]


def mamba2(p, x, size=16):
    """In chunks, and from chunk to chunk."""
    u = causal_conv(x @ p["in"], p["conv"])
    n, t, _ = u.shape
    q, k, v, a = (part.reshape(n, t // size, size, -1) for part in jnp.split(u, 4, -1))
    total = jnp.cumsum(-jax.nn.softplus(a[..., 0]), -1)
    below = jnp.tril(jnp.ones((size, size), bool))
    decay = jnp.exp(jnp.where(below, total[..., :, None] - total[..., None, :], -jnp.inf))
    y = jnp.einsum("nbqk,nbqd,nbkd,nbke->nbqe", decay, q, k, v)
    states = jnp.einsum("nbk,nbkd,nbke->nbde", jnp.exp(total[..., -1:] - total), k, v)
    states = recurrence(jnp.exp(total[..., -1])[..., None, None], states)
    before = jnp.pad(states, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1]
    y = y + jnp.einsum("nbq,nbqd,nbde->nbqe", jnp.exp(total), q, before)
    return y.reshape(n, t, -1) @ p["out"]


def griffin(p, x):
    u = causal_conv(x @ p["in"], p["conv"])
    a = jax.nn.sigmoid(u @ p["gate"])
    return recurrence(a, jnp.sqrt(1 - a * a) * u) @ p["out"]


def sliding(p, x, size=16):
    """Attention to the chunk before and to one's own, as far as it is near."""
    n, t, _ = x.shape
    q, k, v = (part.reshape(n, t // size, size, -1) for part in jnp.split(x @ p["in"], 3, -1))
    before = lambda y: jnp.pad(y, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1]
    wide = lambda y: jnp.concatenate([before(y), y], 2)
    row, column = jnp.arange(size)[:, None] + size, jnp.arange(2 * size)[None]
    y = attend(q, wide(k), wide(v), (column <= row) & (column > row - size))
    return y.reshape(n, t, -1) @ p["out"]


def stencil(p, x):
    """A causal convolution of four by pads and slices."""
    u = x @ p["in"]
    t = u.shape[1]
    padded = jnp.pad(u, ((0, 0), (3, 0), (0, 0)))
    return jax.nn.silu(sum(padded[:, i:i + t] * p["conv"][i] for i in range(4))) @ p["out"]


C = WIDTH
BLOCKS = {
    "convnext": (convnext, IMAGE, {"deep": (7, 7, 1, C), "up": (C, 4 * C), "down": (4 * C, C)}),
    "resnet": (resnet, IMAGE, {"stem": (7, 7, C, C), "a": (3, 3, C, C), "b": (3, 3, C, C)}),
    "unet": (unet, IMAGE, {"down": (3, 3, C, C), "bottom": (3, 3, C, 2 * C),
                           "up": (3, 3, 2 * C, C), "merge": (3, 3, 2 * C, C),
                           "head": (3, 3, C, 4)}),
    "swin": (swin, IMAGE, {"a": (C, 3 * C), "b": (C, 3 * C), "up": (C, 4 * C),
                           "down": (4 * C, C)}),
    "maxvit": (maxvit, IMAGE, {"deep": (3, 3, 1, C), "wide": (C, C), "a": (C, 3 * C),
                               "b": (C, 3 * C)}),
    "twins": (twins, IMAGE, {"a": (C, 3 * C), "place": (3, 3, 1, C), "small": (4, 4, C, C),
                             "kv": (C, 2 * C), "q": (C, C)}),
    "mamba": (mamba, SEQUENCE, {"in": (C, 4 * C), "conv": (4, 1, 2 * C), "step": (2 * C, 2 * C),
                                "a": (2 * C, 4), "b": (2 * C, 4), "c": (2 * C, 4),
                                "out": (2 * C, C)}),
    "mamba2": (mamba2, SEQUENCE, {"in": (C, 4 * C), "conv": (4, 1, 4 * C), "out": (C, C)}),
    "griffin": (griffin, SEQUENCE, {"in": (C, 2 * C), "conv": (4, 1, 2 * C),
                                    "gate": (2 * C, 2 * C), "out": (2 * C, C)}),
    "sliding": (sliding, SEQUENCE, {"in": (C, 3 * C), "out": (C, C)}),
    "stencil": (stencil, SEQUENCE, {"in": (C, 2 * C), "conv": (4, 2 * C), "out": (2 * C, C)}),
}
LAYOUTS = {"rows": {"rows": 4}, "image": {"rows": 2, "columns": 2}}


def build(name, layout, phase, devices=4):
    sizes = LAYOUTS[layout] if devices > 1 else dict.fromkeys(LAYOUTS[layout], 1)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(*sizes.values()),
                             tuple(sizes))
    apply, dims, weights = BLOCKS[name]
    params = {key: jax.ShapeDtypeStruct(shape, jnp.float32) for key, shape in weights.items()}
    x = jax.ShapeDtypeStruct(dims, jnp.float32)
    whole, cut = NamedSharding(mesh, P()), NamedSharding(mesh, P(None, *sizes))
    function, results = apply, cut
    if phase == "train":
        loss = lambda params, x: jnp.mean(jnp.square(apply(params, x)))
        function = jax.value_and_grad(loss, argnums=(0, 1))
        results = (whole, (whole, cut))
    jitted = jax.jit(function, in_shardings=(whole, cut), out_shardings=results,
                     keep_unused=True)
    return jax_models.Program(jitted, (params, x), mesh, jax_models.SMALL)

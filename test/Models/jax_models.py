# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models as users of JAX write and shard them: GPT-2's shape in plain JAX,
Llama's in flax; layers unrolled or under scan; forward, or a whole training step with
jax.grad and optax's Adam.

    program = build("llama", "scan", "tensor+data", "train", SMALL, devices=4)
    program.jitted.lower(*program.arguments)

The layouts: `tensor` cuts heads, hidden features and the vocabulary over one axis,
`tensor+data` does so on one axis and cuts the batch over another, `fsdp` cuts the
batch and, at rest, every weight over one axis, `fsdp+tensor` does each on an axis of
its own, `sequence` is `tensor` with the sequence cut over the same axis between the
blocks."""

import dataclasses
import functools
import re
import typing

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec as P

MODELS = ("gpt2", "llama")
FORMS = ("unrolled", "scan")
LAYOUTS = ("tensor", "tensor+data", "fsdp", "sequence", "fsdp+tensor")
PHASES = ("forward", "train")


@dataclasses.dataclass(frozen=True)
class Config:
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    feed: int
    vocabulary: int
    batch: int
    sequence: int

    @property
    def head(self):
        return self.hidden // self.heads


SMALL = Config(layers=2, hidden=32, heads=8, kv_heads=4, feed=64, vocabulary=48,
               batch=4, sequence=8)
# Which a machine of two cores trains in about a second a step.
MEDIUM = Config(layers=4, hidden=256, heads=8, kv_heads=4, feed=768, vocabulary=2048,
                batch=4, sequence=128)
LLAMA_8B = Config(layers=32, hidden=4096, heads=32, kv_heads=8, feed=14336,
                  vocabulary=128256, batch=16, sequence=8192)
LLAMA_405B = Config(layers=126, hidden=16384, heads=128, kv_heads=8, feed=53248,
                    vocabulary=128256, batch=16, sequence=8192)


def keep(x, spec):
    """With a spec, tells the partitioner how a value between two blocks is cut."""
    return x if spec is None else jax.lax.with_sharding_constraint(x, spec)


# GPT-2 in plain JAX: parameters are a tree, layers functions.

def gpt2_shapes(c, form):
    layer = {
        "ln_1": {"scale": (c.hidden,), "bias": (c.hidden,)},
        "attn": {"wqkv": (c.hidden, 3, c.heads, c.head), "bqkv": (3, c.heads, c.head),
                 "wo": (c.heads, c.head, c.hidden), "bo": (c.hidden,)},
        "ln_2": {"scale": (c.hidden,), "bias": (c.hidden,)},
        "mlp": {"w_in": (c.hidden, c.feed), "b_in": (c.feed,),
                "w_out": (c.feed, c.hidden), "b_out": (c.hidden,)},
    }
    is_shape = lambda x: isinstance(x, tuple)
    layers = (jax.tree.map(lambda s: (c.layers, *s), layer, is_leaf=is_shape)
              if form == "scan" else [layer] * c.layers)
    shapes = {"wte": (c.vocabulary, c.hidden), "wpe": (c.sequence, c.hidden),
              "h": layers, "ln_f": {"scale": (c.hidden,), "bias": (c.hidden,)}}
    return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, jnp.float32), shapes,
                        is_leaf=is_shape)


def layer_norm(x, p):
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * p["scale"] + p["bias"]


def gpt2_attention(x, p):
    q, k, v = jnp.einsum("bsd,dthe->tbshe", x, p["wqkv"]) + p["bqkv"][:, None, None]
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    mixed = jnp.einsum("bhqk,bkhe->bqhe", weights, v)
    return jnp.einsum("bqhe,hed->bqd", mixed, p["wo"]) + p["bo"]


def gpt2_block(x, p, between):
    x = keep(x + gpt2_attention(layer_norm(x, p["ln_1"]), p["attn"]), between)
    hidden = jax.nn.gelu(layer_norm(x, p["ln_2"]) @ p["mlp"]["w_in"] + p["mlp"]["b_in"])
    return keep(x + hidden @ p["mlp"]["w_out"] + p["mlp"]["b_out"], between)


def gpt2(params, tokens, between=None):
    x = params["wte"][tokens] + params["wpe"][:tokens.shape[1]]
    x = keep(x, between)
    if isinstance(params["h"], dict):
        x, _ = jax.lax.scan(lambda x, p: (gpt2_block(x, p, between), None), x, params["h"])
    else:
        for layer in params["h"]:
            x = gpt2_block(x, layer, between)
    return layer_norm(x, params["ln_f"]) @ params["wte"].T


# Llama in flax.

def rotary(x):
    """Of [batch, sequence, head, feature]; the halves are the pairs."""
    half = x.shape[-1] // 2
    frequency = 1 / 10000 ** (jnp.arange(half) / half)
    angle = jnp.arange(x.shape[1])[:, None] * frequency
    cos, sin = jnp.cos(angle)[:, None], jnp.sin(angle)[:, None]
    x1, x2 = x[..., :half], x[..., half:]
    return jnp.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)


class LlamaAttention(nn.Module):
    config: Config

    @nn.compact
    def __call__(self, x):
        c = self.config
        heads = functools.partial(nn.DenseGeneral, use_bias=False)
        q = rotary(heads((c.heads, c.head), name="q_proj")(x))
        k = rotary(heads((c.kv_heads, c.head), name="k_proj")(x))
        v = heads((c.kv_heads, c.head), name="v_proj")(x)
        k, v = (jnp.repeat(y, c.heads // c.kv_heads, axis=2) for y in (k, v))
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) * c.head ** -0.5
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]), dtype=bool)
        weights = nn.softmax(jnp.where(mask, scores, jnp.finfo(x.dtype).min))
        mixed = jnp.einsum("bhqk,bkhe->bqhe", weights, v)
        return heads(c.hidden, axis=(-2, -1), name="o_proj")(mixed)


class LlamaBlock(nn.Module):
    config: Config
    between: typing.Any = None

    @nn.compact
    def __call__(self, x, _=None):
        c, dense = self.config, functools.partial(nn.Dense, use_bias=False)
        x = x + LlamaAttention(c, name="self_attn")(nn.RMSNorm(name="input_layernorm")(x))
        x = keep(x, self.between)
        y = nn.RMSNorm(name="post_attention_layernorm")(x)
        y = nn.silu(dense(c.feed, name="gate_proj")(y)) * dense(c.feed, name="up_proj")(y)
        x = keep(x + dense(c.hidden, name="down_proj")(y), self.between)
        return x, None


class Llama(nn.Module):
    config: Config
    form: str
    between: typing.Any = None

    @nn.compact
    def __call__(self, tokens):
        c = self.config
        x = nn.Embed(c.vocabulary, c.hidden, name="embed_tokens")(tokens)
        x = keep(x, self.between)
        if self.form == "scan":
            layers = nn.scan(LlamaBlock, variable_axes={"params": 0},
                             split_rngs={"params": True}, length=c.layers)
            x, _ = layers(c, self.between, name="layers")(x, None)
        else:
            for i in range(c.layers):
                x, _ = LlamaBlock(c, self.between, name=f"layers_{i}")(x)
        x = nn.RMSNorm(name="norm")(x)
        return nn.Dense(c.vocabulary, use_bias=False, name="lm_head")(x)


# How weights are cut over the axis "model": patterns of their paths, and the dim,
# counted without that of the layers. What matches none is whole.
TENSOR = {
    "gpt2": [("wte", 0), ("attn/wqkv", 2), ("attn/bqkv", 1), ("attn/wo", 0),
             ("mlp/w_in", 1), ("mlp/b_in", 0), ("mlp/w_out", 0)],
    "llama": [("embed_tokens", 0), ("lm_head", 1), ("[qkv]_proj", 1), ("o_proj", 0),
              ("(gate|up)_proj", 1), ("down_proj", 0)],
}


def get_path(keys):
    return "/".join(str(next(getattr(key, kind) for kind in ("key", "name", "idx")
                             if hasattr(key, kind))) for key in keys)


def shard_weight(model, form, layout, mesh, path, shape):
    """The spec of a weight of that path."""
    stacked = form == "scan" and re.search(r"(^|/)(h|layers)/", path) is not None
    dims = [None] * len(shape)
    if "model" in mesh.axis_names:
        for pattern, dim in TENSOR[model]:
            if re.search(f"(^|/){pattern}", path):
                dims[stacked + dim] = "model"
    if layout.startswith("fsdp"):
        # The first dim that divides, as in most codes.
        for dim in range(stacked, len(shape)):
            if dims[dim] is None and shape[dim] % mesh.shape["data"] == 0:
                dims[dim] = "data"
                break
    return P(*dims)


@dataclasses.dataclass
class Program:
    jitted: typing.Any       # jax.jit of the function, with its shardings
    arguments: tuple         # ShapeDtypeStructs
    mesh: jax.sharding.Mesh
    config: Config

    def make_arguments(self):
        """Numbers for them: weights near the size that training begins with."""
        rng = np.random.default_rng(0)

        def fill(keys, leaf):
            path = get_path(keys)
            if jnp.issubdtype(leaf.dtype, jnp.integer):
                high = 1 if leaf.shape == () else self.config.vocabulary
                return np.asarray(rng.integers(0, high, leaf.shape), leaf.dtype)
            if "/nu/" in path:
                return np.asarray(rng.uniform(1e-4, 1e-3, leaf.shape), leaf.dtype)
            if path.endswith("scale"):
                return np.asarray(rng.uniform(0.5, 1.5, leaf.shape), leaf.dtype)
            return np.asarray(rng.normal(0, 0.1, leaf.shape), leaf.dtype)
        return jax.tree_util.tree_map_with_path(fill, self.arguments)


def make_mesh(layout, devices):
    """Of the first of JAX's devices, which may be forced host ones. Of one, all axes have
    one position."""
    axes = {"tensor": ("model",), "sequence": ("model",), "fsdp": ("data",),
            "tensor+data": ("data", "model"), "fsdp+tensor": ("data", "model")}[layout]
    shape = (2, devices // 2) if len(axes) == 2 else (devices,)
    if devices == 1:
        shape = (1,) * len(axes)
    return jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(shape), axes)


def build(model, form, layout, phase, config=SMALL, devices=4):
    mesh = make_mesh(layout, devices)
    named = lambda spec: NamedSharding(mesh, spec)
    batch = "data" if "data" in mesh.axis_names else None
    between = (named(P(batch, "model", None)) if layout == "sequence" else None)

    tokens = jax.ShapeDtypeStruct((config.batch, config.sequence), jnp.int32)
    if model == "gpt2":
        params = gpt2_shapes(config, form)
        forward = functools.partial(gpt2, between=between)
    else:
        params = jax.eval_shape(Llama(config, form).init, jax.random.key(0), tokens)
        forward = Llama(config, form, between).apply
    shardings = jax.tree_util.tree_map_with_path(
        lambda keys, leaf: named(shard_weight(model, form, layout, mesh, get_path(keys),
                                              leaf.shape)), params)
    on_batch = named(P(batch))

    if phase == "forward":
        jitted = jax.jit(forward, in_shardings=(shardings, on_batch),
                         out_shardings=named(P(batch, None, "model" if "model" in
                                               mesh.axis_names else None)))
        return Program(jitted, (params, tokens), mesh, config)

    optimizer = optax.adam(1e-3)
    state = jax.eval_shape(optimizer.init, params)
    # Moments are cut as their weights are, the step count is whole.
    state_shardings = optax.tree_map_params(
        optimizer, lambda _, sharding: sharding, state, shardings,
        transform_non_params=lambda _: named(P()))

    def loss(params, tokens, labels):
        logits = forward(params, tokens)
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    def step(params, state, tokens, labels):
        value, gradients = jax.value_and_grad(loss)(params, tokens, labels)
        updates, state = optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, value

    jitted = jax.jit(step, in_shardings=(shardings, state_shardings, on_batch, on_batch),
                     out_shardings=(shardings, state_shardings, named(P())))
    return Program(jitted, (params, state, tokens, tokens), mesh, config)

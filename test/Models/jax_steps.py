# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps as public codes of Flax and Optax write them, of usual widths and few
layers, for public_steps.py."""

import dataclasses
import functools
import re
import typing

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH, VOCABULARY = 256, 8192


@dataclasses.dataclass
class Step:
    init: typing.Callable        # key, batch -> parameters
    loss: typing.Callable        # parameters, batch -> scalar
    batch: dict                  # of shapes; the first dim is the batch's
    optimizer: typing.Any


def floats(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


def ints(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.int32)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def make_step(module, loss, optimizer, **batch):
    """Of a module that takes all of a batch but its labels."""
    take = lambda batch: {key: value for key, value in batch.items() if key != "labels"}
    return Step(lambda key, batch: module.init(key, **take(batch)),
                lambda params, batch: loss(module.apply(params, **take(batch)), batch), batch,
                optimizer)


def classify(logits, batch):
    return cross_entropy(logits, batch["labels"])


class Block(nn.Module):
    """Of a transformer. Its norms stand before, as GPT-2's, or behind, as BERT's."""
    causal: bool = True
    before: bool = True
    rank: int = 0                # of LoRA, beside the first dense layer

    @nn.compact
    def __call__(self, x, _=None):
        mask = nn.make_causal_mask(x[..., 0]) if self.causal else None
        attention = nn.MultiHeadDotProductAttention(num_heads=8)
        up, down = nn.Dense(4 * WIDTH, name="up"), nn.Dense(WIDTH, name="down")
        first, second = nn.LayerNorm(), nn.LayerNorm()

        def feed(y):
            h = up(y)
            if self.rank:
                h += nn.Dense(4 * WIDTH, False, name="lora_b")(
                    nn.Dense(self.rank, False, name="lora_a")(y))
            return down(nn.gelu(h))
        if self.before:
            x = x + attention(first(x), mask=mask)
            return x + feed(second(x)), None
        x = first(x + attention(x, mask=mask))
        return second(x + feed(x)), None


class Gpt(nn.Module):
    form: str = "unrolled"
    rank: int = 0

    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        x += self.param("positions", nn.initializers.normal(0.02), (tokens.shape[1], WIDTH))
        if self.form == "scan":
            layers = nn.scan(nn.remat(Block), variable_axes={"params": 0},
                             split_rngs={"params": True}, length=4)
            x, _ = layers()(x, None)
        else:
            for _ in range(4):
                x, _ = Block(rank=self.rank)(x)
        return nn.Dense(VOCABULARY, use_bias=False, name="head")(nn.LayerNorm()(x))


def gpt(optimizer, **options):
    return make_step(Gpt(**options), classify, optimizer, tokens=ints(16, 128),
                     labels=ints(16, 128))


class Bert(nn.Module):
    @nn.compact
    def __call__(self, tokens, segments, masked):
        embed = nn.Embed(VOCABULARY, WIDTH)
        x = embed(tokens) + nn.Embed(2, WIDTH)(segments)
        x += nn.Embed(512, WIDTH)(jnp.arange(tokens.shape[1]))
        x = nn.LayerNorm()(x)
        for _ in range(4):
            x, _ = Block(causal=False, before=False)(x)
        x = jnp.take_along_axis(x, masked[..., None], axis=1)
        x = nn.LayerNorm()(nn.gelu(nn.Dense(WIDTH, name="transform")(x)))
        return embed.attend(x) + self.param("bias", nn.initializers.zeros, (VOCABULARY,))


class Lstm(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(VOCABULARY, WIDTH)(tokens)
        for _ in range(2):
            x = nn.RNN(nn.OptimizedLSTMCell(WIDTH))(x)
        return nn.Dense(VOCABULARY, name="head")(x)


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, image):
        mlp = lambda y, wide: nn.Dense(y.shape[-1])(nn.gelu(nn.Dense(wide)(y)))
        x = nn.Conv(WIDTH, (8, 8), (8, 8), name="stem")(image)
        x = x.reshape(x.shape[0], -1, WIDTH)
        for _ in range(4):
            x += jnp.swapaxes(mlp(jnp.swapaxes(nn.LayerNorm()(x), 1, 2), 128), 1, 2)
            x += mlp(nn.LayerNorm()(x), 1024)
        return nn.Dense(1000, name="head")(nn.LayerNorm()(x).mean(axis=1))


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, image):
        conv = functools.partial(nn.Conv, kernel_size=(3, 3), use_bias=False)
        x = nn.relu(nn.GroupNorm(8)(conv(64)(image)))
        for i, width in enumerate((64, 128, 256)):
            stride = 1 if i == 0 else 2
            y = nn.relu(nn.GroupNorm(8)(conv(width, strides=stride)(x)))
            y = nn.GroupNorm(8)(conv(width)(y))
            x = nn.relu(y + nn.Conv(width, (1, 1), stride)(x))
        return nn.Dense(1000, name="head")(x.mean((1, 2)))


class Unet(nn.Module):
    """Of a diffusion model."""
    @nn.compact
    def __call__(self, image, noise, time):
        level = jnp.cos(time * 1.5)[:, None, None, None]
        x = level * image + jnp.sqrt(1 - level ** 2) * noise
        angle = time[:, None] * jnp.exp(-jnp.arange(32) / 4)
        embedded = nn.silu(nn.Dense(128)(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], 1)))

        def block(x, width):
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(8)(x)))
            y += nn.Dense(width)(embedded)[:, None, None]
            y = nn.Conv(width, (3, 3))(nn.silu(nn.GroupNorm(8)(y)))
            return y + nn.Conv(width, (1, 1))(x)
        a = block(nn.Conv(64, (3, 3))(x), 64)
        b = block(nn.avg_pool(a, (2, 2), (2, 2)), 128)
        n, h, w, c = b.shape
        b += nn.MultiHeadDotProductAttention(4)(b.reshape(n, h * w, c)).reshape(b.shape)
        b = jax.image.resize(b, (n, 2 * h, 2 * w, c), "nearest")
        return nn.Conv(3, (3, 3))(block(jnp.concatenate([a, b], -1), 64))


class Clip(nn.Module):
    @nn.compact
    def __call__(self, image, tokens):
        x = nn.Conv(WIDTH, (8, 8), (8, 8))(image).reshape(image.shape[0], -1, WIDTH)
        y = nn.Embed(VOCABULARY, WIDTH)(tokens)
        for _ in range(2):
            x, _ = Block(causal=False)(x)
            y, _ = Block()(y)
        towers = (nn.Dense(WIDTH)(x.mean(1)), nn.Dense(WIDTH)(y[:, -1]))
        a, b = (z / jnp.linalg.norm(z, axis=-1, keepdims=True) for z in towers)
        return jnp.exp(self.param("scale", nn.initializers.ones, ())) * (a @ b.T)


def contrast(logits, batch):
    labels = jnp.arange(logits.shape[0])
    return (cross_entropy(logits, labels) + cross_entropy(logits.T, labels)) / 2


class Vae(nn.Module):
    @nn.compact
    def __call__(self, image, noise):
        x = nn.relu(nn.Dense(500)(image))
        mean, variance = nn.Dense(20)(x), nn.Dense(20)(x)
        z = mean + jnp.exp(variance / 2) * noise
        logits = nn.Dense(784)(nn.relu(nn.Dense(500)(z)))
        apart = -0.5 * jnp.sum(1 + variance - mean ** 2 - jnp.exp(variance), -1)
        return apart + optax.sigmoid_binary_cross_entropy(logits, image).sum(-1)


class Dlrm(nn.Module):
    """Of recommendations: tables, and products of what is looked up there."""
    @nn.compact
    def __call__(self, dense, sparse):
        x = nn.relu(nn.Dense(64)(nn.relu(nn.Dense(512)(dense))))
        looked = [nn.Embed(4096, 64)(sparse[:, i]) for i in range(8)]
        z = jnp.stack([x, *looked], axis=1)
        products = jnp.einsum("bid,bjd->bij", z, z)[:, *np.tril_indices(9, -1)]
        y = jnp.concatenate([x, products], -1)
        return nn.Dense(1)(nn.relu(nn.Dense(256)(nn.relu(nn.Dense(512)(y)))))[:, 0]


def freeze(optimizer, pattern):
    """Nothing changes but weights of paths with the pattern."""
    label = lambda params: jax.tree_util.tree_map_with_path(
        lambda keys, _: bool(re.search(pattern, jax.tree_util.keystr(keys))), params)
    return optax.multi_transform({True: optimizer, False: optax.set_to_zero()}, label)


def ensemble():
    """MLPs side by side, by vmap."""
    member = nn.Sequential([nn.Dense(512), nn.tanh, nn.Dense(512), nn.tanh, nn.Dense(10)])
    return Step(lambda key, batch: jax.vmap(member.init, (0, None))(
                    jax.random.split(key, 4), batch["x"]),
                lambda params, batch: jax.vmap(lambda p: cross_entropy(
                    member.apply(p, batch["x"]), batch["labels"]))(params).sum(),
                {"x": floats(256, 784), "labels": ints(256)}, optax.adabelief(1e-3))


IMAGE = floats(64, 64, 64, 3)
CLIPPED = optax.clip_by_global_norm(1.0)
STEPS = {
    "gpt-muon": lambda: gpt(optax.contrib.muon(1e-3)),
    "gpt-scan-lion": lambda: gpt(optax.lion(1e-4), form="scan"),
    "gpt-lora": lambda: gpt(freeze(optax.adamw(1e-4), "lora"), rank=8),
    "bert-adamw": lambda: make_step(
        Bert(), classify, optax.chain(CLIPPED, optax.adamw(1e-4)), tokens=ints(32, 128),
        segments=ints(32, 128), masked=ints(32, 20), labels=ints(32, 20)),
    "lstm-sgd": lambda: make_step(
        Lstm(), classify, optax.chain(CLIPPED, optax.sgd(1.0)), tokens=ints(32, 64),
        labels=ints(32, 64)),
    "mixer-lamb": lambda: make_step(Mixer(), classify, optax.lamb(1e-3), image=IMAGE,
                                    labels=ints(64)),
    "resnet-sgd": lambda: make_step(
        ResNet(), classify, optax.sgd(optax.cosine_decay_schedule(0.1, 100), 0.9, True),
        image=IMAGE, labels=ints(64)),
    "unet-adam": lambda: make_step(
        Unet(), lambda made, batch: jnp.mean((made - batch["noise"]) ** 2), optax.adam(2e-4),
        image=floats(32, 32, 32, 3), noise=floats(32, 32, 32, 3), time=floats(32)),
    "clip-adamw": lambda: make_step(Clip(), contrast, optax.adamw(1e-4), image=IMAGE,
                                    tokens=ints(64, 32)),
    "vae-adam": lambda: make_step(Vae(), lambda made, batch: made.mean(), optax.adam(1e-3),
                                  image=floats(256, 784), noise=floats(256, 20)),
    "dlrm-adagrad": lambda: make_step(
        Dlrm(), lambda made, batch: optax.sigmoid_binary_cross_entropy(
            made, batch["labels"]).mean(), optax.adagrad(1e-2), dense=floats(1024, 13),
        sparse=ints(1024, 8), labels=floats(1024)),
    "ensemble-adabelief": ensemble,
}

# Whose loss is no mean of losses of parts of a batch.
GLOBAL = ("clip-adamw",)

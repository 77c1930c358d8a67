# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of other shapes that users of JAX bring, small, each written and sharded as
the codes are that it is known from.

    program = build("vit", "fsdp", "train", devices=4)
    program.jitted.lower(*program.arguments)"""

import dataclasses
import functools
import math
import re
import typing

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import NamedSharding, PartitionSpec as P

import jax_models
import jax_spatial
from jax_models import get_path, keep

VOCABULARY = 52
BATCH = 4


def shape(*dims, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(dims, dtype)


def ints(*dims):
    return shape(*dims, dtype=jnp.int32)


@dataclasses.dataclass
class Model:
    init: typing.Callable       # key, batch -> parameters
    apply: typing.Callable      # parameters, batch -> logits or such
    loss: typing.Callable       # parameters, batch -> scalar
    batch: dict                 # of shapes; the first dim is the batch's
    rules: list                 # patterns of paths of weights, and specs; the first counts
    optimizer: typing.Any = None
    value_and_grad: typing.Callable = None


# ViT, as in big_vision.

class MlpBlock(nn.Module):
    feed: int
    dtype: typing.Any = None

    @nn.compact
    def __call__(self, x):
        width = x.shape[-1]
        x = nn.gelu(nn.Dense(self.feed, dtype=self.dtype)(x))
        return nn.Dense(width, dtype=self.dtype)(x)


class VitBlock(nn.Module):
    heads: int
    feed: int

    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        x = x + nn.MultiHeadDotProductAttention(num_heads=self.heads)(y, y)
        return x + MlpBlock(self.feed)(nn.LayerNorm()(x))


class Vit(nn.Module):
    @nn.compact
    def __call__(self, image):
        x = nn.Conv(32, (4, 4), strides=(4, 4), padding="VALID", name="embedding")(image)
        n, h, w, c = x.shape
        x = x.reshape(n, h * w, c)
        x = x + self.param("pos_embedding", nn.initializers.normal(0.02), (1, h * w, c))
        cls = self.param("cls", nn.initializers.zeros, (1, 1, c))
        x = jnp.concatenate([jnp.tile(cls, [n, 1, 1]), x], axis=1)
        for i in range(2):
            x = VitBlock(4, 64, name=f"encoderblock_{i}")(x)
        x = nn.LayerNorm(name="encoder_norm")(x)
        return nn.Dense(12, name="head")(x[:, 0])


def vit(mesh):
    module = Vit()

    def loss(params, batch):
        logits = module.apply(params, batch["image"])
        labels = optax.smooth_labels(jax.nn.one_hot(batch["label"] % 12, 12), 0.1)
        return optax.softmax_cross_entropy(logits, labels).mean()
    schedule = optax.warmup_cosine_decay_schedule(0.0, 1e-3, 10, 100)
    optimizer = optax.chain(
        optax.clip_by_global_norm(1.0), optax.scale_by_adam(),
        optax.add_decayed_weights(1e-4, lambda p: jax.tree.map(lambda x: x.ndim > 1, p)),
        optax.scale_by_learning_rate(schedule))
    return Model(lambda key, batch: module.init(key, batch["image"]),
                 lambda params, batch: module.apply(params, batch["image"]), loss,
                 {"image": shape(BATCH, 20, 12, 3), "label": ints(BATCH)},
                 [("(query|key|value)/kernel", P(None, "model", None)),
                  ("(query|key|value)/bias", P("model", None)),
                  ("out/kernel", P("model", None, None)),
                  ("Dense_0/kernel", P(None, "model")), ("Dense_0/bias", P("model")),
                  ("Dense_1/kernel", P("model", None)),
                  ("head/kernel", P(None, "model"))], optimizer)


# T5, as in t5x.

def relative_buckets(queries, keys, bidirectional, buckets=8, longest=16):
    position = jnp.arange(keys)[None] - jnp.arange(queries)[:, None]
    result, n = 0, -position
    if bidirectional:
        buckets //= 2
        result += (n < 0).astype(jnp.int32) * buckets
        n = jnp.abs(n)
    else:
        n = jnp.maximum(n, 0)
    exact = buckets // 2
    large = exact + (jnp.log(n.astype(jnp.float32) / exact + 1e-6)
                     / math.log(longest / exact) * (buckets - exact)).astype(jnp.int32)
    return result + jnp.where(n < exact, n, jnp.minimum(large, buckets - 1))


class T5Attention(nn.Module):
    @nn.compact
    def __call__(self, x, memory, bias):
        heads = functools.partial(nn.DenseGeneral, (4, 8), use_bias=False)
        q = heads(name="query")(x)
        k, v = heads(name="key")(memory), heads(name="value")(memory)
        logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) + bias
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(logits), v)
        return nn.DenseGeneral(32, axis=(-2, -1), use_bias=False, name="out")(mixed)


class T5Stack(nn.Module):
    decoder: bool

    @nn.compact
    def __call__(self, x, mask, memory=None, memory_mask=None):
        buckets = relative_buckets(x.shape[1], x.shape[1], not self.decoder)
        table = nn.Embed(8, 4, name="relpos_bias")
        bias = jnp.transpose(table(buckets), (2, 0, 1))[None]
        bias = bias + jnp.where(mask, 0.0, -1e10)
        for i in range(2):
            norm = lambda what: nn.RMSNorm(name=f"{what}_norm_{i}")
            y = norm("self")(x)
            x = x + T5Attention(name=f"self_{i}")(y, y, bias)
            if self.decoder:
                x = x + T5Attention(name=f"cross_{i}")(
                    norm("cross")(x), memory, jnp.where(memory_mask, 0.0, -1e10))
            y = norm("mlp")(x)
            dense = functools.partial(nn.Dense, use_bias=False)
            y = nn.gelu(dense(64, name=f"wi_0_{i}")(y)) * dense(64, name=f"wi_1_{i}")(y)
            x = x + dense(32, name=f"wo_{i}")(y)
        return nn.RMSNorm(name="final_norm")(x)


class T5(nn.Module):
    @nn.compact
    def __call__(self, source, target):
        embed = nn.Embed(VOCABULARY, 32, name="token_embedder")
        valid = (source > 0)
        memory = T5Stack(False, name="encoder")(
            embed(source), valid[:, None, None] & valid[:, None, :, None])
        inputs = jnp.pad(target[:, :-1], ((0, 0), (1, 0)))  # shifted to the right
        causal = nn.make_causal_mask(target, dtype=bool)
        x = T5Stack(True, name="decoder")(embed(inputs), causal, memory,
                                          valid[:, None, None])
        return nn.Dense(VOCABULARY, use_bias=False, name="logits_dense")(x)


def t5(mesh):
    module = T5()
    take = lambda b: (b["source"], b["target"])

    def loss(params, batch):
        """Cross entropy with the z-loss of t5x, over the tokens that count."""
        logits = module.apply(params, *take(batch))
        log_z = jax.scipy.special.logsumexp(logits, axis=-1, keepdims=True)
        targets = jax.nn.one_hot(batch["target"], VOCABULARY)
        each = -jnp.sum(targets * (logits - log_z), axis=-1)
        each += 1e-4 * jax.lax.square(jnp.squeeze(log_z, -1))
        weights = (batch["target"] > 0).astype(jnp.float32)
        return jnp.sum(each * weights) / weights.sum()
    return Model(lambda key, batch: module.init(key, *take(batch)),
                 lambda params, batch: module.apply(params, *take(batch)), loss,
                 {"source": ints(BATCH, 13), "target": ints(BATCH, 7)},
                 [("token_embedder", P("model", None)), ("logits_dense", P(None, "model")),
                  ("relpos_bias/embedding", P(None, "model")),
                  ("(query|key|value)/kernel", P(None, "model", None)),
                  ("out/kernel", P("model", None, None)),
                  ("wi_._./kernel", P(None, "model")), ("wo_./kernel", P("model", None))],
                 optax.adafactor(1e-3, min_dim_size_to_factor=16))


# Whisper.

def sinusoids(length, channels):
    increment = math.log(10000) / (channels // 2 - 1)
    scaled = jnp.arange(length)[:, None] * jnp.exp(-increment * jnp.arange(channels // 2))
    return jnp.concatenate([jnp.sin(scaled), jnp.cos(scaled)], axis=1)


class WhisperBlock(nn.Module):
    @nn.compact
    def __call__(self, x, memory=None):
        attention = functools.partial(nn.MultiHeadDotProductAttention, num_heads=4)
        y = nn.LayerNorm(name="self_norm")(x)
        mask = None if memory is None else nn.make_causal_mask(x[..., 0])
        x = x + attention(name="self")(y, y, mask=mask)
        if memory is not None:
            x = x + attention(name="cross")(nn.LayerNorm(name="cross_norm")(x), memory)
        return x + MlpBlock(64, name="mlp")(nn.LayerNorm(name="mlp_norm")(x))


class Whisper(nn.Module):
    @nn.compact
    def __call__(self, mel, tokens):
        x = nn.gelu(nn.Conv(32, (3,), name="conv1")(mel))
        x = nn.gelu(nn.Conv(32, (3,), strides=(2,), padding=1, name="conv2")(x))
        x = x + sinusoids(x.shape[1], 32)
        for i in range(2):
            x = WhisperBlock(name=f"encoder_{i}")(x)
        memory = nn.LayerNorm(name="encoder_norm")(x)
        embed = nn.Embed(VOCABULARY, 32, name="embed_tokens")
        positions = self.param("positions", nn.initializers.normal(0.02), (16, 32))
        x = embed(tokens) + positions[:tokens.shape[1]]
        for i in range(2):
            x = WhisperBlock(name=f"decoder_{i}")(x, memory)
        return embed.attend(nn.LayerNorm(name="decoder_norm")(x))


def next_token_loss(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def whisper(mesh):
    module = Whisper()
    take = lambda b: (b["mel"], b["tokens"])
    return Model(lambda key, batch: module.init(key, *take(batch)),
                 lambda params, batch: module.apply(params, *take(batch)),
                 lambda params, batch: next_token_loss(module.apply(params, *take(batch)),
                                                       batch["labels"]),
                 {"mel": shape(BATCH, 18, 10), "tokens": ints(BATCH, 7),
                  "labels": ints(BATCH, 7)},
                 [("embed_tokens", P("model", None)),
                  ("(query|key|value)/kernel", P(None, "model", None)),
                  ("(query|key|value)/bias", P("model", None)),
                  ("out/kernel", P("model", None, None)),
                  ("conv1/kernel", P(None, None, "model")), ("conv1/bias", P("model")),
                  ("conv2/kernel", P(None, "model", None)),
                  ("Dense_0/kernel", P(None, "model")), ("Dense_0/bias", P("model")),
                  ("Dense_1/kernel", P("model", None))],
                 optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)))


# What the language models below share, in plain JAX.

def normals(shapes):
    """Parameters of a tree of shapes."""
    is_shape = lambda x: isinstance(x, tuple)

    def init(key, batch):
        leaves, tree = jax.tree.flatten(shapes, is_leaf=is_shape)
        keys = jax.random.split(key, len(leaves))
        return tree.unflatten([jax.random.normal(k, s) * 0.1 for k, s in zip(keys, leaves)])
    return init


def rms_norm(x, scale, eps=1e-6):
    variance = jnp.mean(jnp.square(x.astype(jnp.float32)), axis=-1, keepdims=True)
    return (x * jax.lax.rsqrt(variance + eps)).astype(x.dtype) * scale


def causal_attention(q, k, v, scale):
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) * scale
    mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    scores = jnp.where(mask, scores, jnp.finfo(scores.dtype).min)
    return jnp.einsum("bhqk,bkhe->bqhe", jax.nn.softmax(scores), v)


def language_model(shapes, block, rules, layers=2, optimizer=None, sequence=9,
                   scale_embedding=False, cap=None, aux=0.0, between=None,
                   remat=False):
    """Embeds, does blocks of (x, parameters, index) -> x or (x, auxiliary loss)."""
    tree = {"embed": (VOCABULARY, 32), "final_norm": (32,),
            "layers": [shapes] * layers}
    optimizer = optimizer or optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.adamw(optax.warmup_cosine_decay_schedule(0, 1e-3, 10, 100),
                    b2=0.95, weight_decay=0.1))

    def run(params, batch):
        x = params["embed"][batch["tokens"]]
        if scale_embedding:
            x = x * jnp.sqrt(32.0).astype(x.dtype)
        total = 0.0
        for i, layer in enumerate(params["layers"]):
            call = functools.partial(block, i=i)
            if remat:
                call = jax.checkpoint(call)
            x = call(x, layer)
            if isinstance(x, tuple):
                x, extra = x
                total += extra
            x = keep(x, between)
        x = rms_norm(x, params["final_norm"])
        logits = (x @ params["embed"].T).astype(jnp.float32)
        if cap:
            logits = cap * jnp.tanh(logits / cap)
        return logits, total

    def loss(params, batch):
        logits, total = run(params, batch)
        return next_token_loss(logits, batch["labels"]) + aux * total
    s = ints(BATCH, sequence)
    return Model(normals(tree), lambda params, batch: run(params, batch)[0], loss,
                 {"tokens": s, "labels": s}, [("embed", P("model", None)), *rules],
                 optimizer)


ATTENTION = {"wq": (32, 4, 8), "wk": (32, 4, 8), "wv": (32, 4, 8), "wo": (4, 8, 32)}
ATTENTION_RULES = [("w[qkv]$", P(None, "model", None)), ("wo$", P("model", None, None))]


def simple_attention(x, p):
    q, k, v = (jnp.einsum("bsd,dhe->bshe", x, p[w]) for w in ("wq", "wk", "wv"))
    mixed = causal_attention(jax_models.rotary(q), jax_models.rotary(k), v, 8 ** -0.5)
    return jnp.einsum("bqhe,hed->bqd", mixed, p["wo"])


# Mixtral: experts.

EXPERTS = 8
MOE = {"router": (32, EXPERTS), "w_gate": (EXPERTS, 32, 24), "w_up": (EXPERTS, 32, 24),
       "w_down": (EXPERTS, 24, 32)}


def balance_loss(probabilities, chosen):
    """Switch's: how often an expert is chosen, times how probable it is."""
    density = chosen.reshape(-1, EXPERTS).mean(0)
    return EXPERTS * (density * probabilities.reshape(-1, EXPERTS).mean(0)).sum()


def dense_experts(x, p, where=None, capacity=6, k=2):
    """GShard's: one-hot dispatch and combine tensors, tokens over capacity dropped."""
    logits = jnp.einsum("gsd,de->gse", x, p["router"])
    probabilities = jax.nn.softmax(logits.astype(jnp.float32))
    gates, index = jax.lax.top_k(probabilities, k)
    gates = gates / gates.sum(-1, keepdims=True)
    g, s, _ = x.shape
    chosen = jax.nn.one_hot(index, EXPERTS)                       # g s k e
    # The first choices of all tokens go before the second ones.
    flat = jnp.swapaxes(chosen, 1, 2).reshape(g, k * s, EXPERTS)
    place = jnp.cumsum(flat, axis=1) - flat
    place = jnp.swapaxes(place.reshape(g, k, s, EXPERTS), 1, 2)
    chosen = chosen * (place < capacity)
    place = (place * chosen).sum(-1).astype(jnp.int32)            # g s k
    dispatch = jnp.einsum("gske,gskc->gskec", chosen, jax.nn.one_hot(place, capacity))
    combine = jnp.einsum("gsk,gskec->gsec", gates, dispatch)
    dispatch = dispatch.sum(2)
    inputs = keep(jnp.einsum("gsec,gsd->egcd", dispatch, x), where)
    hidden = jax.nn.silu(jnp.einsum("egcd,edf->egcf", inputs, p["w_gate"]))
    hidden = hidden * jnp.einsum("egcd,edf->egcf", inputs, p["w_up"])
    outputs = keep(jnp.einsum("egcf,efd->egcd", hidden, p["w_down"]), where)
    y = jnp.einsum("gsec,egcd->gsd", combine, outputs)
    return y, balance_loss(probabilities, jax.nn.one_hot(index[..., 0], EXPERTS))


def sorted_experts(x, p, k=2):
    """MaxText's without capacity: tokens sorted by expert, and a ragged product."""
    tokens = x.reshape(-1, x.shape[-1])
    logits = (tokens @ p["router"]).astype(jnp.float32)
    gates, index = jax.lax.top_k(logits, k)
    gates = jax.nn.softmax(gates)
    order = jnp.argsort(index.ravel())
    inputs = jnp.take(tokens, order // k, axis=0)
    sizes = jnp.bincount(index.ravel(), length=EXPERTS)
    hidden = jax.nn.silu(jax.lax.ragged_dot(inputs, p["w_gate"], sizes))
    hidden = hidden * jax.lax.ragged_dot(inputs, p["w_up"], sizes)
    outputs = jax.lax.ragged_dot(hidden, p["w_down"], sizes)
    outputs = jnp.take(outputs, jnp.argsort(order), axis=0).reshape(-1, k, x.shape[-1])
    return jnp.einsum("tkd,tk->td", outputs, gates).reshape(x.shape)


def mixtral(experts, rules, where=None):
    shapes = {"norm": (32,), "moe_norm": (32,), **ATTENTION, **MOE}

    def block(x, p, i):
        x = x + simple_attention(rms_norm(x, p["norm"]), p)
        y = experts(rms_norm(x, p["moe_norm"]), p)
        y, extra = y if isinstance(y, tuple) else (y, 0.0)
        return x + y, extra
    return language_model(shapes, block, rules, aux=0.01)


def mixtral_dense(mesh):
    data = "data" if "data" in mesh.axis_names else None
    where = NamedSharding(mesh, P("expert", data))
    return mixtral(functools.partial(dense_experts, where=where),
                   [("w_(gate|up|down)$", P("expert", None, None)), *ATTENTION_RULES])


def mixtral_sorted(mesh):
    return mixtral(sorted_experts,
                   [("w_(gate|up)$", P(None, None, "model")),
                    ("w_down$", P(None, "model", None)), *ATTENTION_RULES])


# DeepSeek: latent attention, shared experts, sigmoid router.

def deepseek(mesh):
    shapes = {"norm": (32,), "moe_norm": (32,), "q_a": (32, 12), "q_norm": (12,),
              "q_b": (12, 4, 8 + 4), "kv_a": (32, 10 + 4), "kv_norm": (10,),
              "kv_b": (10, 4, 8 + 8), "wo": (4, 8, 32), **MOE, "router_bias": (EXPERTS,),
              "shared_gate": (32, 24), "shared_up": (32, 24), "shared_down": (24, 32)}

    def attention(x, p):
        q = jnp.einsum("bsr,rhe->bshe", rms_norm(x @ p["q_a"], p["q_norm"]), p["q_b"])
        q_nope, q_rope = jnp.split(q, [8], axis=-1)
        latent, k_rope = jnp.split(x @ p["kv_a"], [10], axis=-1)
        kv = jnp.einsum("bsr,rhe->bshe", rms_norm(latent, p["kv_norm"]), p["kv_b"])
        k_nope, v = jnp.split(kv, [8], axis=-1)
        k_rope = jax_models.rotary(k_rope[:, :, None])
        k_rope = jnp.broadcast_to(k_rope, (*k_nope.shape[:3], 4))
        q = jnp.concatenate([q_nope, jax_models.rotary(q_rope)], -1)
        k = jnp.concatenate([k_nope, k_rope], -1)
        mixed = causal_attention(q, k, v, 12 ** -0.5)
        return jnp.einsum("bqhe,hed->bqd", mixed, p["wo"])

    def experts(x, p, groups=4, k=3):
        scores = jax.nn.sigmoid(jnp.einsum("bsd,de->bse", x, p["router"]))
        biased = scores + p["router_bias"]
        # Of four groups of experts the best two are looked at.
        grouped = biased.reshape(*biased.shape[:-1], groups, -1)
        best = jax.lax.top_k(grouped, 2)[0].sum(-1)
        _, chosen = jax.lax.top_k(best, 2)
        mask = jax.nn.one_hot(chosen, groups).sum(-2)
        masked = jnp.where(jnp.repeat(mask, EXPERTS // groups, -1) > 0, biased, -jnp.inf)
        _, index = jax.lax.top_k(masked, k)
        gates = jnp.take_along_axis(scores, index, axis=-1)
        gates = 2.5 * gates / (gates.sum(-1, keepdims=True) + 1e-20)
        weights = jnp.zeros_like(scores)
        b, s, _ = weights.shape
        weights = weights.at[jnp.arange(b)[:, None, None], jnp.arange(s)[None, :, None],
                             index].set(gates)
        hidden = jax.nn.silu(jnp.einsum("bsd,edf->bsef", x, p["w_gate"]))
        hidden = hidden * jnp.einsum("bsd,edf->bsef", x, p["w_up"])
        return jnp.einsum("bsef,efd,bse->bsd", hidden, p["w_down"], weights)

    def block(x, p, i):
        x = x + attention(rms_norm(x, p["norm"]), p)
        y = rms_norm(x, p["moe_norm"])
        shared = (jax.nn.silu(y @ p["shared_gate"]) * (y @ p["shared_up"])) @ p["shared_down"]
        return x + shared + experts(y, p)
    return language_model(shapes, block, [
        ("(q|kv)_b$", P(None, "model", None)), ("wo$", P("model", None, None)),
        ("w_(gate|up|down)$", P("model", None, None)), ("shared_(gate|up)", P(None, "model")),
        ("shared_down", P("model", None))])


# Gemma 2 and 3.

def gemma(mesh):
    shapes = {"pre": (32,), "post": (32,), "pre_mlp": (32,), "post_mlp": (32,),
              "wq": (32, 4, 8), "wkv": (2, 32, 2, 8), "wo": (4, 8, 32), "q_norm": (8,),
              "k_norm": (8,), "gating": (2, 32, 64), "linear": (64, 32)}

    def block(x, p, i):
        y = rms_norm(x, 1 + p["pre"])
        q = rms_norm(jnp.einsum("bsd,dhe->bshe", y, p["wq"]), 1 + p["q_norm"])
        k, v = jnp.einsum("bsd,cdke->cbske", y, p["wkv"])
        k = rms_norm(k, 1 + p["k_norm"])
        q, k = (jax_models.rotary(z).astype(x.dtype) for z in (q, k))
        b, s, _, e = q.shape
        # Grouped heads, as in gemma's own code.
        q = q.reshape(b, s, 2, 2, e) * 8 ** -0.5
        scores = jnp.einsum("btkge,bske->btkgs", q, k)
        scores = jnp.tanh(scores / 50.0) * 50.0
        mask = jnp.tril(jnp.ones((s, s), bool))
        if i % 2 == 0:
            mask &= jnp.triu(jnp.ones((s, s), bool), -3)
        scores = jnp.where(mask[None, :, None, None], scores, -2.3819763e38)
        weights = jax.nn.softmax(scores.astype(jnp.float32)).astype(k.dtype)
        mixed = jnp.einsum("btkgs,bske->btkge", weights, v).reshape(b, s, 4, e)
        x = x + rms_norm(jnp.einsum("bthe,hed->btd", mixed, p["wo"]), 1 + p["post"])
        y = rms_norm(x, 1 + p["pre_mlp"])
        gate, up = jnp.einsum("bsd,cdf->cbsf", y, p["gating"])
        return x + rms_norm((jax.nn.gelu(gate) * up) @ p["linear"], 1 + p["post_mlp"])
    return language_model(shapes, block, [
        ("wq$", P(None, "model", None)), ("wkv$", P(None, None, "model", None)),
        ("wo$", P("model", None, None)), ("gating", P(None, None, "model")),
        ("linear", P("model", None))], scale_embedding=True, cap=30.0,
        remat=True)


# Mamba: a recurrence by associative_scan.

def causal_conv(x, weight, bias):
    """Depthwise, of [batch, time, channel]."""
    width = weight.shape[0]
    y = jax.lax.conv_general_dilated(
        x, weight[:, None, :], (1,), [(width - 1, 0)],
        dimension_numbers=("NHC", "HIO", "NHC"), feature_group_count=x.shape[-1])
    return y + bias


def linear_recurrence(a, b):
    combine = lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1])
    return jax.lax.associative_scan(combine, (a, b), axis=1)[1]


def mamba(mesh):
    inner, state, rank = 64, 4, 2
    shapes = {"norm": (32,), "in_proj": (32, 2, inner), "conv_w": (4, inner),
              "conv_b": (inner,), "x_proj": (inner, rank + 2 * state),
              "dt_w": (rank, inner), "dt_b": (inner,), "a_log": (inner, state),
              "d": (inner,), "out_proj": (inner, 32)}

    def block(x, p, i):
        h, z = jnp.einsum("btd,dci->cbti", rms_norm(x, p["norm"]), p["in_proj"])
        h = jax.nn.silu(causal_conv(h, p["conv_w"], p["conv_b"]))
        dt, b, c = jnp.split(h @ p["x_proj"], [rank, rank + state], axis=-1)
        dt = jax.nn.softplus(dt @ p["dt_w"] + p["dt_b"])
        a = jnp.exp(dt[..., None] * -jnp.exp(p["a_log"]))
        bx = (dt * h)[..., None] * b[:, :, None, :]
        y = jnp.einsum("btin,btn->bti", linear_recurrence(a, bx), c) + h * p["d"]
        return x + (y * jax.nn.silu(z)) @ p["out_proj"]
    return language_model(shapes, block, [
        ("in_proj", P(None, None, "model")), ("conv_w|dt_w", P(None, "model")),
        ("(conv_b|dt_b|/d)$", P("model")), ("x_proj|a_log|out_proj", P("model", None))])


# GPT-NeoX.

def neox(mesh):
    shapes = {"ln1_s": (32,), "ln1_b": (32,), "ln2_s": (32,), "ln2_b": (32,),
              "qkv": (32, 4, 24), "qkv_b": (4, 24), "dense": (4, 8, 32), "dense_b": (32,),
              "up": (32, 64), "up_b": (64,), "down": (64, 32), "down_b": (32,)}

    def rotate(x, n=4):
        """Of the first n features only."""
        turn, rest = x[..., :n], x[..., n:]
        frequency = 1.0 / 10000 ** (jnp.arange(0, n, 2) / n)
        angle = jnp.einsum("i,j->ij", jnp.arange(x.shape[1]), frequency)
        angle = jnp.concatenate([angle, angle], -1)[None, :, None]
        half = jnp.concatenate([-turn[..., n // 2:], turn[..., :n // 2]], -1)
        return jnp.concatenate([turn * jnp.cos(angle) + half * jnp.sin(angle), rest], -1)

    def block(x, p, i):
        norm = lambda n: jax_models.layer_norm(x, {"scale": p[f"{n}_s"], "bias": p[f"{n}_b"]})
        qkv = jnp.einsum("bsd,dhe->bshe", norm("ln1"), p["qkv"]) + p["qkv_b"]
        q, k, v = jnp.split(qkv, 3, -1)
        mixed = causal_attention(rotate(q), rotate(k), v, 8 ** -0.5)
        attention = jnp.einsum("bqhe,hed->bqd", mixed, p["dense"]) + p["dense_b"]
        mlp = jax.nn.gelu(norm("ln2") @ p["up"] + p["up_b"], approximate=False)
        return x + attention + mlp @ p["down"] + p["down_b"]
    return language_model(shapes, block, [
        ("qkv$", P(None, "model", None)), ("qkv_b", P("model", None)),
        ("dense$", P("model", None, None)), ("up$", P(None, "model")), ("up_b", P("model")),
        ("down$", P("model", None))])


# Generation.

DECODER = {"norm": (32,), "wq": (32, 4, 8), "wk": (32, 2, 8), "wv": (32, 2, 8),
           "wo": (4, 8, 32), "mlp_norm": (32,), "up": (32, 64), "down": (64, 32)}
DECODER_RULES = [("embed", P("model", None)), ("w[qkv]$", P(None, "model", None)),
                 ("wo$", P("model", None, None)), ("up", P(None, "model")),
                 ("down", P("model", None))]
LONGEST = 12


def rotary_at(x, positions):
    half = x.shape[-1] // 2
    angle = positions[..., None] / 10000 ** (jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[:, :, None], jnp.sin(angle)[:, :, None]
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def cached_step(params, tokens, cache, at):
    """Tokens that begin at place `at` of the sequence, by the keys and values so far."""
    x = params["embed"][tokens]
    positions = at + jnp.arange(tokens.shape[1])[None]
    new = []
    for p, (keys, values) in zip(params["layers"], cache):
        y = rms_norm(x, p["norm"])
        q, k, v = (jnp.einsum("bsd,dhe->bshe", y, p[w]) for w in ("wq", "wk", "wv"))
        q, k = rotary_at(q, positions), rotary_at(k, positions)
        keys = jax.lax.dynamic_update_slice(keys, k, (0, at, 0, 0))
        values = jax.lax.dynamic_update_slice(values, v, (0, at, 0, 0))
        new.append((keys, values))
        q = q.reshape(*q.shape[:2], 2, 2, 8)
        scores = jnp.einsum("bqkge,bske->bkgqs", q, keys) * 8 ** -0.5
        mask = jnp.arange(keys.shape[1])[None] <= positions[0][:, None]
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e30))
        mixed = jnp.einsum("bkgqs,bske->bqkge", weights, values)
        mixed = mixed.reshape(*mixed.shape[:2], 4, 8)
        x = x + jnp.einsum("bqhe,hed->bqd", mixed, p["wo"])
        x = x + jax.nn.gelu(rms_norm(x, p["mlp_norm"]) @ p["up"]) @ p["down"]
    return rms_norm(x, params["final_norm"]) @ params["embed"].T, new


def greedy(params, batch):
    prompt = batch["tokens"]
    b, s = prompt.shape
    empty = jnp.zeros((b, LONGEST, 2, 8))
    logits, cache = cached_step(params, prompt, [(empty, empty)] * 2, 0)
    token = jnp.argmax(logits[:, -1], axis=-1).astype(jnp.int32)
    out = jnp.zeros((b, LONGEST), jnp.int32)
    out = jax.lax.dynamic_update_slice(out, prompt, (0, 0)).at[:, s].set(token)

    def body(carry):
        at, token, cache, out, done = carry
        logits, cache = cached_step(params, token[:, None], cache, at)
        token = jnp.argmax(logits[:, 0], axis=-1).astype(jnp.int32)
        token = jnp.where(done, 0, token)
        done = done | (token == 7)
        out = jax.lax.dynamic_update_slice(out, token[:, None], (0, at + 1))
        return at + 1, token, cache, out, done
    carry = (jnp.int32(s), token, cache, out, token == 7)
    carry = jax.lax.fori_loop(0, LONGEST - 1 - s, lambda _, c: body(c), carry)
    return carry[3]


def generate(mesh):
    tree = {"embed": (VOCABULARY, 32), "final_norm": (32,), "layers": [DECODER] * 2}
    return Model(normals(tree), greedy, None,
                 {"tokens": ints(BATCH, 5)}, DECODER_RULES)


# A token for a cache that is cut along its positions, as for contexts that are too long
# for one device.

def decode(mesh):
    """One row's position in the first layer, as servers have them; all at one in the
    second."""
    cache = {"cache_k": (BATCH, 64, 2, 16), "cache_v": (BATCH, 64, 2, 16)}
    layer = {"norm": (32,), "wq": (32, 4, 16), "wk": (32, 2, 16), "wv": (32, 2, 16),
             "wo": (4, 16, 32), **cache}
    tree = {"embed": (VOCABULARY, 32), "layers": [layer] * 2}

    def write(cache, row, positions, i):
        if i == 0:
            return cache.at[jnp.arange(BATCH), positions].set(row[:, 0])
        return jax.lax.dynamic_update_slice(cache, row, (0, positions[0], 0, 0))

    def apply(params, batch):
        x, caches = params["embed"][batch["tokens"]][:, None], []
        for i, p in enumerate(params["layers"]):
            y = rms_norm(x, p["norm"])
            q, k, v = (jnp.einsum("bsd,dhe->bshe", y, p[w]) for w in ("wq", "wk", "wv"))
            k, v = (write(p[name], row, batch["positions"], i)
                    for name, row in (("cache_k", k), ("cache_v", v)))
            caches.append((k, v))
            seen = jnp.arange(64) <= (batch["positions"] if i == 0 else
                                      jnp.full(BATCH, batch["positions"][0]))[:, None]
            q = q.reshape(BATCH, 1, 2, 2, 16)
            scores = jnp.einsum("bqhge,bkhe->bhgqk", q, k) / 4
            weights = jax.nn.softmax(jnp.where(seen[:, None, None, None], scores, -1e10))
            mixed = jnp.einsum("bhgqk,bkhe->bqhge", weights, v).reshape(BATCH, 1, 4, 16)
            x = x + jnp.einsum("bqhe,hed->bqd", mixed, p["wo"])
        return x @ params["embed"].T, caches
    return Model(normals(tree), apply, None, {"tokens": ints(BATCH), "positions": ints(BATCH)},
                 [("cache", P(None, "model"))])


# Gradient accumulation.

def accumulate(mesh):
    """Gradients of micro-batches summed by a scan."""
    model = neox(mesh)
    inner = model.loss

    def value_and_grad(params, batch):
        micro = jax.tree.map(lambda x: x.reshape(x.shape[0] // 2, 2, *x.shape[1:]
                                                 ).swapaxes(0, 1), batch)

        def body(total, part):
            loss, gradients = jax.value_and_grad(inner)(params, part)
            return jax.tree.map(jnp.add, total, (loss, gradients)), None
        zero = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, params))
        total, _ = jax.lax.scan(body, zero, micro)
        return jax.tree.map(lambda x: x / 2, total)
    model.value_and_grad = value_and_grad
    return model


# Written for one device, by shard_map.

def ring(mesh):
    """Attention with keys and values that go around, as in ringattention."""
    def local(q, k, v):
        n, me = jax.lax.axis_size("model"), jax.lax.axis_index("model")
        b, s, h, e = q.shape
        rows = me * s + jnp.arange(s)

        def turn(carry, i):
            total, denominator, largest, k, v = carry
            columns = (me - i) % n * s + jnp.arange(s)
            scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) * e ** -0.5
            scores = jnp.where(rows[:, None] >= columns, scores, -1e10)
            new = jnp.maximum(largest, scores.max(-1))
            weights = jnp.exp(scores - new[..., None])
            scale = jnp.exp(largest - new)
            total = total * scale[..., None] + jnp.einsum("bhqk,bkhe->bhqe", weights, v)
            denominator = denominator * scale + weights.sum(-1)
            around = [(j, (j + 1) % n) for j in range(n)]
            k, v = (jax.lax.ppermute(z, "model", around) for z in (k, v))
            return (total, denominator, new, k, v), None
        vary = lambda z: jax.lax.pcast(z, tuple(mesh.axis_names), to="varying")
        start = (vary(jnp.zeros((b, h, s, e))), vary(jnp.zeros((b, h, s))),
                 vary(jnp.full((b, h, s), -1e30)), k, v)
        (total, denominator, *_), _ = jax.lax.scan(turn, start, jnp.arange(n))
        return jnp.einsum("bhqe->bqhe", total / denominator[..., None])
    spec = P("data" if "data" in mesh.axis_names else None, "model")
    attention = jax.shard_map(local, mesh=mesh, in_specs=(spec,) * 3, out_specs=spec)

    def block(x, p, i):
        y = rms_norm(x, p["norm"])
        q, k, v = (jnp.einsum("bsd,dhe->bshe", y, p[w]) for w in ("wq", "wk", "wv"))
        return x + jnp.einsum("bqhe,hed->bqd", attention(q, k, v), p["wo"])
    return language_model({"norm": (32,), **ATTENTION}, block, [], sequence=8,
                          between=NamedSharding(mesh, spec))


def exchange(mesh):
    """Experts by hand: tokens go to where their expert is, and back."""
    def local(x, router, w_in, w_out):
        n = jax.lax.axis_size("expert")
        t, d = x.shape[0] * x.shape[1], x.shape[2]
        tokens = x.reshape(t, d)
        probabilities = jax.nn.softmax(tokens @ router)
        gate, index = probabilities.max(-1), jnp.argmax(probabilities, -1)
        capacity = 4
        chosen = jax.nn.one_hot(index, EXPERTS, dtype=jnp.int32)
        place = (jnp.cumsum(chosen, 0) * chosen).sum(-1) - 1
        slots = jnp.zeros((EXPERTS, capacity, d)).at[index, place].set(tokens, mode="drop")
        slots = slots.reshape(n, EXPERTS // n, capacity, d)
        slots = jax.lax.all_to_all(slots, "expert", 0, 0, tiled=False)
        slots = slots.transpose(1, 0, 2, 3).reshape(EXPERTS // n, n * capacity, d)
        hidden = jax.nn.relu(jnp.einsum("ecd,edf->ecf", slots, w_in))
        slots = jnp.einsum("ecf,efd->ecd", hidden, w_out)
        slots = slots.reshape(EXPERTS // n, n, capacity, d).transpose(1, 0, 2, 3)
        slots = jax.lax.all_to_all(slots, "expert", 0, 0, tiled=False)
        slots = slots.reshape(EXPERTS, capacity, d)
        y = slots.at[index, place].get(mode="fill", fill_value=0) * gate[:, None]
        return y.reshape(x.shape)
    tokens = P(mesh.axis_names)
    call = jax.shard_map(local, mesh=mesh, in_specs=(tokens, P(), P("expert"), P("expert")),
                         out_specs=tokens)
    shapes = {"norm": (32,), "router": (32, EXPERTS), "w_in": (EXPERTS, 32, 24),
              "w_out": (EXPERTS, 24, 32)}

    def block(x, p, i):
        return x + call(rms_norm(x, p["norm"]), p["router"], p["w_in"], p["w_out"])
    return language_model(shapes, block, [("w_(in|out)", P("expert", None, None))])


def pipeline(mesh):
    """Stages by hand, along one axis: what is in a stage is cut along the other one by
    whom the code is given to."""
    stages, micro = mesh.shape["stage"], BATCH
    shapes = {"norm": (32,), **ATTENTION, "mlp_norm": (32,), "w_in": (32, 64), "w_out": (64, 32)}
    shapes = {name: (stages, *dims) for name, dims in shapes.items()}

    def stage(x, p):
        x = x + simple_attention(rms_norm(x, p["norm"]), p)
        hidden = jax.nn.gelu(rms_norm(x, p["mlp_norm"]) @ p["w_in"])
        return x + keep(hidden, NamedSharding(jax.sharding.get_abstract_mesh(),
                                              P(None, None, "model"))) @ p["w_out"]

    def local(p, x):
        p = jax.tree.map(lambda w: w[0], p)
        me = jax.lax.axis_index("stage")
        vary = lambda z: jax.lax.pcast(z, ("stage",), to="varying")

        def turn(carry, i):
            state, done = carry
            state = stage(jnp.where(me == 0, x[jnp.minimum(i, micro - 1)], state), p)
            at = jnp.maximum(i - (stages - 1), 0)
            done = jax.lax.dynamic_update_index_in_dim(done, state, at, 0)
            state = jax.lax.ppermute(state, "stage",
                                     [(j, (j + 1) % stages) for j in range(stages)])
            return (state, done), None
        start = (vary(jnp.zeros(x.shape[1:])), vary(jnp.zeros(x.shape)))
        (_, done), _ = jax.lax.scan(turn, start, jnp.arange(micro + stages - 1))
        return jax.lax.psum(jnp.where(me == stages - 1, done, 0), "stage")
    run = jax.shard_map(local, mesh=mesh, in_specs=(P("stage"), P()), out_specs=P(),
                        axis_names={"stage"})

    def block(x, p, i):
        y = run(p, x.reshape(micro, -1, *x.shape[1:]))
        return y.reshape(x.shape)
    rules = [("w[qkv]$", P("stage", None, "model", None)),
             ("wo$", P("stage", "model", None, None)),
             ("w_in", P("stage", None, "model")), ("w_out", P("stage", "model", None)),
             ("norm", P("stage"))]
    return language_model(shapes, block, [("final_norm", P()), *rules], layers=1)


MODELS = {"vit": vit, "t5": t5, "whisper": whisper, "mixtral": mixtral_dense,
          "mixtral_sorted": mixtral_sorted, "deepseek": deepseek, "gemma": gemma,
          "mamba": mamba, "neox": neox, "generate": generate, "decode": decode,
          "accumulate": accumulate, "ring": ring, "exchange": exchange,
          "pipeline": pipeline}
LAYOUTS = {"tensor": {"model": 4}, "tensor+data": {"data": 2, "model": 2},
           "fsdp": {"data": 4}, "expert": {"expert": 4},
           "expert+data": {"data": 2, "expert": 2},
           "stages": {"stage": 2, "model": 2}}


# What these compute depends on the mesh: experts take so many tokens of each device, and
# weights are stacked by stages.
ONLY_ON_MESHES = ("exchange", "pipeline")


def shard_weight(rules, mesh, layout, path, dims):
    """The spec of a weight, or of a moment of one, of that path."""
    spec = next((spec for pattern, spec in rules if re.search(pattern, path)), P())
    if len(spec) > len(dims):  # a factored moment of Adafactor's
        spec = P()
    spec = list(spec) + [None] * (len(dims) - len(spec))
    spec = [axis if axis in mesh.axis_names and dim % mesh.shape[axis] == 0 else None
            for axis, dim in zip(spec, dims)]
    if layout == "fsdp":
        # The first dim that divides, as in most codes.
        for at, dim in enumerate(dims):
            if dim % mesh.size == 0:
                spec[at] = "data"
                break
    return P(*spec)


def build(name, layout, phase, devices=4):
    sizes = LAYOUTS[layout] if devices > 1 else dict.fromkeys(LAYOUTS[layout], 1)
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:devices]).reshape(*sizes.values()),
                             tuple(sizes))
    model = MODELS[name](mesh)
    named = lambda spec: NamedSharding(mesh, spec)
    params = jax.eval_shape(model.init, jax.random.key(0), model.batch)
    cut = lambda tree: jax.tree_util.tree_map_with_path(
        lambda keys, leaf: named(shard_weight(model.rules, mesh, layout, get_path(keys),
                                              leaf.shape)), tree)
    shardings = cut(params)
    batch_axes = tuple(axis for axis in sizes if axis not in ("model", "stage"))
    on_batch = jax.tree.map(lambda _: named(P(batch_axes or None)), model.batch)
    config = dataclasses.replace(jax_models.SMALL, vocabulary=VOCABULARY)
    if phase == "forward":
        jitted = jax.jit(model.apply, in_shardings=(shardings, on_batch), keep_unused=True)
        return jax_models.Program(jitted, (params, model.batch), mesh, config)
    state = jax.eval_shape(model.optimizer.init, params)
    compute = model.value_and_grad or jax.value_and_grad(model.loss)

    def step(params, state, batch):
        loss, gradients = compute(params, batch)
        updates, state = model.optimizer.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss
    on_state = cut(state)
    jitted = jax.jit(step, in_shardings=(shardings, on_state, on_batch),
                     out_shardings=(shardings, on_state, named(P())), keep_unused=True)
    return jax_models.Program(jitted, (params, state, model.batch), mesh, config)


def build_named(name, config=jax_models.SMALL, devices=4):
    """The program of a name as test/Bench/jax-peer has them, of here or of jax_models."""
    model, form, layout, phase = name.split("-")
    if form == "zoo":
        return build(model, layout, phase, devices)
    if form == "spatial":
        return jax_spatial.build(model, layout, phase, devices)
    return jax_models.build(model, form, layout, phase, config, devices)

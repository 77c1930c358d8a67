# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One side of training-peer: takes a step of training for each line of its input, and
answers with a line of JSON.

    training_worker.py eager|compile|jax|tp-opt MODEL DTYPE OPTIMIZER BATCH SEQUENCE [ARTIFACT]

All train the same Llama on the same tokens, by two threads: OPTIMIZER is sgd or adamw, in
the types that the weights have.
"""

import json
import os
import pathlib
import sys
import time

os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=true"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["OMP_NUM_THREADS"] = "2"

import numpy as np  # noqa: E402

RATE = 1e-4


def read_tokens(model, batch, sequence):
    vocabulary = json.loads((pathlib.Path(model) / "config.json").read_text())["vocab_size"]
    generator = np.random.default_rng(7)
    return generator.integers(0, vocabulary, (batch, sequence), dtype=np.int32)


def make_torch(mode, model, dtype, optimizer, tokens):
    sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)
    import torch
    import transformers
    if not torch.cuda.is_available():
        torch.cuda.is_current_stream_capturing = lambda: False
    torch.set_num_threads(2)
    module = transformers.AutoModelForCausalLM.from_pretrained(
        model, dtype={"f32": torch.float32, "bf16": torch.bfloat16}[dtype],
        attn_implementation="sdpa").train()
    update = (torch.optim.SGD(module.parameters(), lr=RATE) if optimizer == "sgd" else
              torch.optim.AdamW(module.parameters(), lr=RATE, fused=True))
    own = torch.tensor(tokens).long()

    def get_loss(tokens):
        logits = module(input_ids=tokens, use_cache=False).logits[:, :-1].float()
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    call = torch.compile(get_loss) if mode == "compile" else get_loss

    def step():
        loss = call(own)
        loss.backward()
        update.step()
        update.zero_grad()
        return float(loss.detach())
    return step, f"torch {torch.__version__}, {mode}"


def make_jax(model, dtype, optimizer, tokens):
    import jax
    import jax.numpy as jnp
    c = json.loads((pathlib.Path(model) / "config.json").read_text())
    kind = {"f32": jnp.float32, "bf16": jnp.bfloat16}[dtype]
    width, inner, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    groups, layers = c["num_key_value_heads"], c["num_hidden_layers"]
    size = width // heads
    generator = np.random.default_rng(3)

    def weight(*dims):
        return jnp.asarray(generator.normal(0, 0.02, dims), kind)
    params = {"embed": weight(c["vocab_size"], width), "norm": jnp.ones(width, kind),
              "layers": [{"q": weight(width, heads, size), "k": weight(width, groups, size),
                          "v": weight(width, groups, size), "o": weight(heads, size, width),
                          "gate": weight(width, inner), "up": weight(width, inner),
                          "down": weight(inner, width), "norm1": jnp.ones(width, kind),
                          "norm2": jnp.ones(width, kind)} for _ in range(layers)]}
    angles = jnp.outer(jnp.arange(tokens.shape[1]), c.get("rope_theta", 1e4) ** (
        -jnp.arange(0, size, 2) / size))
    cos, sin = (f(angles)[None, :, None].astype(kind) for f in (jnp.cos, jnp.sin))

    def norm(x, scale):
        wide = x.astype(jnp.float32)
        return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True)
                                     + c["rms_norm_eps"])).astype(kind) * scale

    def rotate(x):
        a, b = jnp.split(x, 2, -1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    def loss(params):
        x = params["embed"][tokens]
        for p in params["layers"]:
            y = norm(x, p["norm1"])
            q, k, v = (jnp.einsum("bsi,ihd->bshd", y, p[name]) for name in "qkv")
            y = jax.nn.dot_product_attention(rotate(q), rotate(k), v, is_causal=True)
            x = x + jnp.einsum("bshd,hdi->bsi", y, p["o"])
            y = norm(x, p["norm2"])
            x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        logits = (norm(x, params["norm"]) @ params["embed"].T)[:, :-1].astype(jnp.float32)
        rows = jax.nn.log_softmax(logits)
        return -jnp.take_along_axis(rows, tokens[:, 1:, None], -1).mean()

    def train(params, state):
        value, gradients = jax.value_and_grad(loss)(params)
        if optimizer == "sgd":
            return value, jax.tree.map(lambda p, g: p - (RATE * g).astype(kind), params,
                                       gradients), state
        count, first, second = state
        count = count + 1
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)

        def update(p, m, v):
            by = (m / (1 - 0.9 ** count)) / (jnp.sqrt(v / (1 - 0.999 ** count)) + 1e-8)
            return p - RATE * (by + 0.01 * p)
        return value, jax.tree.map(update, params, first, second), (count, first, second)
    train = jax.jit(train, donate_argnums=(0, 1))
    zeros = [jax.tree.map(jnp.zeros_like, params) for _ in range(2)]
    held = [params, (jnp.float32(0), *zeros) if optimizer == "adamw" else ()]

    def step():
        value, *held[:] = train(*held)
        return float(value)
    return step, f"jax {jax.__version__}"


def make_ours(artifact, model, tokens):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Models"))
    import tprt
    session = tprt.Session(artifact)
    session.load(model)
    session.bind("tokens", tokens)
    session.bind("labels", tokens)

    def step():
        session.run("main")
        return float(session.read("loss", (), "float32"))
    return step, "tp-opt"


def main():
    side, model, dtype, optimizer, batch, sequence, *artifact = sys.argv[1:]
    tokens = read_tokens(model, int(batch), int(sequence))
    if side == "tp-opt":
        step, name = make_ours(*artifact, model, tokens)
    elif side == "jax":
        step, name = make_jax(model, dtype, optimizer, tokens)
    else:
        step, name = make_torch(side, model, dtype, optimizer, tokens)
    print(json.dumps({"name": name}), flush=True)
    for _ in sys.stdin:
        wall, busy = time.perf_counter(), time.process_time()
        loss = step()
        print(json.dumps({"loss": loss, "seconds": time.perf_counter() - wall,
                          "busy": time.process_time() - busy}), flush=True)


if __name__ == "__main__":
    main()

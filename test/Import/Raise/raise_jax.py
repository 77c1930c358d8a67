#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports functions as users of JAX write them, and checks which transformer ops
tp-raise makes of each, and that the interpreter computes the same without it and with
it, on random numbers, sizes that nothing divides, ids and labels outside, and masks
that hide whole rows. tp-opt is the one in PATH.

Run with names, only those cases are checked."""

import pathlib
import re
import subprocess
import sys
import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

OPS = ("attention|cross_entropy|embedding|gated|gelu tanh|gelu|layer_norm|rms_norm|"
       "rotary interleaved|rotary|silu|softmax")
CASES = {}
F32, BF16, I32, BOOL = jnp.float32, jnp.bfloat16, jnp.int32, jnp.bool_


def shape(*sizes, dtype=F32):
    return jax.ShapeDtypeStruct(sizes, dtype)


def case(name, ops, function, *arguments):
    CASES[name] = (sorted(ops.split(", ")) if ops else [], function, arguments)


def module_case(name, ops, module, *inputs, **options):
    """A flax module, whose parameters come first."""
    parameters = jax.eval_shape(module.init, jax.random.key(0), *inputs)
    case(name, ops, lambda p, *x: module.apply(p, *x, **options), parameters, *inputs)


x, row, x16 = shape(2, 5, 6), shape(6), shape(2, 5, 6, dtype=BF16)

case("softmax", "softmax", jax.nn.softmax, x)
case("softmax of columns", "softmax", lambda x: jax.nn.softmax(x, axis=1), x)
case("softmax of two dims", "", lambda x: jax.nn.softmax(x, axis=(1, 2)), x)
case("softmax in bf16", "", jax.nn.softmax, x16)
case("log_softmax has no op", "", jax.nn.log_softmax, x)
case("gradient of softmax", "",
     jax.grad(lambda x: (jax.nn.softmax(x) ** 2).sum()), x)

module_case("LayerNorm", "layer_norm", nn.LayerNorm(), x)
module_case("LayerNorm, slow variance", "layer_norm",
            nn.LayerNorm(use_fast_variance=False), x)
module_case("LayerNorm, no bias", "layer_norm", nn.LayerNorm(use_bias=False), x)
module_case("LayerNorm, bare", "layer_norm",
            nn.LayerNorm(use_bias=False, use_scale=False), x)
module_case("LayerNorm in bf16", "layer_norm",
            nn.LayerNorm(dtype=BF16, param_dtype=BF16), x16)
module_case("LayerNorm of two dims", "",
            nn.LayerNorm(reduction_axes=(1, 2), feature_axes=(1, 2)), x)
module_case("RMSNorm", "rms_norm", nn.RMSNorm(), x)
module_case("RMSNorm, bare", "rms_norm", nn.RMSNorm(use_scale=False), x)
module_case("RMSNorm in bf16", "rms_norm", nn.RMSNorm(dtype=BF16, param_dtype=BF16), x16)


def llama_norm(x, w):
    """As Hugging Face's Llama: rounded before the weight."""
    wide = x.astype(F32)
    wide *= jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
    return w * wide.astype(x.dtype)


case("norm of Llama", "rms_norm", llama_norm, x, row)
case("norm of Llama in bf16", "rms_norm", llama_norm, x16, shape(6, dtype=BF16))
case("norm by a quotient", "rms_norm",
     lambda x, w: x / jnp.sqrt(jnp.mean(x ** 2, -1, keepdims=True) + 1e-5) * (1 + w), x, row)
case("norm with jnp.var", "layer_norm",
     lambda x, w, b: (x - x.mean(-1, keepdims=True))
     / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b, x, row, row)
case("norm, epsilon outside the root", "",
     lambda x: x / (jnp.sqrt(jnp.mean(x ** 2, -1, keepdims=True)) + 1e-5), x)
case("norm of columns", "",
     lambda x: x * jax.lax.rsqrt(jnp.mean(x * x, 1, keepdims=True) + 1e-5), x)

case("gelu", "gelu tanh", jax.nn.gelu, x)
case("gelu by erfc", "gelu", lambda x: jax.nn.gelu(x, approximate=False), x)
case("gelu by erf", "gelu",
     lambda x: 0.5 * x * (1 + jax.lax.erf(x / np.sqrt(2).astype(np.float32))), x)
case("gelu in bf16", "", jax.nn.gelu, x16)
case("silu", "silu", jax.nn.silu, x)
case("silu by hand", "silu", lambda x: x / (1 + jnp.exp(-x)), x)
case("SwiGLU", "gated", lambda x, y: jax.nn.silu(x) * y, x, x)
case("GEGLU", "gated", lambda x, y: y * jax.nn.gelu(x), x, x)
case("gradient of silu", "", jax.grad(lambda x: jax.nn.silu(x).sum()), x)

case("rows of a table", "embedding", lambda t, i: t[i], shape(11, 6), shape(3, 5, dtype=I32))
case("take, clipped", "embedding", lambda t, i: jnp.take(t, i, axis=0, mode="clip"),
     shape(11, 6), shape(3, 5, dtype=I32))
module_case("Embed", "embedding", nn.Embed(11, 6), shape(3, 5, dtype=I32))
case("parts of a table's rows", "", lambda t, i: t[jnp.arange(3), i], shape(3, 11),
     shape(3, dtype=I32))


def rotate_halves(x, cos, sin):
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def rotate_like_llama(x, positions):
    frequency = 1 / 10000 ** (jnp.arange(0, 6, 2) / 6)
    angle = positions[..., None] * frequency
    angle = jnp.concatenate([angle, angle], -1)[:, :, None]
    a, b = jnp.split(x, 2, -1)
    return x * jnp.cos(angle) + jnp.concatenate([-b, a], -1) * jnp.sin(angle)


def rotate_pairs(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * cos - b * sin, b * cos + a * sin], -1).reshape(x.shape)


heads, angles = shape(2, 5, 4, 6), shape(5, 3)
case("rotary", "rotary", lambda x, c, s: rotate_halves(x, c[:, None], s[:, None]),
     heads, angles, angles)
case("rotary of heads before positions", "rotary", rotate_halves, shape(2, 4, 5, 6),
     angles, angles)
case("rotary of one sequence", "rotary", rotate_halves, shape(5, 6), angles, angles)
case("rotary of Llama", "rotary", rotate_like_llama, heads, shape(2, 5, dtype=I32))
case("rotary, interleaved", "rotary interleaved",
     lambda x, c, s: rotate_pairs(x, c[:, None], s[:, None]), heads, angles, angles)
case("rotary of bf16", "rotary",
     lambda x, c, s: rotate_halves(x.astype(F32), c[:, None], s[:, None]).astype(BF16),
     shape(2, 5, 4, 6, dtype=BF16), angles, angles)
# What goes forward is of no use to it.
case("rotary, its gradient", "rotary", jax.grad(
    lambda x, c, s, y: (rotate_halves(x, c[:, None], s[:, None]) * y).sum()),
     heads, angles, angles, heads)
case("rotary backwards", "rotary",
     lambda x, c, s: jnp.concatenate([x[..., :3] * c + x[..., 3:] * s,
                                      x[..., 3:] * c - x[..., :3] * s], -1),
     shape(2, 5, 6), angles, angles)

case("rotary, its sign by a product", "rotary",
     lambda x, c, s: x * jnp.concatenate([c, c], -1) * 1 + jnp.concatenate(
         [-1 * x[..., 3:], x[..., :3]], -1) * jnp.concatenate([s, s], -1) * 1,
     shape(2, 4, 5, 6), angles, angles)

q, k = heads, shape(2, 7, 2, 6)
attend = jax.nn.dot_product_attention
case("attention", "attention", attend, q, k, k)
case("attention, causal", "attention",
     lambda q, k, v: attend(q, k, v, is_causal=True), q, k, k)
case("attention, window", "attention",
     lambda q, k, v: attend(q, k, v, is_causal=True, local_window_size=(2, 0)),
     heads, heads, heads)
case("attention, masked", "attention", lambda q, k, v, m: attend(q, k, v, mask=m),
     q, k, k, shape(2, 1, 5, 7, dtype=BOOL))
case("attention, lengths", "attention",
     lambda q, k, v, n: attend(q, k, v, key_value_seq_lengths=n), q, k, k,
     shape(2, dtype=I32))
case("attention, biased", "softmax", lambda q, k, v, b: attend(q, k, v, bias=b),
     q, k, k, shape(2, 4, 5, 7))
case("attention of bf16", "attention",
     lambda q, k, v: attend(q, k, v, is_causal=True),
     *(shape(*y.shape, dtype=BF16) for y in (q, k, k)))
case("attention of flax", "attention", nn.dot_product_attention, heads, heads, heads)
module_case("MultiHeadDotProductAttention", "attention",
            nn.MultiHeadDotProductAttention(num_heads=2), x,
            mask=nn.make_causal_mask(jnp.ones((2, 5))))


def attend_by_hand(q, k, v, hide):
    k, v = (jnp.repeat(y, 2, axis=2) for y in (k, v))
    scores = hide(jnp.einsum("bqhe,bkhe->bhqk", q, k) / jnp.sqrt(q.shape[-1]))
    return jnp.einsum("bhqk,bkhe->bqhe", jax.nn.softmax(scores), v)


case("attention by hand", "attention",
     lambda q, k, v: attend_by_hand(q, k, v, lambda s: jnp.where(jnp.tril(jnp.ones(
         s.shape[-2:], bool)), s, -1e9)), q, k, k)
case("attention, mask of numbers added", "attention",
     lambda q, k, v: attend_by_hand(q, k, v, lambda s: s + jnp.where(jnp.tril(jnp.ones(
         s.shape[-2:], bool)), 0, -1e30)), q, k, k)
case("attention, rows of nothing but -inf", "attention",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: jnp.where(
         m[:, None, None], s, -jnp.inf)), q, k, k, shape(2, 7, dtype=BOOL))
case("attention, causal and masked", "attention",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: jnp.where(
         m[:, None, None] & jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e10)),
     q, k, k, shape(2, 7, dtype=BOOL))
case("attention, hidden by a mask of 0 added to it", "softmax",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: s + jnp.where(
         m[:, None, None], 0, -1e9)), q, k, k, shape(2, 7, dtype=BOOL))
case("attention, mask of 16 bits added", "attention",
     lambda q, k, v: attend_by_hand(q, k, v, lambda s: s + jnp.where(jnp.tril(jnp.ones(
         s.shape[-2:], bool)), BF16(0), BF16(-jnp.inf)).astype(F32)), q, k, k)
case("attention, hidden by a mask so low that scores are lost in it", "attention",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: s + jnp.where(
         m[:, None, None], 0, jnp.finfo(F32).min)), q, k, k, shape(2, 7, dtype=BOOL))
case("attention, hidden too little", "softmax",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: jnp.where(
         m[:, None, None], s, -100)), q, k, k, shape(2, 7, dtype=BOOL))
case("attention of one query", "attention",
     lambda q, k, v, m: attend_by_hand(q, k, v, lambda s: jnp.where(
         m[:, None, None], s, -1e10)), shape(2, 1, 4, 6), k, k, shape(2, 7, dtype=BOOL))


def softmax_safely(scores):
    """As PyTorch does: zeros where nothing is seen."""
    unseen = jnp.all(scores == -jnp.inf, -1, keepdims=True)
    return jnp.where(unseen, 0, jax.nn.softmax(scores))


def attend_in_stacks(q, k, v, softmax, mask=None):
    """Heads before positions, and scores as products of stacks of matrices."""
    stack = lambda y: y.reshape((-1,) + y.shape[2:])
    scale = q.shape[-1] ** -0.25
    scores = stack(q * scale) @ stack((k * scale).swapaxes(2, 3))
    scores = scores.reshape(q.shape[:3] + k.shape[2:3])
    if mask is not None:
        scores = scores + jnp.where(mask, 0, -jnp.inf)
    return (stack(softmax(scores)) @ stack(v)).reshape(q.shape)


stacked = shape(2, 4, 5, 6), shape(2, 4, 7, 6), shape(2, 4, 7, 6)
case("attention, safe", "attention",
     lambda q, k, v, m: attend_in_stacks(q, k, v, softmax_safely, m), *stacked,
     shape(2, 1, 5, 7, dtype=BOOL))
case("attention, safe, its mask by head", "softmax",
     lambda q, k, v, m: attend_in_stacks(q, k, v, softmax_safely, m), *stacked,
     shape(2, 4, 5, 7, dtype=BOOL))
case("attention, safe where all is seen", "attention",
     lambda q, k, v: attend_in_stacks(q, k, v, softmax_safely), *stacked)
case("attention, zeros where something is not seen", "softmax",
     lambda q, k, v, m: attend_in_stacks(q, k, v, lambda s: jnp.where(
         jnp.any(s == -jnp.inf, -1, keepdims=True), 0, jax.nn.softmax(s)), m), *stacked,
     shape(2, 1, 5, 7, dtype=BOOL))
case("attention, two of one mask", "attention, attention",
     lambda q, k, v, m: attend_in_stacks(attend_in_stacks(q, k, v, jax.nn.softmax, m),
                                         k, v, jax.nn.softmax, m),
     *stacked, shape(2, 1, 5, 7, dtype=BOOL))
case("gradient of attention", "",
     jax.grad(lambda q, k, v: attend_by_hand(q, k, v, lambda s: s).sum()), q, k, k)

logits, labels = shape(3, 5, 11), shape(3, 5, dtype=I32)
case("cross entropy of optax", "cross_entropy",
     optax.softmax_cross_entropy_with_integer_labels, logits, labels)
case("cross entropy by one-hot labels", "cross_entropy",
     lambda x, y: optax.softmax_cross_entropy(x, jax.nn.one_hot(y, 11)), logits, labels)
case("cross entropy by log_softmax", "cross_entropy",
     lambda x, y: -jnp.take_along_axis(jax.nn.log_softmax(x), y[..., None], -1)[..., 0],
     logits, labels)
case("cross entropy, its mean over a batch", "cross_entropy",
     lambda x, y: optax.softmax_cross_entropy_with_integer_labels(x, y).mean(),
     shape(5, 11), shape(5, dtype=I32))
case("cross entropy of smoothed labels", "",
     lambda x, y: optax.softmax_cross_entropy(x, y), logits, logits)
case("cross entropy with other logits", "",
     lambda x, z, y: -jnp.take_along_axis(z - jax.nn.logsumexp(x, -1, keepdims=True),
                                          y[..., None], -1), logits, logits, labels)
case("gradient of cross entropy", "", jax.grad(lambda x, y: optax.
     softmax_cross_entropy_with_integer_labels(x, y).sum()), logits, labels)


def make_inputs(program):
    """Random numbers for the arguments of @main, by name."""
    head = re.search(r"@main\((.*)\) -> ", program).group(1)
    random, inputs = np.random.default_rng(0), {}
    found = re.findall(r'(%arg\d+): tensor<((?:\d+x)*)(\w+)>(?: \{tp.name = "(.*?)")?', head)
    for argument, sizes, element, name in found:
        sizes = [int(size) for size in sizes.split("x") if size]
        if element == "i1":
            value = random.random(sizes) < 0.5
            if value.ndim:
                value[0] = False  # Whole rows see nothing.
        elif element.startswith("i"):
            value = random.integers(-3, 14, sizes, dtype=element.replace("i", "int"))
        else:
            dtype = {"f32": np.float32, "bf16": ml_dtypes.bfloat16}[element]
            value = np.asarray(random.normal(0, 1, sizes), dtype)
        inputs[name or argument.replace("%", "")] = np.asarray(value)
    return inputs


def run_tool(file, passes, *options):
    done = subprocess.run(["tp-opt", str(file), f"--pass-pipeline=builtin.module({passes})",
                           *options], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def check(name, folder):
    """What is wrong with a case, or nothing."""
    ops, function, arguments = CASES[name]
    file = folder / "in.mlir"
    file.write_text(jax.jit(function, keep_unused=True).lower(*arguments).as_text())
    passes = "tp-import-stablehlo,tp-inline-calls"
    save_file(make_inputs(run_tool(file, passes)), folder / "in.safetensors")
    raised = run_tool(file, f"{passes},tp-raise")
    found = sorted(re.findall(rf"= tp\.({OPS}) ", raised))
    if found != ops:
        return f"raised to {found}, not to {ops}"
    results = []
    for extra in ("", ",tp-raise"):
        run_tool(file, f"{passes}{extra},tp-interpret-entry{{"
                 f"inputs={folder}/in.safetensors outputs={folder}/out.safetensors}}",
                 "-o", "/dev/null")
        results.append(load_file(folder / "out.safetensors"))
    for result, value in results[0].items():
        # Programs that round to 16 bits may do so once less.
        tolerance = 1e-6 if value.dtype == np.float32 else 1e-2
        before, after = (np.asarray(r[result], np.float64) for r in results)
        if not np.allclose(before, after, rtol=tolerance, atol=tolerance, equal_nan=True):
            return f"{result} differs by {np.nanmax(np.abs(before - after))}"
    return None


def main():
    failures = 0
    names = sys.argv[1:] or CASES
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            error = check(name, pathlib.Path(folder))
            if error:
                print(f"{name}: {error}")
                failures += 1
    print(f"{len(names)} cases, {failures} wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

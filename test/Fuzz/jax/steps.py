# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps that random JAX programs are made of.

A step draws operands from the values that are there and returns new ones. Each
says how exact its result is: data is made of multiples of 1/4, and `bits` counts
how many binary digits a value may have. What has more than its type keeps, or
comes from a function that rounds, is inexact: it is compared with a tolerance, and
kept away from steps that jump, where a rounding error would become a difference.
"""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

# Binary digits that a type keeps, and what one rounding errs.
DIGITS = {"float64": 50, "float32": 23, "float16": 10, "bfloat16": 7}
EPSILON = {"float64": 1e-14, "float32": 5e-7, "float16": 1e-3, "bfloat16": 8e-3}


@dataclasses.dataclass
class Value:
    array: object
    # Of a float that is exact; None if it is not.
    bits: int | None = 4
    # The largest error of one rounding on the way here.
    epsilon: float = 0.0

    @property
    def shape(self):
        return self.array.shape

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def is_float(self):
        return jnp.issubdtype(self.dtype, jnp.floating)

    @property
    def is_exact(self):
        return not self.is_float or self.bits is not None


def derive(array, operands, bits=None):
    """What a step makes of `operands`: exact if it says with how many bits, and if
    they were."""
    value = Value(array, bits)
    if not value.is_float:
        value.bits = 4
        return value
    limit = DIGITS[value.dtype.name]
    if bits is None or bits > limit or not all(v.is_exact for v in operands):
        value.bits = None
        value.epsilon = max([EPSILON[value.dtype.name]] +
                            [v.epsilon for v in operands])
    return value


def bits_of(*values):
    return max([v.bits if v.is_float and v.bits is not None else 4 for v in values])


STEPS = []


def step(weight=1):
    def register(function):
        STEPS.extend([function] * weight)
        return function
    return register


SMOOTH = {
    "tanh": jnp.tanh, "sin": jnp.sin, "logistic": jax.nn.sigmoid,
    "exp": lambda x: jnp.exp(jnp.clip(x, -4, 4)), "log1p": lambda x: jnp.log1p(jnp.abs(x)),
    "sqrt": lambda x: jnp.sqrt(jnp.abs(x) + 1), "gelu": jax.nn.gelu, "silu": jax.nn.silu,
    "erf": lax.erf, "rsqrt": lambda x: lax.rsqrt(x * x + 1),
    "softplus": jax.nn.softplus, "cos": jnp.cos}


@step(2)
def unary(p):
    x = p.pick(kind="float")
    return [derive(SMOOTH[p.choice(sorted(SMOOTH))](x.array), [x])]


@step()
def exact_unary(p):
    x = p.pick(kind="number", exact=True)
    function = p.choice([jnp.negative, jnp.abs, jnp.sign, jax.nn.relu, jnp.floor, jnp.ceil])
    return [derive(function(x.array), [x], bits_of(x))]


@step(3)
def binary(p):
    x = p.pick(kind="number")
    y = p.like(x)
    function = p.choice([jnp.add, jnp.subtract, jnp.maximum, jnp.minimum, jnp.multiply])
    bits = 2 * bits_of(x, y) if function is jnp.multiply else bits_of(x, y) + 1
    return [derive(function(x.array, y.array), [x, y], bits)]


@step()
def divide(p):
    x = p.pick(kind="float")
    y = p.like(x)
    return [derive(x.array / (jnp.abs(y.array) + 1), [x, y])]


@step()
def integers(p):
    x = p.pick(kind="int")
    y = p.like(x)
    name = p.choice(["and", "or", "xor", "div", "rem", "shift", "popcount", "clz"])
    a, b = x.array, y.array
    result = {"and": lambda: a & b, "or": lambda: a | b, "xor": lambda: a ^ b,
              "div": lambda: a // jnp.where(b == 0, 1, b).astype(a.dtype),
              "rem": lambda: lax.rem(a, jnp.where(b == 0, 3, b).astype(a.dtype)),
              "shift": lambda: a << (b & 3), "popcount": lambda: lax.population_count(a),
              "clz": lambda: lax.clz(a)}[name]()
    return [derive(result, [x, y])]


@step(2)
def select(p):
    x = p.pick(kind="number", exact=True)
    y = p.like(x, exact=True)
    mask = p.choice([jnp.less, jnp.greater_equal, jnp.equal])(x.array, y.array)
    z = p.pick()
    chosen = p.like(z)
    if p.chance(50) and z.shape == x.shape:
        return [derive(jnp.where(mask, z.array, chosen.array), [z, chosen],
                       bits_of(z, chosen))]
    return [derive(mask, [x, y])]


@step()
def constant_mask(p):
    """As users write causal masks: an array of NumPy."""
    x = p.pick(least=2)
    mask = np.tril(np.ones(x.shape[-2:], bool), p.draw(-1, 1))
    return [derive(jnp.where(mask, x.array, jnp.zeros_like(x.array)), [x], bits_of(x))]


@step(2)
def convert(p):
    """Some of what is converted is out of range."""
    x = p.pick(exact=True)
    dtype = p.dtype()
    array = x.array
    if x.is_float and p.chance(40):
        array = array * p.choice([64, 256])
    if jnp.issubdtype(dtype, jnp.floating):
        return [derive(array.astype(dtype), [x], bits_of(x))]
    return [derive(array.astype(dtype), [x])]


@step(2)
def reduce(p):
    x = p.pick(kind="number", least=1)
    axes = tuple(i for i in range(len(x.shape)) if p.chance(60)) or (0,)
    count = int(np.prod([x.shape[i] for i in axes]))
    function = p.choice([jnp.sum, jnp.max, jnp.min, jnp.mean])
    bits = bits_of(x) + (count.bit_length() if function is jnp.sum else 0)
    result = function(x.array, axis=axes, keepdims=p.chance(30))
    return [derive(result, [x], None if function is jnp.mean else bits)]


@step()
def arg_extreme(p):
    x = p.pick(kind="number", least=1, exact=True)
    function = p.choice([jnp.argmax, jnp.argmin])
    return [derive(function(x.array, axis=p.axis(x)), [x])]


@step()
def sort(p):
    x = p.pick(kind="number", least=1, exact=True)
    axis = p.axis(x)
    name = p.choice(["sort", "argsort", "top_k", "median"])
    if name == "median" and x.is_float:
        return [derive(jnp.median(x.array, axis=axis), [x], bits_of(x) + 1)]
    if name == "top_k":
        k = p.draw(1, x.shape[-1])
        values, places = lax.top_k(x.array, k)
        return [derive(values, [x], bits_of(x)), derive(places, [x])]
    function = jnp.argsort if name == "argsort" else jnp.sort
    return [derive(function(x.array, axis=axis, descending=p.chance(40)), [x], bits_of(x))]


@step()
def cumulate(p):
    x = p.pick(kind="number", least=1)
    axis = p.axis(x)
    function = p.choice([lax.cumsum, lax.cummax, lax.cummin])
    bits = bits_of(x) + int(x.shape[axis]).bit_length()
    return [derive(function(x.array, axis=axis, reverse=p.chance(30)), [x], bits)]


@step(2)
def move(p):
    x = p.pick(least=1)
    a, axis = x.array, p.axis(x)
    size = x.shape[axis]
    result = {
        "transpose": lambda: jnp.transpose(a, p.permutation(a.ndim)),
        "flatten": lambda: a.reshape(-1),
        "merge": lambda: a.reshape(-1, x.shape[-1]),
        "flip": lambda: jnp.flip(a, axis),
        "roll": lambda: jnp.roll(a, p.draw(-3, 3), axis),
        "slice": lambda: lax.slice_in_dim(a, p.draw(0, size // 2), size, p.draw(1, 2), axis),
        "repeat": lambda: jnp.repeat(a, 2, axis),
        "tile": lambda: jnp.concatenate([a, a], axis),
        "split": lambda: jnp.concatenate([lax.slice_in_dim(a, size // 2, size, 1, axis),
                                          lax.slice_in_dim(a, 0, size // 2, 1, axis)], axis),
        "expand": lambda: a[..., None],
        "broadcast": lambda: jnp.broadcast_to(a, (p.draw(1, 4), *a.shape)),
        "pad": lambda: jnp.pad(a, [(p.draw(0, 2), p.draw(0, 2)) for _ in a.shape]),
    }
    return [derive(result[p.choice(sorted(result))](), [x], bits_of(x))]


@step(2)
def dynamic(p):
    x, index = p.pick(least=1), p.index()
    axis = p.axis(x)
    length = p.draw(1, x.shape[axis])
    part = lax.dynamic_slice_in_dim(x.array, index, length, axis)
    if p.chance(50):
        return [derive(part, [x], bits_of(x))]
    return [derive(lax.dynamic_update_slice_in_dim(
        x.array, jnp.flip(part, axis), p.index(), axis), [x], bits_of(x))]


@step(2)
def gather(p):
    x = p.pick(least=1)
    axis = p.axis(x)
    places = p.indices((p.draw(1, 5),) if p.chance(70) else (2, p.draw(1, 4)))
    mode = p.choice(["clip", "fill", "wrap"])
    if mode == "fill" and not x.is_float:
        mode = "clip"
    if mode == "fill":
        return [derive(jnp.take(x.array, places, axis, mode=mode, fill_value=0), [x],
                       bits_of(x))]
    return [derive(jnp.take(x.array, places, axis, mode=mode), [x], bits_of(x))]


@step(2)
def scatter(p):
    x = p.pick(kind="number", least=1)
    count = p.draw(1, 5)
    rows = p.indices((count,))
    two = len(x.shape) > 1 and p.chance(50)
    where = (rows, p.indices((count,))) if two else (rows,)
    shape = (count, *x.shape[len(where):])
    updates = p.constant(shape, x.dtype)
    at = x.array.at[where]
    # Of several that set one place, no order is promised.
    name = p.choice(["add", "max", "min"])
    result = getattr(at, name)(updates, mode=p.choice(["drop", "clip"]))
    return [derive(result, [x], bits_of(x) + 3)]


@step(4)
def product(p):
    x = p.pick(kind="float", least=2)
    *batch, m, k = x.shape
    n = p.draw(1, 12)
    w = p.get((k, n), x.dtype)
    spelling = p.choice(["matmul", "einsum", "transposed", "broadcast", "batched"])
    bits = 2 * bits_of(x, w) + int(k).bit_length()
    if spelling == "einsum":
        return [derive(jnp.einsum("...k,kn->n...", x.array, w.array), [x, w], bits)]
    if spelling == "transposed":
        return [derive(jnp.einsum("nk,...k->...n", w.array.T, x.array), [x, w], bits)]
    if spelling == "broadcast" and x.array.size:
        v = jnp.broadcast_to(x.array.reshape(-1, k)[0], (p.draw(2, 9), k))
        return [derive(v @ w.array, [x, w], bits)]
    if spelling == "batched" and batch:
        y = p.get((*batch, k, n), x.dtype)
        return [derive(jnp.matmul(x.array, y.array), [x, y], 2 * bits_of(x, y)
                       + int(k).bit_length())]
    return [derive(x.array @ w.array, [x, w], bits)]


def draw_convolution(p):
    """Of one or two dimensions, and as a function of its operands."""
    rank = p.draw(1, 2)
    each = lambda most: tuple(p.draw(1, most) for _ in range(rank))
    groups = p.choice([1, 1, 2, 4])
    b, h, c, f = p.draw(1, 3), tuple(p.draw(4, 9) for _ in range(rank)), 4, 4
    x, w = p.get((b, c, *h), jnp.float32), p.get((f, c // groups, *each(4)), jnp.float32)
    padding = p.choice(["SAME", "VALID", [(p.draw(0, 3), p.draw(-1, 3)) for _ in range(rank)]])
    dilation = each(2) if p.chance(30) else (1,) * rank
    spread = each(3) if p.chance(30) and not isinstance(padding, str) else (1,) * rank
    strides = each(3) if p.chance(50) else (1,) * rank
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation)]
    # A result without elements is of no use to other steps.
    room = [(size - 1) * by + 1 for size, by in zip(h, spread)]
    if not isinstance(padding, str):
        room = [size + sum(pair) for size, pair in zip(room, padding)]
    if padding != "SAME" and any(r > size for r, size in zip(reach, room)):
        padding = [(r, r) for r in reach]
    return x, w, functools.partial(
        lax.conv_general_dilated, window_strides=strides, padding=padding, lhs_dilation=spread,
        rhs_dilation=dilation, feature_group_count=groups)


@step()
def convolve(p):
    x, w, function = draw_convolution(p)
    return [derive(function(x.array, w.array), [x, w], 2 * bits_of(x, w) + 7)]


@step()
def pool(p):
    x = p.pick(kind="float", least=2)
    window = tuple(p.draw(1, min(3, s)) for s in x.shape)
    strides = tuple(p.draw(1, w) for w in window)
    padding = p.choice(["SAME", "VALID"])
    if p.chance(50):
        init = np.array(-np.inf, x.dtype)
        return [derive(lax.reduce_window(x.array, init, lax.max, window, strides, padding),
                       [x], bits_of(x))]
    zero = np.array(0, x.dtype)
    return [derive(lax.reduce_window(x.array, zero, lax.add, window, strides, padding),
                   [x], bits_of(x) + 5)]


@step()
def normalize(p):
    x = p.pick(kind="float", least=1)
    axis = p.axis(x)
    function = p.choice([jax.nn.softmax, jax.nn.log_softmax, jax.nn.standardize])
    if function is jax.nn.standardize:
        return [derive(jax.nn.standardize(x.array, axis, epsilon=0.1), [x])]
    return [derive(function(x.array, axis), [x])]


@step()
def one_hot(p):
    x = p.pick(kind="int")
    return [derive(jax.nn.one_hot(x.array, p.draw(1, 6), axis=-1), [x], 1)]


@step()
def random_bits(p):
    key = jax.random.key(p.draw(0, 99))
    shape = p.shape()
    if p.chance(50):
        return [derive(jax.random.bits(key, shape), [])]
    return [derive(jax.random.bernoulli(key, 0.5, shape), [])]


@step(2)
def constrain(p):
    x = p.pick()
    return [derive(p.constrain(x.array), [x], bits_of(x))]

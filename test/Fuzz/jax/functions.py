# Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of jax.numpy, jax.lax and jax.nn that have gradients, each with a way to draw
its arguments: FUNCTIONS[name](draw) is a function and the arguments of one call."""

import functools

import jax
import jax.numpy as jnp
import jax.scipy.special as special
import numpy as np
from jax import lax, nn

FUNCTIONS = {}

#: They compute their products in f32 whatever they are given.
IN_F32 = {"nn.dot_product_attention", "nn.dot_product_attention.mask"}

#: Functions whose exported text has lost how they are differentiated: of a custom rule, or
#: of an iteration, it has the steps of the function alone. Each with what comes of it.
LOST = {
    "lax.erf_inv": "the branch that is not taken has a root of a negative number, and NaN is "
                   "its gradient",
}


class Draw:
    """Sizes and data. No two elements are equal, and none is where a function has a corner
    or a pole, but by a probability of 0."""

    def __init__(self, rng):
        self.rng = rng

    def size(self, low=1, high=7):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=1, high=3, least=1):
        return tuple(self.size(least) for _ in range(self.size(low, high)))

    def axis(self, shape):
        return int(self.rng.integers(len(shape)))

    def choice(self, options):
        return options[int(self.rng.integers(len(options)))]

    def flag(self):
        return bool(self.rng.integers(2))

    def normal(self, *shape):
        return self.rng.standard_normal(shape)

    def within(self, low, high, *shape):
        return self.rng.uniform(low, high, shape)

    def indices(self, bound, *shape):
        return self.rng.integers(0, bound, shape).astype(np.int32)


def function(name):
    def register(make):
        FUNCTIONS[name] = make
        return make
    return register


def elementwise(module, names, low=-2.0, high=2.0, arguments=1):
    prefix = {jnp: "jnp", lax: "lax", nn: "nn", special: "special"}[module]
    for name in names.split():
        def make(d, called=getattr(module, name)):
            shape = d.shape()
            return called, [d.within(low, high, *shape) for _ in range(arguments)]
        FUNCTIONS[f"{prefix}.{name}"] = make


# Elementwise -----------------------------------------------------------------------------

elementwise(jnp, "sin cos tan sinh cosh tanh arctan arcsinh exp expm1 exp2 square abs fabs "
            "negative positive sign floor ceil trunc rint deg2rad rad2deg degrees radians sinc "
            "cbrt nan_to_num real i0")
elementwise(jnp, "log log2 log10 log1p sqrt reciprocal", low=0.1)
elementwise(jnp, "arcsin arccos arctanh", low=-0.9, high=0.9)
elementwise(jnp, "arccosh", low=1.1, high=3.0)
elementwise(jnp, "add subtract multiply maximum minimum fmax fmin arctan2 hypot logaddexp "
            "logaddexp2 copysign heaviside", arguments=2)
elementwise(jnp, "divide true_divide mod remainder fmod float_power power floor_divide",
            low=0.3, high=2.0, arguments=2)
elementwise(lax, "sin cos tan tanh exp exp2 expm1 logistic erf abs neg sign floor ceil square cbrt "
            "sinh cosh asinh atan erfc")
elementwise(lax, "log log1p sqrt rsqrt", low=0.1)
elementwise(lax, "asin acos atanh", low=-0.9, high=0.9)
elementwise(lax, "lgamma digamma", low=0.3, high=4.0)
elementwise(lax, "add sub mul max min atan2 ", arguments=2)
elementwise(lax, "div rem pow", low=0.3, arguments=2)
elementwise(nn, "relu relu6 sigmoid softplus sparse_plus silu swish soft_sign log_sigmoid leaky_relu "
            "hard_sigmoid hard_silu hard_swish hard_tanh elu celu selu gelu squareplus mish tanh "
            "sparse_sigmoid identity")
elementwise(special, "erf erfc expit ndtr log_ndtr")
elementwise(special, "xlogy xlog1py", low=0.2, arguments=2)
elementwise(special, "logit entr", low=0.1, high=0.9)


@function("nn.gelu.exact")
def _(d):
    return functools.partial(nn.gelu, approximate=False), [d.normal(*d.shape())]


@function("lax.integer_pow")
def _(d):
    power = d.choice([-3, -2, -1, 0, 1, 2, 3, 5])
    return (lambda x: lax.integer_pow(x, power)), [d.within(0.3, 2, *d.shape())]


@function("jnp.clip")
def _(d):
    return (lambda x: jnp.clip(x, -0.5, 0.75)), [d.normal(*d.shape())]


@function("lax.clamp")
def _(d):
    shape = d.shape()
    return lax.clamp, [d.within(-1, -0.2, *shape), d.normal(*shape), d.within(0.2, 1, *shape)]


@function("jnp.where")
def _(d):
    shape = d.shape()
    return (lambda m, x, y: jnp.where(m > 0, x, y)), [d.indices(2, *shape), d.normal(*shape),
                                                      d.normal(*shape)]


@function("jnp.select")
def _(d):
    shape = d.shape()
    return (lambda x, y: jnp.select([x < -0.3, x < 0.4], [x * y, jnp.sin(y)], x)), [
        d.normal(*shape), d.normal(*shape)]


@function("jnp.piecewise")
def _(d):
    return (lambda x: jnp.piecewise(x, [x < 0, x >= 0], [jnp.sin, jnp.square])), [
        d.normal(*d.shape())]


@function("jnp.polyval")
def _(d):
    return jnp.polyval, [d.normal(d.size()), d.normal(*d.shape())]


@function("jnp.interp")
def _(d):
    knots = np.sort(d.normal(d.size(3, 6)))
    return (lambda x, y: jnp.interp(x, knots, y)), [d.normal(d.size()), d.normal(knots.size)]


@function("broadcasting")
def _(d):
    a, b, c = d.size(), d.size(), d.size()
    return (lambda x, y, z: x * y + z), [d.normal(a, 1, c), d.normal(b, 1), d.normal(c)]


@function("lax.convert")
def _(d):
    return (lambda x: jnp.sin(x.astype(jnp.float64)) * jnp.floor(x)), [d.normal(*d.shape())]


@function("lax.stop_gradient_free")
def _(d):
    return (lambda x: x * jnp.round(x) + jnp.isfinite(x)), [d.normal(*d.shape())]


# Reductions ------------------------------------------------------------------------------

def reduction(name, called, low=None, least=1):
    @function(name)
    def _(d):
        shape = d.shape(1, 3, least)
        x = d.normal(*shape) if low is None else d.within(low, 2, *shape)
        axis = d.choice([None, d.axis(shape), tuple(range(len(shape)))])
        keep = d.flag()
        return (lambda x: called(x, axis=axis, keepdims=keep)), [x]


for name in "sum mean max min amax amin nansum nanmean nanmax ptp".split():
    reduction(f"jnp.{name}", getattr(jnp, name))
for name in "prod nanprod".split():
    reduction(f"jnp.{name}", getattr(jnp, name))
for name in "std var nanstd nanvar".split():
    reduction(f"jnp.{name}", getattr(jnp, name), least=2)
reduction("nn.logsumexp", nn.logsumexp)
reduction("jnp.linalg.norm", lambda x, axis, keepdims: jnp.sqrt(
    jnp.sum(x * x, axis=axis, keepdims=keepdims)))


@function("jnp.prod.zeros")
def _(d):
    x = d.normal(d.size(), d.size(2))
    x[:, d.size(0, 1)] = 0
    return (lambda x: jnp.prod(x, axis=1)), [x]


@function("jnp.average")
def _(d):
    shape = d.shape()
    return (lambda x, w: jnp.average(x, weights=w)), [d.normal(*shape), d.within(0.5, 1, *shape)]


@function("jnp.median")
def _(d):
    return (lambda x: jnp.median(x, axis=-1)), [d.normal(*d.shape())]


@function("jnp.quantile")
def _(d):
    return (lambda x: jnp.quantile(x, 0.3, axis=0)), [d.normal(*d.shape())]


@function("jnp.argmax.values")
def _(d):
    return (lambda x: jnp.take_along_axis(x, jnp.argmax(x, -1)[..., None], -1)), [
        d.normal(*d.shape())]


@function("lax.reduce")
def _(d):
    return (lambda x: lax.reduce(x, np.float64(0), lax.add, (0,))), [d.normal(*d.shape())]


def cumulative(name, called, low=None):
    @function(name)
    def _(d):
        shape = d.shape()
        x = d.normal(*shape) if low is None else d.within(low, 2, *shape)
        axis = d.axis(shape)
        return (lambda x: called(x, axis)), [x]


for name in "cumsum cumprod".split():
    cumulative(f"jnp.{name}", lambda x, axis, f=getattr(jnp, name): f(x, axis=axis))
for name in "cumsum cumprod cummax cummin cumlogsumexp".split():
    for reverse in (False, True):
        cumulative(f"lax.{name}" + ".reverse" * reverse,
                   lambda x, axis, f=getattr(lax, name), r=reverse: f(x, axis, reverse=r))
cumulative("jnp.diff", lambda x, axis: jnp.diff(x, axis=axis))
cumulative("jnp.gradient", lambda x, axis: jnp.gradient(jnp.concatenate([x, x], axis), axis=axis))
cumulative("lax.associative_scan",
           lambda x, axis: lax.associative_scan(lambda a, b: a * b + a, x, axis=axis))


# Shapes ----------------------------------------------------------------------------------

def shaped(name, called, low=1, high=3):
    @function(name)
    def _(d):
        shape = d.shape(low, high)
        return functools.partial(called, d=d, shape=shape), [d.normal(*shape)]


def fixed(make):
    """Choices are drawn once, not at every call."""
    def called(x, d, shape):
        if not hasattr(d, "made"):
            d.made = make(d, shape)
        return d.made(x)
    return called


for name, make in {
        "jnp.transpose": lambda d, s: (lambda x, p=tuple(map(int, d.rng.permutation(len(s)))):
                                       jnp.transpose(x, p)),
        "jnp.reshape": lambda d, s: (lambda x: jnp.reshape(x, (-1, s[-1]))),
        "jnp.ravel": lambda d, s: jnp.ravel,
        "jnp.flip": lambda d, s: (lambda x, a=d.axis(s): jnp.flip(x, a)),
        "jnp.roll": lambda d, s: (lambda x, a=d.axis(s), k=d.size(): jnp.roll(x, k, a)),
        "jnp.tile": lambda d, s: (lambda x, k=d.size(1, 3): jnp.tile(x, k)),
        "jnp.repeat": lambda d, s: (lambda x, k=d.size(1, 3), a=d.axis(s): jnp.repeat(x, k, a)),
        "jnp.expand_dims": lambda d, s: (lambda x: jnp.expand_dims(x, 0)),
        "jnp.broadcast_to": lambda d, s: (lambda x, n=d.size(): jnp.broadcast_to(x, (n, *s))),
        "jnp.pad.constant": lambda d, s: (lambda x: jnp.pad(x, 2, constant_values=1.5)),
        "jnp.pad.edge": lambda d, s: (lambda x: jnp.pad(x, 2, mode="edge")),
        "jnp.pad.wrap": lambda d, s: (lambda x: jnp.pad(x, 1, mode="wrap")),
        "jnp.pad.mean": lambda d, s: (lambda x: jnp.pad(x, 1, mode="mean")),
        "jnp.stack": lambda d, s: (lambda x: jnp.stack([x, x * x, jnp.sin(x)], 1)),
        "jnp.concatenate": lambda d, s: (lambda x, a=d.axis(s): jnp.concatenate(
            [x, 2 * x, x * x], a)),
        "jnp.hstack": lambda d, s: (lambda x: jnp.hstack([x, x * x])),
        "jnp.vstack": lambda d, s: (lambda x: jnp.vstack([x, x * x])),
        "jnp.array_split": lambda d, s: (lambda x, a=d.axis(s): jnp.array_split(x * x, 2, a)),
        "jnp.swapaxes": lambda d, s: (lambda x: jnp.swapaxes(x, 0, -1)),
        "jnp.moveaxis": lambda d, s: (lambda x: jnp.moveaxis(x, 0, -1)),
        "jnp.slice": lambda d, s: (lambda x, a=d.size(1, 2): x[..., a - 1::a]),
        "jnp.slice.reverse": lambda d, s: (lambda x: x[::-1]),
        "lax.rev": lambda d, s: (lambda x: lax.rev(x, (0,))),
        "lax.pad": lambda d, s: (lambda x, c=[(d.size(0, 2), d.size(0, 2), d.size(0, 2))
                                              for _ in s]: lax.pad(x, np.float64(0.5), c)),
        "lax.pad.negative": lambda d, s: (lambda x: lax.pad(
            jnp.pad(x, 2), np.float64(0), [(-1, -1, 0)] * len(s))),
        "lax.slice.strided": lambda d, s: (lambda x, k=d.size(1, 3): lax.slice(
            x, [0] * len(s), s, [k] * len(s))),
        "lax.broadcast": lambda d, s: (lambda x: lax.broadcast(x, (2, 3))),
        "lax.expand_dims": lambda d, s: (lambda x: lax.expand_dims(x, (1,))),
        "jnp.rot90": lambda d, s: (lambda x: jnp.rot90(x[None], 1)),
        "jnp.atleast_3d": lambda d, s: jnp.atleast_3d,
        "jnp.trapezoid": lambda d, s: (lambda x: jnp.trapezoid(x, axis=0)),
        "jnp.unwrap": lambda d, s: (lambda x: jnp.unwrap(x, axis=0)),
        "jnp.ediff1d": lambda d, s: jnp.ediff1d,
        "jnp.insert": lambda d, s: (lambda x: jnp.insert(x.ravel(), 1, 2.0)),
        "jnp.append": lambda d, s: (lambda x: jnp.append(x, x * x)),
        "jnp.resize": lambda d, s: (lambda x: jnp.resize(x, (3, 4))),
        "jnp.squeeze": lambda d, s: (lambda x: jnp.squeeze(x[None], 0)),
        "jnp.split": lambda d, s: (lambda x: jnp.split(jnp.concatenate([x, x * x]), 2)),
        "jnp.delete": lambda d, s: (lambda x: jnp.delete(jnp.concatenate([x, x * x]), 1, 0)),
        "jnp.vander": lambda d, s: (lambda x: jnp.vander(x.ravel()[:4], 3)),
        "jnp.corrcoef": lambda d, s: (lambda x: jnp.cov(jnp.stack(
            [x.ravel(), jnp.sin(x.ravel()) + 1, x.ravel() ** 2]), ddof=0)),
}.items():
    shaped(name, fixed(make))
for name in "triu tril diagonal trace fliplr flipud matrix_transpose".split():
    shaped(f"jnp.{name}", lambda x, d, shape, f=getattr(jnp, name): f(x), 2, 2)
for name in "diag diagflat".split():
    shaped(f"jnp.{name}", lambda x, d, shape, f=getattr(jnp, name): f(x), 1, 1)


# Products --------------------------------------------------------------------------------

def product(name, called, *shapes):
    """`shapes` in letters, each of one size in a call."""
    @function(name)
    def _(d):
        sizes = {letter: d.size() for letter in "".join(shapes)}
        return called, [d.normal(*(sizes[letter] for letter in shape)) for shape in shapes]


product("jnp.dot", jnp.dot, "ab", "bc")
product("jnp.dot.vector", jnp.dot, "a", "a")
product("jnp.matmul", jnp.matmul, "xab", "xbc")
product("jnp.matmul.broadcast", jnp.matmul, "xab", "bc")
product("jnp.vdot", jnp.vdot, "ab", "ab")
product("jnp.inner", jnp.inner, "xa", "ya")
product("jnp.outer", jnp.outer, "a", "b")
product("jnp.kron", jnp.kron, "ab", "cd")
product("jnp.cross", lambda x, y: jnp.cross(x[:, None] * jnp.arange(1., 4.),
                                           y[:, None] + jnp.arange(3.) ** 2), "a", "a")
product("jnp.tensordot", lambda x, y: jnp.tensordot(x, y, ((1, 2), (0, 1))), "abc", "bcd")
product("jnp.einsum", lambda x, y: jnp.einsum("abc,cad->bd", x, y), "abc", "cad")
product("jnp.einsum.alone", lambda x, y: jnp.einsum("abc,cd->ad", x, y), "abc", "cd")
product("jnp.einsum.three", lambda x, y, z: jnp.einsum("ab,bc,cd->ad", x, y, z), "ab", "bc", "cd")
product("jnp.einsum.diagonal", lambda x: jnp.einsum("aa->a", x @ x.T), "ab")
product("jnp.convolve", jnp.convolve, "a", "b")
product("jnp.correlate", lambda x, y: jnp.correlate(x, y, mode="full"), "a", "b")
product("jnp.vecdot", jnp.vecdot, "ab", "ab")
product("lax.dot_general", lambda x, y: lax.dot_general(x, y, (((2,), (2,)), ((0,), (0,)))),
        "xab", "xcb")
product("lax.batch_matmul", lax.batch_matmul, "xab", "xbc")
product("nn.dense", lambda x, w, b: nn.relu(x @ w + b), "ab", "bc", "c")
product("quadratic", lambda x, w: x @ w @ x.T, "ab", "bb")


# Layers ----------------------------------------------------------------------------------

shaped("nn.softmax", lambda x, d, shape: nn.softmax(x, -1))
shaped("nn.softmax.first", lambda x, d, shape: nn.softmax(x, 0))
shaped("nn.log_softmax", lambda x, d, shape: nn.log_softmax(x, -1))
shaped("nn.standardize", lambda x, d, shape: nn.standardize(
    jnp.concatenate([x, x * x + 1], -1), axis=-1))
shaped("nn.glu", lambda x, d, shape: nn.glu(jnp.concatenate([x, x * x], -1)))
shaped("layer_norm", lambda x, d, shape: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(
    x.var(-1, keepdims=True) + 1e-3))
shaped("rms_norm", lambda x, d, shape: x * lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5))


@function("cross_entropy")
def _(d):
    rows, words = d.size(), d.size(2)
    return (lambda x, y: -jnp.take_along_axis(nn.log_softmax(x), y[:, None], 1)), [
        d.normal(rows, words), d.indices(words, rows)]


@function("cross_entropy.one_hot")
def _(d):
    rows, words = d.size(), d.size(2)
    return (lambda x, y: nn.logsumexp(x, -1) - jnp.sum(nn.one_hot(y, words) * x, -1)), [
        d.normal(rows, words), d.indices(words, rows)]


@function("nn.dot_product_attention")
def _(d):
    b, s, t, n, h = (d.size() for _ in range(5))
    groups, causal = d.size(1, 3), d.flag()
    if causal:
        t = s
    return (lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=causal)), [
        d.normal(b, s, n * groups, h), d.normal(b, t, n, h), d.normal(b, t, n, h)]


@function("nn.dot_product_attention.mask")
def _(d):
    b, s, t, n, h = (d.size() for _ in range(5))
    return (lambda q, k, v, m: nn.dot_product_attention(
        q, k, v, mask=(m > 0).at[..., 0].set(True))), [
        d.normal(b, s, n, h), d.normal(b, t, n, h), d.normal(b, t, n, h),
        d.indices(2, b, 1, s, t)]


@function("rotary")
def _(d):
    b, s, n, h = d.size(), d.size(), d.size(), 2 * d.size(1, 3)

    def rotary(x):
        angle = jnp.arange(s)[:, None] / 10. ** (jnp.arange(h // 2) / h)
        cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
        x1, x2 = jnp.split(x, 2, -1)
        return jnp.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], -1)
    return rotary, [d.normal(b, s, n, h)]


def convolution(name, dims):
    @function(name)
    def _(d):
        groups = d.choice([1, 1, 2])
        kernel = [d.size(1, 3) for _ in range(dims)]
        x = d.normal(d.size(1, 3), groups * d.size(1, 3), *(d.size(4, 7) for _ in kernel))
        w = d.normal(groups * d.size(1, 3), x.shape[1] // groups, *kernel)
        options = dict(
            window_strides=[d.size(1, 2) for _ in kernel],
            padding=[(d.size(0, 2), d.size(0, 2)) for _ in kernel],
            lhs_dilation=[d.choice([1, 1, 2]) for _ in kernel],
            rhs_dilation=[d.choice([1, 1, 2]) for _ in kernel], feature_group_count=groups)
        return (lambda x, w: lax.conv_general_dilated(x, w, **options)), [x, w]


convolution("lax.conv.1d", 1)
convolution("lax.conv.2d", 2)


@function("lax.conv_transpose")
def _(d):
    x, w = d.normal(2, d.size(2), 3), d.normal(d.size(1, 3), 3, d.size(1, 3))
    return (lambda x, w: lax.conv_transpose(x, w, (2,), "SAME")), [x, w]


def pool(name, start, operation):
    @function(name)
    def _(d):
        shape = (d.size(1, 2), d.size(3), d.size(3), d.size(1, 3))
        window, stride = (1, d.size(1, 3), d.size(1, 3), 1), (1, d.size(1, 2), d.size(1, 2), 1)
        padding = d.choice(["VALID", "SAME"])
        return (lambda x: lax.reduce_window(x, np.float64(start), operation, window, stride,
                                            padding)), [d.normal(*shape)]


pool("lax.reduce_window.max", -np.inf, lax.max)
pool("lax.reduce_window.min", np.inf, lax.min)
pool("lax.reduce_window.sum", 0, lax.add)


# Indexing --------------------------------------------------------------------------------

@function("jnp.take")
def _(d):
    shape = d.shape()
    axis = d.axis(shape)
    return (lambda x, i: jnp.take(x, i, axis=axis)), [
        d.normal(*shape), d.indices(shape[axis], *d.shape(1, 2))]


@function("jnp.take_along_axis")
def _(d):
    a, b, c = d.size(), d.size(), d.size()
    return (lambda x, i: jnp.take_along_axis(x, i, 1)), [d.normal(a, b), d.indices(b, a, c)]


@function("jnp.index")
def _(d):
    a, b, n = d.size(), d.size(), d.size()
    return (lambda x, i, j: x[i, j]), [d.normal(a, b, 3), d.indices(a, n), d.indices(b, n)]


@function("embedding")
def _(d):
    words, width = d.size(2), d.size()
    return (lambda t, i: t[i] * jnp.cos(t[i])), [d.normal(words, width),
                                                 d.indices(words, *d.shape(1, 2))]


for kind in "set add multiply max min".split():
    @function(f"jnp.at.{kind}")
    def _(d, kind=kind):
        rows, width = d.size(3), d.size()
        count = d.size(1, 3)
        where = d.rng.permutation(rows)[:count].astype(np.int32) if kind in (
            "multiply",) else d.indices(rows, count)
        return (lambda x, i, u: getattr(x.at[i], kind)(
            u, **({"unique_indices": True} if kind == "multiply" else {}))), [
            d.normal(rows, width), where, d.normal(count, width)]


@function("jnp.at.slice")
def _(d):
    x = d.normal(d.size(4), d.size())
    return (lambda x, y: x.at[1:3].set(y)), [x, d.normal(2, x.shape[1])]


@function("nn.segment_sum")
def _(d):
    rows, width = d.size(2), d.size()
    return (lambda x, i: jax.ops.segment_sum(x, i, num_segments=3)), [
        d.normal(rows, width), d.indices(3, rows)]


@function("lax.dynamic_slice")
def _(d):
    x = d.normal(d.size(3), d.size(2))
    return (lambda x, i: lax.dynamic_slice(x, (i, np.int32(1)), (2, 1))), [x, np.int32(d.size(0, 4))]


@function("lax.dynamic_update_slice")
def _(d):
    x = d.normal(d.size(3), d.size(2))
    return (lambda x, y, i: lax.dynamic_update_slice(x, y, (i, np.int32(0)))), [
        x, d.normal(2, 1), np.int32(d.size(0, 4))]


@function("jnp.sort")
def _(d):
    shape = d.shape()
    axis = d.axis(shape)
    return (lambda x: jnp.sort(x, axis=axis)), [d.normal(*shape)]


@function("jnp.sort.descending")
def _(d):
    return (lambda x: jnp.sort(x, descending=True)), [d.normal(*d.shape())]


@function("jnp.argsort.taken")
def _(d):
    return (lambda x, y: y[jnp.argsort(x)]), [x := d.normal(d.size()), d.normal(x.size)]


@function("lax.sort.pairs")
def _(d):
    n = d.size()
    return (lambda x, y: lax.sort((x, y), num_keys=1)), [d.normal(n), d.normal(n)]


@function("lax.top_k")
def _(d):
    shape = (*d.shape(0, 1), d.size(3))
    k = d.size(1, 3)
    return (lambda x: lax.top_k(x, k)), [d.normal(*shape)]


@function("nn.one_hot")
def _(d):
    return (lambda x, i: nn.one_hot(i, 4) * x), [d.normal(4), d.indices(4, d.size())]


# Control flow ----------------------------------------------------------------------------

@function("lax.scan")
def _(d):
    steps, rows, width = d.size(), d.size(), d.size()

    def scan(x, w, b):
        return lax.scan(lambda h, wb: (jnp.tanh(h @ wb[0] + wb[1]), jnp.sin(h)), x, (w, b))
    return scan, [d.normal(rows, width), d.normal(steps, width, width), d.normal(steps, width)]


@function("lax.scan.shared")
def _(d):
    steps, width = d.size(), d.size()

    def scan(x, w, xs):
        return lax.scan(lambda h, x: (jnp.tanh(w @ h + x), h * x), x, xs, reverse=True)
    return scan, [d.normal(width), d.normal(width, width), d.normal(steps, width)]


@function("lax.scan.last")
def _(d):
    steps, width = d.size(), d.size()
    return (lambda x, w: lax.scan(lambda h, _: (nn.gelu(h * w), None), x, length=steps)[0]), [
        d.normal(width), d.normal(width)]


@function("lax.scan.nested")
def _(d):
    outer, inner, width = d.size(1, 4), d.size(1, 4), d.size()

    def scan(x, w):
        def step(h, row):
            return lax.scan(lambda h, v: (jnp.sin(h * v) + h, h @ h), h, row)
        return lax.scan(step, x, w)
    return scan, [d.normal(width), d.normal(outer, inner, width)]


@function("lax.scan.counter")
def _(d):
    steps, width = d.size(), d.size()
    return (lambda x: lax.scan(lambda h, i: (jnp.sin(h) * (1 + i), jnp.sum(h)), x,
                               jnp.arange(steps))), [d.normal(width)]


@function("lax.scan.attention")
def _(d):
    layers, s, h = d.size(1, 3), d.size(), d.size()

    def scan(x, wq, wo):
        def layer(x, w):
            q = x @ w[0]
            a = nn.softmax(jnp.where(jnp.tri(s, dtype=bool), q @ x.T, -1e30), -1)
            return x + jnp.tanh(a @ x @ w[1]), None
        return lax.scan(layer, x, (wq, wo))[0]
    return scan, [d.normal(s, h), d.normal(layers, h, h), d.normal(layers, h, h)]


@function("lax.fori_loop")
def _(d):
    steps = d.size()
    return (lambda x, w: lax.fori_loop(0, steps, lambda i, h: jnp.cos(h * w) + h / (i + 1), x)), [
        d.normal(3), d.normal(3)]


@function("lax.map")
def _(d):
    return (lambda x, w: lax.map(lambda r: jnp.tanh(r @ w), x)), [
        d.normal(d.size(), 3), d.normal(3, d.size())]


@function("lax.cond")
def _(d):
    return (lambda p, x, y: lax.cond(p > 0, lambda: jnp.sin(x) * y, lambda: x * x)), [
        d.indices(2), d.normal(4), d.normal(4)]


@function("lax.switch")
def _(d):
    return (lambda i, x, y: lax.switch(i, [lambda a, b: (a * b, a), lambda a, b: (jnp.sin(a), b),
                                           lambda a, b: (b, b * b)], x, y)), [
        d.indices(3), d.normal(5), d.normal(5)]


@function("lax.scan.cond")
def _(d):
    steps, width = d.size(), d.size()

    def scan(x, w):
        def step(h, row):
            i, v = row
            h = lax.cond(i % 2 == 0, lambda: jnp.sin(h * v), lambda: h + v * v)
            return h, h * v
        return lax.scan(step, x, (jnp.arange(steps), w))
    return scan, [d.normal(width), d.normal(steps, width)]


@function("jax.checkpoint")
def _(d):
    return jax.checkpoint(lambda x, w: jnp.tanh(jnp.sin(x @ w) @ w.T)), [
        d.normal(d.size(), 3), d.normal(3, d.size())]


@function("jax.vmap")
def _(d):
    return jax.vmap(lambda x, w: jnp.tanh(x @ w) @ x, in_axes=(0, None)), [
        d.normal(d.size(), 3), d.normal(3, 3)]


@function("mlp")
def _(d):
    a, b, c = d.size(), d.size(), d.size()
    return (lambda x, w1, b1, w2: nn.gelu(x @ w1 + b1) @ w2), [
        d.normal(d.size(), a), d.normal(a, b), d.normal(b), d.normal(b, c)]


@function("mlp.tied")
def _(d):
    a, b = d.size(), d.size()
    return (lambda x, w: nn.silu(x @ w) @ w.T), [d.normal(d.size(), a), d.normal(a, b)]

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The steps that random PyTorch modules are made of: what people write in a forward.

A step draws operands from the values that are there and returns new ones. One that
PyTorch refuses is left out, so a step need not see to it that shapes fit.
"""

import functools
import operator

import torch
import torch.nn.functional as F
from torch import nn

STEPS = []


def step(weight=1):
    def register(function):
        STEPS.extend([function] * weight)
        return function
    return register


# Elementwise ---------------------------------------------------------------------


ACTIVATIONS = [
    F.relu, F.gelu, functools.partial(F.gelu, approximate="tanh"), F.silu, F.elu, F.selu, F.celu,
    F.leaky_relu, F.softplus, F.mish, F.hardswish, F.hardsigmoid, F.hardtanh, F.relu6,
    F.logsigmoid, F.softsign, F.tanhshrink, F.softshrink, F.hardshrink, torch.tanh,
    torch.sigmoid, torch.sin, torch.cos, torch.erf, torch.abs, torch.square, torch.neg,
    torch.atan, torch.asinh, torch.sinc]
GUARDED = {  # of what they are defined
    torch.exp: lambda p, x: p.call(torch.clamp, x, -4, 4),
    torch.expm1: lambda p, x: p.call(torch.clamp, x, -4, 4),
    torch.log: lambda p, x: p.call(torch.add, p.call(torch.abs, x), 0.1),
    torch.log1p: lambda p, x: p.call(torch.abs, x),
    torch.log2: lambda p, x: p.call(torch.add, p.call(torch.abs, x), 0.1),
    torch.sqrt: lambda p, x: p.call(torch.add, p.call(torch.square, x), 0.1),
    torch.rsqrt: lambda p, x: p.call(torch.add, p.call(torch.square, x), 0.1),
    torch.reciprocal: lambda p, x: p.call(torch.add, p.call(torch.square, x), 0.5)}


@step(5)
def activation(p):
    x, function = p.pick(), p.choice(ACTIVATIONS)
    if isinstance(function, functools.partial):
        return [p.call(function.func, x, **function.keywords)]
    return [p.call(function, x)]


@step(2)
def guarded(p):
    function = p.choice(list(GUARDED))
    return [p.call(function, GUARDED[function](p, p.pick()))]


@step()
def rounding(p):
    x = p.pick()
    return [p.call(p.choice([torch.floor, torch.ceil, torch.round, torch.trunc, torch.sign,
                             torch.frac]), x)]


@step(4)
def binary(p):
    x = p.pick("number")
    shape = list(x.shape)[p.draw(0, x.rank):]
    for i in range(len(shape)):
        if p.chance(20):
            shape[i] = 1
    y = p.like(x, shape) if p.chance(75) else p.choice([2, 3, 0.5, 1.25])
    function = p.choice([operator.add, operator.sub, operator.mul, torch.add, torch.sub,
                         torch.maximum, torch.minimum, torch.fmax])
    return [p.call(function, *((x, y) if p.chance(60) or not hasattr(y, "node") else (y, x)))]


@step()
def scaled_sum(p):
    x = p.pick()
    kind = p.choice(["alpha", "addcmul", "addcdiv", "lerp", "pow", "rsub", "tensor_pow"])
    if kind == "alpha":
        return [p.call(p.choice([torch.add, torch.sub]), x, p.like(x), alpha=0.5)]
    if kind in ("addcmul", "addcdiv"):
        y = p.call(torch.add, p.call(torch.square, p.like(x)), 0.5)
        return [p.call(getattr(torch, kind), x, p.like(x), y, value=0.5)]
    if kind == "lerp":
        return [p.call(torch.lerp, x, p.like(x), p.choice([0.25, 0.75]))]
    if kind == "tensor_pow":
        base = p.call(torch.add, p.call(torch.square, x), 0.1)
        return [p.call(torch.pow, base, p.call(torch.tanh, p.like(x)))]
    if kind == "rsub":
        return [p.call(torch.rsub, x, 1.5)]
    return [p.call(torch.pow, x, p.choice([2, 3, 2.0]))]


@step()
def divide(p):
    x = p.pick()
    y = p.call(torch.add, p.call(torch.square, p.like(x)), 0.5)
    return [p.call(p.choice([operator.truediv, torch.div, torch.atan2, torch.hypot]), x, y)]


@step(2)
def integers(p):
    x = p.pick("int")
    positive = p.choice([2, 3, 5])
    kind = p.choice(["//", "%", "mod", "trunc", "and", "or", "xor", "not", "shift", "abs",
                     "fmod", "tensor", "clamp", "/"])
    if kind == "tensor":
        y = p.call(torch.add, p.call(torch.abs, p.like(x)), 1)
        return [p.call(p.choice([torch.floor_divide, torch.remainder, torch.fmod]), x, y)]
    calls = {"//": (operator.floordiv, positive), "%": (operator.mod, positive),
             "/": (operator.truediv, positive),
             "mod": (torch.remainder, -positive), "fmod": (torch.fmod, positive),
             "and": (torch.bitwise_and, positive), "or": (torch.bitwise_or, positive),
             "xor": (torch.bitwise_xor, positive), "not": (torch.bitwise_not,),
             "shift": (p.choice([operator.lshift, operator.rshift]), p.draw(0, 3)),
             "abs": (torch.abs,), "clamp": (torch.clamp, -1, positive)}
    if kind == "trunc":
        return [p.call(torch.div, x, positive, rounding_mode=p.choice(["trunc", "floor"]))]
    return [p.call(calls[kind][0], x, *calls[kind][1:])]


@step()
def float_remainder(p):
    x = p.pick()
    return [p.call(p.choice([torch.remainder, torch.fmod, torch.floor_divide]), x, 0.75)]


@step(2)
def compare(p):
    x = p.pick("number")
    y = p.like(x) if p.chance(50) else 0.25 if x.is_float else 2
    return [p.call(p.choice([operator.lt, operator.le, operator.gt, operator.ge, operator.eq,
                             operator.ne]), x, y)]


@step(2)
def logic(p):
    x = p.pick("bool")
    if p.chance(30):
        return [p.call(p.choice([torch.logical_not, operator.invert]), x)]
    return [p.call(p.choice([operator.and_, operator.or_, operator.xor, torch.logical_and,
                             torch.logical_or]), x, p.like(x))]


@step(2)
def clamp(p):
    x = p.pick("number")
    if x.is_float and p.chance(30):
        low = p.like(x)
        return [p.call(torch.clamp, x, low, p.call(torch.add, low, 1.0))]
    low, high = (-0.5, 1.0) if x.is_float else (0, 4)
    return [p.call(torch.clamp, x, **p.choice([{"min": low}, {"max": high},
                                               {"min": low, "max": high}]))]


@step(3)
def cast(p):
    x = p.pick("any")
    dtype = p.choice([torch.float32, torch.float32, torch.bfloat16, torch.int32, torch.int64,
                      torch.bool, torch.float16])
    if x.is_float and not dtype.is_floating_point and p.chance(70):
        dtype = torch.float32
    return [p.call(torch.Tensor.to, x, dtype)]


@step(3)
def select(p):
    x = p.pick("number")
    mask = p.like(p.call(torch.ones_like, x, dtype=torch.bool))
    kind = p.choice(["where", "scalar", "masked_fill", "method"])
    if kind == "where":
        return [p.move(torch.where, mask, x, p.like(x))]
    if kind == "scalar":
        return [p.move(torch.where, mask, x, 0.5 if x.is_float else 1)]
    return [p.move(torch.masked_fill if kind == "masked_fill" else torch.Tensor.masked_fill,
                   x, mask, -1.0 if x.is_float else -1)]


# Contractions and layers -----------------------------------------------------------


@step(5)
def linear(p):
    x = p.pick(rank=(1, 2, 3, 4), dtype=torch.float32)
    out = p.draw(1, 9)
    if p.chance(60):
        return [p.layer(nn.Linear(x.shape[-1], out, bias=p.chance(70)), x)]
    bias = [p.weight((out,))] if p.chance(50) else []
    return [p.call(F.linear, x, p.weight((out, x.shape[-1])), *bias)]


@step()
def half_linear(p):
    x = p.pick(rank=(2, 3), dtype=torch.bfloat16)
    return [p.layer(nn.Linear(x.shape[-1], p.draw(1, 9), dtype=torch.bfloat16), x)]


@step()
def bilinear(p):
    x = p.pick(rank=(2, 3), dtype=torch.float32)
    y = p.like(x, (*x.shape[:-1], p.draw(1, 5)))
    return [p.layer(nn.Bilinear(x.shape[-1], y.shape[-1], p.draw(1, 5)), x, y)]


def draw_window(p, size, least=1):
    return tuple(p.draw(least, min(3, s)) for s in size)


def reshape_for(p, x, rank):
    """`x` with so many dimensions, if it has another number."""
    if x.rank == rank:
        return x
    sizes = [1] * (rank - x.rank) + list(x.shape) if x.rank < rank else (
        [x.tensor.numel() // max(1, x.tensor[(0,) * (x.rank - rank + 1)].numel()),
         *x.shape[x.rank - rank + 1:]])
    return p.move(torch.reshape, x, sizes)


@step(4)
def convolution(p):
    dims = p.choice([1, 1, 2, 2, 2, 3])
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), dims + 2)
    channels, size = x.shape[1], x.shape[2:]
    groups = p.choice([g for g in range(1, channels + 1) if channels % g == 0])
    kernel = draw_window(p, size)
    kind = [nn.Conv1d, nn.Conv2d, nn.Conv3d][dims - 1]
    mode = p.choice(["zeros", "zeros", "zeros", "reflect", "replicate", "circular"])
    stride = tuple(p.draw(1, 2) for _ in size)
    dilation = tuple(p.choice([1, 1, 2]) for _ in size)
    padding = tuple(p.draw(0, k // 2) for k in kernel)
    if mode == "zeros" and p.chance(15):
        padding, stride = p.choice(["same", "valid"]), 1
    return [p.layer(kind(channels, groups * p.draw(1, 3), kernel, stride=stride, groups=groups,
                         padding=padding, dilation=dilation, bias=p.chance(60),
                         padding_mode=mode), x)]


@step(2)
def transposed_convolution(p):
    dims = p.choice([1, 2, 2])
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), dims + 2)
    channels = x.shape[1]
    groups = p.choice([g for g in range(1, channels + 1) if channels % g == 0])
    stride = p.draw(1, 3)
    kind = [nn.ConvTranspose1d, nn.ConvTranspose2d][dims - 1]
    return [p.layer(kind(channels, groups * p.draw(1, 3), p.draw(1, 3), stride=stride,
                         padding=p.draw(0, 1), output_padding=p.draw(0, stride - 1),
                         dilation=p.draw(1, 2), groups=groups, bias=p.chance(60)), x)]


@step(4)
def pool(p):
    dims = p.choice([1, 2, 2, 3])
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), dims + p.choice([1, 2]))
    size = x.shape[-dims:]
    kernel = draw_window(p, size)
    options = {"stride": tuple(p.draw(1, 3) for _ in size),
               "padding": tuple(p.draw(0, k // 2) for k in kernel), "ceil_mode": p.chance(30)}
    kind = p.choice(["max", "avg", "adaptive_avg", "adaptive_max", "indices", "lp"])
    if kind.startswith("adaptive"):
        function = getattr(F, f"{kind}_pool{dims}d")
        return [p.call(function, x, tuple(p.draw(1, s) for s in size))]
    if kind == "lp":
        return [p.call(getattr(F, f"lp_pool{dims}d"), x, 2.0, kernel[0] if dims == 1 else kernel)]
    if kind == "avg":
        if p.chance(50):
            options["count_include_pad"] = False
        elif dims > 1 and p.chance(30):
            options["divisor_override"] = 3
        return [p.call(getattr(F, f"avg_pool{dims}d"), x, kernel, **options)]
    if p.chance(30):
        options["dilation"] = tuple(p.draw(1, 2) for _ in size)
    if kind == "indices":
        return p.call(getattr(F, f"max_pool{dims}d"), x, kernel, return_indices=True, **options)
    return [p.call(getattr(F, f"max_pool{dims}d"), x, kernel, **options)]


@step(4)
def norm_layer(p):
    x = p.pick(rank=(2, 3, 4), dtype=torch.float32)
    kind = p.choice(["layer", "layer2", "rms", "group", "batch", "instance", "local", "unit"])
    if kind in ("layer", "rms"):
        make = nn.LayerNorm if kind == "layer" else nn.RMSNorm
        return [p.layer(make(x.shape[-1], eps=1e-3, elementwise_affine=p.chance(70)), x)]
    if kind == "layer2":
        return [p.call(F.layer_norm, x, x.shape[-2:], eps=1e-3)]
    if kind == "unit":
        return [p.call(F.normalize, x, p=p.choice([1.0, 2.0]), dim=p.axis(x), eps=1e-2)]
    if kind == "local":
        return [p.call(F.local_response_norm, x, p.draw(1, 3))]
    channels = x.shape[1]
    if kind == "group":
        groups = p.choice([g for g in range(1, channels + 1) if channels % g == 0])
        return [p.layer(nn.GroupNorm(groups, channels, eps=1e-2, affine=p.chance(70)), x)]
    if kind == "instance":
        return [p.layer([nn.InstanceNorm1d, nn.InstanceNorm2d][x.rank - 3](
            channels, eps=1e-2, affine=p.chance(50)), x)]
    if p.chance(50):
        make = nn.BatchNorm2d if x.rank == 4 else nn.BatchNorm1d
        return [p.layer(make(channels, affine=p.chance(70)), x)]
    mean = p.buffer(torch.zeros(channels)) if p.chance(50) else None
    state = (mean, p.buffer(torch.ones(channels))) if mean else (None, None)
    return [p.call(F.batch_norm, x, *state, p.weight((channels,)), p.weight((channels,)),
                   training=True, eps=1e-2)]


@step(2)
def softmax(p):
    x = p.pick()
    function = p.choice([torch.softmax, torch.softmax, torch.log_softmax, F.softmin])
    return [p.call(function, x, dim=p.axis(x))]


@step(4)
def product(p):
    x = p.pick(rank=(2, 3, 4), dtype=torch.float32)
    shape = [*x.shape[:-2], x.shape[-1], p.draw(1, 7)]
    kind = p.choice(["matmul", "broadcast", "vector", "bmm", "addmm", "outer", "baddbmm"])
    if kind == "broadcast":
        y = p.like(x, [1 if p.chance(50) else s for s in shape[:-2]] + shape[-2:])
        return [p.call(operator.matmul, x, y)]
    if kind == "vector":
        return [p.call(torch.matmul, x, p.like(x, shape[-2:-1]))]
    if kind == "outer":
        a, b = (p.move(torch.reshape, p.like(x, (p.draw(1, 6),)), (-1,)) for _ in "ab")
        return [p.call(torch.outer, a, b)]
    y = p.like(x, shape)
    if kind == "addmm":
        return [p.call(torch.addmm, p.like(x, (shape[-1],)), x, y, beta=0.5, alpha=2.0)]
    if kind == "bmm":
        return [p.call(torch.bmm, x, y)]
    if kind == "baddbmm":
        return [p.call(torch.baddbmm, p.like(x, (1, shape[-1])), x, y, beta=0.5)]
    return [p.call(torch.matmul, x, y)]


@step(3)
def einsum(p):
    x = p.pick(rank=(2, 3, 4), dtype=torch.float32)
    letters = "abcd"[:x.rank]
    kept = "".join(c for c in letters if p.chance(60))
    other = "".join(p.sample(letters, p.draw(1, x.rank))) + "e"
    sizes = dict(zip(letters, x.shape), e=p.draw(1, 5))
    result = "".join(p.sample(kept + "e", len(kept) + 1))
    return [p.call(torch.einsum, f"{letters},{other}->{result}", x,
                   p.like(x, [sizes[c] for c in other]))]


@step(4)
def attention(p):
    batch, heads, length, keys = p.draw(1, 3), p.choice([1, 2, 4]), p.draw(1, 7), p.draw(1, 7)
    head = p.choice([2, 3, 4, 8])
    options, mask = {}, p.choice(["none", "none", "causal", "bool", "float", "head"])
    if mask == "causal":
        keys = length
        options["is_causal"] = True
    if mask == "bool":
        given = p.take((batch, 1, length, keys), torch.bool)
        own = p.call(torch.eye, length, keys, dtype=torch.bool)
        first = p.call(torch.ones, length, 1, dtype=torch.bool)
        options["attn_mask"] = p.call(torch.logical_or, p.call(torch.logical_or, given, own),
                                      first)
    elif mask in ("float", "head"):
        options["attn_mask"] = p.take((length, keys) if mask == "float" else
                                      (batch, heads, length, keys), torch.float32)
    groups = p.choice([h for h in (1, 2, 4) if heads % h == 0])
    if groups != heads:
        options["enable_gqa"] = True
    if p.chance(30):
        options["scale"] = 0.3
    dtype = p.choice([torch.float32, torch.float32, torch.float32, torch.bfloat16])
    if dtype != torch.float32 and mask in ("float", "head"):
        dtype = torch.float32
    x = p.take((batch, length, heads * head), dtype)
    q = p.move(torch.transpose, p.move(torch.reshape, x, (batch, length, heads, head)), 1, 2)
    k, v = (p.take((batch, groups, keys, head), dtype) for _ in "kv")
    mixed = p.call(F.scaled_dot_product_attention, q, k, v, **options)
    mixed = p.move(torch.transpose, mixed, 1, 2)
    return [p.move(torch.reshape, mixed, (batch, length, heads * head))]


@step()
def multihead(p):
    x = p.pick(rank=3, dtype=torch.float32)
    if x.shape[2] % 2:
        x = p.move(torch.cat, [x, x], 2)
    layer = nn.MultiheadAttention(x.shape[2], 2, batch_first=p.chance(70))
    return [v for v in p.layer(layer, x, x, x, name="attention") if v]


# Rows and places ---------------------------------------------------------------------


def indices(p, shape, size):
    return p.take(tuple(shape), torch.int64, 0, size)


@step(3)
def embedding(p):
    rows = p.draw(2, 9)
    index = indices(p, p.shape(p.draw(1, 2)), rows)
    if p.chance(60):
        return [p.layer(nn.Embedding(rows, p.draw(1, 8), padding_idx=0 if p.chance(30) else None),
                        index, name="table")]
    return [p.call(F.embedding, index, p.weight((rows, p.draw(1, 8))))]


@step(3)
def gather(p):
    x = p.pick("any")
    at = p.draw(0, x.rank - 1)
    kind = p.choice(["gather", "take_along", "index_select", "take", "select"])
    if kind == "index_select":
        return [p.move(torch.index_select, x, at, indices(p, (p.draw(1, 6),), x.shape[at]))]
    if kind == "take":
        return [p.move(torch.take, x, indices(p, p.shape(2), x.tensor.numel()))]
    if kind == "select":
        return [p.move(torch.select, x, at, p.draw(-x.shape[at], x.shape[at] - 1))]
    shape = [s if i == at else p.draw(1, s) for i, s in enumerate(x.shape)]
    shape[at] = p.draw(1, 6)
    if kind == "gather":
        return [p.move(torch.gather, x, at, indices(p, shape, x.shape[at]))]
    whole = [1 if p.chance(30) else s for s in x.shape]
    whole[at] = shape[at]
    return [p.move(torch.take_along_dim, x, indices(p, whole, x.shape[at]), at)]


@step(3)
def advanced_index(p):
    x = p.pick("any", rank=(2, 3, 4))
    size, index = p.draw(1, 5), []
    for extent in x.shape:
        kind = p.choice(["all", "all", "rows", "number", "slice", "none", "back"])
        if kind == "rows":
            index.append(indices(p, (size,), extent))
        elif kind == "number":
            index.append(p.draw(-extent, extent - 1))
        elif kind == "slice":
            begin = p.draw(0, extent - 1)
            index.append(slice(begin, p.draw(begin + 1, extent), p.draw(1, 2)))
        elif kind == "back":
            index.append(slice(-p.draw(1, extent), None))
        else:
            index += [None] * (kind == "none") + [slice(None)]
    return [p.move(operator.getitem, x, tuple(index))]


@step(2)
def scatter(p):
    x = p.pick(rank=(1, 2, 3))
    at = p.draw(0, x.rank - 1)
    shape = [p.draw(1, s) for s in x.shape]
    index, source = indices(p, shape, x.shape[at]), p.like(x, shape)
    kind = p.choice(["scatter_add", "index_add", "index_put", "amax", "mean", "sum", "copy",
                     "fill", "scatter"])
    if kind == "scatter_add":
        return [p.call(torch.scatter_add, x, at, index, source)]
    if kind in ("amax", "mean", "sum"):
        return [p.call(torch.scatter_reduce, x, at, index, source, kind)]
    rows = indices(p, (p.draw(1, 4),), x.shape[at])
    block = p.like(x, [len(rows.tensor) if i == at else s for i, s in enumerate(x.shape)])
    if kind == "index_add":
        return [p.call(torch.index_add, x, at, rows, block)]
    # Each place once: which of several writes stays is not said.
    once = p.buffer(torch.randperm(x.shape[at], generator=p.generator())[:len(rows.tensor)])
    block = p.like(x, [len(once.tensor) if i == at else s for i, s in enumerate(x.shape)])
    if kind == "copy":
        return [p.move(torch.index_copy, x, at, once, block)]
    if kind == "fill":
        return [p.move(torch.index_fill, x, at, rows, 0.5)]
    if kind == "scatter":
        wide = p.move(torch.Tensor.expand, p.move(torch.reshape, once, [
            -1 if i == at else 1 for i in range(x.rank)]), block.shape)
        return [p.move(torch.scatter, x, at, wide, block)]
    index = tuple(once if i == at else slice(None) for i in range(at + 1))
    if at:
        return [p.call(torch.index_put, p.move(torch.transpose, x, 0, at), (once,),
                       p.move(torch.transpose, block, 0, at))]
    return [p.call(torch.index_put, x, index, block, accumulate=p.chance(40))]


@step(2)
def written_slice(p):
    x = p.pick(rank=(1, 2, 3))
    at = p.draw(0, x.rank - 1)
    begin = p.draw(0, x.shape[at] - 1)
    if p.chance(50):
        end = p.draw(begin + 1, x.shape[at])
        part = p.like(x, [end - begin if i == at else s for i, s in enumerate(x.shape)])
        return [p.move(torch.slice_scatter, x, part, at, begin, end)]
    part = p.like(x, [s for i, s in enumerate(x.shape) if i != at])
    return [p.move(torch.select_scatter, x, part, at, begin)]


@step()
def one_hot(p):
    return [p.call(F.one_hot, indices(p, p.shape(p.draw(1, 2)), 5), 5)]


@step(2)
def order(p):
    x = p.pick(dtype=torch.float32)
    axis = p.axis(x)
    kind = p.choice(["sort", "topk", "argsort", "max", "min", "argmax", "argmin", "kthvalue",
                     "median", "cummax"])
    if kind == "topk":
        return p.call(torch.topk, x, p.draw(1, x.shape[axis]), dim=axis, largest=p.chance(70))
    if kind == "sort":
        return p.call(torch.sort, x, dim=axis, descending=p.chance(50))
    if kind == "argsort":
        return [p.call(torch.argsort, x, dim=axis, descending=p.chance(50))]
    if kind in ("argmax", "argmin"):
        return [p.call(getattr(torch, kind), x, dim=axis, keepdim=p.chance(30))]
    if kind == "kthvalue":
        return p.call(torch.kthvalue, x, p.draw(1, x.shape[axis]), dim=axis)
    return p.call(getattr(torch, kind), x, dim=axis)


@step(2)
def cumulative(p):
    x = p.pick("number")
    kind = p.choice(["cumsum", "cumsum", "cumprod", "logcumsumexp"])
    if kind != "cumsum":
        x = p.call(torch.tanh, p.pick())
    return [p.call(getattr(torch, kind), x, dim=p.axis(x))]


@step()
def searched(p):
    edges = p.call(torch.cumsum, p.call(torch.abs, p.weight((p.draw(2, 6),))), 0)
    x = p.pick(dtype=torch.float32)
    return [p.call(torch.bucketize, x, edges, right=p.chance(50))]


# Reductions ------------------------------------------------------------------------------


@step(5)
def reduction(p):
    x = p.pick()
    kind = p.choice(["sum", "mean", "var", "std", "norm", "norm1", "logsumexp", "amax", "amin",
                     "prod", "var_mean", "vector_norm", "all", "maxnorm", "nansum", "aminmax"])
    axes, keep = p.axes_of(x), {"keepdim": p.chance(40)}
    if kind in ("var", "std"):
        return [p.call(getattr(torch, kind), p.call(torch.add, x, 0.0), dim=axes,
                       correction=p.choice([0, 1]) if x.tensor.numel() > 1 else 0, **keep)]
    if kind == "var_mean":
        return p.call(torch.var_mean, x, dim=axes, correction=0, **keep)
    if kind in ("norm", "norm1"):
        return [p.call(torch.norm, x, p=2 if kind == "norm" else 1, dim=axes, **keep)]
    if kind == "vector_norm":
        return [p.call(torch.linalg.vector_norm, x, p.choice([2, 3, 1, 0.5]), axes, **keep)]
    if kind == "maxnorm":
        return [p.call(torch.linalg.vector_norm, x, float("inf"), axes, **keep)]
    if kind == "prod":
        return [p.call(torch.prod, p.call(torch.tanh, x), dim=axes[0], **keep)]
    if kind == "aminmax":
        return p.call(torch.aminmax, x, dim=axes[0], **keep)
    if kind == "all":
        return [p.call(p.choice([torch.sum, torch.mean, torch.max, torch.min, torch.std,
                                 torch.norm]), x)]
    return [p.call(getattr(torch, kind), x, dim=axes, **keep)]


@step()
def exact_reduction(p):
    x = p.pick(p.choice(["bool", "int"]))
    if x.tensor.dtype == torch.bool:
        return [p.call(p.choice([torch.any, torch.all, torch.sum, torch.count_nonzero]), x,
                       dim=p.axis(x))]
    return [p.call(p.choice([torch.sum, torch.amax, torch.amin, torch.any]), x, dim=p.axis(x))]


@step(2)
def loss(p):
    x = p.pick(dtype=torch.float32)
    kind = p.choice(["mse", "l1", "smooth", "huber", "cross", "bce", "nll", "kl", "cosine"])
    if kind in ("mse", "l1", "smooth", "huber"):
        function = {"mse": F.mse_loss, "l1": F.l1_loss, "smooth": F.smooth_l1_loss,
                    "huber": F.huber_loss}[kind]
        return [p.call(function, x, p.like(x), reduction=p.choice(["mean", "sum", "none"]))]
    if kind == "bce":
        target = p.call(torch.sigmoid, p.like(x))
        return [p.call(F.binary_cross_entropy_with_logits, x, target)]
    if kind == "kl":
        x, y = (p.call(torch.log_softmax, v, dim=-1) for v in (x, p.like(x)))
        return [p.call(F.kl_div, x, y, reduction="batchmean", log_target=True)]
    if kind == "cosine":
        return [p.call(F.cosine_similarity, x, p.like(x), dim=p.axis(x), eps=1e-2)]
    x = p.pick(rank=(2, 3), dtype=torch.float32)
    target = indices(p, (x.shape[0], *x.shape[2:]), x.shape[1])
    options = {"ignore_index": 0} if p.chance(30) else {}
    if kind == "nll":
        return [p.call(F.nll_loss, p.call(torch.log_softmax, x, dim=1), target, **options)]
    if p.chance(40):
        options["label_smoothing"] = 0.1
    return [p.call(F.cross_entropy, x, target, **options)]


# Shapes --------------------------------------------------------------------------------


@step(5)
def reshape(p):
    x = p.pick("any")
    kind = p.choice(["flatten", "permute", "transpose", "unsqueeze", "squeeze", "split",
                     "merge", "unflatten", "view", "movedim", "T"])
    if kind == "flatten":
        return [p.move(torch.flatten, x, p.draw(0, x.rank - 1))]
    if kind == "permute":
        return [p.move(torch.permute, x, p.sample(range(x.rank), x.rank))]
    if kind in ("transpose", "movedim"):
        return [p.move(getattr(torch, kind), x, p.axis(x), p.axis(x))]
    if kind == "unsqueeze":
        return [p.move(torch.unsqueeze, x, p.axis(x))]
    if kind == "squeeze":
        return [p.move(torch.squeeze, x)]
    if kind == "T":
        return [p.move(torch.Tensor.contiguous, p.move(torch.adjoint, x))]
    at = p.draw(0, x.rank - 1)
    size = x.shape[at]
    if kind in ("split", "unflatten"):
        factor = p.choice([f for f in range(1, size + 1) if size % f == 0])
        if kind == "unflatten":
            return [p.move(torch.unflatten, x, at, (factor, size // factor))]
        return [p.move(torch.reshape, x, (*x.shape[:at], factor, -1, *x.shape[at + 1:]))]
    return [p.move(torch.reshape, x, (-1, x.shape[-1]) if kind == "merge" else (-1,))]


@step(4)
def parts(p):
    x = p.pick("any")
    at = p.draw(0, x.rank - 1)
    size = x.shape[at]
    kind = p.choice(["split", "chunk", "sizes", "unbind", "narrow", "tensor_split"])
    if kind == "narrow":
        begin = p.draw(0, size - 1)
        return [p.move(torch.narrow, x, at, begin, p.draw(1, size - begin))]
    if kind == "unbind":
        return p.move(torch.unbind, x, at)[:3]
    if kind == "sizes":
        first = p.draw(0, size)
        return p.move(torch.split, x, [first, size - first], at)
    return p.move({"split": torch.split, "chunk": torch.chunk,
                   "tensor_split": torch.tensor_split}[kind], x, p.draw(1, 3), at)[:3]


@step(4)
def join(p):
    x = p.pick("any")
    at = p.draw(0, x.rank - 1)
    if p.chance(40):
        return [p.move(torch.stack, [x, p.like(x)], p.draw(-1, x.rank))]
    others = [p.like(x, [p.draw(1, 5) if i == at else s for i, s in enumerate(x.shape)])
              for _ in range(p.draw(1, 2))]
    return [p.move(torch.cat, [x, *others], at)]


@step(4)
def turn(p):
    x = p.pick("any")
    kind = p.choice(["roll", "flip", "repeat", "tile", "expand", "repeat_interleave", "rot90",
                     "diagonal", "tril", "triu", "diff", "unfold", "roll_all"])
    at = p.axis(x)
    if kind == "roll":
        return [p.move(torch.roll, x, p.draw(-3, 3), at)]
    if kind == "roll_all":
        return [p.move(torch.roll, x, p.draw(-3, 3))]
    if kind == "flip":
        return [p.move(torch.flip, x, p.axes_of(x))]
    if kind == "rot90":
        return [p.move(torch.rot90, x, p.draw(1, 3), p.sample(range(x.rank), 2))]
    if kind in ("repeat", "tile"):
        counts = [p.draw(1, 2) for _ in range(x.rank + p.draw(0, 1))]
        return [p.move(torch.Tensor.repeat if kind == "repeat" else torch.tile, x, counts)]
    if kind == "expand":
        return [p.move(torch.Tensor.expand, x, (p.draw(1, 3), *x.shape))]
    if kind == "repeat_interleave":
        return [p.move(torch.repeat_interleave, x, p.draw(1, 3), dim=at)]
    if kind in ("diagonal", "tril", "triu"):
        return [p.move(getattr(torch, kind), x, p.draw(-1, 1))]
    if kind == "diff":
        return [p.call(torch.diff, x, dim=at)]
    # PyTorch's select_scatter writes one element for all that lie in its place.
    unfolded = p.move(torch.Tensor.unfold, x, at, p.draw(1, x.shape[at]), p.draw(1, 2))
    return [p.move(torch.Tensor.contiguous, unfolded)]


@step(3)
def pad(p):
    x = p.pick(rank=(2, 3, 4))
    mode = p.choice(["constant", "constant", "reflect", "replicate", "circular"])
    dims = p.draw(1, x.rank if mode == "constant" else x.rank - 1)
    sizes = []
    for size in reversed(x.shape[-dims:]):
        least = -1 if mode == "constant" and size > 3 and p.chance(30) else 0
        sizes += [p.draw(least, min(size - 1, 3)), p.draw(least, min(size - 1, 3))]
    value = {"value": 0.5} if mode == "constant" and p.chance(40) else {}
    return [p.move(F.pad, x, sizes, mode=mode, **value)]


@step()
def patches(p):
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), 4)
    kernel = draw_window(p, x.shape[2:])
    kind = p.choice(["unfold", "shuffle", "unshuffle", "fold"])
    if kind == "unfold":
        return [p.move(F.unfold, x, kernel, padding=p.draw(0, 1), stride=p.draw(1, 2),
                       dilation=p.draw(1, 2))]
    if kind == "fold":
        columns = p.move(F.unfold, x, kernel)
        return [p.call(F.fold, columns, x.shape[2:], kernel)]
    return [p.move(F.pixel_shuffle if kind == "shuffle" else F.pixel_unshuffle, x, 2)]


@step(2)
def interpolate(p):
    dims = p.choice([1, 2, 2])
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), dims + 2)
    mode = p.choice(["nearest", "nearest-exact", "area", "linear" if dims == 1 else "bilinear",
                     "bilinear" if dims == 2 else "linear", "bicubic"])
    options = {"mode": mode}
    if mode in ("linear", "bilinear", "bicubic"):
        options["align_corners"] = p.chance(40)
    if p.chance(50):
        options["scale_factor"] = p.choice([2, 2.0, 1.5, 0.5])
    else:
        options["size"] = tuple(p.draw(1, 8) for _ in range(dims))
    return [p.call(F.interpolate, x, **options)]


@step(2)
def made(p):
    x = p.pick("any")
    size = x.shape[-1]
    kind = p.choice(["arange", "full_like", "zeros", "ones", "linspace", "eye", "meshgrid"])
    if kind == "arange":
        return [p.call(torch.arange, size)]
    if kind == "full_like":
        return [p.call(torch.full_like, x, 1)]
    if kind in ("zeros", "ones"):
        return [p.call(getattr(torch, kind), size, 2)]
    if kind == "linspace":
        return [p.call(torch.linspace, -1.0, 1.0, size)]
    if kind == "eye":
        return [p.call(torch.eye, size)]
    a, b = (p.call(torch.arange, n) for n in (size, 3))
    return p.call(torch.meshgrid, a, b, indexing=p.choice(["ij", "xy"]))


@step()
def grid(p):
    x = reshape_for(p, p.pick(rank=(2, 3, 4), dtype=torch.float32), 4)
    places = p.call(torch.tanh, p.take((x.shape[0], p.draw(1, 4), p.draw(1, 4), 2),
                                       torch.float32))
    return [p.call(F.grid_sample, x, places, mode=p.choice(["bilinear", "nearest"]),
                   padding_mode=p.choice(["zeros", "border"]), align_corners=p.chance(50))]


@step()
def recurrent(p):
    x = p.pick(rank=3, dtype=torch.float32)
    kind = p.choice([nn.LSTM, nn.GRU, nn.RNN])
    layer = kind(x.shape[2], p.draw(1, 4), batch_first=p.chance(70),
                 bidirectional=p.chance(30))
    return p.layer(layer, x, name="cells")[:1]


@step()
def encoder(p):
    x = p.pick(rank=3, dtype=torch.float32)
    if x.shape[2] % 2:
        x = p.move(torch.cat, [x, x], 2)
    layer = nn.TransformerEncoderLayer(x.shape[2], 2, 6, batch_first=True, dropout=0.0,
                                       activation=p.choice(["relu", "gelu"]),
                                       norm_first=p.chance(50))
    return [p.layer(layer, x, name="block")]

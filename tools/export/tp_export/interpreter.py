# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of PyTorch's graphs as torchax has them, and what it does otherwise than
PyTorch."""

import contextlib
import math
import operator
import re

import jax
import jax.numpy as jnp
import numpy as np
import torch

from .operators import torchax

aten = torch.ops.aten
# PyTorch's kernels compute these in f32 and round once, torchax rounds every step.
WIDE = {aten._log_softmax.default, aten._softmax.default, aten.gelu.default,
        aten.native_group_norm.default, aten.native_layer_norm.default, aten.silu.default}
POOLS = {aten.avg_pool1d.default, aten.avg_pool2d.default, aten.avg_pool3d.default}
ADAPTIVE_POOLS = {aten.adaptive_max_pool2d.default, aten.adaptive_max_pool3d.default}


def deviate(x, dim=None, *, correction=1, keepdim=False):
    """The standard deviation, whose gradient is 0 where it is 0 itself, as PyTorch's."""
    variance = jnp.var(x, tuple(dim) if dim else None, keepdims=keepdim,
                       ddof=1 if correction is None else correction)
    is_flat = variance == 0
    return jnp.where(is_flat, 0, jnp.sqrt(jnp.where(is_flat, 1, variance)))


# What these are decomposed into has no derivative at 0.
WHOLE = {aten.sinc.default: jnp.sinc, aten.std.correction: deviate}
# What PyTorch asserts of values, as one_hot does, no program can stop for.
CHECKS = {aten._assert_async.default, aten._assert_async.msg, aten._assert_scalar.default,
          aten._assert_tensor_metadata.default}
# A mixture of experts, as the transformers library and PyTorch have it.
GROUPED_PRODUCTS = {"transformers::grouped_mm_fallback", "aten::_grouped_mm"}
# What cuts features out of rows, and which argument says that it cuts these.
CUTS = {aten.slice.Tensor: 1, aten.split.Tensor: 2, aten.split_with_sizes.default: 2}
ATTENTION_GRADIENTS = "aten::_scaled_dot_product_flash_attention_for_cpu_backward"
# torchax counts dimensions from the front only here.
RUNNING = {aten.cummax.default, aten.cummin.default}
FOURIER = {aten._fft_c2c.default, aten._fft_r2c.default, aten._fft_c2r.default}


class Interpreter(torchax.export.JaxInterpreter):
    """Calls operations by the submodule that they are of."""

    def __init__(self, graph_module):
        super().__init__(graph_module)
        self.offsets = find_stacked(graph_module.graph)

    def run_node(self, node):
        self.node = node
        self.place = f"{get_place(node)}: "
        path = [path for path, _ in node.meta.get("nn_module_stack", {}).values()]
        with jax.named_scope(path[-1]) if path and path[-1] else contextlib.nullcontext():
            return super().run_node(node)

    def call_function(self, target, args, kwargs):
        if target in CHECKS:
            return None
        # torchax's convolutions write to the lists that they are given.
        args = tuple(list(arg) if isinstance(arg, list) else arg for arg in args)
        if target in CUTS and self.node in self.offsets:  # the groups stand before the rows
            at = CUTS[target]
            args = (*args[:at], -1, *args[at + 1:])
        call = super().call_function
        if target is aten.convolution.default and args[6] and args[8] > 1:
            return convolve_groups(call, *args)
        if target in POOLS and len(args) > 4 and args[4]:
            return pool_to_the_end(call, target, *args, **kwargs)
        if target in FOURIER:
            return transform(target, *args)
        if target in ADAPTIVE_POOLS:
            return pool_adaptively(*args)
        if target in WHOLE:
            return WHOLE[target](*args, **kwargs)
        if target in RUNNING and args[0].ndim:
            args = (args[0], args[1] % args[0].ndim)
        if target is aten.logcumsumexp.default:  # JAX counts dimensions from the front only
            return jax.lax.cumlogsumexp(args[0], args[1] % args[0].ndim) if args[0].ndim else args[0]
        if isinstance(target, torch._ops.OpOverload):
            if target.name() in GROUPED_PRODUCTS:
                return self.multiply_groups(*args, **kwargs)
            if target.name() == ATTENTION_GRADIENTS:
                return attend_backward(*args, **kwargs)
            operation = find_operation(target)
            if operation is None:
                raise NotImplementedError(
                    f"{self.place}{target} cannot be converted to StableHLO by torchax: write "
                    "the same computation with operators of torch.nn.functional")
            if operation.needs_env and torch.Tag.nondeterministic_seeded in target.tags:
                raise NotImplementedError(
                    f"{self.place}{target} draws random numbers, which is not supported: "
                    "draw them outside the module, and pass them as an input")
        element = getattr(args[0], "dtype", None) if args else None
        if target not in WIDE or element not in (jnp.bfloat16, jnp.float16):
            return super().call_function(target, args, kwargs)
        widened = super().call_function(target, convert(args, element, jnp.float32), kwargs)
        return convert(widened, jnp.float32, element)

    def multiply_groups(self, x, weights, offs=None, bias=None, out_dtype=None):
        """The rows of `x`, in groups that end at `offs`, each by the matrix of its group."""
        if weights.ndim != 3 or offs is None or self.node.args[0].meta["val"].ndim != 2:
            raise NotImplementedError(
                f"{self.place}a grouped matmul of operands of rank {x.ndim} and {weights.ndim}, "
                f"{'with' if offs is not None else 'without'} offsets, is not supported: write it "
                "as groups of rows with offsets, and one matrix for each group")
        if self.node in self.offsets:
            product = jnp.einsum("ri,gio->gro", x, weights)
        elif self.node.args[0] in self.offsets:
            row, first = jnp.arange(x.shape[1]), jnp.pad(offs, (1, 0))[:-1]
            is_within = (first[:, None] <= row) & (row < offs[:, None])
            product = jnp.einsum("gri,gio->ro", jnp.where(is_within[..., None], x, 0), weights)
        else:
            product = jax.lax.ragged_dot(x, weights, jnp.diff(offs, prepend=0))
        if bias is not None:
            product = product + bias
        if out_dtype is not None:
            product = product.astype(torchax.ops.mappings.t2j_dtype(out_dtype))
        return product


def find_operation(target):
    known = torchax.export.ops_registry.all_aten_ops
    return known.get(target) or known.get(target.overloadpacket)


def get_place(node):
    """Where the module has what became this node, as file:line."""
    places = re.findall(r'File "(.*?)", line (\d+)', node.meta.get("stack_trace") or "")
    return ":".join(places[-1]) if places else "the module"


def find_stacked(graph):
    """The nodes whose rows, which are in groups, are computed as if they were of each group,
    and the offsets of these. They are what stands between two products of the same groups:
    a sum over groups, of which each row is of one, would otherwise be in between, and be sent
    where devices have groups of their own."""
    offsets, refused = {}, set()
    while True:
        for node in graph.nodes:
            if node in refused or node.op != "call_function":
                continue
            found = {offsets[each] for each in node.all_input_nodes if each in offsets}
            if is_grouped_product(node):
                if not found:
                    offsets[node] = get_offsets(node)
            elif len(found) == 1 and keeps_rows(node):
                offsets[node] = found.pop()
        wrong = {node for node, groups in offsets.items() if not node.users or any(
            user.target not in CHECKS and offsets.get(user) is not groups and not (
                is_grouped_product(user) and user.args[0] is node
                and get_offsets(user) is groups) for user in node.users)}
        if not wrong:
            return offsets
        refused |= wrong
        offsets = {}


def is_grouped_product(node):
    return isinstance(node.target, torch._ops.OpOverload) and node.target.name() in GROUPED_PRODUCTS


def get_offsets(node):
    return node.kwargs.get("offs", node.args[2] if len(node.args) > 2 else None)


def keeps_rows(node):
    """Whether each row of a result is made of that row of what goes in."""
    if node.target in CUTS:
        at = CUTS[node.target]
        return len(node.args) > at and node.args[at] in (-1, node.args[0].meta["val"].ndim - 1)
    if node.target is operator.getitem:
        return True
    return (isinstance(node.target, torch._ops.OpOverload)
            and torch.Tag.pointwise in node.target.tags and node.meta["val"].ndim == 2)


def attend_backward(gradient, q, k, v, output, sums, dropout, is_causal, *, attn_mask=None,
                    scale=None):
    """Gradients of q, k and v. The attention is computed again: what its forward pass gives
    as `sums` depends on how PyTorch decomposes it."""
    if dropout:
        raise NotImplementedError("gradients of attention with dropout are not supported: "
                                  "export the module after eval()")
    mask = jnp.tril(jnp.ones((q.shape[-2], k.shape[-2]), bool)) if is_causal else attn_mask

    def attend(q, k, v):
        q, k, v = (x.astype(jnp.float32) for x in (q, k, v))
        scores = q @ k.swapaxes(-1, -2) * (scale or q.shape[-1] ** -0.5)
        if mask is not None:
            scores = jnp.where(mask, scores, -jnp.inf) if mask.dtype == bool else scores + mask
        return (jax.nn.softmax(scores, -1) @ v).astype(gradient.dtype)
    return jax.vjp(attend, q, k, v)[1](gradient)


def transform(target, x, dims, scaling, option):
    """Fourier's transform of dimensions, the last of which may lose the half that the other
    half says. Each is a product with its matrix, which is cut as others are."""
    is_half, is_inverse = target is aten._fft_r2c.default, target is aten._fft_c2r.default
    sign = 1 if is_inverse or (target is aten._fft_c2c.default and not option) else -1
    real = x.dtype if is_half else jnp.real(x).dtype
    # From the end: the last dimension is the first that r2c transforms, c2r's last.
    for dim in dims if is_inverse else reversed(dims):
        size, rows, is_last = x.shape[dim], x.shape[dim], dim == dims[-1]
        columns = size
        if is_last and is_inverse:
            columns = size = option
        elif is_last and is_half and option:
            columns = size // 2 + 1
        angle = 2 * math.pi / size * (
            jnp.arange(rows)[:, None] * jnp.arange(columns) % size).astype(real)
        # Half of the numbers stand for two each, but for the first and the middle one.
        weight = {0: 1, 1: size ** -0.5, 2: 1 / size}[scaling] * jnp.ones((rows, 1), real)
        if is_last and is_inverse:
            numbers = jnp.arange(rows)[:, None]
            weight = weight * jnp.where((numbers == 0) | (2 * numbers == size), 1, 2)
        parts = [weight * jnp.cos(angle), sign * weight * jnp.sin(angle)]
        apply = lambda x, matrix, at=dim: jnp.moveaxis(
            jnp.tensordot(x, matrix, ((at,), (0,))), -1, at)
        if is_last and is_inverse:
            x = apply(jnp.real(x), parts[0]) - apply(jnp.imag(x), parts[1])
        elif jnp.iscomplexobj(x):
            x = apply(x, jax.lax.complex(*parts))
        else:
            x = jax.lax.complex(*(apply(x, part) for part in parts))
    return x


def convolve_groups(call, x, weight, bias, *options):
    """A transposed convolution, whose groups torchax mixes, group by group."""
    groups, channels = options[-1], x.ndim - weight.ndim + 1
    parts = [jnp.split(x, groups, channels), jnp.split(weight, groups),
             jnp.split(bias, groups) if bias is not None else [None] * groups]
    return jnp.concatenate(
        [call(aten.convolution.default, (*part, *options[:-1], 1), {})
         for part in zip(*parts)], channels)


def pool_to_the_end(call, target, x, kernel, stride=(), padding=(0,), ceil_mode=True,
                    with_padding=True, divisor=None):
    """An average over windows that reach over the end, whose padding torchax counts
    wrong: a window is as large as what is of it within the tensor and its padding."""
    mean = call(target, (x, kernel, stride, padding, ceil_mode, False), {})
    if divisor is None and not with_padding:
        return mean
    stride = stride or kernel
    counted = []
    for i in range(len(kernel)):
        size, step, edge = (x.shape[i - len(kernel)], stride[i % len(stride)],
                            padding[i % len(padding)])
        first = np.arange(mean.shape[i - len(kernel)]) * step - edge
        inside = np.minimum(first + kernel[i], size) - np.maximum(first, 0)
        counted.append(inside if divisor is not None
                       else inside / (np.minimum(first + kernel[i], size + edge) - first))
    factor = math.prod(np.ix_(*counted)) / (divisor or 1)
    return mean * jnp.asarray(factor, mean.dtype)


def pool_adaptively(x, sizes):
    """The largest element of each of so many windows, and its place among all of them."""
    first, windows = x.ndim - len(sizes), np.zeros((1, 1), np.int32)
    for size, extent in zip(sizes, x.shape[first:]):
        begin, end = np.arange(size) * extent // size, -(-np.arange(1, size + 1) * extent // size)
        # A shorter window has its last row several times.
        rows = np.minimum(begin[:, None] + np.arange((end - begin).max()), end[:, None] - 1)
        windows = windows[:, None, :, None] * extent + rows[:, None, :]
        windows = windows.reshape(-1, windows.shape[2] * rows.shape[1])
    elements = x.reshape(*x.shape[:first], -1)[..., windows]
    places = jnp.take_along_axis(jnp.asarray(windows), jnp.argmax(elements, -1).reshape(
        -1, len(windows)).T, 1).T
    shape = (*x.shape[:first], *sizes)
    return elements.max(-1).reshape(shape), places.reshape(shape)


def convert(values, old, new):
    """Those of element type `old` as `new`."""
    return jax.tree.map(lambda value: value.astype(new)
                        if getattr(value, "dtype", None) == old else value, values)

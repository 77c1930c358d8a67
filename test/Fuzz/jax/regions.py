# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps with functions in them: control flow, transformations, and regions that are
written for one device."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import PartitionSpec

from steps import derive, draw_convolution, step


def draw_body(p, rank):
    """A function of a tensor that keeps its shape and its type."""
    parts = []
    for _ in range(p.draw(1, 3)):
        axis, shift = p.draw(0, max(rank - 1)), p.draw(-2, 2)
        choices = [jnp.tanh, lambda x: x * 0.5 + 1, jnp.sin,
                   lambda x: jnp.where(x > 100, x, -x)]
        if rank:
            choices += [lambda x: jnp.roll(x, shift, axis),
                        lambda x: jnp.cumsum(x, axis) * 0.25,
                        lambda x: x - jnp.mean(x, axis, keepdims=True),
                        lambda x: jax.nn.softmax(x, axis),
                        lambda x: jnp.flip(x, axis),
                        lambda x: x * jnp.sum(x * 0.125)]
        parts.append(p.choice(choices))

    def body(x):
        dtype = x.dtype
        for part in parts:
            x = part(x).astype(dtype)
        return x
    return body


@step(2)
def gradient(p):
    x = p.pick(kind="float")
    body = draw_body(p, len(x.shape))
    w = p.like(x)
    _, pull = jax.vjp(lambda a, b: body(a * b), x.array, w.array)
    left, right = pull(jnp.ones_like(x.array))
    return [derive(left, [x, w]), derive(right, [x, w])]


@step()
def gradient_of_convolution(p):
    x, w, function = draw_convolution(p)
    loss = lambda a, b: jnp.sum(jnp.tanh(function(a, b)))
    left, right = jax.grad(loss, argnums=(0, 1))(x.array, w.array)
    return [derive(left, [x, w]), derive(right, [x, w])]


@step()
def gradient_of_pool(p):
    x = p.get((p.draw(1, 2), p.draw(4, 9), p.draw(4, 9), 2), jnp.float32)
    window = (1, p.draw(1, 4), p.draw(1, 3), 1)
    strides = (1, p.draw(1, 3), p.draw(1, 3), 1)
    # What is largest jumps.
    combine, init = (lax.max, -np.inf) if x.is_exact and p.chance(70) else (lax.add, 0.0)
    padding = p.choice(["SAME", "VALID"])

    def loss(a):
        return jnp.sum(jnp.tanh(lax.reduce_window(a, init, combine, window, strides,
                                                  padding)))
    return [derive(jax.grad(loss)(x.array), [x])]


@step()
def gradient_of_gather(p):
    x = p.pick(kind="float", least=1)
    places = p.indices((p.draw(1, 5),))

    def loss(a):
        return jnp.sum(jnp.tanh(jnp.take(a, places, axis=0, mode="clip")).astype(jnp.float32))
    return [derive(jax.grad(loss)(x.array), [x])]


@step(2)
def scan(p):
    x = p.pick(kind="float", least=1)
    body = draw_body(p, len(x.shape) - 1)

    def turn(carry, row):
        carry = body(carry + row)
        return carry, carry * 2
    last, all_ = lax.scan(turn, jnp.zeros_like(x.array[0]), x.array, reverse=p.chance(30))
    return [derive(last, [x]), derive(all_, [x])]


@step()
def scan_gradient(p):
    x = p.pick(kind="float", least=2)
    w = p.get((x.shape[-1],), x.dtype)

    def loss(a, b):
        last, _ = lax.scan(lambda c, row: (jnp.tanh(c * b + row), None),
                           jnp.zeros_like(a[0]), a)
        return jnp.sum(last.astype(jnp.float32))
    left, right = jax.grad(loss, (0, 1))(x.array, w.array)
    return [derive(left, [x, w]), derive(right, [x, w])]


@step()
def while_loop(p):
    x, end = p.pick(kind="float"), p.index()
    body = draw_body(p, len(x.shape))
    _, result = lax.while_loop(lambda s: s[0] < jnp.minimum(end, 4),
                               lambda s: (s[0] + 1, body(s[1])), (0, x.array))
    return [derive(result, [x])]


@step()
def condition(p):
    x, which = p.pick(kind="float"), p.index()
    bodies = [draw_body(p, len(x.shape)) for _ in range(p.draw(2, 3))]
    if len(bodies) == 2:
        return [derive(lax.cond(which > 1, *bodies, x.array), [x])]
    return [derive(lax.switch(which, bodies, x.array), [x])]


@step()
def mapped(p):
    x = p.pick(kind="float", least=2)
    body = draw_body(p, len(x.shape) - 1)
    axis = p.axis(x)
    result = jax.vmap(body, axis, p.choice([0, axis]))(x.array)
    return [derive(result, [x])]


# Regions for one device -----------------------------------------------------------


def draw_place(p, shape, axes):
    """A dimension that an axis divides, and the axis; None if there is none."""
    places = [(dim, name) for dim, size in enumerate(shape) for name in axes
              if size % p.axes[name] == 0 and size]
    return p.choice(places) if places else None


def draw_exchange(p, shape, name):
    """Collectives along an axis that keep a block's shape."""
    size, dim = p.axes[name], p.draw(0, len(shape) - 1)
    shift = p.draw(1, 3)
    ring = [(i, (i + shift) % size) for i in range(size)]
    other = p.draw(0, len(shape) - 1)

    def by_branch(x):
        return lax.cond(lax.axis_index(name) % 2 == 0, lambda y: y * 2, lambda y: -y, x)
    choices = [
        lambda x: lax.psum(x, name),
        lambda x: lax.pmax(x, name),
        lambda x: lax.pmean(x, name),
        lambda x: lax.ppermute(x, name, ring),
        lambda x: x + lax.axis_index(name).astype(x.dtype),
        lambda x: lax.psum_scatter(lax.all_gather(x, name, axis=dim, tiled=True), name,
                                   scatter_dimension=dim, tiled=True),
        lambda x: jnp.max(lax.all_gather(x, name), 0),
        by_branch,
        lambda x: jnp.sort(x, axis=dim),
        lambda x: lax.fori_loop(0, 2, lambda i, y: lax.ppermute(y, name, ring) + 1, x),
    ]
    if shape[dim] % size == 0 and other != dim:
        choices.append(lambda x: lax.all_to_all(
            lax.all_to_all(x, name, dim, other, tiled=True) * 2, name, other, dim,
            tiled=True))
    return p.choice(choices)


def map_block(p, body, x, dim, name):
    """`body` of each block of x along an axis, in a region of its own."""
    spec = PartitionSpec(*[name if i == dim else None for i in range(x.ndim)])
    # As one device has it: XLA's CPU has no regions over some axes only.
    names = {name} if p.is_export else set(p.axes)
    return jax.shard_map(body, mesh=p.mesh, in_specs=spec, out_specs=spec,
                         axis_names=names, check_vma=False)(x)


def map_inner(p, body, x, dim, name):
    """The same inside of a region over another axis."""
    if p.is_export:
        spec = PartitionSpec(*[name if i == dim else None for i in range(x.ndim)])
        return jax.shard_map(body, in_specs=spec, out_specs=spec, axis_names={name},
                             check_vma=False)(x)
    length = x.shape[dim] // p.axes[name]
    block = lax.dynamic_slice_in_dim(x, lax.axis_index(name) * length, length, dim)
    return lax.all_gather(body(block), name, axis=dim, tiled=True)


def cut(shape, dim, size):
    return tuple(s // size if i == dim else s for i, s in enumerate(shape))


@step(4)
def region(p):
    x = p.pick(kind="float", least=1)
    place = draw_place(p, x.shape, p.axes)
    if not place:
        raise ValueError("no axis divides this")
    dim, name = place
    shape = cut(x.shape, dim, p.axes[name])
    parts = [draw_exchange(p, shape, name) if p.chance(60) else
             draw_body(p, len(shape)) for _ in range(p.draw(1, 3))]
    inner = draw_place(p, shape, [a for a in p.axes if a != name])
    if inner and p.chance(25):
        inner_shape = cut(shape, inner[0], p.axes[inner[1]])
        within = draw_exchange(p, inner_shape, inner[1])
        parts.append(lambda b: map_inner(p, within, b, *inner))

    def body(block):
        for part in parts:
            block = part(block).astype(x.dtype)
        return block
    return [derive(map_block(p, body, x.array, dim, name), [x])]


@step()
def region_gradient(p):
    x = p.pick(kind="float", least=1)
    place = draw_place(p, x.shape, p.axes)
    if not place:
        raise ValueError("no axis divides this")
    dim, name = place

    def body(block):
        return jnp.tanh(lax.psum(block * 0.5, name) + block)

    def loss(a):
        return jnp.sum(map_block(p, body, a, dim, name).astype(jnp.float32))
    return [derive(jax.grad(loss)(x.array), [x])]

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs programs of JAX on four devices in tp-run, and compares with JAX.

    regions_jax.py FOLDER NAME

A program is a list of functions of the same arguments. Those without jax.shard_map are
compared with JAX on one device: its partitioner counts the initial value of a window
that it cuts more than once."""

import os
import pathlib
import subprocess
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("x", "y"))
random = np.random.default_rng(0)


def draw(*shape):
    return random.normal(size=shape).astype(np.float32)


def over(axes, f, inputs, outputs):
    """A region that is manual along `axes`, outermost if `f` stands in none."""
    return jax.shard_map(f, mesh=mesh, in_specs=inputs, out_specs=outputs,
                         axis_names=set(axes), check_vma=False)


def within(axes, f, inputs, outputs):
    """A region in another one."""
    return jax.shard_map(f, in_specs=inputs, out_specs=outputs, axis_names=set(axes),
                         check_vma=False)


def by_x(f):
    return over("x", f, P("x"), P("x"))


def by_both(f):
    return over("xy", f, P("x", "y"), P("x", "y"))


def by_x_then_y(f, inputs=P(None, "y"), outputs=P(None, "y")):
    return by_x(lambda a: within("y", f, inputs, outputs)(a))


def x():
    return lax.axis_index("x")


def y():
    return lax.axis_index("y")


partial = [
    by_x(lambda a: jnp.sort(a, axis=1)),
    by_x(lambda a: jnp.argsort(a, axis=0)),
    by_x(lambda a: jnp.argsort(a, axis=1, descending=True)),
    by_x(lambda a: lax.sort((jnp.round(a), a), num_keys=2)[1]),
    by_x(lambda a: jnp.median(a, axis=1)),
    by_x(lambda a: jnp.lexsort((a, jnp.round(a)), axis=1)),
    by_x(lambda a: lax.approx_max_k(a, 2)[0]),
    by_x(lambda a: jnp.argmax(a, axis=1)),
    by_x(lambda a: lax.cummax(a, axis=1)),
    by_x(jax.grad(lambda a: (lax.reduce_window(a, -jnp.inf, lax.max, (1, 2), (1, 2),
                                               "SAME") ** 2).sum())),
    by_x(lambda a: a.at[:, jnp.array([1, 1, 3])].max(.1)),
    by_x(lambda a: lax.reduce(a, jnp.float32(0), jnp.hypot, (1,))),
    lambda a: (over("x", lambda a: (), P("x"), ())(a), a + 1)[1],
    lambda a: a + over("x", lambda: x().astype(jnp.float32)[None], (), P("x"))().sum(),
    jax.grad(lambda a: (lax.scan(lambda h, w: (by_x(lambda p: lax.ppermute(
        p, "x", [(0, 1), (1, 0)]))(jnp.tanh(h * w)), None), a, a[:3])[0] ** 2).sum()),
]

nested = [
    by_x_then_y(lambda b: lax.psum(jnp.tanh(b), "y"), outputs=P()),
    by_x_then_y(lambda b: lax.psum(b, "y") + lax.psum(b, "x") * 2),
    by_x_then_y(lambda b: b * (1 + x() * 10 + y())),
    by_x_then_y(lambda b: lax.all_gather(b, "y", axis=1, tiled=True), outputs=P()),
    by_x_then_y(lambda b: lax.psum_scatter(b, "y", scatter_dimension=1, tiled=True),
                inputs=P()),
    by_x_then_y(lambda b: lax.fori_loop(0, 3, lambda i, h: lax.psum(h, "y") * .3 + b, b)),
    by_x_then_y(lambda b: lax.cond(y() == 0, lambda: lax.psum(b, "x") + b, lambda: b)),
    by_x_then_y(lambda b: jnp.sort(b, 1), P("y"), P("y")),
    by_x(lambda a: a + within("y", lambda: y()[None].astype(jnp.float32), (), P("y"))()
         .sum() + x()),
    by_x(lambda a: lax.ppermute(within("y", lambda b: lax.psum(b, "y") + b, P("y"),
                                       P("y"))(a), "x", [(0, 1), (1, 0)])),
    by_x(lambda a: lax.scan(lambda h, _: (within("y", lambda b: lax.psum(b, "y") * .3 + b,
                                                 P(None, "y"), P(None, "y"))(h) + x(), None),
                            a, None, length=3)[0]),
    by_x(lambda a: lax.cond(x() == 0, lambda: within("y", lambda b: lax.psum(b, "y") + b,
                                                     P("y"), P("y"))(a), lambda: a * 3)),
    jax.grad(lambda a: (by_x_then_y(lambda b: lax.psum(jnp.tanh(b), "y"), outputs=P())(
        a * 2) ** 2).sum()),
    over("x", lambda a: within("y", lambda b: jnp.tanh(b) * 2, P(None, "y"),
                               P(None, "y"))(a @ a.T) @ a, P("x"), P("x")),
]

branches = [
    by_both(lambda a: lax.cond(x() == 0, lambda: a * 2, lambda: lax.psum(a, "y") + a)),
    by_both(lambda a: lax.switch(y(), [lambda: a, lambda: lax.psum(a, "x")])),
    by_both(lambda a: lax.cond(x() == 0, lambda: lax.cond(y() == 1, lambda: a,
                                                          lambda: a * 2),
                               lambda: lax.psum(a, "y"))),
    by_both(lambda a: lax.while_loop(lambda s: s[0] < x() + 2,
                                     lambda s: (s[0] + 1, lax.psum(s[1], "y") * .5 + a),
                                     (0, a))[1]),
    by_both(lambda a: lax.fori_loop(0, y(), lambda i, s: lax.psum(s, "x") + a, a)),
    by_both(lambda a: lax.fori_loop(3, 1, lambda i, s: lax.psum(s, "x") + a, a)),
    by_both(lambda a: lax.fori_loop(0, 3, lambda i, s: lax.cond(
        (x() + i) % 2 == 0, lambda s: lax.psum(s, "y") * .3, lambda s: s + 1, s), a)),
]


def window(start, f, size, padding, **others):
    return lambda a: lax.reduce_window(a, np.asarray(start, a.dtype), f, size, (1, 1),
                                       padding, **others)


add = lambda p, q: p + q
windows = [
    window(2, add, (2, 1), ((0, 1), (0, 0))),
    window(3, lambda p, q: p * q, (2, 3), ((1, 1), (2, 1))),
    window(-5, lambda p, q: jnp.maximum(p, q), (2, 1), ((3, 3), (0, 0))),
    window(2, add, (3, 2), ((1, 2), (0, 0)), base_dilation=(2, 3)),
    window(2, add, (2, 2), ((1, 2), (0, 0)), window_dilation=(2, 3)),
    window(2, add, (2, 2), ((-1, 2), (1, -2))),
    window(1, jnp.hypot, (2, 3), "SAME"),
    lambda a: lax.reduce_window((a, a * 2), (np.float32(1), np.float32(2)),
                                lambda p, q: (p[0] + q[0], jnp.maximum(p[1], q[1])),
                                (2, 3), (1, 1), "SAME"),
    lambda a: (jnp.cumsum(a, 0), lax.cumprod(a, 1), lax.cummax(a, 0, reverse=True)),
    lambda a: (lax.reduce(a, np.float32(2), add, (0,)), lax.reduce(a, a[0, 0], add, (0, 1))),
]

empty = [
    lambda a, e, f: lax.scan(lambda h, _: (h + 1, h.sum()), a, None, length=0),
    lambda a, e, f: lax.fori_loop(0, 0, lambda i, h: h * 2, a),
    lambda a, e, f: a + jnp.zeros((0, 5)).sum(),
    lambda a, e, f: (e.sum(0), e.sum(1), jnp.max(e, 0, initial=-3.), jnp.prod(e, 0)),
    lambda a, e, f: (f @ jnp.ones((0, 3)), jnp.tanh(a @ e.T), f.T @ a),
    lambda a, e, f: (jnp.concatenate([e, a, e]), jnp.concatenate([e, e]), e, f),
    lambda a, e, f: (a[2:2], jnp.pad(e, ((2, 1), (0, 0)), constant_values=3.)),
    lambda a, e, f: (jnp.tanh(e) * 2 + e, e.T, jnp.sort(e, 0), jnp.argmax(e, 1), e > 0),
    lambda a, e, f: (a[jnp.zeros(0, int)], a.at[jnp.zeros(0, int)].add(e)),
    lambda a, e, f: lax.dynamic_update_slice(a, e, (1, 0)),
    lambda a, e, f: (jax.nn.softmax(e), jax.nn.softmax(f), jnp.cumsum(f, 0)),
    lambda a, e, f: lax.cond(a[0, 0] > 0, lambda: (e, a), lambda: (e * 2, a * 2)),
    lambda a, e, f: lax.while_loop(lambda s: s[1].sum() < 100,
                                   lambda s: (s[0] * 2, jnp.abs(s[1]) * 2), (e, a)),
    lambda a, e, f: lax.fori_loop(0, 3, lambda i, s: (s[0] * 2, s[1] + s[0].sum()), (e, a)),
    lambda a, e, f: jax.grad(lambda a: (jnp.concatenate([a, e]) ** 2).sum()
                             + (e @ a.T).sum())(a),
    lambda a, e, f: lax.with_sharding_constraint(e * 2, NamedSharding(mesh, P())) + 1,
    lambda a, e, f: over("x", lambda e: lax.psum(e, "x").sum() + lax.psum(e.sum(), "x"),
                         P("x"), P())(e),
]

# The functions, their arguments, how these are cut, and whether JAX can tell what the
# functions are on one device.
PROGRAMS = {
    "partial": (partial, (draw(6, 5),), (P(),), False),
    "nested": (nested, (draw(4, 6),), (P(),), False),
    "branches": (branches, (draw(4, 6),), (P(),), False),
    "windows": (windows, (draw(6, 8),), (P("x", "y"),), True),
    "empty": (empty, (draw(4, 7), draw(0, 7), draw(4, 0)),
              (P("x"), P("x"), P(None, "y")), False),
}


def run(file, arguments, backend):
    inputs, outputs = file.with_suffix(".inputs.safetensors"), file.with_suffix(
        f".{backend}.safetensors")
    safetensors.numpy.save_file(arguments, inputs)
    subprocess.run(["tp-run", file, "--shard=", f"--backend={backend}",
                    f"--output={outputs}", *[f"--input={name}={inputs}" for name in arguments]],
                   check=True)
    return safetensors.numpy.load_file(outputs)


def main():
    folder, name = pathlib.Path(sys.argv[1]), sys.argv[2]
    folder.mkdir(parents=True, exist_ok=True)
    functions, arguments, specs, on_one = PROGRAMS[name]
    every = lambda *arguments: jax.tree.leaves([f(*arguments) for f in functions])
    lowered = jax.jit(every, keep_unused=True, in_shardings=tuple(
        NamedSharding(mesh, spec) for spec in specs)).lower(*arguments)
    wanted = (jax.jit(every) if on_one else lowered.compile())(*arguments)
    file = folder / (name + ".mlir")
    file.write_text(lowered.as_text())
    named = {f"arg{i}": value for i, value in enumerate(arguments)}
    for backend in "interpreter", "cpu":
        got = run(file, named, backend)
        assert len(got) == len(wanted), (backend, sorted(got))
        for i, value in enumerate(wanted):
            own = got[f"result.{i}"]
            assert own.shape == value.shape, (backend, i, own.shape, value.shape)
            np.testing.assert_allclose(own, value, 1e-4, 1e-5, err_msg=f"{backend} {i}")
    print(name, len(wanted), "results")


main()

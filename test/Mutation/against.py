#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Damages local programs that come from JAX, from the exam and from tp-fuzz, and
counts which of them tp-verify-against accepts though they give other numbers.

    against.py BUILD [--mutants=N] [--seed=N] [--field] [--zoo=NAME,..] [--right=N]

Needs JAX. Sizes are uneven: the mesh that a program was written for is replaced by
one that does not divide them. `--right` asks for random programs of tp-fuzz, none of
which may be refused. Exit code 1 if a wrong program is accepted or a right one
refused. This takes minutes, and is no part of the tests.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Models"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec as P  # noqa: E402


def floats(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.float32)


def ints(*dims):
    return jax.ShapeDtypeStruct(dims, jnp.int32)


def attend(q, k, v, length):
    scores = q @ k.T / 2
    seen = jnp.arange(k.shape[0])[None] < length
    return jax.nn.softmax(jnp.where(seen, scores, -jnp.inf), axis=-1) @ v


def normalise(x, scale):
    centred = x - x.mean(axis=0)
    return centred * jax.lax.rsqrt((centred ** 2).mean(axis=0) + 1e-5) * scale


# Each: a function, arguments, and which of their dimensions is cut along "x".
SMALL = {
    "extremes": (lambda x: (x.max(0), x.min(0), jnp.exp(x).max(0), x.max(1)),
                 [floats(10, 5)], [P("x")]),
    "places": (lambda x: (x.argmax(0), x.argmin(0), jnp.sort(x, 0)),
               [floats(10, 3)], [P("x")]),
    "top": (lambda x: jax.lax.top_k(x.T, 3), [floats(10, 4)], [P("x")]),
    "truth": (lambda x, y: ((x > 0).any(0), (x > y).all(0), jnp.prod(x, 0)),
              [floats(10, 3), floats(10, 3)], [P("x"), P("x")]),
    "softmax": (lambda x: (jax.nn.softmax(x, 0), jax.nn.logsumexp(x, 0)),
                [floats(10, 4)], [P("x")]),
    "attention": (attend, [floats(6, 4), floats(10, 4), floats(10, 4), ints()],
                  [P(), P("x"), P("x"), P()]),
    "norm": (normalise, [floats(10, 6), floats(6)], [P("x"), P()]),
    "mlp": (lambda x, w, v: jnp.tanh(x @ w) @ v,
            [floats(4, 6), floats(6, 10), floats(10, 3)], [P(), P(None, "x"), P("x")]),
    "scatter": (lambda x, i, j, u: x.at[i, j].add(u),
                [floats(10, 4), ints(6), ints(6), floats(6)], [P("x"), P(), P(), P()]),
    "scatter-sum": (lambda x, i, j, u: x.at[i + j].set(u),
                    [floats(10), ints(4), ints(4), floats(4)], [P("x"), P(), P(), P()]),
    "gather": (lambda x, i, j: x[i * 2 + j], [floats(10, 3), ints(5), ints(5)],
               [P("x"), P(), P()]),
    "embed": (lambda table, i: table[i].sum(0), [floats(10, 4), ints(7)], [P("x"), P()]),
    "slice": (lambda x, i, u: jax.lax.dynamic_update_slice(
        x, jax.lax.dynamic_slice(x, (i, 0), (2, 3)) * u, (i + 1, 0)),
        [floats(10, 3), ints(), floats(2, 3)], [P("x"), P(), P()]),
    "roll": (lambda x: jnp.roll(x, 3, 0) + jnp.cumsum(x, 0), [floats(10, 2)], [P("x")]),
    "halo": (lambda x: x[:-2] + 2 * x[1:-1] + jnp.pad(x, ((0, 1), (0, 0)))[3:],
             [floats(10, 2)], [P("x")]),
    "branch": (lambda x, i: jax.lax.switch(
        i, [lambda x: x.max(0), lambda x: x.min(0), lambda x: x.sum(0)], x),
        [floats(10, 3), ints()], [P("x"), P()]),
    "loop": (lambda x, n: jax.lax.fori_loop(0, n, lambda i, y: jnp.tanh(y) + x.max(0), x),
             [floats(10, 3), ints()], [P("x"), P()]),
    "loss": (lambda x, i: -jnp.take_along_axis(
        jax.nn.log_softmax(x, -1), i[:, None], 1).mean(),
        [floats(6, 10), ints(6)], [P(None, "x"), P()]),
    "counts": (lambda i: (i.max(0), i.min(0), (i * i).sum(0), jnp.sort(i, 0)),
               [ints(10, 3)], [P("x")]),
}


def write_small(folder):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    for name, (function, arguments, specs) in SMALL.items():
        shardings = [NamedSharding(mesh, spec) for spec in specs]
        text = jax.jit(function, in_shardings=shardings).lower(*arguments).as_text()
        path = folder / f"{name}.mlir"
        path.write_text(text, encoding="utf-8")
        yield path


def write_zoo(folder, names):
    import jax_zoo
    for name in names:
        program = jax_zoo.build_named(name)
        path = folder / f"{re.sub('[^a-z0-9]', '-', name)}.mlir"
        path.write_text(program.jitted.lower(*program.arguments).as_text(), encoding="utf-8")
        yield path


def write_random(folder, tool, seed, count):
    """Programs of tp-fuzz, as far as there are such that it has an answer for."""
    for number in range(seed, seed + count):
        done = subprocess.run([tool, f"--seed={number}", "--print"],
                              capture_output=True, text=True)
        path = folder / f"fuzz-{number}.mlir"
        path.write_text(done.stdout, encoding="utf-8")
        yield path


class Campaign:
    def __init__(self, tool, options):
        self.tool, self.options = tool, options
        self.totals = {"refused": 0, "harmless": 0, "missed": 0, "strict": 0}
        self.mutants = self.programs = self.bad = 0

    def run(self, paths, mutants, *extra):
        command = [self.tool, "--against", f"--mutants={mutants}",
                   f"--seed={self.options.seed}", *extra, *map(str, paths)]
        if self.options.field:
            command.append("--field")
        done = subprocess.run(command, capture_output=True, text=True)
        sys.stderr.write(done.stderr)
        for line in done.stdout.splitlines():
            if line.startswith(("MISSED", "STRICT", "REFUSED")):
                print(line)
            for number, word in re.findall(r"(\d+) (refused|harmless|missed|strict)\b",
                                           line if " ways, " not in line else ""):
                self.totals[word] += int(number)
        last = re.search(r"(\d+) mutants: .* (\d+) of (\d+) correct", done.stdout)
        if not last:
            sys.exit(f"{' '.join(command)}: exit code {done.returncode}")
        self.mutants += int(last[1])
        self.bad += int(last[2])
        self.programs += int(last[3])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=20, help="of each program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--field", action="store_true")
    parser.add_argument("--zoo", default="", help="names as jax-peer has them")
    parser.add_argument("--right", type=int, default=0, help="programs of tp-fuzz")
    options = parser.parse_args()
    campaign = Campaign(options.build / "test/Mutation/tp-mutate", options)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        small = list(write_small(folder))
        for mesh in ("x=3", "x=4"):
            campaign.run(small, options.mutants, f"--mesh={mesh}")
        for path in write_zoo(folder, filter(None, options.zoo.split(","))):
            campaign.run([path], options.mutants)
        campaign.run(sorted(HERE.parent.glob("Exam/*/*.mlir")), max(1, options.mutants // 10))
        batch = []
        for path in write_random(folder, options.build / "test/Fuzz/tp-fuzz",
                                 options.seed, options.right):
            batch.append(path)
            if len(batch) == 100:
                campaign.run(batch, 0)
                batch = []
        if batch:
            campaign.run(batch, 0)
    print(f"{campaign.mutants} mutants: {campaign.totals}; "
          f"{campaign.bad} of {campaign.programs} right programs refused")
    return 1 if campaign.bad or campaign.totals["missed"] else 0


if __name__ == "__main__":
    sys.exit(main())

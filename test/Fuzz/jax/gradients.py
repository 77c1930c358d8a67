#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of functions of jax.numpy, jax.lax and jax.nn: those that tp-differentiate
builds of what JAX exports of the function, against jax.grad and against the difference
quotient along a random direction, in f64 on random data of uneven sizes.

    gradients.py --seed=1 --count=2000 --tools=build/release/bin    2000 cases, from seed 1 on
    gradients.py --only='lax.scan' --count=5                        of one function
    gradients.py --list                                             the functions

A case that fails is written to --out: NAME-SEED.mlir and what is wrong. Exit 1 if one
fails.
"""

import argparse
import multiprocessing
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import jax.numpy as jnp
import numpy as np
import safetensors.numpy

import functions

jax.config.update("jax_enable_x64", True)

#: How far from jax.grad a gradient may be, of its largest element.
ALLOWED = 1e-9
#: The same of a function that computes in f32 in part.
ALLOWED_F32 = 1e-5
#: The same of a difference quotient, which is not exact itself.
ALLOWED_QUOTIENT = 1e-5


class Case:
    """A function at a point: its loss is the sum of all results, each element weighted."""

    def __init__(self, name, seed):
        self.allowed = ALLOWED_F32 if name in functions.IN_F32 else ALLOWED
        self.rng = np.random.default_rng(seed)
        self.function, self.arguments = functions.FUNCTIONS[name](functions.Draw(self.rng))
        results = jax.tree.leaves(jax.eval_shape(self.function, *self.arguments))
        self.weights = [self.rng.standard_normal(r.shape)
                        for r in results if jnp.issubdtype(r.dtype, jnp.floating)]
        self.wanted = [i for i, a in enumerate(self.arguments) if a.dtype == np.float64]

    def loss(self, *arguments):
        results = [r for r in jax.tree.leaves(self.function(*arguments))
                   if jnp.issubdtype(r.dtype, jnp.floating)]
        return sum(jnp.sum(r * w) for r, w in zip(results, self.weights))

    def export(self):
        shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.arguments]
        return jax.export.export(jax.jit(self.loss, keep_unused=True))(*shapes).mlir_module()

    def gradients(self):
        return jax.jit(jax.grad(self.loss, argnums=self.wanted))(*self.arguments)

    def quotient(self, directions, h=1e-6):
        def at(h):
            moved = list(self.arguments)
            for i, direction in zip(self.wanted, directions):
                moved[i] = moved[i] + h * direction
            return float(jax.jit(self.loss)(*moved))
        return (at(h) - at(-h)) / (2 * h)


class Tools:
    def __init__(self, folder, scratch):
        self.opt, self.scratch = f"{folder}/tp-opt", pathlib.Path(scratch)

    def gradients(self, case, text):
        """What tp-opt makes of the gradients, or the error."""
        program, inputs, outputs = (self.scratch / name for name in (
            "program.mlir", "in.safetensors", "out.safetensors"))
        program.write_text(text)
        safetensors.numpy.save_file(
            {f"arguments.{i}": np.ascontiguousarray(a).reshape(a.shape)
             for i, a in enumerate(case.arguments)}, inputs)
        trained = ",".join(f"arguments.{i}" for i in case.wanted)
        done = subprocess.run(
            [self.opt, program, "--tp-import-stablehlo", "--tp-inline-calls", "--tp-raise",
             f"--tp-differentiate=loss=result train={trained}",
             f"--tp-interpret-entry=inputs={inputs} outputs={outputs}", "-o",
             self.scratch / "gradient.mlir"],
            capture_output=True, text=True, timeout=120)
        if done.returncode != 0:
            error = re.search(r"error: .*", done.stderr)
            raise RuntimeError(f"exit {done.returncode}: " +
                               (error.group() if error else done.stderr[:300]))
        got = safetensors.numpy.load_file(outputs)
        return [got[f"arguments.{i}.grad"] for i in case.wanted]


def compare(got, wanted, allowed):
    for i, (g, w) in enumerate(zip(got, map(np.asarray, wanted))):
        if g.shape != w.shape:
            return f"gradient {i} has shape {g.shape}, not {w.shape}"
        scale = np.max(np.abs(w), initial=0)
        bad = ~(np.abs(g - w) <= allowed * max(scale, 1e-3))
        bad &= ~(np.isnan(g) & np.isnan(w))
        if bad.any():
            place = tuple(int(k[0]) for k in np.nonzero(bad))
            return (f"gradient {i}: {bad.sum()} of {bad.size} differ, at {list(place)} "
                    f"{g[place]}, wanted {w[place]}")
    return None


def judge(tools, case):
    """What is wrong with a case; None if nothing is."""
    text = case.export()
    wanted = case.gradients()
    try:
        got = tools.gradients(case, text)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        return str(error), text
    if wrong := compare(got, wanted, case.allowed):
        return wrong, text
    if case.allowed != ALLOWED:
        return None, text  # Differences of f32 have no digits.
    directions = [case.rng.standard_normal(case.arguments[i].shape) for i in case.wanted]
    along = sum(float(np.sum(g * d)) for g, d in zip(got, directions))
    size = sum(float(np.sum(np.abs(g * d))) for g, d in zip(got, directions))
    quotient = case.quotient(directions)
    if not abs(along - quotient) <= ALLOWED_QUOTIENT * max(size, abs(quotient), 1e-3):
        return f"along a direction {along}, the difference quotient {quotient}", text
    return None, text


def run(case):
    folder, name, seed = case
    with tempfile.TemporaryDirectory() as scratch:
        return name, seed, *judge(Tools(folder, scratch), Case(name, seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=len(functions.FUNCTIONS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", help="a regular expression of names")
    parser.add_argument("--tools", help="the folder of tp-opt, by default as PATH says",
                        default=os.path.dirname(shutil.which("tp-opt") or ""))
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    names = [n for n in functions.FUNCTIONS if re.search(options.only or "", n)]
    if options.list:
        print("\n".join(names))
        return 0
    cases = [(options.tools, names[k % len(names)], options.seed + k)
             for k in range(options.count)]
    failures = 0
    with multiprocessing.get_context("spawn").Pool(options.jobs) as pool:
        for done, (name, seed, wrong, text) in enumerate(pool.imap(run, cases), 1):
            if wrong:
                failures += 1
                print(f"{name} seed {seed}: {wrong}", flush=True)
            if wrong and options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                stem = re.sub(r"[^\w.]", "-", f"{name}-{seed}")
                (options.out / f"{stem}.mlir").write_text(text)
                (options.out / f"{stem}.txt").write_text(wrong + "\n")
            if sys.stderr.isatty():
                print(f"\r{done} of {options.count}", end="", file=sys.stderr)
    print(f"{options.count} cases of {len(names)} functions: {failures} wrong")
    for name, reason in functions.LOST.items():
        print(f"not tried: {name}: {reason}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the files of the corpus: modules, their inputs, and what JAX computes."""

import functools
import json
import os
import sys
import warnings
import zlib

# As exact as the CPU can: no intermediate in another type than the program says. With
# its instructions for bf16, XLA leaves out roundings all the same.
os.environ["XLA_FLAGS"] = (os.environ.get("XLA_FLAGS", "")
                           + " --xla_allow_excess_precision=false"
                           + " --xla_cpu_max_isa=AVX512")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.export  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import safetensors.numpy  # noqa: E402

import cases  # noqa: E402


def get_function(case, sizes):
    """What the case calls, as a function of arrays alone."""
    module, *path = case.function.split(".", 2)
    function = functools.reduce(getattr,
                                path[1].split("."), getattr(jax, path[0]))
    if case.call:
        return lambda *arrays: case.call(function, sizes, *arrays, **case.keywords)
    return lambda *arrays: function(*arrays, **case.keywords)


def is_float(x):
    return jnp.issubdtype(x.dtype, jnp.floating)


def make(case, shape, dtype, variant):
    """The function of a file and its inputs; None where nothing is to be had, as a
    gradient of integers."""
    sizes = cases.Sizes(**cases.SHAPES[shape], dtype=jnp.dtype(dtype))
    function = get_function(case, sizes)
    # The numbers of the variants are the same ones where they can be.
    rng = np.random.default_rng(zlib.crc32(f"{case.name}-{shape}-{dtype}".encode()))

    def make_input(argument, *batch):
        return cases.make_numbers(
            rng, argument, (*batch, *argument.get_shape(sizes)),
            np.dtype(jnp.dtype(argument.dtype or dtype)), sizes)
    inputs = [make_input(a, *([sizes.b] if case.mapped else [])) for a in case.arguments]
    if case.mapped:
        function = jax.vmap(function, axis_name="i")
    if variant == "call":
        return function, inputs
    if not inputs:
        return None
    if variant == "vmap":
        rest = [make_input(a, *([sizes.b] if case.mapped else [])) for a in case.arguments]
        return jax.vmap(function), [np.stack(pair) for pair in zip(inputs, rest)]

    places = [i for i, x in enumerate(inputs) if is_float(x)]
    outputs = jax.tree.leaves(jax.eval_shape(function, *inputs))
    if not places or not any(map(is_float, outputs)):
        return None
    weights = [np.asarray(rng.integers(-64, 65, y.shape) / 64).astype(y.dtype)
               for y in outputs if is_float(y)]

    def gradient(*arrays):
        arrays, weights = list(arrays[:len(inputs)]), arrays[len(inputs):]

        def part(*floats):
            for place, value in zip(places, floats):
                arrays[place] = value
            return [y for y in jax.tree.leaves(function(*arrays)) if is_float(y)]
        _, pull = jax.vjp(part, *(arrays[place] for place in places))
        return pull(list(weights))
    return gradient, inputs + weights


def write(folder, name, module, inputs, outputs):
    def save(kind, prefix, arrays):
        tensors = {}
        for i, array in enumerate(arrays):
            array = np.ascontiguousarray(array).reshape(np.shape(array))
            # Which safetensors have no type for.
            if np.iscomplexobj(array):
                array = np.stack([array.real, array.imag], -1)
            tensors[f"{prefix}{i}"] = array
        safetensors.numpy.save_file(tensors, folder / f"{name}.{kind}.safetensors")
    save("in", "arg", inputs)
    save("out", "result", outputs)
    # Last: a module is there when all of its file is.
    (folder / f"{name}.mlir").write_text(module)


def export_one(folder, name, case, shape, dtype, variant):
    """What JAX says against it; None if the file is written."""
    try:
        made = make(case, shape, dtype, variant)
        if not made:
            return "there is nothing to vary"
        function, inputs = made
        jitted = jax.jit(function, keep_unused=True)
        if shape == "even":
            module = str(jax.export.export(jitted)(*inputs).mlir_module())
        else:
            module = jitted.lower(*inputs).as_text()
        outputs = jax.tree.leaves(jitted(*inputs))
    except Exception as error:  # Whatever JAX raises is its answer.
        if variant == "call":
            raise RuntimeError(f"{name}: the case itself is wrong") from error
        return f"{type(error).__name__}: {error}".split("\n")[0][:200]
    write(folder, name, module, inputs, outputs)
    return None


def export(folder, wanted):
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    undefined = {}
    for number, (name, *entry) in enumerate(wanted):
        if sys.stderr.isatty():
            print(f"\r{number} of {len(wanted)} {name:60.60}", end="", file=sys.stderr)
        if error := export_one(folder, name, *entry):
            undefined[name] = error
        if number % 200 == 199:
            jax.clear_caches()
    (folder / "undefined.json").write_text(json.dumps(undefined, indent=1))
    print(f"{len(wanted) - len(undefined)} files, {len(undefined)} that JAX does not define")

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""JAX functions."""

import json
import pathlib

import jax
import jax.export
import ml_dtypes  # noqa: F401  teaches NumPy bfloat16
import numpy as np
import safetensors.numpy
from jax.extend.mlir import ir

from .naming import get_parameters, name_leaves


def export(function, *arguments, to, weights=(0,), in_shardings=None,
           out_shardings=None):
    """Writes `function` of these arguments into the folder `to` and returns the path of
    the program, `to`/model.mlir.

    `function` may be anything JAX can trace, also what jax.jit has made, which then
    knows its shardings; the program lacks arguments that it drops, as nothing uses them.
    `arguments` are trees of arrays or of jax.ShapeDtypeStruct. A typed key of jax.random is
    its numbers, as jax.random.key_data gives them, in arguments, weights and results.
    `weights` says which arguments are weights, by number: those that are arrays are
    written to `to`/model.safetensors."""
    jitted = function
    if not hasattr(function, "lower"):
        shardings = {key: value for key, value in (("in_shardings", in_shardings),
                                                   ("out_shardings", out_shardings))
                     if value is not None}
        jitted = jax.jit(function, keep_unused=True, **shardings)
    elif in_shardings is not None or out_shardings is not None:
        raise ValueError("the function is already a result of jax.jit: "
                         "give in_shardings and out_shardings to jax.jit instead")

    named = []
    for i, (name, argument) in enumerate(zip(get_parameters(function, len(arguments)),
                                             arguments)):
        is_weight = i in weights
        # A lone array has no path to be called by.
        lone = jax.tree_util.all_leaves([argument])
        named += [(path, get_data(leaf), is_weight) for path, leaf in
                  name_leaves(argument, "" if is_weight and not lone else name)]
    lowered = jitted.lower(*arguments)
    if len(get_main(lowered.compiler_ir("stablehlo")).arguments) != len(named):
        kept = jax.export.export(jitted)(*arguments).module_kept_var_idx
        named = [named[i] for i in kept]
    return write(lowered, named, [name for name, _ in name_leaves(lowered.out_info, "result")],
                 to)


def get_data(leaf):
    """What a program has for an argument: for a typed key its numbers."""
    if not jax.dtypes.issubdtype(getattr(leaf, "dtype", None), jax.dtypes.prng_key):
        return leaf
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return jax.eval_shape(jax.random.key_data, leaf)
    return jax.random.key_data(leaf)


def write(lowered, named, results, to, donated=None):
    """Writes what JAX lowered; `named` are the name of each argument, the argument, and
    whether it is a weight; `results` the names of results. `donated` maps arguments to
    the number of the result that may take their storage, beside what JAX knows of."""
    check_unique([name for name, *_ in named])
    # JAX keeps its own, for when the function is called.
    module = lowered.compiler_ir("stablehlo").operation.clone()
    annotate(module, named, results, donated or {})
    folder = pathlib.Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    stored = {name: np.asarray(leaf) for name, leaf, is_weight in named
              if is_weight and not isinstance(leaf, jax.ShapeDtypeStruct)}
    if stored:
        safetensors.numpy.save_file(stored, folder / "model.safetensors")
    program = folder / "model.mlir"
    program.write_text(module.operation.get_asm(enable_debug_info=True), encoding="utf-8")
    return program


def check_unique(names):
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"two arguments are called {', '.join(sorted(twice))}: give "
                         "the function's parameters, or the keys of the trees, different names")


def get_main(module):
    (main,) = [op for op in module.body.operations if op.operation.name == "func.func"
               and ir.StringAttr(op.attributes["sym_name"]).value == "main"]
    return main


def annotate(module, arguments, results, donated):
    """Writes names, and where weights are stored, beside what JAX says of them."""
    main = get_main(module)
    with module.context:
        # tp's attributes are only text to JAX.
        module.context.allow_unregistered_dialects = True

        def extend(old, new):
            return ir.DictAttr.get({**{entry.name: entry.attr for entry in old}, **new})

        def describe(name, leaf, is_weight):
            yield "tp.name", ir.StringAttr.get(name)
            if is_weight:
                yield "tp.source", make_source(name, leaf.shape)
            if name in donated:
                yield "tf.aliasing_output", ir.IntegerAttr.get(
                    ir.IntegerType.get_signless(32), donated[name])
        main.arg_attrs = ir.ArrayAttr.get([
            extend(old, dict(describe(name, leaf, is_weight)))
            for old, (name, leaf, is_weight) in zip(main.arg_attrs, arguments,
                                                     strict=True)])
        main.result_attrs = ir.ArrayAttr.get([
            extend(old, {"tp.name": ir.StringAttr.get(name)})
            for old, name in zip(main.result_attrs, results)])


def make_source(name, shape):
    """A weight that is a stored tensor as it is."""
    sizes = list(shape)
    return ir.Attribute.parse(
        f"#tp.source<{json.dumps(name)}, stored={sizes}, start={[0] * len(sizes)}, "
        f"size={sizes}, view={sizes}, permutation={list(range(len(sizes)))}>")

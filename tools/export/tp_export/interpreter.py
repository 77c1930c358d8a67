# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of PyTorch's graphs as torchax has them, and what it does otherwise than
PyTorch."""

import contextlib

import jax
import jax.numpy as jnp
import torch
import torchax.export

aten = torch.ops.aten
# PyTorch's kernels compute these in f32 and round once, torchax rounds every step.
WIDE = {aten._log_softmax.default, aten._softmax.default, aten.gelu.default,
        aten.native_group_norm.default, aten.native_layer_norm.default, aten.silu.default}
# What PyTorch asserts of values, as one_hot does, no program can stop for.
CHECKS = {aten._assert_async.default, aten._assert_async.msg, aten._assert_scalar.default}


class Interpreter(torchax.export.JaxInterpreter):
    """Calls operations by the submodule that they are of."""

    def run_node(self, node):
        path = [path for path, _ in node.meta.get("nn_module_stack", {}).values()]
        with jax.named_scope(path[-1]) if path and path[-1] else contextlib.nullcontext():
            return super().run_node(node)

    def call_function(self, target, args, kwargs):
        if target in CHECKS:
            return None
        # torchax's convolutions write to the lists that they are given.
        args = tuple(list(arg) if isinstance(arg, list) else arg for arg in args)
        element = getattr(args[0], "dtype", None) if args else None
        if target not in WIDE or element not in (jnp.bfloat16, jnp.float16):
            return super().call_function(target, args, kwargs)
        widened = super().call_function(target, convert(args, element, jnp.float32), kwargs)
        return convert(widened, jnp.float32, element)


def convert(values, old, new):
    """Those of element type `old` as `new`."""
    return jax.tree.map(lambda value: value.astype(new)
                        if getattr(value, "dtype", None) == old else value, values)

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules: torch.export makes a graph of one, torchax a JAX function of that."""

import jax

from .function import write
from .naming import name_leaves


def export_torch(module, *inputs, to, in_shardings=None):
    """Writes the forward pass of a torch.nn.Module on example inputs, as `export` does.
    Weights and buffers are called as in its state_dict. `in_shardings` maps such names
    to jax.sharding.NamedSharding; what it does not name is left to tp-opt, which can
    take a plan."""
    try:
        import torch
        import torchax.export
    except ImportError as error:
        raise ImportError("exporting PyTorch modules wants torch and torchax: "
                          "pip install tp-export[torch]") from error

    program = torch.export.export(module.eval(), inputs)
    weights, call = torchax.export.exported_program_to_jax(program)
    specs = program.graph_signature.input_specs
    kinds = torch.export.graph_signature.InputKind
    names = [spec.target for spec in specs if spec.kind is not kinds.USER_INPUT]
    called = [spec.arg.name for spec in specs if spec.kind is kinds.USER_INPUT]
    if len(names) != len(weights):
        raise ValueError(f"torchax returned {len(weights)} tensors for the module's {len(names)}")
    shardings = dict(in_shardings or {})
    if unknown := shardings.keys() - set(names) - set(called):
        raise ValueError(f"the module has nothing called {', '.join(sorted(unknown))}")

    def forward(weights, inputs):
        # By name: JAX sorts the keys of trees.
        return call([weights[name] for name in names],
                    tuple(inputs[name] for name in called))

    example = dict(zip(called, (jax.numpy.asarray(value.numpy()) for value in inputs)))
    stored = dict(zip(names, weights))
    jitted = jax.jit(forward, keep_unused=True, in_shardings=tuple(
        {name: shardings.get(name) for name in tree} for tree in (stored, example)))
    named = [(name, leaf, tree is stored) for tree in (stored, example)
             for name, leaf in name_leaves(tree, "")]
    return write(jitted.lower(stored, example), named, to)

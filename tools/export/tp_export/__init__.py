# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes JAX functions and PyTorch modules as files that tp-opt takes.

    import tp_export
    tp_export.export(forward, params, tokens, to="mlp")            # JAX
    tp_export.export_torch(module, tokens, to="bert")              # PyTorch

Each makes a folder:

    mlp/model.mlir           StableHLO text, with the shardings that JAX was given
    mlp/model.safetensors    the weights, where they are arrays and not only shapes

which is what the tools want: `tp-run mlp/model.mlir --weights=mlp`. Arguments carry
in `tp.name` what plans, reports and `tp-run --input` call them, and weights in
`tp.source` the stored tensor they are:

    params["h"][0]["wq"], an argument of weights    ->    h.0.wq
    state.mu["h"], any other, called `state`        ->    state.mu.h

PyTorch's weights keep the names of its state_dict; buffers that a module writes to are
results, too. `to_jax` gives a module as a JAX function, whose gradients JAX knows.
Exporting needs neither the weights in memory (jax.ShapeDtypeStruct will do) nor as many
devices as the mesh has.
"""

from .function import export
from .module import export_torch, to_jax

__all__ = ["export", "export_torch", "to_jax"]

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules: torch.export makes a graph of one, torchax a JAX function of that."""

import jax

from .function import write
from .naming import join_path, name_leaves


def export_torch(module, *inputs, to, kwargs=None, in_shardings=None):
    """Writes the forward pass of a torch.nn.Module on example inputs, those in `kwargs`
    by name, as `export` does. Inputs that are no tensors are constants of the program;
    what the module asserts of numbers is not asserted.
    `module` may also be what torch.export.export has made of one, without inputs here.

    Weights and buffers are called as in its state_dict, inputs as in its forward, and
    results by their path in what that returns. A buffer or input that the module writes
    to, as a cache, is a result of the same name after these, which may take its storage.

    Of a module on PyTorch's device `meta`, with inputs there, nothing is stored.

    `in_shardings` maps names of weights, buffers and inputs to
    jax.sharding.NamedSharding; what it does not name is left to tp-opt, which can take
    a plan."""
    try:
        import torch
        import torchax
        from .interpreter import Interpreter
    except ImportError as error:
        raise ImportError("exporting PyTorch modules wants torch and torchax: "
                          "pip install tp-export[torch]") from error
    from torch.utils import _pytree as pytree

    # Gradients are not asked for, and would be of what the module writes to, too.
    with torch.no_grad():
        if not isinstance(module, torch.export.ExportedProgram):
            graph = torch.export.export(module.eval(), inputs, kwargs)
        elif inputs or kwargs:
            raise ValueError("torch.export.export has been given the inputs of this program")
        else:
            graph = module
        structure = graph.call_spec.out_spec
        # Without writes in place first, so that views are values like others: what an
        # operation is decomposed into may lie otherwise, which a view refuses.
        graph = graph.run_decompositions({})
        for node in graph.graph.nodes:
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        for table in (None, torchax.decompositions.DECOMPOSITIONS):
            graph = graph.run_decompositions(table)
    signature = graph.graph_signature
    environment = torchax.default_env()  # which knows torchax's operators, too

    def to_jax(value):
        if value.is_meta:
            element = jax.dtypes.canonicalize_dtype(torchax.ops.mappings.t2j_dtype(value.dtype))
            return jax.ShapeDtypeStruct(tuple(value.shape), element)
        return environment.t2j_copy(value)

    # What the graph takes, in its order: names, or constants.
    stored, example, taken = {}, {}, []
    given = iter(pytree.tree_leaves(graph.example_inputs))
    for spec in signature.input_specs:
        if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT:
            name, value = spec.arg.name, next(given)
            if isinstance(value, torch.Tensor):
                example[name] = to_jax(value)
        else:
            name = spec.target
            value = graph.state_dict.get(name, graph.constants.get(name))
            stored[name] = to_jax(value)
        taken.append((name, None) if isinstance(value, torch.Tensor) else (None, value))

    shardings = dict(in_shardings or {})
    if unknown := shardings.keys() - stored.keys() - example.keys():
        raise ValueError(f"the module has nothing called {', '.join(sorted(unknown))}")

    # What it returns, in its order: first what it has written to.
    outputs = torch.export.graph_signature.OutputKind
    paths, _ = pytree.tree_flatten_with_path(
        pytree.tree_unflatten(list(range(structure.num_leaves)), structure))
    paths = iter(paths)
    results, written = [], []
    for number, spec in enumerate(signature.output_specs):
        if spec.kind is outputs.USER_OUTPUT:
            path, _ = next(paths)
            if isinstance(spec.arg, torch.export.graph_signature.TensorArgument):
                results.append((join_path("result", *path), number))
        else:
            written.append((spec.target, number))

    def forward(weights, inputs):
        # By name: JAX sorts the keys of trees.
        tensors = weights | inputs
        values = Interpreter(graph.graph_module).run(
            *(tensors[name] if name else value for name, value in taken),
            enable_io_processing=False)
        return [values[number] for _, number in results + written]

    jitted = jax.jit(forward, keep_unused=True, in_shardings=tuple(
        {name: shardings.get(name) for name in tree} for tree in (stored, example)))
    named = [(name, leaf, tree is stored) for tree in (stored, example)
             for name, leaf in name_leaves(tree, "")]
    return write(jitted.lower(stored, example), named,
                 [name for name, _ in results + written], to,
                 donated={name: len(results) + i for i, (name, _) in enumerate(written)})

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch modules: torch.export makes a graph of one, torchax a JAX function of that."""

import contextlib
import dataclasses
import pathlib
import traceback
import typing

import jax

from .experts import without_loops
from .function import write
from .naming import join_path, name_leaves

REAL, IMAGINARY = ".real", ".imag"


def export_torch(module, *inputs, to, kwargs=None, in_shardings=None):
    """Writes the forward pass of a torch.nn.Module on example inputs, those in `kwargs`
    by name, as `export` does. Inputs that are no tensors are constants of the program;
    what the module asserts of numbers is not asserted.
    `module` may also be what torch.export.export has made of one, without inputs here, and
    what its joint graph is, whose gradients are called gradient.w, for a weight or input w.

    Weights and buffers are called as in its state_dict, inputs as in its forward, and
    results by their path in what that returns, where a dataclass is its fields. A buffer or
    input that the module writes to, as a cache, is a result of the same name after these,
    which may take its storage. A complex `w` is two real tensors, w.real and w.imag.

    Of a module on PyTorch's device `meta`, with inputs there, nothing is stored.

    `in_shardings` maps names of weights, buffers and inputs to
    jax.sharding.NamedSharding; what it does not name is left to tp-opt, which can take
    a plan."""
    traced = trace(module, inputs, kwargs)
    shardings = dict(in_shardings or {})
    trees = (traced.weights, traced.inputs)
    if unknown := shardings.keys() - traced.weights.keys() - traced.inputs.keys():
        raise ValueError("the module has no weight, buffer or input called "
                         f"{', '.join(sorted(unknown))}")

    def forward(weights, inputs):
        values = traced.function(weights, inputs)
        # In the module's order: JAX sorts the keys of trees.
        return [values[name] for name in traced.results]

    jitted = jax.jit(forward, keep_unused=True, in_shardings=tuple(
        {name: shardings.get(name) for name in tree} for tree in trees))
    named = [(name, leaf, tree is traced.weights) for tree in trees
             for name, leaf in name_leaves(tree, "")]
    return write(jitted.lower(*trees), named, traced.results, to, donated=traced.donated)


def to_jax(module, *inputs, kwargs=None):
    """A torch.nn.Module as JAX has it, for what PyTorch's graphs do not say, such as
    gradients: a function of weights and inputs, the weights, and the inputs. All are dicts
    by the names of `export_torch`; so is what the function returns.

        forward, weights, inputs = tp_export.to_jax(module, tokens)
        loss = lambda weights, inputs: forward(weights, inputs)["result"].mean()
        tp_export.export(jax.value_and_grad(loss), weights, inputs, to="step")"""
    traced = trace(module, inputs, kwargs)
    return traced.function, traced.weights, traced.inputs


@dataclasses.dataclass
class Traced:
    function: typing.Callable  # of weights and inputs
    weights: dict
    inputs: dict
    results: list              # their names in the module's order, what it writes to last
    donated: dict              # what it writes to, and which result may take its storage


def trace(module, inputs, kwargs):
    try:
        import torch
        from .interpreter import WHOLE, Interpreter
        from .operators import environment, torchax
    except ImportError as error:
        raise ImportError("exporting PyTorch modules requires torch and torchax: "
                          "pip install tp-export[torch]") from error
    from torch.utils import _pytree as pytree

    # Gradients are not asked for, and would be of what the module writes to, too.
    with torch.no_grad():
        if not isinstance(module, torch.export.ExportedProgram):
            graph = make_graph(module.eval(), inputs, kwargs)
        elif inputs or kwargs:
            raise ValueError("an ExportedProgram already has its inputs: "
                             "leave out inputs and kwargs")
        else:
            graph = module
        check_sizes(graph)
        structure = graph.call_spec.out_spec
        # Without writes in place first, so that views are values like others: what an
        # operation is decomposed into may lie otherwise, which a view refuses.
        graph = graph.run_decompositions({})
        for node in graph.graph.nodes:
            if node.target is torch.ops.aten.view.default:
                node.target = torch.ops.aten.reshape.default
        for table in (torch.export.default_decompositions(),
                      dict(torchax.decompositions.DECOMPOSITIONS)):
            for operation in WHOLE:
                table.pop(operation, None)
            graph = graph.run_decompositions(table)
    signature = graph.graph_signature

    def to_array(value):
        if value.is_meta:
            element = jax.dtypes.canonicalize_dtype(torchax.ops.mappings.t2j_dtype(value.dtype))
            return jax.ShapeDtypeStruct(tuple(value.shape), element)
        return environment.t2j_copy(value)

    def add(tree, name, value):
        if value.is_complex():
            parts = torch.view_as_real(value.resolve_conj()).unbind(-1)
            tree[name + REAL], tree[name + IMAGINARY] = map(to_array, parts)
        else:
            tree[name] = to_array(value)

    # What the graph takes, in its order: names, or constants.
    weights, example, taken = {}, {}, []
    given = iter(pytree.tree_leaves(graph.example_inputs))
    kinds = torch.export.graph_signature.InputKind
    tied = {}
    for spec in signature.input_specs:
        if spec.kind is kinds.USER_INPUT:
            tree, name, value = example, spec.arg.name, next(given)
        else:
            tree, name = weights, spec.target
            value = graph.state_dict.get(name, graph.constants.get(name))
        # Of a parameter that has several names, the first: its gradient is one.
        if spec.kind is kinds.PARAMETER:
            name = tied.setdefault(id(value), name)
        if isinstance(value, torch.Tensor):
            add(tree, name, value)
        taken.append((name, None) if isinstance(value, torch.Tensor) else (None, value))

    # What it returns, in its order: first what it has written to.
    outputs = torch.export.graph_signature.OutputKind
    paths, _ = pytree.tree_flatten_with_path(
        pytree.tree_unflatten(list(range(structure.num_leaves)), structure))
    paths = iter(paths)
    gradients = (outputs.GRADIENT_TO_PARAMETER, outputs.GRADIENT_TO_USER_INPUT)
    results, written = [], []
    values = graph.graph_module.graph.output_node().args[0]
    for number, (spec, value) in enumerate(zip(signature.output_specs, values)):
        if spec.kind in gradients:
            names, name = results, join_path("gradient", spec.target)
        elif spec.kind in (outputs.USER_OUTPUT, outputs.LOSS_OUTPUT):
            path, _ = next(paths)
            if not isinstance(spec.arg, torch.export.graph_signature.TensorArgument):
                continue
            names, name = results, join_path("result", *path)
        else:
            names, name = written, spec.target
        if value.meta["val"].is_complex():
            names += [(name + REAL, number, jax.numpy.real),
                      (name + IMAGINARY, number, jax.numpy.imag)]
        else:
            names.append((name, number, None))

    ordered = [name for name, *_ in results + written]
    if len(set(ordered)) < len(ordered):
        raise ValueError("a buffer or input that the module writes to has the same name as a "
                         "result: give it another name")

    def forward(weights, inputs):
        tensors = weights | inputs
        values = Interpreter(graph.graph_module).run(
            *(get_tensor(tensors, name) if name else value for name, value in taken),
            enable_io_processing=False)
        return {name: part(values[number]) if part else values[number]
                for name, number, part in results + written}

    return Traced(forward, weights, example, ordered,
                  {name: len(results) + i for i, (name, *_) in enumerate(written)})


def get_tensor(tensors, name):
    if name in tensors:
        return tensors[name]
    return jax.lax.complex(tensors[name + REAL], tensors[name + IMAGINARY])


def make_graph(module, inputs, kwargs):
    import torch
    from torch._subclasses import fake_tensor
    from torch.fx.experimental import symbolic_shapes
    try:
        with returning_fields(module), without_loops(module):
            return torch.export.export(module, inputs, kwargs)
    except (symbolic_shapes.GuardOnDataDependentSymNode,
            fake_tensor.DataDependentOutputException,
            fake_tensor.DynamicOutputShapeException, TypeError) as error:
        theirs = str(pathlib.Path(torch.__file__).parent)
        # PyTorch refuses to hash a size that depends on data, as a key of a dict would need.
        last = traceback.extract_tb(error.__traceback__)[-1]
        if isinstance(error, TypeError) and not (
                last.name == "__hash__" and last.filename.startswith(theirs)):
            raise
        place = [f"{frame.filename}:{frame.lineno}"
                 for frame in traceback.extract_tb(error.__traceback__)
                 if not frame.filename.startswith((theirs, __file__, "<"))][-1:]
        raise make_refusal(*place) from error


def check_sizes(graph):
    """That no size is a number which only a run has; those of dynamic_shapes are known."""
    import torch
    from torch.fx.experimental import symbolic_shapes
    from .interpreter import get_place
    for node in graph.graph.nodes:
        for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            if (isinstance(value, torch.Tensor)
                    and symbolic_shapes.free_unbacked_symbols(value.shape)):
                raise make_refusal(get_place(node))


def make_refusal(place="the module"):
    return NotImplementedError(
        f"{place}: a size or branch depends on the values of tensors, but a program has fixed "
        "sizes and branches: compute all elements, and mask those that do not count")


@contextlib.contextmanager
def returning_fields(module):
    """The module returns dicts for dataclasses, of which PyTorch need not know."""
    hook = module.register_forward_hook(lambda module, inputs, outputs: get_fields(outputs))
    try:
        yield
    finally:
        hook.remove()


def get_fields(value):
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: get_fields(field) for name, field in fields.items() if field is not None}
    # Not what is more than a list, such as a cache or a named tuple.
    if type(value) in (tuple, list):
        return type(value)(map(get_fields, value))
    if type(value) is dict:
        return {name: get_fields(field) for name, field in value.items()}
    return value

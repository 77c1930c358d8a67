# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random PyTorch modules: a torch.fx graph, its inputs, a mesh, and cuts.

A module is a function of its seed and of the seeds of its steps, each of which
draws from its own random numbers: a step can be left out, and the others go on.
"""

import copy
import dataclasses
import itertools
import operator
import random

import numpy as np
import torch
from torch import fx, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from operations import STEPS
from tp_export.naming import join_path

MAX_ELEMENTS, MAX_RESULTS = 2048, 5
EPSILON = {torch.float32: 2.0 ** -23, torch.bfloat16: 2.0 ** -8, torch.float16: 2.0 ** -11}


@dataclasses.dataclass
class Value:
    node: fx.Node
    tensor: torch.Tensor  # what it is on the example inputs

    @property
    def shape(self):
        return tuple(self.tensor.shape)

    @property
    def rank(self):
        return self.tensor.ndim

    @property
    def is_float(self):
        return self.tensor.is_floating_point()


class Undefined(Exception):
    """A step wants what the values do not have."""


class Noise(TorchFunctionMode):
    """Moves what functions give, those that submodules call, too, in units of rounding, and
    the gradients of that."""

    def __init__(self, amount):
        super().__init__()
        self.amount, self.draw = amount, torch.Generator().manual_seed(1)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        value = function(*args, **kwargs or {})
        if not self.amount:
            return value
        return pytree.tree_map(self.disturb, value)

    def disturb(self, x):
        moved = self.move(x)
        if moved is not x and moved.requires_grad:
            moved.register_hook(self.move)
        return moved

    def move(self, x):
        if not isinstance(x, torch.Tensor) or not x.is_floating_point() or (
                isinstance(x, nn.Parameter)):
            return x
        signs = torch.randint(0, 2, x.shape, generator=self.draw) * 2.0 - 1
        still = x.detach().abs()
        finite = still[still.isfinite()]
        size = still + (finite.max() / 4 if finite.numel() else 0)
        step = (self.amount * EPSILON[x.dtype] * signs * size).to(x.dtype)
        return x + torch.where(x.isfinite(), step, torch.zeros_like(step))


class Noisy(fx.Interpreter):
    """Runs a module with noise in what is not marked as exact."""

    def __init__(self, module, amount):
        super().__init__(module)
        self.noise = Noise(amount)

    def run_node(self, node):
        if "exact" in node.meta or node.op not in ("call_function", "call_module"):
            return super().run_node(node)
        with self.noise:
            return super().run_node(node)


class Module:
    def __init__(self, seed, steps=None):
        rng = random.Random(seed)
        self.seed = seed
        self.axes = self.draw_mesh(rng)
        self.steps = steps or [rng.randrange(2**32) for _ in range(rng.randint(2, 9))]
        first, last, cuts = (random.Random(rng.randrange(2**32)) for _ in range(3))
        self.root, self.graph, self.inputs = nn.Module(), fx.Graph(), {}
        self.values, self.used, self.parameters, self.serial = [], set(), [], itertools.count()
        self.rng = first
        for _ in range(2):
            self.add(self.take(self.shape(2), torch.float32))
        for step in self.steps:
            self.rng = random.Random(step)
            self.take_step()
        self.rng = last
        self.graph.output(self.make_result())
        self.module = fx.GraphModule(self.root, self.graph).eval()
        self.rng = cuts
        self.plan = {name: self.draw_cut(value) for name, value in itertools.chain(
            self.module.state_dict().items(), self.inputs.items())}

    @staticmethod
    def draw_mesh(rng):
        sizes = rng.choice([(2,), (2,), (3,), (2, 2), (2, 3)])
        return dict(zip(("model", "data"), sizes))

    def draw_cut(self, tensor):
        free, cut = list(self.axes), []
        for _ in range(tensor.ndim):
            dim = []
            while free and self.rng.random() < (0.2 if dim else 0.4):
                dim.append(free.pop(self.rng.randrange(len(free))))
            cut.append(dim)
        return cut

    # Making the graph -----------------------------------------------------------

    def take_step(self):
        used, nodes = set(self.used), set(self.graph.nodes)
        inputs = set(self.inputs)
        try:
            made = [v for v in self.rng.choice(STEPS)(self)
                    if v.tensor.numel() <= MAX_ELEMENTS and not v.tensor.is_complex()]
        except (Undefined, RuntimeError, ValueError, IndexError, TypeError,
                NotImplementedError):
            # PyTorch has no such operation of these values.
            self.used = used
            for node in reversed(list(self.graph.nodes)):
                if node not in nodes:
                    self.graph.erase_node(node)
            for name in set(self.inputs) - inputs:
                del self.inputs[name]
            return
        for value in made:
            self.add(value)

    def add(self, value):
        self.values.append(value)

    def make_result(self):
        """What nothing uses: a tensor, a tuple, or a dict, perhaps one in the other."""
        values = [v for i, v in enumerate(self.values) if i not in self.used] or self.values
        nodes = [v.node for v in values[-MAX_RESULTS:]]
        kind = self.choice(["tuple", "dict", "both"])
        if len(nodes) == 1 and self.chance(50):
            return nodes[0]
        if kind == "tuple":
            return tuple(nodes)
        named = {self.choice("abcd") + str(i): node for i, node in enumerate(nodes)}
        return named if kind == "dict" else (nodes[0], named) if len(nodes) > 1 else [nodes[0]]

    def call(self, function, *args, exact=False, **kwargs):
        """A node that calls `function`, a torch function or the name of a method; values of
        all that it returns."""
        nodes, tensors = ([pytree.tree_map(lambda x: getattr(x, kind) if isinstance(x, Value)
                                           else x, tree) for tree in (args, kwargs)]
                          for kind in ("node", "tensor"))
        node = self.graph.call_function(function, tuple(nodes[0]), nodes[1])
        return self.finish(node, function(*tensors[0], **tensors[1]), exact)

    def move(self, function, *args, **kwargs):
        """A call that computes nothing new."""
        return self.call(function, *args, exact=True, **kwargs)

    def layer(self, module, *args, name="layer"):
        """A node that calls a submodule."""
        name = f"{name}{next(self.serial)}"
        self.fill(module)
        self.root.add_module(name, module.eval())
        node = self.graph.call_module(name, tuple(a.node if isinstance(a, Value) else a
                                                  for a in args))
        tensors = [a.tensor if isinstance(a, Value) else a for a in args]
        return self.finish(node, module(*tensors), False)

    def fill(self, module):
        draw = self.generator()
        for parameter in module.parameters():
            parameter.data = self.numbers(parameter.shape, parameter.dtype, draw) / 2

    def finish(self, node, result, exact):
        if exact:
            node.meta["exact"] = True
        if isinstance(result, torch.Tensor):
            return Value(node, result.detach())
        values = []
        for i, tensor in enumerate(result):
            item = self.graph.call_function(operator.getitem, (node, i))
            item.meta["exact"] = True
            values.append(Value(item, tensor.detach()) if isinstance(tensor, torch.Tensor) else None)
        return values

    def take(self, shape, dtype, least=None, most=None):
        """A new input of the module."""
        name = f"input{next(self.serial)}"
        tensor = self.numbers(shape, dtype, self.generator(), least, most)
        self.inputs[name] = tensor
        return Value(self.graph.placeholder(name), tensor)

    def weight(self, shape, dtype=torch.float32):
        """A parameter, at times one that is there, or a buffer."""
        same = [v for v in self.parameters if v[1].shape == shape and v[1].dtype == dtype]
        if same and self.chance(40):
            name, tensor = self.choice(same)
        else:
            name = f"{self.choice(['weight', 'block_', 'scale'])}{next(self.serial)}"
            tensor = self.numbers(shape, dtype, self.generator())
            if self.chance(20) or not dtype.is_floating_point:
                self.root.register_buffer(name, tensor)
            else:
                self.root.register_parameter(name, nn.Parameter(tensor))
                self.parameters.append((name, tensor))
        return Value(self.graph.get_attr(name), tensor.detach())

    def buffer(self, tensor):
        name = f"state{next(self.serial)}"
        self.root.register_buffer(name, tensor)
        return Value(self.graph.get_attr(name), tensor)

    def generator(self):
        return torch.Generator().manual_seed(self.rng.randrange(2**31))

    @staticmethod
    def numbers(shape, dtype, draw, least=None, most=None):
        if dtype == torch.bool:
            return torch.rand(shape, generator=draw) < 0.6
        if dtype.is_floating_point:
            return torch.randn(shape, generator=draw).to(dtype)
        least = -3 if least is None and dtype != torch.uint8 else least or 0
        return torch.randint(least, 10 if most is None else most, shape, generator=draw,
                             dtype=dtype)

    # What steps draw ------------------------------------------------------------

    def draw(self, least, most):
        return self.rng.randint(least, max(least, most))

    def chance(self, percent):
        return self.rng.random() * 100 < percent

    def choice(self, list_):
        return self.rng.choice(list_)

    def sample(self, list_, count):
        return self.rng.sample(list(list_), count)

    def dtype(self):
        return self.choice([torch.float32] * 10 + [torch.bfloat16, torch.int64, torch.int32,
                                                  torch.bool, torch.float16, torch.uint8])

    def shape(self, rank=None):
        rank = self.choice([1, 2, 2, 3, 3, 4]) if rank is None else rank
        return tuple(self.draw(1, 9 if rank < 4 else 6) for _ in range(rank))

    def axis(self, x):
        return self.draw(0, x.rank - 1) - (x.rank if self.chance(40) else 0)

    def axes_of(self, x):
        return tuple(self.sample(range(x.rank), self.draw(1, x.rank)))

    def pick(self, kind="float", rank=None, dtype=None):
        """A value of so many dimensions, preferably of those which nothing uses."""
        def fits(value):
            t = value.tensor
            return ((rank is None or t.ndim in (rank if isinstance(rank, tuple) else (rank,)))
                    and (dtype is None or t.dtype == dtype) and t.numel() > 0
                    and {"any": True, "float": value.is_float,
                         "number": t.dtype != torch.bool, "bool": t.dtype == torch.bool,
                         "int": not value.is_float and t.dtype != torch.bool}[kind])
        found = [i for i, v in enumerate(self.values) if fits(v)]
        if not found or self.chance(5):
            rank = self.choice(rank) if isinstance(rank, tuple) else rank
            dtype = dtype or (torch.bool if kind == "bool" else torch.int64 if kind == "int"
                              else torch.float32)
            make = self.take if self.chance(60) else self.weight
            return make(self.shape(rank), dtype)
        at = max(self.choice(found), self.choice(found))
        self.used.add(at)
        return self.values[at]

    def like(self, x, shape=None):
        """A value of the type of `x`."""
        shape = x.shape if shape is None else tuple(shape)
        found = [i for i, v in enumerate(self.values)
                 if v.shape == shape and v.tensor.dtype == x.tensor.dtype]
        if found and self.chance(50):
            at = self.choice(found)
            self.used.add(at)
            return self.values[at]
        return (self.take if self.chance(50) else self.weight)(shape, x.tensor.dtype)

    # What PyTorch computes --------------------------------------------------------

    def evaluate(self, noise=0.0):
        """Results and buffers by the names of tp_export."""
        module = copy.deepcopy(self.module)
        with torch.no_grad():
            results = Noisy(module, noise).run(*(x.clone() for x in self.inputs.values()))
        return name_results(results) | dict(module.named_buffers())

    def get_names(self):
        """Weights that gradients are asked of, and inputs."""
        weights = [name for name, p in self.module.named_parameters() if p.is_floating_point()]
        return weights, [name for name, x in self.inputs.items() if x.is_floating_point()]

    def differentiate(self, factors, noise=0.0, is_wide=False):
        """The sum of float results by `factors`, and its gradients. In f64 if `is_wide`."""
        module = copy.deepcopy(self.module)
        inputs = {name: x.clone() for name, x in self.inputs.items()}
        if is_wide:
            module.double()
            inputs = {name: x.double() if x.is_floating_point() else x
                      for name, x in inputs.items()}
        weights, floats = self.get_names()
        variables = {**{name: module.get_parameter(name) for name in weights},
                     **{name: inputs[name].requires_grad_() for name in floats}}
        with torch.enable_grad():
            results = name_results(Noisy(module, noise).run(
                *(x.clone() if x.requires_grad else x for x in inputs.values())))
            loss = sum((results[name].float() * factor).sum()
                       for name, factor in factors.items())
        gradients = torch.autograd.grad(loss, list(variables.values()), allow_unused=True)
        return loss.detach(), {
            name: torch.zeros_like(v) if g is None else g
            for (name, v), g in zip(variables.items(), gradients)}

    def draw_factors(self):
        draw = np.random.default_rng(self.seed)
        return {name: torch.from_numpy(draw.standard_normal(x.shape).astype(np.float32))
                for name, x in self.evaluate().items()
                if name.startswith("result") and x.is_floating_point()}


def name_results(results):
    leaves, _ = pytree.tree_flatten_with_path(results)
    return {join_path("result", *path): leaf for path, leaf in leaves}

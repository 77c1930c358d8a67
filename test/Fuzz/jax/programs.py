# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random JAX programs: a mesh, arguments with shardings, and steps.

A program is a function of its seed and of the seeds of its steps, each of which
draws from its own random numbers: a step can be left out, and the others go on.
"""

import random
import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import regions  # noqa: F401  registers its steps
from steps import STEPS, Value

MAX_ELEMENTS = 4096
MAX_OUTPUTS = 6
TYPES = (["float32"] * 10 + ["bfloat16", "float16", "int32", "int32", "bool", "uint8",
                            "int8", "int16", "uint32"])
DEVICES = 8


class Program:
    def __init__(self, seed, steps=None, output=None):
        rng = random.Random(seed)
        self.seed, self.output = seed, output
        self.axes = self.draw_mesh(rng)
        count = int(np.prod(list(self.axes.values())))
        devices = np.array(jax.devices()[:count]).reshape(list(self.axes.values()))
        self.mesh = Mesh(devices, tuple(self.axes))
        self.steps = steps or [rng.randrange(2**32) for _ in range(rng.randint(2, 8))]
        self.first = rng.randrange(2**32)
        self.arguments, self.is_known, self.undefined = [], False, set()
        jax.eval_shape(lambda: [v.array for v in self.trace([])])
        self.is_known = True
        self.specs = [self.draw_spec(rng, a.ndim) for a in self.arguments]

    @staticmethod
    def draw_mesh(rng):
        axes, left = {}, DEVICES
        for name in "xyz"[:rng.choice([1, 1, 2, 2, 3])]:
            axes[name] = min(left, rng.choice([1, 2, 2, 3, 4]))
            left //= axes[name]
        return axes

    def draw_spec(self, rng, rank):
        """The axes that cut each dimension."""
        free, spec = list(self.axes), []
        for _ in range(rank):
            dim = []
            while free and rng.random() < (0.2 if dim else 0.4):
                dim.append(free.pop(rng.randrange(len(free))))
            spec.append(dim)
        return spec

    # Running ------------------------------------------------------------------

    def trace(self, arrays, noise=None, is_export=False):
        """The program's outputs. `noise` moves what rounds, in units of rounding."""
        self.arrays, self.taken, self.is_export = arrays, 0, is_export
        self.values, self.used = [], set()
        self.rng = random.Random(self.first)
        for _ in range(2):
            self.add(self.get(self.shape(), self.dtype()))
        for number, seed in enumerate(self.steps):
            self.rng = random.Random(seed)
            for value in self.take_step(number):
                if value.array.size <= MAX_ELEMENTS:
                    self.add(self.disturb(value, noise, number))
        outputs = [v for i, v in enumerate(self.values) if i not in self.used]
        outputs = outputs[-MAX_OUTPUTS:]
        return outputs if self.output is None else [outputs[self.output]]

    def take_step(self, number):
        """What a step makes; nothing if it is not defined for what it draws, which the
        first trace finds out."""
        if number in self.undefined:
            return []
        used, taken, arguments = set(self.used), self.taken, len(self.arguments)
        try:
            return self.rng.choice(STEPS)(self)
        except (TypeError, ValueError, NotImplementedError, IndexError):
            if self.is_known:
                raise
            self.used, self.taken = used, taken
            del self.arguments[arguments:]
            self.undefined.add(number)
            return []

    def disturb(self, value, noise, number):
        if noise is None or value.is_exact:
            return value
        signs = np.random.default_rng(number).choice([-1.0, 1.0], value.shape)
        wide = value.array.astype(jnp.float32) * (1 + noise * value.epsilon * signs)
        return Value(wide.astype(value.dtype), value.bits, value.epsilon)

    def add(self, value):
        self.values.append(value)

    # What steps draw ----------------------------------------------------------

    def draw(self, least, most):
        return self.rng.randint(least, max(least, most))

    def chance(self, percent):
        return self.rng.random() * 100 < percent

    def choice(self, list_):
        return self.rng.choice(list_)

    def permutation(self, size):
        return self.rng.sample(range(size), size)

    def dtype(self):
        return jnp.dtype(self.choice(TYPES))

    def shape(self, least=0):
        shape = [0 if self.chance(0.5) else self.draw(1, 9)
                 for _ in range(self.draw(max(least, 1 if self.chance(85) else 0), 3))]
        return tuple(shape)

    def axis(self, x):
        return self.draw(0, len(x.shape) - 1)

    def pick(self, kind="any", least=0, exact=False):
        def fits(value):
            is_bool = value.dtype == jnp.bool_
            return (len(value.shape) >= least and (not exact or value.is_exact)
                    and {"any": True, "float": value.is_float, "number": not is_bool,
                         "int": not value.is_float and not is_bool}[kind])
        found = [i for i, v in enumerate(self.values) if fits(v)]
        if not found or self.chance(10):
            dtype = self.dtype()
            if kind == "float" or kind == "number" and dtype == jnp.bool_:
                dtype = jnp.dtype("float32")
            if kind == "int":
                dtype = jnp.dtype("int32")
            return self.get(self.shape(least), dtype)
        # Later ones are likelier.
        at = max(self.choice(found), self.choice(found))
        self.used.add(at)
        return self.values[at]

    def like(self, x, exact=False):
        found = [i for i, v in enumerate(self.values) if v.shape == x.shape
                 and v.dtype == x.dtype and (not exact or v.is_exact)]
        if found and self.chance(60):
            at = self.choice(found)
            self.used.add(at)
            return self.values[at]
        if self.chance(30):
            return Value(self.constant(x.shape, x.dtype))
        return self.get(x.shape, x.dtype)

    def get(self, shape, dtype):
        """A new argument."""
        numbers = self.numbers(shape, dtype)
        if not self.is_known:
            self.arguments.append(numbers)
            array = jnp.asarray(self.arguments[-1])
        else:
            array = self.arrays[self.taken]
        self.taken += 1
        return Value(array)

    def numbers(self, shape, dtype):
        rng = np.random.default_rng(self.rng.randrange(2**32))
        if dtype == jnp.bool_:
            return rng.integers(0, 2, shape).astype(bool)
        if jnp.issubdtype(dtype, jnp.floating):
            return (rng.integers(-8, 9, shape) / 4).astype(dtype)
        least = 0 if jnp.issubdtype(dtype, jnp.unsignedinteger) else -3
        return rng.integers(least, 10, shape).astype(dtype)

    def constant(self, shape, dtype):
        array = self.numbers(shape, dtype)
        return jnp.full(shape, array.flat[0]) if array.size and self.chance(30) else array

    def index(self):
        return self.get((), jnp.dtype("int32")).array

    def indices(self, shape):
        return self.get(shape, jnp.dtype("int32")).array

    def constrain(self, array):
        spec = self.draw_spec(self.rng, array.ndim)
        if not self.is_export:
            return array
        return jax.lax.with_sharding_constraint(
            array, NamedSharding(self.mesh, PartitionSpec(*map(tuple, spec))))

    # Text ---------------------------------------------------------------------

    def export(self):
        """The module as JAX writes it, with the arguments' shardings."""
        function = jax.jit(lambda *a: [v.array for v in self.trace(a, is_export=True)],
                           keep_unused=True)
        text = function.lower(*self.arguments).as_text()
        if "sdy.mesh @mesh" not in text:
            sizes = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())
            text = re.sub(r"(module .*\{\n)", rf"\1  sdy.mesh @mesh = <[{sizes}]>\n", text,
                          count=1)
        text = re.sub(r' \{jax.result_info = "[^"]*"\}', "", text)
        text = re.sub(r"mhlo.num_partitions = \d+", "mhlo.num_partitions = "
                      f"{self.mesh.devices.size}", text, count=1)
        return re.sub(r"(@main\()(.*)", lambda m: m[1] + self.annotate(m[2]), text, count=1)

    def annotate(self, signature):
        def add(match):
            spec = self.specs[int(match[1])]
            dims = ", ".join("{" + ", ".join(f'"{a}"' for a in dim) + "}" for dim in spec)
            return f"{match[0]} {{sdy.sharding = #sdy.sharding<@mesh, [{dims}]>}}"
        return re.sub(r"%arg(\d+): tensor<[^>]*>(?! \{)", add, signature)

    # The reference --------------------------------------------------------------

    def evaluate_apart(self):
        """The outputs of the operations one by one, which XLA cannot combine."""
        return [np.asarray(v.array)
                for v in self.trace(self.arguments, jnp.float32(0))]

    def evaluate(self):
        """The outputs, and how far each may be off."""
        kinds = {}

        def function(noise, *arrays):
            outputs = self.trace(arrays, noise)
            kinds["outputs"] = [(v.is_exact, v.epsilon) for v in outputs]
            return [v.array for v in outputs]
        jitted = jax.jit(function)
        base = [np.asarray(a) for a in jitted(jnp.float32(0), *self.arguments)]
        noisy = [[np.asarray(a) for a in jitted(jnp.float32(n), *self.arguments)]
                 for n in (1, -2)]
        allowed = []
        for i, (is_exact, epsilon) in enumerate(kinds["outputs"]):
            if is_exact or base[i].size == 0:
                allowed.append(0.0)
                continue
            wide = base[i].astype(np.float64)
            moved = max(np.max(np.abs(n[i].astype(np.float64) - wide)) for n in noisy)
            largest = np.max(np.abs(wide))
            allowed.append(16 * (moved + epsilon * max(largest, 1)))
        return base, allowed

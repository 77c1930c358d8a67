# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the corpus says what to call a function with.

    case("jax.numpy.take", "nm", "k:i32@<m", axis=1)

calls jax.numpy.take(x, indices, axis=1). An argument is written as its dims, `:`
its element type where that is not the one of the file, and `@` what numbers it
has. A dim is a letter, whose size each of the two SHAPES gives, or a digit; `()`
is a scalar. Numbers are multiples of 1/64 between -3 and 3, so that all types can
hold them, ties occur, and logarithms of negative ones are asked for; or

    @pos @prob @unit @ge1    above 0, in (0, 1), in (-1, 1), above 1
    @nonzero @small          integers but 0; 0 to 3
    @<m                      indices of a dim of that size
    @sorted @distinct @nan   ascending; each once; some are NaN
    @spd                     symmetric positive definite matrices
"""

import collections
import dataclasses
import math
import typing

# Even sizes, and ones that no mesh divides.
SHAPES = {"even": dict(n=4, m=8, k=6, b=2, c=4), "odd": dict(n=3, m=7, k=5, b=3, c=2)}

FLOATS = ("float32", "bfloat16")
NUMBERS = ("float32", "int32")
INTEGERS = ("int32", "uint8")
TRUTHS = ("bool", "int32")
TYPES = {"f32": "float32", "i32": "int32", "u32": "uint32", "u8": "uint8",
         "bool": "bool", "c64": "complex64"}

# The size of each letter, and `dtype`, the element type of the file.
Sizes = collections.namedtuple("Sizes", [*SHAPES["even"], "dtype"])


@dataclasses.dataclass
class Argument:
    """A tensor that a case takes, before sizes and type are known."""
    dims: str
    dtype: str | None
    numbers: str

    @staticmethod
    def parse(text):
        text, _, numbers = text.partition("@")
        dims, _, dtype = text.partition(":")
        return Argument("" if dims == "()" else dims,
                        TYPES[dtype] if dtype else None, numbers)

    def get_shape(self, sizes):
        return tuple(int(d) if d.isdigit() else getattr(sizes, d) for d in self.dims)


@dataclasses.dataclass
class Case:
    """One way to call one function. `call(f, sizes, *arrays)` makes the call where
    keywords alone do not; a type is listed twice where there are no two. `form` tells several cases of a function apart."""
    function: str
    arguments: list[Argument]
    dtypes: tuple[str, ...]
    call: typing.Callable | None
    form: str
    keywords: dict
    mapped: bool  # inside of a mapped axis "i", which collectives want

    @property
    def name(self):
        return self.function + (f".{self.form}" if self.form else "")


CASES: list[Case] = []


def case(function, *arguments, dtypes=FLOATS, call=None, form="", mapped=False,
         **keywords):
    CASES.append(Case(function, [Argument.parse(a) for a in arguments], dtypes, call,
                      form, keywords, mapped))


def cases(functions, *arguments, **rest):
    """The same call of several functions, written as words."""
    module, *names = functions.split()
    for name in names:
        case(f"{module}.{name}", *arguments, **rest)


def make_numbers(rng, argument, shape, dtype, sizes):
    """An array of `dtype` (a NumPy type, or one of ml_dtypes)."""
    import numpy
    count = math.prod(shape)
    kind = argument.numbers
    name = numpy.dtype(dtype).name
    whole = name.startswith(("int", "uint"))
    low = 0 if name.startswith("uint") else -9
    if kind.startswith("<"):
        values = rng.integers(0, getattr(sizes, kind[1]) if kind[1].isalpha()
                              else int(kind[1:]), count)
    elif name == "bool":
        values = rng.integers(0, 2, count)
    elif kind == "small":
        values = rng.integers(0, 4, count)
    elif kind == "distinct":
        values = rng.permutation(count) - (0 if low == 0 else count // 2)
    elif kind == "spd":
        rows = rng.integers(-3, 4, (*shape[:-2], shape[-1], shape[-1])) / 4
        values = rows @ numpy.swapaxes(rows, -1, -2) + 2 * numpy.eye(shape[-1])
    elif whole:
        values = rng.integers(1 if kind in ("pos", "ge1") else low, 10, count)
        if kind == "nonzero":
            values = numpy.where(values == 0, 3, values)
    else:
        low, high = {"pos": (4, 192), "prob": (4, 60), "unit": (-60, 60),
                     "ge1": (70, 256)}.get(kind, (-192, 192))
        values = rng.integers(low, high, count) / 64
        if kind == "nonzero":
            values = numpy.where(values == 0, 0.5, values)
        if kind == "nan":
            values = numpy.where(rng.integers(0, 4, count) == 0, numpy.nan, values)
    if kind == "sorted":
        values = numpy.sort(values)
    if name == "complex64":
        values = values + 1j * rng.integers(-192, 192, count) / 64
    return numpy.asarray(values).reshape(shape).astype(dtype)

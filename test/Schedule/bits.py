# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of training of a small Llama, compiled with overlap and without: bits.py MACHINE WORK.

Prints for each plan how many collectives there are and how many travel while something is
computed. The outputs of both must be the same bits, and the arena no larger than the other
and what may be under way."""

import json
import os
import pathlib
import re
import subprocess
import sys

CONFIG = dict(architectures=["LlamaForCausalLM"], hidden_act="silu", hidden_size=32,
              intermediate_size=80, num_attention_heads=4, num_key_value_heads=2,
              num_hidden_layers=3, vocab_size=52, max_position_embeddings=64,
              rms_norm_eps=1e-5, tie_word_embeddings=False)
PLANS = ("plan=ddp mesh=data=2", "plan=fsdp mesh=data=2", "plan=ddp zero=1 mesh=data=3",
         "plan=megatron+sp mesh=model=2", "plan=megatron+fsdp mesh=data=2,model=2")
IN_FLIGHT = 16384


def call(*arguments):
    subprocess.run(arguments, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.PIPE if arguments[0] == "tp-run" else None)


def count(steps):
    """Of the first program: its collectives, those that are apart from their done, and the
    bytes of its arena."""
    entry = steps[steps.index("step.program"):]
    entry = entry[:entry.find("step.program", 1)]
    starts = re.findall(r"(%\d+) = step\.collective_start.*\n(?=(.*))", entry)
    apart = [token for token, after in starts
             if not after.strip().startswith(f"step.collective_done {token}")]
    return len(starts), len(apart), int(re.search(r"arena (\d+)", entry)[1])


def main():
    machine, work = sys.argv[1:]
    folder = pathlib.Path(work)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    call("tp-opt", f"--tp-import=hf:{folder}", "-o", folder / "loss.mlir",
         "--tp-import-options=phase=train batch=6 sequence=16 dtype=f32")
    call("tp-opt", folder / "loss.mlir", "-o", folder / "step.mlir",
         "--tp-train=loss=loss weight=label_count optimizer=adamw(lr=1e-3) verify=false")
    for plan in PLANS:
        outputs, arenas = [], []
        for overlap in ("true", "false"):
            base = folder / overlap
            call("tp-opt", folder / "step.mlir", "-o", f"{base}.step",
                 f"--tp-artifact={base}.tpx",
                 f"--tp-compile={plan} machine={machine} verify=off overlap={overlap} chunk=false "
                 f"in_flight={IN_FLIGHT}B")
            call("tp-run", f"{base}.tpx", "--seed=5", f"--output={base}.safetensors")
            outputs.append(pathlib.Path(f"{base}.safetensors").read_bytes())
            collectives, apart, arena = count(pathlib.Path(f"{base}.step").read_text())
            arenas.append(arena)
            print(f"{plan}: {apart} of {collectives} travel")
        if outputs[0] != outputs[1]:
            sys.exit(f"{plan}: other bits with overlap")
        # What lies between buffers is not counted.
        if arenas[0] > 1.05 * (arenas[1] + IN_FLIGHT):
            sys.exit(f"{plan}: an arena of {arenas[0]} bytes with overlap, {arenas[1]} without")
    print("the same bits")


if __name__ == "__main__":
    main()

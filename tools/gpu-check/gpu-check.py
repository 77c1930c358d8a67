#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and measures a build on a machine that has a GPU and no compiler.

    gpu-check.py pack build/release FOLDER     where the build is
    python3 FOLDER/gpu-check.py run            where the GPU is

`pack` compiles a model for GPUs, lets the CPU compute what is to come out, and
puts both beside tp-run and its libraries. Weights are seeded, so none travel.
`run` takes Python, NVIDIA's driver, cuBLAS and NCCL. It runs the model

  cuda      on one GPU,
  virtual   on three ranks that share it,
  nccl      on three processes that share it and talk by NCCL over the loopback,

compares tokens and logits with the CPU's, measures, and prints one table. Exit
code: 0 if all is as it should be, 1 if something is not."""

import argparse
import array
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Those that come with the loader, of which there can be one.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread)\.so|ld-linux|linux-vdso)")
RANKS = 3
PROMPT = list(range(1, 12))
SMOLLM2 = "../../test/Import/HuggingFace/Inputs/smollm2-135m"
# Of the largest logit.
TOLERANCES = {"f32": 1e-4, "bf16": 2e-2}


def call(arguments, **options):
    """What a program prints; its messages go where ours do."""
    return subprocess.run([str(a) for a in arguments], check=True, text=True,
                          stdout=subprocess.PIPE, **options).stdout


def read_logits(text):
    """The numbers that --print wrote below a line that names a tensor."""
    numbers = array.array("f")
    for line in text.splitlines():
        if ":" not in line:
            numbers.extend(map(float, line.split()))
    return numbers


def get_programs(types, sequence, cache):
    """The programs by name: their import options, ranks and type."""
    programs = {}
    for dtype in types:
        kind = "" if dtype == "f32" else f" dtype={dtype}"
        for ranks in (1, RANKS):
            name = f"{ranks}-{dtype}"
            programs[f"prefill-{name}"] = (f"phase=prefill logits=last sequence={sequence}{kind}", ranks, dtype)
            programs[f"generate-{name}"] = (
                f"phase=generate batch=1 sequence={sequence} cache={cache}{kind}", ranks, dtype)
    return programs


def pack(options):
    build, folder = options.build.resolve(), options.folder
    for part in ("bin", "lib", "programs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    tools = build / "bin"
    shutil.copy2(tools / "tp-run", folder / "bin")
    shutil.copy2(__file__, folder / "gpu-check.py")
    libraries = [build / "lib" / f"libtprt{part}.so" for part in ("", "_cuda")]
    for library in libraries:
        shutil.copy2(library, folder / "lib")
    for binary in (tools / "tp-run", *libraries):
        for line in call(["ldd", binary]).splitlines():
            name, _, path = line.strip().partition(" => ")
            if path.startswith("/") and not SYSTEM.match(name):
                shutil.copy2(path.split(" ")[0], folder / "lib")

    goldens = {"prompt": PROMPT, "tokens": options.tokens, "programs": {}}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        programs = get_programs(options.type or TOLERANCES, options.sequence, options.cache)
        for name, (imported, ranks, dtype) in programs.items():
            print(name, flush=True)
            model = scratch / f"{name}.mlir"
            call([tools / "tp-opt", f"--tp-import=hf:{options.model}",
                  f"--tp-import-options={imported}", "-o", model])
            artifact = folder / "programs" / f"{name}.tpx"
            call([tools / "tp-opt", model,
                  f"--tp-compile=target=cuda mesh=model={ranks} plan=megatron",
                  f"--tp-artifact={artifact}", "-o", options.steps / f"{name}.mlir"
                  if options.steps else os.devnull])
            reference = scratch / "cpu.tpx"
            call([tools / "tp-opt", model, "--tp-compile=target=cpu mesh=model=1",
                  f"--tp-artifact={reference}", "-o", os.devnull])
            golden = {"ranks": ranks, "dtype": dtype, "generates": name.startswith("generate")}
            # In bf16 the likeliest of two tokens may be either.
            if golden["generates"] and dtype == "f32":
                golden["tokens"] = call(
                    [tools / "tp-run", reference, *get_generate(goldens)]).strip()
            elif not golden["generates"]:
                logits = read_logits(call([tools / "tp-run", reference, "--print"]))
                (folder / "programs" / f"{name}.logits").write_bytes(logits.tobytes())
            goldens["programs"][name] = golden
    (folder / "goldens.json").write_text(json.dumps(goldens, indent=1) + "\n")
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{size / 2**20:.1f} MiB in {folder}")


def get_generate(goldens):
    return ["--generate=" + ",".join(map(str, goldens["prompt"])),
            f"--max_tokens={goldens['tokens']}"]


def get_environment():
    """With the libraries of this package and NVIDIA's where pip or the toolkit put them."""
    folders = [HERE / "lib", *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":"))]
    for place in sys.path:
        folders += glob.glob(f"{place}/nvidia/*/lib")
    folders += glob.glob("/usr/local/cuda/lib64")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(map(str, folders))}


def run_alone(backend, program, arguments):
    return call([HERE / "bin/tp-run", program, f"--backend={backend}", *arguments],
                env=get_environment(), stderr=subprocess.PIPE)


def run_by_nccl(program, arguments):
    """One process for each rank. NCCL takes GPUs on hosts of other names for others."""
    processes = []
    for rank in range(RANKS):
        environment = {
            **get_environment(), "RANK": str(rank), "WORLD_SIZE": str(RANKS),
            "LOCAL_RANK": str(rank), "NCCL_COMM_ID": "127.0.0.1:29517",
            "CUDA_VISIBLE_DEVICES": os.environ.get("CUDA_VISIBLE_DEVICES", "0").split(",")[0],
            "NCCL_HOSTID": f"rank-{rank}", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1",
            "NCCL_IB_DISABLE": "1", "NCCL_SOCKET_IFNAME": "lo", "NCCL_NVLS_ENABLE": "0",
            "NCCL_MAX_CTAS": "2"}
        processes.append(subprocess.Popen(
            [HERE / "bin/tp-run", program, "--backend=cuda", "--timeout=60", *arguments],
            env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE))
    results = [(process.communicate(), process.returncode) for process in processes]
    for (_, errors), code in results:
        if code != 0:
            raise subprocess.CalledProcessError(code, "tp-run", stderr=errors)
    return results[0][0][0]


def compare(name, golden, text):
    """What is wrong with the output of a run; nothing if it is right."""
    if golden["generates"]:
        return "" if text.strip() == golden.get("tokens", text.strip()) else text.strip()
    wanted = array.array("f", (HERE / "programs" / f"{name}.logits").read_bytes())
    got = read_logits(text)
    if len(got) != len(wanted):
        return f"{len(got)} logits, not {len(wanted)}"
    scale = max(map(abs, wanted))
    # A NaN is not below anything.
    largest = max((abs(a - b) if a == a else float("inf") for a, b in zip(got, wanted)))
    worst = largest / scale
    return "" if worst <= TOLERANCES[golden["dtype"]] else f"off by {worst:.2g}"


def run(options):
    goldens = json.loads((HERE / "goldens.json").read_text())
    ways = {"cuda": (1, lambda *a: run_alone("cuda", *a)),
            "virtual": (RANKS, lambda *a: run_alone("virtual", *a)),
            "nccl": (RANKS, run_by_nccl)}
    rows, failed = [], 0
    for name, golden in goldens["programs"].items():
        program = HERE / "programs" / f"{name}.tpx"
        generates = golden["generates"]
        for way, (ranks, execute) in ways.items():
            if ranks != golden["ranks"] or (options.only and way not in options.only):
                continue
            try:
                wrong = compare(name, golden, execute(
                    program, get_generate(goldens) if generates else ["--print"]))
                entry = ["--entry=decode"] if generates else []
                times = execute(program, [f"--bench={options.bench}", *entry])
                time = re.search(r"min ([\d.]+) us, median ([\d.]+) us", times).groups()
            except subprocess.CalledProcessError as error:
                wrong, time = (error.stderr or str(error)).strip().splitlines()[-1], ("", "")
            failed += bool(wrong)
            rows.append((name + (" (decode)" if generates else ""), way,
                         wrong or "ok", *time))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    rows.insert(0, ("program", "on", "result", "min us", "median us"))
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack", help="compile and collect what `run` needs")
    packing.add_argument("build", type=pathlib.Path)
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("--model", help="a folder with a config.json (SmolLM2-135M's)",
                         default=HERE / SMOLLM2)
    packing.add_argument("--type", action="append", choices=TOLERANCES, help="not both types")
    packing.add_argument("--sequence", type=int, default=64)
    packing.add_argument("--cache", type=int, default=256)
    packing.add_argument("--tokens", type=int, default=16)
    packing.add_argument("--steps", type=pathlib.Path, help="keep the steps there")
    packing.set_defaults(action=pack)
    running = commands.add_parser("run", help="run it all on the GPU of this machine")
    running.add_argument("--bench", type=int, default=20, help="runs to measure")
    running.add_argument("--only", action="append", choices=["cuda", "virtual", "nccl"])
    running.set_defaults(action=run)
    options = parser.parse_args()
    sys.exit(options.action(options))


if __name__ == "__main__":
    main()

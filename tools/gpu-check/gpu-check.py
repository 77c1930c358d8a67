#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks and measures a build on a machine that has a GPU and no compiler.

    gpu-check.py pack build/release FOLDER     where the build is
    python3 FOLDER/gpu-check.py run            where the GPU is

`pack` compiles programs for GPUs, lets the CPU compute what is to come out, and
puts both beside tp-run and its libraries. Weights are made of a seed where they are
used, by the CPU for what is to come out and by the GPU for itself: none travel.
`run` takes Python, NVIDIA's driver, cuBLAS and NCCL. Its sections, each of which
`--only` names:

  probe      what is there, and small programs of each kind of kernel against the CPU,
  cuda       SmolLM2 on one GPU against the CPU: tokens, and logits,
  virtual    on three ranks that share it,
  nccl-alone on one that NCCL connects to itself,
  faults     memory that is not there, a rank that is killed,
  nccl       SmolLM2 on three processes that share the GPU and talk by NCCL over the
             loopback,
  sanitizer  what compute-sanitizer sees,
  attention  our kernel against PyTorch's,
  kernels    the others against a copy,
  layers     one layer of Llama 3 8B and one rank's of 70B, against PyTorch, JAX and
             what the GPU can do.

It prints one table, whose rows come to stderr as they are made. Exit code: 0 if
all is as it should be, 1 if something is not. Who is compared with never counts:
a peer that is missing or fails is named in the table."""

import argparse
import dataclasses
import json
import os
import pathlib
import shutil
import re
import sys
import tempfile

import checks
import device
import layers
import programs
from device import HERE, RANKS, call
from table import Table

# Those that come with the loader, of which there can be one.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread)\.so|ld-linux|linux-vdso)")
# Used if those of the machine are too old.
GCC = ("libstdc++.", "libgcc_s.")
PROMPT = list(range(1, 12))
SMOLLM2 = "../../test/Import/HuggingFace/Inputs/smollm2-135m"
SECTIONS = ("probe", "cuda", "virtual", "nccl-alone", "faults", "nccl", "sanitizer", "attention",
            "kernels", "layers")
# What a folder may have, to be carried to where a GPU is.
LARGEST = 60 << 20


def get_models(types, sequence, cache):
    """The programs by name: their import options, ranks and type."""
    models = {}
    for dtype in types:
        kind = f" dtype={dtype}"
        for ranks in (1, RANKS):
            name = f"{ranks}-{dtype}"
            models[f"prefill-{name}"] = (
                f"phase=prefill logits=last sequence={sequence}{kind}", ranks, dtype)
            models[f"generate-{name}"] = (
                f"phase=generate batch=1 sequence={sequence} cache={cache}{kind}", ranks, dtype)
    return models


class Packer:
    """Makes programs in a folder that is thrown away, and artifacts in one that is not."""

    def __init__(self, options, scratch):
        self.tools, self.folder = options.build.resolve() / "bin", options.folder
        # Apart from the models, whose names they have.
        self.steps = options.steps or scratch / "steps"
        self.steps.mkdir(exist_ok=True)
        self.scratch = scratch

    def write(self, name, text):
        path = self.scratch / f"{name}.mlir"
        path.write_text(text)
        return path

    def import_model(self, name, model, options):
        path = self.scratch / f"{name}.mlir"
        call([self.tools / "tp-opt", f"--tp-import=hf:{model}",
              f"--tp-import-options={options}", "-o", path])
        return path

    def import_config(self, name, config, options):
        folder = self.scratch / f"{name}-model"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))
        return self.import_model(name, folder, options)

    def compile(self, name, program, ranks=1, options=""):
        """For GPUs; gives the program of steps."""
        print(name, flush=True)
        steps = self.steps / f"{name}.mlir"
        mesh = f"mesh=model={ranks}" + (" plan=megatron" if ranks > 1 else "")
        call([self.tools / "tp-opt", program, f"--tp-compile=target=cuda {mesh} {options}",
              f"--tp-artifact={self.folder / 'programs' / name}.tpx", "-o", steps])
        return steps.read_text()

    def write_steps(self, name, steps):
        """An artifact of steps that the compiler does not make."""
        print(name, flush=True)
        path = self.steps / f"{name}.mlir"
        path.write_text(steps)
        call([self.tools / "tp-opt", path,
              f"--tp-write-artifact=file={self.folder / 'programs' / name}.tpx target=cuda",
              "-o", os.devnull])

    def run_on_cpu(self, program, *arguments):
        reference = self.scratch / "cpu.tpx"
        call([self.tools / "tp-opt", program, "--tp-compile=target=cpu mesh=model=1",
              f"--tp-artifact={reference}", "-o", os.devnull])
        # Several that wait for each other take long beside other work.
        return call([self.tools / "tp-run", reference, "--threads=1", *arguments])

    def keep(self, name, printed):
        """What the CPU printed, to compare with."""
        numbers = checks.read_logits(printed)
        (self.folder / "programs" / f"{name}.logits").write_bytes(numbers.tobytes())


def pack_tools(build, folder):
    for part in ("bin", "lib/gcc", "programs"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    tool = build / "bin/tp-run"
    shutil.copy2(tool, folder / "bin")
    for module in HERE.glob("*.py"):
        shutil.copy2(module, folder)
    libraries = [build / "lib" / f"libtprt{part}.so" for part in ("", "_cuda")]
    for library in libraries:
        shutil.copy2(library, folder / "lib")
    for binary in (tool, *libraries):
        for line in call(["ldd", binary]).splitlines():
            name, _, path = line.strip().partition(" => ")
            if path.startswith("/") and not SYSTEM.match(name):
                part = "lib/gcc" if name.startswith(GCC) else "lib"
                shutil.copy2(path.split(" ")[0], folder / part)


def pack_models(packer, goldens, options):
    """What is compared with the CPU."""
    models = get_models(options.type or checks.TOLERANCES, options.sequence, options.cache)
    printed = {}  # by the CPU, which has one rank
    for name, (imported, ranks, dtype) in models.items():
        model = packer.import_model(name, options.model, imported)
        packer.compile(name, model, ranks)
        golden = {"ranks": ranks, "dtype": dtype, "generates": name.startswith("generate")}
        # In bf16 the likeliest of two tokens may be either.
        is_compared = not golden["generates"] or dtype == "f32"
        if is_compared and imported not in printed:
            how = checks.get_generate(goldens) if golden["generates"] else ["--print"]
            printed[imported] = packer.run_on_cpu(model, *how)
        if golden["generates"] and is_compared:
            golden["tokens"] = printed[imported].strip()
        elif is_compared:
            packer.keep(name, printed[imported])
        goldens["programs"][name] = golden


def pack_float8(packer, goldens):
    """8-bit products, which the CPU multiplies as f32."""
    name = "products-fp8"
    program = packer.write(name, programs.FLOAT8)
    packer.compile(name, program, options="fp8=true")
    packer.keep(name, packer.run_on_cpu(program, "--print"))
    # Of the largest, tensor cores may err by more than f32 does.
    goldens["programs"][name] = {"ranks": 1, "dtype": "bf16", "generates": False}


def pack_measured(packer, goldens, sizes):
    """What is timed, with what each step costs."""
    for case in programs.get_cases(sizes):
        model = packer.import_config(case.file, case.config, case.options)
        goldens["layers"][case.name] = {
            "case": dataclasses.asdict(case),
            "costs": programs.read_costs(packer.compile(case.file, model))}
    for attention in sizes.attention:
        name = programs.get_attention_name(attention)
        packer.compile(name, packer.write(name, programs.get_attention(*attention)))
    packer.compile("negation", packer.write("negation", programs.NEGATION))
    packer.compile("product", packer.write("product", programs.get_product(sizes.square)))


def pack_small(packer, goldens, sizes):
    """What is looked at first, what compute-sanitizer runs, and what no GPU has the memory
    for."""
    def keep(name, program, dtype, proves, options=""):
        packer.compile(name, program, options=options)
        packer.keep(name, packer.run_on_cpu(program, "--print"))
        goldens["small"][name] = {"dtype": dtype, "proves": proves}

    (tiny,) = programs.TINY.shards.values()
    for phase, length, proves in (("prefill", "sequence=24", "attention, norms, products"),
                                  ("decode", "cache=32", "a cache and attention of it")):
        for dtype in checks.TOLERANCES:
            name = f"small-{phase}-{dtype}"
            keep(name, packer.import_config(
                name, tiny, f"phase={phase} batch=2 {length} dtype={dtype}"), dtype, proves)
    keep("small-sorts", packer.write("small-sorts", programs.SORTS), "f32", "sorts")
    keep("small-ptx", packer.write("small-ptx", programs.TANH_OF_TANH), "f32",
         "PTX that the driver compiles", "ptxas=none")
    keep("small-f16", packer.write("small-f16", programs.get_typed_product("f16")), "bf16",
         "products of f16")
    packer.write_steps(checks.ONE_RANK, programs.ONE_RANK_SUM)
    packer.keep(checks.ONE_RANK, packer.run_on_cpu(
        packer.write(checks.ONE_RANK, programs.TANH_OF_TANH), "--print"))
    shard = next(iter(sizes.shards.values()))
    packer.compile("too-large", packer.import_config(
        "too-large", shard, f"phase=decode batch={sizes.too_large} cache={sizes.cache} dtype=bf16"))


def pack(options):
    pack_tools(options.build.resolve(), options.folder)
    sizes = programs.TINY if options.tiny else programs.FULL
    goldens = {"prompt": PROMPT, "tokens": options.tokens, "programs": {}, "layers": {},
               "small": {}, "tiny": options.tiny}
    with tempfile.TemporaryDirectory() as scratch:
        packer = Packer(options, pathlib.Path(scratch))
        pack_models(packer, goldens, options)
        pack_float8(packer, goldens)
        pack_measured(packer, goldens, sizes)
        pack_small(packer, goldens, sizes)
    (options.folder / "goldens.json").write_text(json.dumps(goldens, indent=1) + "\n")
    size = sum(file.stat().st_size for file in options.folder.rglob("*") if file.is_file())
    print(f"{size / 2**20:.1f} MiB in {options.folder}", flush=True)
    if size > LARGEST:
        print(f"error: more than {LARGEST >> 20} MiB may be too large to copy to the GPU machine; "
              "leave out a --type", file=sys.stderr)
        return 1
    return 0


def run(options):
    goldens = json.loads((HERE / "goldens.json").read_text())
    sizes = programs.TINY if goldens["tiny"] else programs.FULL
    table = Table(options.minutes, options.output)
    bench = layers.Bench(table, goldens["layers"], sizes, options)

    def check(way):
        return lambda: checks.check_numbers(table, goldens, way, options.bench, sizes.warm_up)
    sections = {
        "probe": lambda: checks.check_probe(table, goldens),
        "cuda": check("cuda"), "virtual": check("virtual"),
        "nccl-alone": lambda: checks.check_one_by_nccl(table, goldens),
        "faults": lambda: checks.check_faults(table, goldens, options.patience),
        # Each message over the loopback takes milliseconds.
        "nccl": check("nccl"),
        "sanitizer": lambda: checks.check_sanitizer(table, goldens["small"]),
        "attention": bench.measure_attention, "kernels": bench.measure_kernels,
        "layers": lambda: bench.measure_layers(options.layer)}
    for name, section in sections.items():
        if options.only and name not in options.only:
            continue
        # Algorithms that were found while processes shared the GPU are kept for none.
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            device.get_environment.cache_clear()
            try:
                section()
            except Exception as error:  # the others are wanted all the same
                table.add(name, "", device.explain(error))
    bench.close()
    table.print()
    return 1 if table.failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack", help="compile and collect what `run` needs")
    packing.add_argument("build", type=pathlib.Path)
    packing.add_argument("folder", type=pathlib.Path)
    packing.add_argument("--model", help="a folder with a config.json (SmolLM2-135M's)",
                         default=HERE / SMOLLM2)
    packing.add_argument("--type", action="append", choices=checks.TOLERANCES,
                         help="a type to check, by default all")
    packing.add_argument("--sequence", type=int, default=64)
    packing.add_argument("--cache", type=int, default=256)
    packing.add_argument("--tokens", type=int, default=64)
    packing.add_argument("--tiny", action="store_true",
                         help="make small measurements, for an emulated GPU")
    packing.add_argument("--steps", type=pathlib.Path, help="a folder to keep the step programs in")
    packing.set_defaults(action=pack)
    running = commands.add_parser("run", help="run it all on the GPU of this machine")
    running.add_argument("--only", action="append", choices=SECTIONS, help="run only this section")
    running.add_argument("--layer", default="", help="run only layers whose names contain this")
    running.add_argument("--bench", type=int, default=20, help="runs of each measurement")
    running.add_argument("--rounds", type=int, default=3,
                         help="how often tp-run and the peers take turns")
    running.add_argument("--minutes", type=float, default=25,
                         help="minutes after which no check is started")
    running.add_argument("--patience", type=float, default=30,
                         help="seconds until a rank is killed")
    running.add_argument("--python", default=sys.executable, help="runs the peers")
    running.add_argument("--output", type=pathlib.Path, help="a file for the rows, as JSON")
    running.set_defaults(action=run)
    options = parser.parse_args()
    sys.exit(options.action(options))


if __name__ == "__main__":
    main()

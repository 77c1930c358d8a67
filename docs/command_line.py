# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of the command line, from what the tools say of themselves.

Options of tp-opt and of its pipelines come from `tp-opt --help-list-hidden`, those of tp-run
from its `--help`, options of importing and keys of machine files from the comments that define
them. Of environment variables, VARIABLES says what each is for, and the sources say which there
are: one that lacks here is an error.
"""

import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The order in which a user meets them.
PIPELINES = ("tp-shard", "tp-compile", "tp-train", "tp-verify-certificate")

VARIABLES = {
    "CUDA_HOME, CUDA_ROOT, CUDA_PATH": "where `tp-opt` finds NVIDIA's `bin/ptxas`",
    "PATH": "where `tp-opt` looks for `ptxas` and for the wheel of a Python after that",
    "XDG_CACHE_HOME, HOME": "the folder of [what is kept](../running.md#what-is-kept)",
    "CUDA_VISIBLE_DEVICES": "which GPUs a process sees; with one alone, a rank takes that",
    "OMPI_COMM_WORLD_SIZE, PMI_SIZE": "set by `mpirun`: each process is one rank",
    "OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK": "set by `mpirun`: this rank, for messages",
    "OMPI_COMM_WORLD_LOCAL_RANK, MPI_LOCALRANKID, LOCAL_RANK, SLURM_LOCALID":
        "set by launchers: the rank's number on its host, which chooses its GPU",
    "RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT":
        "set by `torchrun`, read with `--backend=cuda`: this rank, all ranks, where rank 0 is",
    "SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LAUNCH_NODE_IPADDR, SLURM_JOB_ID":
        "set by `srun`, read with `--backend=cuda`: the same",
    "SLURM_NTASKS": "set by `srun`: all ranks, for messages",
    "NCCL_COMM_ID": "`HOST:PORT` where NCCL finds rank 0",
    "NVTX_INJECTION64_PATH": "set by `nsys`: its library, to which ranges are told",
}
NUMBERS = dict.fromkeys(("int", "uint", "long", "ulong"), "N")
# Variables that only tests set.
OF_TESTS = re.compile(r"TPRT_FAKE_\w+|TPRT_TEST_\w+")


def run(tool, *arguments):
    path = shutil.which(tool) or shutil.which(tool, path=f"{ROOT}/build/release/bin")
    if not path:
        raise SystemExit(f"{tool} is neither in the PATH nor in build/release/bin: build it first")
    return subprocess.run([path, *arguments], check=True, capture_output=True, text=True).stdout


def table(rows, head):
    escape = lambda text: text.replace("|", "\\|")
    return "\n".join([f"| {head[0]} | {head[1]} |", "| --- | --- |",
                      *(f"| {escape(name)} | {escape(text)} |" for name, text in rows)]) + "\n"


def options(lines):
    """Rows of lines of help, `--name=<value> - text`; a `=word - text` belongs to the row above."""
    rows = []
    for line in lines:
        if option := re.match(r"\s+--([\w-]+)(?:=<([^>]*)>)?\s+-\s+(.*)", line):
            name, value, text = option.groups()
            value = NUMBERS.get(value, value)
            if value and value.isalpha():
                value = value.upper()
            rows.append([f"`{name}`" if value is None else f"`{name}={value}`", text])
        elif (word := re.match(r"\s*=(\S+)\s+-\s+(.*)", line)) and rows:
            rows[-1][1] += f"{';' if '`' in rows[-1][1] else ':'} `{word[1]}`: {word[2].lower()}"
    return rows


def pipelines(text):
    """The options of each pipeline: lines behind its own that are further in than it."""
    parts = []
    for name in PIPELINES:
        found = re.search(rf"^( +)--{name} +- +(.*)\n((?:\1 +--.*\n| +=\S+ +- .*\n)*)", text, re.M)
        if not found:
            raise SystemExit(f"tp-opt --help-list-hidden does not list --{name}")
        parts.append(f"### --{name}\n\n{found[2]}: `--{name}=\"OPTION=VALUE ..\"`.\n\n" +
                     table(options(found[3].splitlines()), ("option", "means")))
    return "\n".join(parts)


def own_options(text):
    """What tp-opt has beside passes and pipelines."""
    lines = [line for line in text.splitlines() if re.match(r"  --tp-[\w-]+", line)]
    return table([(name.replace("`", "`--", 1), meaning) for name, meaning in options(lines)],
                 ("option", "means"))


def comment(file, begin, end):
    """The part of a file's comment between two of its lines."""
    text = re.sub(r"^///? ?", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.M)
    if begin not in text:
        raise SystemExit(f"{file} has no '{begin}'")
    return text.split(begin, 1)[1].split(end, 1)[0].strip("\n") + "\n"


def read_variables():
    """The names of variables that the sources read."""
    names = set()
    for file in [*ROOT.glob("lib/**/*.cpp"), *ROOT.glob("runtime/**/*.cpp"),
                 *ROOT.glob("tools/**/*.cpp"), *ROOT.glob("passes/**/*.cpp")]:
        text = file.read_text(encoding="utf-8")
        if re.search(r"getenv|GetEnv", text):
            names.update(re.findall(r'"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*)"', text))
    return {name for name in names if not OF_TESTS.fullmatch(name)}


def variables():
    told = {name for names in VARIABLES for name in names.split(", ")}
    if missing := read_variables() - told:
        raise SystemExit(f"docs/command_line.py does not say what these variables are for: "
                         f"{', '.join(sorted(missing))}")
    return table([(", ".join(f"`{name}`" for name in names.split(", ")), text)
                  for names, text in VARIABLES.items()], ("variable", "means"))


def page():
    listed = run("tp-opt", "--help-list-hidden")
    return f"""# Command line

Every option of the tools, every key of a machine file and every environment variable that is
read. The page is for looking things up, and is generated from the tools themselves; to learn
tp-opt, read the [tutorial](../tutorial.md).

## tp-opt

`tp-opt` is an `mlir-opt` with our dialects and passes: it reads a program, runs what the options
say, and prints the program to stdout or to `-o FILE`. `plan=` is explained under
[plans](../compiling.md#plans), `memory=` under [does it fit](../reading-the-plan.md#does-it-fit).

{own_options(listed)}
Each [pass](Passes.md) is an option, too: `--tp-report=out.json`, `--tp-explain=w1`,
`--tp-strict`, `--tp-raise`. `--pass-pipeline='builtin.module(..)'` gives several with options.
Everything that `mlir-opt` has is there: `-o`, `--emit-bytecode`, `--split-input-file`,
`--mlir-print-ir-after-all`, `--remarks-filter`. `--help-list-hidden` lists all.

{pipelines(listed)}
### Importing

Words of `--tp-import-options="KEY=VALUE .."`, beside `--tp-import=hf:DIR`:

{comment("include/tpopt/Import/Import.h", "separated by blanks:", "Errors are TP05xx")}
## tp-run

```text
{run("tp-run", "--help").strip()}
```

## Machine files

`machine=` takes `h100`, `h200`, `cpu`, or a JSON file:

{comment("lib/Cost/Machine.h", "# Machine files", "#ifndef")}
## Environment variables

{variables()}"""

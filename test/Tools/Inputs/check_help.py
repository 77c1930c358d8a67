# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Holds what --help says against what tp-opt and tp-run take.

The options of a pipeline are those that the tool itself lists where one is misspelt; the
flags of tp-run are those that it defines.
"""

import pathlib
import re
import subprocess
import sys


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def has(text, option):
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text)


def main():
    missing = []
    help_text = run("tp-opt", "--help").stdout
    for pipeline in ("tp-shard", "tp-compile", "tp-train"):
        message = run("tp-opt", f"--{pipeline}=there_is_none_such", "-").stderr
        known = re.search(r"note: write one of (.*)", message)[1].split(", ")
        assert len(known) > 5, message
        missing += [f"tp-opt: {name} of --{pipeline}" for name in known if not has(help_text, name)]
    for text in (help_text, run("tp-run", "--help").stdout):
        lines = text.splitlines()
        missing += [f"too wide: {line}" for line in lines if len(line) > 100]
        if len(lines) > 60:
            missing.append(f"{len(lines)} lines are no screen")
    run_help = run("tp-run", "--help").stdout
    source = pathlib.Path(__file__).parents[3] / "tools/tp-run/Options.cpp"
    flags = re.findall(r"^ABSL_FLAG\([\w:]+, (\w+),", source.read_text(), re.MULTILINE)
    assert len(flags) > 20
    missing += [f"tp-run: --{name}" for name in flags
                if not has(run_help, f"--{name}") and not has(run_help, f"--no{name}")]
    for text in missing:
        print("not in the help, or wrong there:", text)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())

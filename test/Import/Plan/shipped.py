# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Applies every entry of the plans that transformers ships, word by word.

usage: shipped.py TP-OPT WORDS SCRATCH

WORDS holds, by word, the patterns of all base_model_tp_plan, _tp_plan and
base_model_ep_plan of one release of transformers. Each is a warning here, since
no model has all of these names, and none is an error.
"""

import json
import pathlib
import subprocess
import sys

TOOL, WORDS, SCRATCH = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
PROGRAM = """
spmd.mesh @mesh <["model"=2]>
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) { return }
"""


def main():
    errors = []
    program = SCRATCH / "in.mlir"
    program.write_text(PROGRAM)
    words = json.loads(pathlib.Path(WORDS).read_text())
    for word, patterns in words.items():
        plan = SCRATCH / f"{word}.json"
        plan.write_text(json.dumps({"base_model_tp_plan": dict.fromkeys(patterns, word)}, indent=1))
        result = subprocess.run([TOOL, str(program), f"--tp-apply-plan=plan={plan}"],
                                capture_output=True, text=True, check=False)
        unmatched = [p for p in patterns
                     if f'warning: [TP0523] plan entry "{p}" matches no argument' in result.stderr]
        if result.returncode or unmatched != patterns:
            errors.append(f"{word}: exit {result.returncode} and\n{result.stderr[:600]}")
    print("\n".join(errors) or f"{len(words)} words, {sum(map(len, words.values()))} entries")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

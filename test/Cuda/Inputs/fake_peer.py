# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers as the peers of tools/gpu-check do, without what they need: the times are
said, and some ways fail in every way there is."""

import json
import sys


def answer(name, do, backend=None, variant=None, **_):
    if do == "hello":
        return {"is": f"pretended {name}"}
    if (name, do) == ("jax", "prepare") or backend == "efficient":
        sys.exit("it died of this")
    if do == "prepare":
        return {"variants": {"graph": "", "slow": "", "late": "",
                             "compiled": "no C compiler"}}
    if backend == "cudnn":
        return {"error": "no such backend"}
    if variant == "late":
        return {"error": "out of memory"}
    return {"us": {"slow": 300.0}.get(variant, 100.0)}


name = sys.argv[1].split("/")[-1].partition("_")[0]
for line in sys.stdin:
    print(json.dumps(answer(name, **json.loads(line))), flush=True)

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What engines does without the engines: who is checked and left out, whose turn it is, what
is a ratio, how far a cache reaches, and what bounds a case."""

import importlib.machinery
import importlib.util
import io
import pathlib
import sys
import tempfile
import unittest

import turns

HERE = pathlib.Path(__file__).resolve().parent

# A side that says its name, is OFF when checked, writes its name into LOG at each turn, and
# takes MS at its first turn and 2, 3, .. times that at later ones.
FAKE = """
import json, sys
name, off, log, ms = sys.argv[1:]
if name == "broken": sys.exit("it has no processor")
print(json.dumps({"name": name + " 1.0"}), flush=True)
turn = 0
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "check":
        if name == "dying": sys.exit("out of memory")
        print(json.dumps({"off": float(off)}), flush=True)
        continue
    turn += 1
    if turn > 1 and name == "tiring": sys.exit("no more")
    open(log, "a").write(name + "\\n")
    print(json.dumps({"ms": [turn * float(ms)] * request["steps"]}), flush=True)
"""


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name, str(HERE / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


class Turns(unittest.TestCase):
    def setUp(self):
        self.log = tempfile.NamedTemporaryFile("r")

    def start(self, **engines):
        commands = {name: ([sys.executable, "-c", FAKE, name, str(off), self.log.name, str(ms)],
                           None) for name, (off, ms) in engines.items()}
        sides, failed = turns.start_sides(
            commands, lambda _, reply: "wrong" if not reply["off"] <= 0.1 else None,
            logits="unused")
        for side in sides.values():
            self.addCleanup(side.close)
        return sides, failed

    def test_left_out(self):
        sides, failed = self.start(ours=(0, 10), wrong=(0.5, 1), nan=("nan", 1),
                                   broken=(0, 1), dying=(0, 1), right=(0.05, 5))
        self.assertEqual(list(sides), ["ours", "right"])
        self.assertEqual(failed, {"wrong": "wrong", "nan": "wrong",
                                  "broken": "it has no processor", "dying": "out of memory"})

    def test_turns(self):
        sides, _ = self.start(a=(0, 1), b=(0, 2), c=(0, 3))
        turns.take_turns(sides, 2, 4, pause=0)
        # The first of a round is another one each time.
        self.assertEqual(self.log.read().split(), list("abc" "bca" "cab"))
        # The round that warms up is not among the times.
        self.assertEqual(sides["b"].turns, [[4.0] * 4, [6.0] * 4])

    def test_dies_in_a_turn(self):
        sides, _ = self.start(ours=(0, 1), tiring=(0, 2))
        self.assertEqual(turns.take_turns(sides, 2, 1, pause=0), {"tiring": "no more"})
        self.assertEqual(list(sides), ["ours"])
        self.assertEqual(sides["ours"].turns, [[2.0], [3.0]])

    def test_rows(self):
        sides, _ = self.start(ours=(0, 10), theirs=(0.05, 15))
        turns.take_turns(sides, 3, 1, pause=0)
        sides["theirs"].turns[1] = [300.0]  # something else ran
        rows = turns.get_rows("decode-1-f32", sides, "ours")
        self.assertEqual(rows[1], {"case": "decode-1-f32", "engine": "theirs 1.0", "ms": 60.0,
                                   "ratio": 1.5, "least": 30.0, "off": 0.05})
        table = io.StringIO()
        turns.print_table(rows, table)
        self.assertEqual(table.getvalue().splitlines()[2:], [
            "| decode-1-f32 | ours 1.0 | 30.0 | 1.00 | 20.0 | 0.0e+00 |",
            "| decode-1-f32 | theirs 1.0 | 60.0 | 1.50 | 30.0 | 5.0e-02 |"])


class Cases(unittest.TestCase):
    def test_caches(self):
        engines = load_script("engines")
        for rounds in (1, 7, 100):
            # One step checks; a turn of each round and of the one that warms up is 8.
            self.assertGreaterEqual(engines.Case("decode-8-f32", rounds).cache,
                                    512 + 1 + 8 * (rounds + 1))
        self.assertEqual(engines.Case("prefill-1-bf16", 7).cache, 512)

    def test_roofs(self):
        engines = load_script("engines")
        machine = {"matmul_f32_gflops": 100.0, "matmul_bf16_gflops": 200.0, "copy_gbps": 10.0}
        least = {name: engines.Case(name, 1).get_roof(machine)[0] for name in engines.CASES}
        self.assertAlmostEqual(least["prefill-1-f32"], 2 * 134.515008 * 512 / 100, 3)
        self.assertAlmostEqual(least["prefill-1-f32"], 2 * least["prefill-1-bf16"])
        # Weights, and 30 layers of keys and values of 3 heads of 64 for 512 tokens.
        self.assertAlmostEqual(least["decode-1-f32"], 4 * (134.515008 + 5.89824) / 10, 3)
        self.assertAlmostEqual(least["decode-8-f32"], 4 * (134.515008 + 47.18592) / 10, 3)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

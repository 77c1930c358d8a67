#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what compiled ranks compute with goldens/*.json. COMMAND is tp-run
with a program and its weights, perhaps under mpirun.

  compare.py logits GOLDEN SEQUENCE COMMAND...
      The program: phase=prefill logits=all, or an encoder. Its batch has a row
      for every case, padded to SEQUENCE tokens.

  compare.py generate GOLDEN SEQUENCE COMMAND...
      The program: phase=generate. Case by case, the logits of the last token,
      and the tokens that greedy decoding appends.

  compare.py embeddings GOLDEN SEQUENCE COMMAND...
      The program: an encoder. The mean of its tokens' states, by the cosine.

  --case N         only this case, counted from 0; of generate
  --tolerance T    largest difference of two logits that is none (2e-3)

Prints the largest difference; exits with 1 if it is too large.
"""

import argparse
import json
import math
import subprocess
import sys

SMALLEST_COSINE = 0.9999


def run(command):
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}")
    return result.stdout.splitlines()


def run_and_print(command, inputs, name):
    """The rows of the output of that name, and how many rows a batch has."""
    for key, values in inputs.items():
        command = command + ["--input", f"{key}={','.join(map(str, values))}"]
    lines = run(command + ["--print"])
    for number, line in enumerate(lines):
        if line.startswith(f"{name}: "):
            shape = json.loads(line[line.index("["):])
            rows = math.prod(shape[:-1])
            return lines[number + 1:number + 1 + rows]
    sys.exit(f"{' '.join(command)}: there is no output '{name}'")


def pad(tokens, length):
    return tokens + [0] * (length - len(tokens))


def get_inputs(golden, cases, sequence):
    """The cases as a batch."""
    def join(rows):
        return [value for row in rows for value in pad(row, sequence)]

    inputs = {"tokens": join(case["tokens"] for case in cases)}
    if golden["encoder"]:
        inputs["attention_mask"] = join([1] * len(case["tokens"]) for case in cases)
        inputs["token_type_ids"] = join(
            case.get("token_types", []) for case in cases)
    return inputs


def get_difference(row, sample):
    """How far a row of logits is from what is known of it."""
    values = [float(value) for value in row.split()]
    known = list(enumerate(sample["strided_logits"]))
    pairs = [(index * sample["stride"], logit) for index, logit in known]
    pairs += zip(sample["largest"], sample["largest_logits"])
    differences = [abs(values[index] - logit) for index, logit in pairs]
    # A comparison with NaN is false: nothing may hide behind max().
    return max(differences) if all(map(math.isfinite, values)) else math.inf


def compare_logits(golden, arguments):
    cases = golden["cases"]
    rows = run_and_print(arguments.command,
                         get_inputs(golden, cases, arguments.sequence),
                         golden["output"])
    if len(rows) != len(cases) * arguments.sequence:
        sys.exit(f"{len(rows)} rows for {len(cases)} x {arguments.sequence} tokens")
    return max(get_difference(rows[i * arguments.sequence + sample["position"]],
                              sample)
               for i, case in enumerate(cases) for sample in case["logits"])


def compare_generate(golden, arguments):
    largest = 0
    for number, case in enumerate(golden["cases"]):
        if arguments.case not in (None, number):
            continue
        tokens = case["tokens"]
        inputs = get_inputs(golden, [case], arguments.sequence)
        inputs["length"] = [len(tokens)]
        (row,) = run_and_print(arguments.command + ["--entry=prefill"], inputs,
                               golden["output"])
        (sample,) = [sample for sample in case["logits"]
                     if sample["position"] == len(tokens) - 1]
        largest = max(largest, get_difference(row, sample))

        (line,) = run(arguments.command +
                      ["--generate=" + ",".join(map(str, tokens)),
                       f"--max_tokens={len(case['greedy'])}",
                       "--end_token=none"])
        found = [int(token) for token in line.split(",")]
        if found != case["greedy"]:
            sys.exit(f"case {number}: tokens {found}, wanted {case['greedy']}")
    return largest


def compare_embeddings(golden, arguments):
    cases, sequence = golden["cases"], arguments.sequence
    rows = run_and_print(arguments.command, get_inputs(golden, cases, sequence),
                         "last_hidden_state")
    smallest = 1
    for number, case in enumerate(cases):
        first = number * sequence
        states = [[float(value) for value in row.split()]
                  for row in rows[first:first + len(case["tokens"])]]
        sums = [sum(feature) for feature in zip(*states, strict=True)]
        product = sum(x * y for x, y in zip(sums, case["embedding"], strict=True))
        cosine = product / (math.hypot(*sums) * math.hypot(*case["embedding"]))
        if not cosine >= SMALLEST_COSINE:
            sys.exit(f"case {number}: cosine {cosine}")
        smallest = min(smallest, cosine)
    print(f"cosine {smallest:.9f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["logits", "generate", "embeddings"])
    parser.add_argument("--case", type=int)
    parser.add_argument("--tolerance", type=float, default=2e-3)
    parser.add_argument("golden")
    parser.add_argument("sequence", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    with open(arguments.golden, encoding="utf-8") as file:
        golden = json.load(file)
    if arguments.what == "embeddings":
        return compare_embeddings(golden, arguments)
    compare = compare_logits if arguments.what == "logits" else compare_generate
    difference = compare(golden, arguments)
    print(f"difference {difference:.3g}")
    if not difference <= arguments.tolerance:
        sys.exit(f"more than {arguments.tolerance:g}")


if __name__ == "__main__":
    main()

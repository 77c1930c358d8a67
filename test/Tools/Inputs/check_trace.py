#!/usr/bin/env python3
# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that a trace is one in the Trace Event Format, with these events.

    check_trace.py FILE [NAME...] [--ranks=N] [--times=NAME:OTHER:COUNT]...

NAME:OTHER:COUNT: there are COUNT events called NAME for each called OTHER.
"""

import argparse
import collections
import json

parser = argparse.ArgumentParser()
parser.add_argument("file")
parser.add_argument("names", nargs="*")
parser.add_argument("--ranks", type=int)
parser.add_argument("--times", action="append", default=[])
options = parser.parse_intermixed_args()

with open(options.file, encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
open_names = collections.defaultdict(list)
last_end = collections.defaultdict(float)
counts = collections.Counter()
tracks = {}
for event in events:
    track = (event["pid"], event["tid"])
    assert event["name"], event
    if event["ph"] == "M":
        assert event["name"] == "thread_name" and track not in tracks, event
        tracks[track] = event["args"]["name"]
        continue
    assert event["ts"] >= 0, event
    if event["ph"] == "X":
        # Steps of a rank come one after the other.
        assert event["dur"] >= 0 and event["ts"] >= last_end[track], event
        last_end[track] = event["ts"] + event["dur"] - 1e-3
        assert track in tracks and event["cat"], event
        counts[event["name"]] += 1
    elif event["ph"] == "B":
        open_names[track].append(event["name"])
        counts[event["name"]] += 1
    else:
        assert event["ph"] == "E", event
        assert open_names[track].pop() == event["name"], event
assert not any(open_names.values()), open_names
if options.ranks is not None:
    assert len(tracks) == options.ranks, tracks
    assert all(name.startswith("rank ") for name in tracks.values()), tracks
for name in options.names:
    assert any(name in other for other in counts), (name, counts)
for entry in options.times:
    name, other, times = entry.split(":")
    assert counts[name] == counts[other] * int(times) > 0, (name, other, counts)

# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One side of engines: holds a model, and answers requests, a line of JSON each.

    engine_worker.py tp-opt|openvino|onnxruntime OPTIONS

OPTIONS is JSON: model (what the engine loads), weights (the folder that ours are in), dtype,
phase (prefill or decode), batch, prompt and cache (numbers of tokens), threads. Requests
are {"do": "check", "logits": FILE}, which ours writes and others compare with theirs, and
{"do": "turn", "steps": K}, which times K steps.

A step of prefill reads the prompt. One of decode reads one more token of each sequence, the
likeliest, which is chosen outside of the time.
"""

import json
import os
import pathlib
import sys
import time

import numpy as np


def read_vocabulary(options):
    return json.loads((pathlib.Path(options["weights"]) / "config.json").read_text())[
        "vocab_size"]


class TpOpt:
    def __init__(self, options):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "Models"))
        import tprt
        self.name = "tp-opt"
        self.generates = options["phase"] == "decode"
        positions = () if self.generates else (options["prompt"],)
        self.shape = (options["batch"], *positions, read_vocabulary(options))
        self.session = tprt.Session(options["model"], threads=options["threads"])
        self.session.load(options["weights"])

    def begin(self, tokens):
        self.position = tokens.shape[1]
        self.session.bind("tokens", tokens)
        if self.generates:
            self.session.bind("length", np.int32(self.position))

    def prefill(self):
        self.session.run("prefill" if self.generates else "main")

    def take(self, tokens):
        self.token = tokens[:, None].astype(np.int32)

    def step(self):
        self.session.bind("token", self.token)
        self.session.bind("position", np.int32(self.position))
        self.session.run("decode")
        self.position += 1

    def logits(self):
        """Of the last token that was read: [batch, vocabulary]."""
        logits = self.session.read("logits", self.shape, "float32")
        return logits if self.generates else logits[:, -1]


class OpenVINO:
    def __init__(self, options):
        import openvino
        self.name = f"openvino {openvino.__version__.split('-')[0]}"
        # Threads that are not pinned may go where a core is free. Caches are of the type
        # that is computed in, where 8 bits would be usual.
        model = openvino.Core().compile_model(
            pathlib.Path(options["model"]) / "openvino_model.xml", "CPU",
            {"INFERENCE_PRECISION_HINT": options["dtype"],
             "KV_CACHE_PRECISION": options["dtype"], "PERFORMANCE_HINT": "LATENCY",
             "INFERENCE_NUM_THREADS": options["threads"], "NUM_STREAMS": 1,
             "ENABLE_CPU_PINNING": False})
        self.request = model.create_infer_request()

    def begin(self, tokens):
        self.request.reset_state()
        self.token, self.position = tokens.astype(np.int64), 0

    def prefill(self):
        batch, count = self.token.shape
        end = self.position + count
        self.request.infer(
            {"input_ids": self.token, "attention_mask": np.ones((batch, end), np.int64),
             "position_ids": np.tile(np.arange(self.position, end), (batch, 1)),
             "beam_idx": np.arange(batch, dtype=np.int32)}, share_inputs=True)
        self.position = end

    step = prefill

    def take(self, tokens):
        self.token = tokens[:, None]

    def logits(self):
        return self.request.get_tensor("logits").data[:, -1]


class OnnxRuntime:
    def __init__(self, options):
        import onnxruntime_genai
        self.name = f"onnxruntime-genai {onnxruntime_genai.__version__}"
        config = onnxruntime_genai.Config(str(options["model"]))
        # The builder adds the tokenizer's end of a turn, which the model does not have.
        config.overlay(json.dumps({"model": {"eos_token_id": 2, "decoder": {
            "session_options": {"intra_op_num_threads": options["threads"]}}}}))
        self.model = onnxruntime_genai.Model(config)
        parameters = onnxruntime_genai.GeneratorParams(self.model)
        # With the least length, no sequence ends before the others.
        parameters.set_search_options(batch_size=options["batch"], max_length=options["cache"],
                                      min_length=options["cache"])
        self.generator = onnxruntime_genai.Generator(self.model, parameters)

    def begin(self, tokens):
        self.tokens = tokens
        if self.generator.token_count():
            self.generator.rewind_to(0)

    def prefill(self):
        self.generator.append_tokens(self.tokens)

    def take(self, _):
        """It takes none, but chooses the likeliest by logits that are there: the same ones."""
        self.generator.generate_next_token()

    def step(self):
        self.generator.get_logits()  # reads the token that was chosen

    def logits(self):
        return self.generator.get_logits()[:, -1]


ENGINES = {"tp-opt": TpOpt, "openvino": OpenVINO, "onnxruntime": OnnxRuntime}


def milliseconds(body):
    begin = time.perf_counter()
    body()
    return (time.perf_counter() - begin) * 1e3


class Worker:
    def __init__(self, engine, options):
        self.decodes = options["phase"] == "decode"
        self.engine = ENGINES[engine](options)
        self.ours = engine == "tp-opt"
        self.tokens = np.random.default_rng(7).integers(
            0, read_vocabulary(options), (options["batch"], options["prompt"]), dtype=np.int32)

    def check(self, logits):
        """How far logits of the prompt, and of the token behind it that ours are for, are off
        ours, as parts of the largest. A decode begins with this, so that its cache is full."""
        self.engine.begin(self.tokens)
        self.engine.prefill()
        values = {"prefill": np.array(self.engine.logits())}
        own = values if self.ours else np.load(logits)
        if self.decodes:
            self.engine.take(own["prefill"].argmax(-1))
            self.engine.step()
            values["decode"] = np.array(self.engine.logits())
        if self.ours:
            np.savez(logits, **values)
        return {"off": max(float(abs(values[name] - own[name]).max() / abs(own[name]).max())
                           for name in values)}

    def turn(self, steps):
        times = []
        for _ in range(steps):
            if self.decodes:
                self.engine.take(self.engine.logits().argmax(-1))
                times.append(milliseconds(self.engine.step))
            else:
                self.engine.begin(self.tokens)
                times.append(milliseconds(self.engine.prefill))
        return {"ms": times}


def main():
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not look like an answer
    worker = Worker(sys.argv[1], json.loads(sys.argv[2]))
    print(json.dumps({"name": worker.engine.name}), file=replies, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        reply = getattr(worker, request.pop("do"))(**request)
        print(json.dumps(reply), file=replies, flush=True)


if __name__ == "__main__":
    main()

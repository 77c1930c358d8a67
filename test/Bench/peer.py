# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The peer of the bench: answers requests, a line of JSON each, with times."""

import json
import os
import statistics
import sys
import time

# Functions that the stubs lack are never called: resolve them when they are.
sys.setdlopenflags(os.RTLD_LAZY | os.RTLD_GLOBAL)
import torch  # noqa: E402
import transformers  # noqa: E402

# The one question about CUDA that transformers asks without looking for a
# device first; the stubs have no answer to it.
torch.cuda.is_current_stream_capturing = lambda: False
torch.set_num_threads(2)
torch.set_grad_enabled(False)
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


class Models:
    def __init__(self, folder):
        self.folder, self.loaded = folder, {}

    def get(self, dtype, mode):
        """A model, and a callable that is it or its compiled form."""
        if (dtype, mode) not in self.loaded:
            model = transformers.LlamaForCausalLM.from_pretrained(
                self.folder, dtype=getattr(torch, {"f32": "float32",
                                                   "bf16": "bfloat16"}[dtype]))
            model.eval()
            call = model if mode == "eager" else torch.compile(model)
            self.loaded[dtype, mode] = (model, call)
        return self.loaded[dtype, mode]


def milliseconds(body):
    begin = time.perf_counter()
    body()
    return (time.perf_counter() - begin) * 1e3


def time_prefill(call, prompt):
    tokens = torch.arange(prompt)[None]
    times = [milliseconds(lambda: call(tokens, use_cache=False))
             for _ in range(5)]
    return statistics.median(times[2:])


def time_decode(model, call, batch, prompt, new):
    cache = transformers.StaticCache(config=model.config,
                                     max_cache_len=prompt + new)
    model(torch.arange(prompt)[None].repeat(batch, 1), past_key_values=cache,
          use_cache=True, logits_to_keep=1)
    token = torch.zeros((batch, 1), dtype=torch.long)
    times = [milliseconds(lambda at=at: call(
        token, past_key_values=cache, use_cache=True,
        position_ids=torch.full((batch, 1), at)))
             for at in range(prompt, prompt + new)]
    return statistics.median(times)


def describe_machine():
    source = torch.ones(1 << 26)
    target = torch.empty_like(source)
    best = min(milliseconds(lambda: target.copy_(source)) for _ in range(8))
    return {"copy_gbps": 2 * source.numel() * 4 / best / 1e6,
            "peer": f"torch {torch.__version__}, "
                    f"transformers {transformers.__version__}"}


def answer(models, request):
    phase = request["phase"]
    if phase == "machine":
        return describe_machine()
    model, call = models.get(request["dtype"], request["mode"])
    if phase == "prefill":
        return {"ms": time_prefill(call, request["prompt"])}
    batch = int(phase[len("decode"):])
    return {"ms": time_decode(model, call, batch, request["prompt"],
                              request["new"])}


def main():
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print must not look like an answer
    models = Models(sys.argv[1])
    for line in sys.stdin:
        try:
            reply = answer(models, json.loads(line))
        except Exception as error:  # told to the bench, which goes on
            reply = {"error": f"{type(error).__name__}: {error}"[:400]}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main()

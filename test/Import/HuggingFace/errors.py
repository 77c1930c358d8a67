# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks good models in one way each and looks for the message.

usage: errors.py TP-OPT INPUTS SCRATCH
"""

import json
import pathlib
import struct
import subprocess
import sys

TOOL, INPUTS, SCRATCH = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
ABSENT = object()

# model, changed fields, options, what the message says.
CONFIGS = [
    ("smollm2-135m", {"architectures": ABSENT}, "",
     "error: [TP0504] `architectures` is missing"),
    ("smollm2-135m", {"architectures": ["T5Model"]}, "",
     "config.json:3:3: error: [TP0507] `architectures` is T5Model, which the "
     "importer does not know"),
    ("smollm2-135m", {"architectures": []}, "",
     "[TP0507] `architectures` names 0 model classes, not one"),
    ("smollm2-135m", {"architectures": ["T5Model"]}, "",
     "; export a PyTorch module of any other architecture as StableHLO, with "
     "tp_export.export_torch from tools/export"),
    ("smollm2-135m", {"architectures": "LlamaForCausalLM"}, "",
     '[TP0505] `architectures` is "LlamaForCausalLM", not a list of strings'),
    ("smollm2-135m", {"model_type": "gpt2"}, "",
     "[TP0506] `model_type` is `gpt2`, but LlamaForCausalLM is of type `llama`"),
    ("smollm2-135m", {"quantization_config": {"bits": 4}}, "",
     "[TP0508] `quantization_config` says that weights are quantised"),
    ("smollm2-135m", {"hidden_size": ABSENT}, "",
     "[TP0504] `hidden_size` is missing"),
    ("smollm2-135m", {"hidden_size": None}, "",
     "[TP0504] `hidden_size` is missing"),
    ("smollm2-135m", {"hidden_size": "576"}, "",
     '[TP0505] `hidden_size` is "576", not a whole number from 1 to 16777216'),
    ("smollm2-135m", {"hidden_size": 576.5}, "", "[TP0505] `hidden_size` is 576.5"),
    ("smollm2-135m", {"hidden_size": 0}, "", "[TP0505] `hidden_size` is 0"),
    ("smollm2-135m", {"hidden_size": 10**18}, "", "[TP0505] `hidden_size`"),
    ("smollm2-135m", {"num_hidden_layers": 5000}, "",
     "[TP0505] `num_hidden_layers` is 5000, not a whole number from 1 to 4096"),
    ("smollm2-135m", {"rms_norm_eps": -1.0}, "",
     "[TP0505] `rms_norm_eps` is -1, not a number above 0"),
    ("smollm2-135m", {"attention_bias": 1}, "",
     "[TP0505] `attention_bias` is 1, not true or false"),
    ("smollm2-135m", {"hidden_act": 3}, "",
     "[TP0505] `hidden_act` is 3, not a string"),
    ("smollm2-135m", {"hidden_act": "mish"}, "",
     "[TP0508] `hidden_act` is `mish`, which is not supported"),
    ("smollm2-135m", {"num_attention_heads": 7}, "",
     "[TP0506] `num_attention_heads` is 7, which does not divide hidden_size, 576"),
    ("smollm2-135m", {"num_key_value_heads": 2}, "",
     "[TP0506] `num_key_value_heads` is 2, which does not divide "
     "num_attention_heads, 9"),
    ("smollm2-135m", {"head_dim": 63}, "",
     "[TP0506] `head_dim` gives heads of 63 features"),
    ("smollm2-135m", {"partial_rotary_factor": 0.5}, "",
     "[TP0508] `partial_rotary_factor` is not 1"),
    ("smollm2-135m", {"rope_scaling": 4}, "",
     "[TP0505] `rope_scaling` is 4, not an object"),
    ("smollm2-135m", {"rope_scaling": {"type": "yarn"}}, "",
     "error: [TP0508] `rope_scaling.type` is `yarn`, which is not supported"),
    ("smollm2-135m", {"rope_scaling": {"rope_type": "linear"}}, "",
     "[TP0504] `rope_scaling.factor` is missing"),
    ("llama-3.2-1b", {"rope_scaling": {
        "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}, "",
     "[TP0506] `rope_scaling.high_freq_factor` is not above low_freq_factor"),
    ("qwen2-0.5b", {"use_sliding_window": True, "max_window_layers": ABSENT}, "",
     "[TP0504] `max_window_layers` is missing"),
    ("mistral-7b", {"layer_types": ["full_attention"]}, "",
     "[TP0506] `layer_types` has 1 entries, but num_hidden_layers is 32"),
    ("mistral-7b", {"layer_types": ["linear_attention"] * 32}, "",
     "[TP0508] `layer_types` has the unknown type `linear_attention`"),
    ("gpt2", {"n_head": 5}, "",
     "[TP0506] `n_head` is 5, which does not divide n_embd, 768"),
    ("gpt2", {"add_cross_attention": True}, "",
     "[TP0508] `add_cross_attention` is true: attention to an encoder"),
    ("minilm-l6", {"position_embedding_type": "relative_key"}, "",
     "[TP0508] `position_embedding_type` is not `absolute`"),
    ("minilm-l6", {"is_decoder": True}, "",
     "[TP0508] `is_decoder` is true: BERT is imported as an encoder"),
    ("minilm-l6", {"num_attention_heads": 7}, "",
     "[TP0506] `num_attention_heads` is 7, which does not divide hidden_size, 384"),
    # Options against the model.
    ("minilm-l6", {}, "phase=decode",
     "[TP0502] `architectures` is an encoder, which supports only the phases"),
    ("minilm-l6", {}, "sequence=513",
     "[TP0502] `max_position_embeddings` is 512, less than sequence=513"),
    ("gpt2", {}, "sequence=1025",
     "[TP0502] `n_positions` is 1024, less than sequence=1025"),
    ("smollm2-135m", {}, "phase=decode cache=8193",
     "[TP0502] `max_position_embeddings` is 8192, less than cache=8193"),
    ("smollm2-135m", {}, "phase=generate sequence=64 cache=32",
     "[TP0502] sequence=64 is larger than cache=32; import with cache=64"),
    # Options by themselves.
    ("smollm2-135m", {}, "phase=learn",
     "import-options:1:1: error: [TP0502] `phase` must be prefill or decode or "
     "generate or train, not `learn`"),
    ("smollm2-135m", {}, "batch=2  batch=3",
     "import-options:1:10: error: [TP0502] `batch` is given twice"),
    ("smollm2-135m", {}, "batch=0", "[TP0502] `batch` must be a number from 1 to"),
    ("smollm2-135m", {}, "cache=9999999999999999999", "[TP0502] `cache` must be a number"),
    ("smollm2-135m", {}, "dtype=f8", "[TP0502] `dtype` must be f64 or f32 or bf16 or f16, not `f8`"),
    ("smollm2-135m", {}, "logits=first", "[TP0502] `logits` must be last or all"),
    ("smollm2-135m", {}, "quick", "[TP0502] `quick` cannot be read: expects options"),
    ("smollm2-135m", {}, "seq=4", "[TP0502] unknown option `seq`"),
    ("smollm2-135m", {}, "phase=decode sequence=1",
     "[TP0502] `sequence` contradicts `phase=decode`"),
    ("smollm2-135m", {}, "phase=generate logits=all",
     "[TP0502] `logits=all` contradicts `phase=generate`"),
]

# Text of config.json, what the message says.
TEXTS = [
    ("", "config.json:1:1: error: [TP0503] not JSON"),
    ("[]", "config.json:1:1: error: [TP0503] expects a single JSON object"),
    ('{"a": 1,\n "a": 2}', 'config.json:2:2: error: [TP0503] the key "a" is given twice'),
    ('{"a": ' + "[" * 100000, "[TP0503] nested deeper than 64"),
    ('{"a": 1', "[TP0503] not JSON: "),
    # No terminal is shown a line of what is no text.
    (b'{"a": "\xff\xff"}', "config.json: error: [TP0503] not JSON: byte 7 is not UTF-8\n"),
    (b"\x7fELF\n\0", "config.json: error: [TP0503] not JSON: the file has "
     "control characters, so it is not text\n"),
]

TINY = {"architectures": ["GPT2LMHeadModel"], "n_embd": 4, "n_head": 2,
        "n_layer": 1, "n_positions": 8, "vocab_size": 10,
        "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}


def tiny_tensors():
    shapes = {"wte.weight": [10, 4], "wpe.weight": [8, 4], "ln_f.weight": [4],
              "ln_f.bias": [4]}
    for name, shape in {"ln_1": [4], "ln_2": [4], "attn.c_attn": [4, 12],
                        "attn.c_proj": [4, 4], "mlp.c_fc": [4, 16],
                        "mlp.c_proj": [16, 4]}.items():
        shapes[f"h.0.{name}.weight"] = shape
        shapes[f"h.0.{name}.bias"] = shape[-1:]
    tensors, offset = {}, 0
    for name, shape in shapes.items():
        elements = 1
        for size in shape:
            elements *= size
        tensors[name] = {"dtype": "F32", "shape": shape,
                         "data_offsets": [offset, offset + 4 * elements]}
        offset += 4 * elements
    return tensors, offset


def safetensors(change=lambda tensors: None, header=None, length=None, data=None):
    """A checkpoint of TINY, broken as asked."""
    tensors, size = tiny_tensors()
    change(tensors)
    text = json.dumps(tensors).encode() if header is None else header
    return (struct.pack("<Q", len(text) if length is None else length) + text +
            bytes(size if data is None else data))


def put(name, **fields):
    return lambda tensors: tensors[name].update(fields)


# Files beside config.json, what the message says.
CHECKPOINTS = [
    ({"model.safetensors": b"123"},
     "model.safetensors: error: [TP0509] is shorter than the length"),
    ({"model.safetensors": safetensors(length=10**9)},
     "[TP0509] its header of 1000000000 bytes is longer"),
    ({"model.safetensors": safetensors(length=10**6)},
     "[TP0509] its header of 1000000 bytes is longer"),
    ({"model.safetensors": safetensors(header=b"{]")},
     "[TP0509] its header: not JSON"),
    ({"model.safetensors": safetensors(header=b"[]")},
     "[TP0509] its header is not a JSON object"),
    ({"model.safetensors": safetensors(header=b'{"a": 1, "a": 2}')},
     '[TP0509] its header: the key "a" is given twice'),
    ({"model.safetensors": safetensors(header=b'{"a": 1}')},
     "[TP0509] tensor a expects dtype, shape and two data_offsets"),
    ({"model.safetensors": safetensors(put("wte.weight", shape=[-1, 4]))},
     "[TP0509] tensor wte.weight has a shape that is not a list of sizes"),
    ({"model.safetensors": safetensors(put("wte.weight", shape=[2**40, 2**40]))},
     "[TP0509] tensor wte.weight has a shape that is not a list of sizes"),
    ({"model.safetensors": safetensors(put("wte.weight", data_offsets=[0, 10**9]))},
     "[TP0509] tensor wte.weight has data_offsets outside the file"),
    ({"model.safetensors": safetensors(put("wte.weight", data_offsets=[160, 0]))},
     "[TP0509] tensor wte.weight has data_offsets outside the file"),
    ({"model.safetensors": safetensors(put("wte.weight", dtype="Q4"))},
     "[TP0509] tensor wte.weight has the unknown dtype Q4"),
    ({"model.safetensors": safetensors(put("wte.weight", data_offsets=[0, 156]))},
     "[TP0509] tensor wte.weight has data_offsets that do not fit its shape"),
    ({"model.safetensors": safetensors(put("wpe.weight", data_offsets=[0, 128]))},
     "[TP0509] tensors overlap"),
    ({"model.safetensors": safetensors(data=8)},
     "has data_offsets outside the file"),
    ({"model.safetensors": safetensors(lambda t: t.pop("wpe.weight"))},
     "[TP0509] bytes 160 to 288 of its data belong to no tensor"),
    ({"model.safetensors": safetensors(data=tiny_tensors()[1] + 3)},
     "of its data belong to no tensor"),
    ({"model.safetensors": safetensors(header=b"{}   ", length=2)},
     "[TP0509] bytes 0 to 1299 of its data belong to no tensor"),
    ({"model.safetensors": safetensors(header=b'{"__metadata__": {"a": 1}}', data=0)},
     "[TP0509] its __metadata__ is not an object whose values are strings"),
    ({"model.safetensors": safetensors(lambda t: t.update(other=t.pop("wpe.weight")))},
     "model.safetensors: error: [TP0510] has no tensor wpe.weight"),
    ({"model.safetensors": safetensors(put("wte.weight", shape=[4, 10]))},
     "[TP0511] tensor wte.weight is [4, 10], not [10, 4] as config.json requires"),
    ({"model.safetensors": safetensors(put("wte.weight", dtype="I32"))},
     "[TP0512] tensor wte.weight is of type I32, not F64, F32, F16 or BF16"),
    ({"model.safetensors.index.json": b"{}"},
     "model.safetensors.index.json: error: [TP0509] expects an object "
     "`weight_map`"),
    ({"model.safetensors.index.json": b'{"weight_map": {"a": 3}}'},
     "[TP0509] `weight_map` gives tensor a no file name"),
    ({"model.safetensors.index.json": b'{"weight_map": {"a": "../x"}}'},
     "[TP0509] `weight_map` gives tensor a no file name"),
    ({"model.safetensors.index.json": b'{"weight_map": {"a": "x"}}'},
     "/x: error: [TP0509] cannot be read"),
    ({"model.safetensors.index.json": b'{"weight_map": {"a": "x", "b": "y"}}',
      "x": safetensors(), "y": safetensors()},
     "/y: error: [TP0509] tensor wte.weight is in two files"),
]


def run(folder, options=""):
    return subprocess.run(
        [TOOL, f"--tp-import=hf:{folder}", f"--tp-import-options={options}"],
        capture_output=True, encoding="utf-8", errors="replace",
        check=False)


def expect(name, files, options, message, errors):
    folder = SCRATCH / name
    folder.mkdir()
    for file, content in files.items():
        if isinstance(content, str):
            content = content.encode()
        (folder / file).write_bytes(content)
    result = run(folder, options)
    # Whatever a file holds, what is said of it is text.
    isText = all(c == "\n" or c.isprintable() for c in result.stderr)
    if result.returncode != 1 or result.stdout or message not in result.stderr or not isText:
        errors.append(f"{name}: expected exit 1 and {message!r}, got exit "
                      f"{result.returncode} and\n{result.stderr[:600]}")


def main():
    errors = []
    for number, (model, changes, options, message) in enumerate(CONFIGS):
        config = json.loads((INPUTS / model / "config.json").read_text())
        config.update(changes)
        config = {key: value for key, value in config.items() if value is not ABSENT}
        # One field per line, as people have them.
        text = json.dumps(config, indent=0).replace("\n", "\n  ")
        expect(f"config{number}", {"config.json": "{\n" + text[1:]}, options,
               message, errors)
    for number, (text, message) in enumerate(TEXTS):
        expect(f"text{number}", {"config.json": text}, "", message, errors)
    for number, (files, message) in enumerate(CHECKPOINTS):
        expect(f"checkpoint{number}", {"config.json": json.dumps(TINY), **files}, "",
               message, errors)

    # And good ones pass, saved with the prefix of the base model or without.
    for name, content in (
            ("bare", safetensors()),
            ("prefixed", safetensors(lambda tensors: [
                tensors.update({"transformer." + key: tensors.pop(key)})
                for key in list(tensors)]))):
        folder = SCRATCH / name
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(TINY))
        (folder / "model.safetensors").write_bytes(content)
        result = run(folder)
        source = '#tp.source<"' + ("transformer." if name == "prefixed" else "")
        if result.returncode or source + "wte.weight" not in result.stdout:
            errors.append(f"{name}: {result.stderr}")
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())

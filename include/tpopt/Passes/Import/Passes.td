// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that apply a user's plan to a program and convert programs to the
// `tp` dialect.

#ifndef TPOPT_PASSES_IMPORT_PASSES
#define TPOPT_PASSES_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def ApplyPlanPass : Pass<"tp-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Annotate named arguments with the shardings of a plan";
  let description = [{
    A plan maps patterns of argument names to the way these arguments are cut along one
    axis of the mesh. `plan` is words joined with `+`, such as `megatron+sp+fsdp`, or a
    JSON file:

    ```json
    {"layers.*.self_attn.q_proj": "colwise",
     "layers.*.self_attn.o_proj": "rowwise",
     "*norm.weight": "replicate",
     "x": [["data"], ["model:(1)2"]],
     "logits": [["data"], [], ["model"]]}
    ```

    A pattern is compared with `tp.name`, also without a leading `model.` and without
    the part after the module's name (`.weight`, `.bias`, `#q`); `*` matches any text, `?`
    one character, `[qkv]` one of these, `{up,down}` either word.
    The first pattern that matches wins; a pattern that matches nothing is an error.
    Arguments that already have an annotation keep it; a pattern that has no effect for
    this reason is a warning. An argument or result without `tp.name` is called by its
    number, `arg0` and `result0`, as in reports and in tp-run.

    * `colwise` cuts the output of a weight: the output features of a projection or a
      head, the hidden features of an embedding, and the bias.
    * `rowwise` cuts the input of a weight: the input features of a projection, the
      vocabulary of an embedding; the bias is whole on every device.
    * `packed_colwise` and `packed_rowwise` cut each part of a packed weight this way,
      such as q, k and v, or gate and up. Where each part is an argument of its own
      (`tp-split-packed`), `colwise` and `rowwise` do the same.
    * `grouped_gemm` cuts a stack of experts in dimension 0: whole experts.
    * `replicate` keeps the argument whole.
    * A list names the axes of every dimension, major first, sub-axes as
      `model:(1)2`.

    The other words of transformers 5 are supported, too. Their effect on activations
    and gradients follows from propagation:

    | word | read as |
    | --- | --- |
    | `colwise_rep`, `colwise_gather_output`, `embedding_colwise` | `colwise` |
    | `rowwise_rep`, `rowwise_split_input`, `embedding_rowwise` | `rowwise` |
    | `replicated_with_grad_allreduce`, `mla_kv_a_proj` | `replicate` |
    | `moe_tp_experts`, `moe_identity_expert`, `ep_dispatch_experts`, `all_reduce`, `local_params` | nothing: they describe activations |

    `sequence_parallel` is rejected, because it cuts only activations. Write
    `megatron+sp`, or cut an input or a result along the sequence.

    A plan from transformers is given under the name that it has there, as
    `json.dump({"tp_plan": model.tp_plan}, file)` writes it; `base_model_tp_plan`,
    `_tp_plan` and the same names with `ep_plan` are read, too, and can stand beside
    your own entries:

    ```json
    {"base_model_tp_plan": {"layers.*.self_attn.q_proj": "colwise",
                            "layers.*.mlp.experts.gate_up_proj": "packed_colwise"},
     "x": [["data"], []]}
    ```

    In such a plan `*` matches one number. An entry that matches nothing is only a
    warning, because the plan serves many models. Parameters that no entry names are
    whole on every device, as in transformers; parameters are here the arguments with
    `tp.source` or the role `parameter` that the program does not write. A stack of
    experts is cut as it is stored: `colwise` cuts dimension 1, `rowwise` dimension 2. A
    table of embeddings that is also the output head is cut over the vocabulary by the
    words of both; PyTorch's exports have a second, unused name for it, for which any
    word is accepted.

    A state that `tp-build-step` adds has the name of its parameter,
    `adamw.exp_avg/NAME`, and gets its sharding by propagation. Only patterns with a `/`
    match it, such as `adamw.*/layers.*`.

    A pattern matches a result only by the result's whole name, and its entry must be a
    list or `replicate`. If a result and an argument have the same name, as a cache has,
    the entry is for both.

    The first op that uses an argument determines which of its dimensions are input and
    output features. Where these are heads, [kv, head] or [kv, group, head], heads stay
    whole: the largest part of the axis that divides the key-value heads cuts those, and
    the rest cuts the queries of each, if it divides them; otherwise the axis cuts the
    key-value heads unevenly.

    **megatron** is column, then row parallel (arXiv:1909.08053) for the families
    that `--tp-import=hf` knows: queries, keys, values and the first matrices of
    an MLP colwise, the others rowwise, embeddings and output heads over the
    vocabulary, all other weights replicated, KV caches as the keys. If the mesh
    has an axis `data`, batches of tokens and caches are cut along it. A result called
    `logits` is not cut except along its batch, because choosing the next token needs a
    whole row.

    | word | what it cuts |
    | --- | --- |
    | `megatron` | weights, along `axis` |
    | `sp` | with `megatron`: the activations between products that `axis` cuts, along the sequence, which is the last dimension that does not come from the weight (arXiv:2205.05198) |
    | `ddp` | inputs, in the dimension of their samples along the data axis; parameters and states are whole along it |
    | `fsdp` | `ddp` and `zero=3` |

    `zero` cuts along the data axis the state of the optimizer (1), also gradients, as
    `tp.gradient` marks them (2), also parameters (3) (arXiv:1910.02054). It adds the
    axis to the existing sharding, in the dimension that it cuts most evenly, if
    possible one that no other axis cuts; apart from this axis, the state of a parameter
    has the sharding of the parameter. `zero=1:AXIS` names the data axis; the default is
    `data`. Values that are already cut along it stay as they are.

    **Requires:** the module has one mesh.

    **Guarantees:** the shardings written are closed; an argument or result that
    carries a sharding keeps it; other results stay open.

    **Example:** `test/Import/Plan/megatron.test`
  }];
  let dependentDialects = ["::tp::spmd::SPMDDialect"];
  let options = [
    Option<"plan", "plan", "std::string", "\"\"",
           "Words (megatron, sp, ddp, fsdp) joined with +, or a JSON file of "
           "name patterns">,
    Option<"zero", "zero", "std::string", "\"\"",
           "Stage of ZeRO: also cut along the data axis the state of the optimizer (1), "
           "gradients (2), parameters (3); 1:AXIS names the axis">,
    Option<"axis", "axis", "std::string", "\"model\"",
           "The mesh axis that colwise and rowwise cut along">
  ];
}

def ImportStableHLOPass : Pass<"tp-import-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Convert StableHLO, with its shardings, to tp and spmd";
  let description = [{
    Every operation of `stablehlo` and `chlo` becomes ops of `tp` that mean the
    same, and shardings in any of the forms that exporters write become those of
    `spmd`. Names of arguments and results become `tp.name`. A module without
    such operations is left as it is.

    Operations are recognised by name and attributes: the module may have been read by
    tp-opt's own readers of the text, or by the original dialects.

    **Requires:** tensors are static; no complex numbers.

    **Guarantees:** no operation of stablehlo, chlo, mhlo or sdy is left.

    **Example:** `test/Import/StableHLO/elementwise.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
}

def InlineCallsPass : Pass<"tp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inline all calls, so that only entries are left";
  let description = [{
    Shardings flow through a program's values, and a private function called from
    two places may have to be cut in two ways. So calls are inlined, and private
    functions that are no longer called are removed. A module without calls and private
    functions is left as it is.

    **Requires:** calls are not recursive.

    **Guarantees:** no public function calls another.

    **Example:** `test/Import/inline-calls.mlir`
  }];
}

def RaisePass : Pass<"tp-raise", "::mlir::ModuleOp"> {
  let summary = "Recognise transformer ops in the primitives that exporters write";
  let description = [{
    JAX and PyTorch export a softmax as a maximum, a difference, exponentials, a
    sum and a quotient. This pass finds the forms in which exporters and authors write
    the transformer ops of `tp`, and replaces each by the op: `softmax`, `layer_norm`,
    `rms_norm`, `gelu`, `silu`, `gated`, `rotary`, `attention` (with its scale, causal
    masks and windows, and repeated key-value heads), `embedding`, `cross_entropy`. Sums
    of padded neighbours, which the gradient of slices consists of, become `concat`.

    PyTorch multiplies matrices, or stacks of them: reshapes that flatten dimensions
    before a product and split them after it are removed, so that every dimension can be
    cut, and so are repetitions that only make a stack. Products with 1 and -1 and sums
    with 0 are removed, too.

    Equivalent forms become one form, so that they have the same cost: the equation of
    an einsum contains the transposes of its operands and its result, and the operand
    with the result's last dimension is on the right; reductions of reductions become
    one reduction; a broadcast that only adds dimensions of size 1 is a reshape; a
    dynamic slice with constant starts is a slice.

    Slices, pads and concatenations of each other along a dimension are reduced to the
    elements that are used: a slice of a pad becomes a pad of a slice, so that no value
    of 65 rows is between two of 64. A shift of a value, such as a roll or a pad and a
    slice, becomes a `splice`, whose operand and result are cut in the same way. Taking
    every s-th element of a dimension whose size s divides becomes a reshape into groups
    of s and a slice, which needs no communication where s divides the blocks.

    A form is only raised if it is the same function of real numbers and was computed in
    at least f32, as the transformer ops compute; a form with intermediate values
    rounded to 16 bits is not raised. A score counts as hidden if it is replaced by -1e9
    or less, or if -1e30 or less is added to it. A form is also left as it is if one of
    its intermediate values has another user, such as the gradient, or has a sharding.

    Remarks of the category `tp-raise` say what was raised, and where.

    **Requires:** calls are inlined (`tp-inline-calls`).

    **Guarantees:** results keep their types, locations and shardings.

    **Example:** `test/Import/Raise/norms.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def SplitPackedPass : Pass<"tp-split-packed", "::mlir::ModuleOp"> {
  let summary = "Make each part of a packed weight a weight of its own";
  let description = [{
    Models store q, k and v, or gate and up, in one matrix, multiply by it once and
    slice the product. If such a matrix is cut into blocks, some devices hold rows of
    two parts, and their products are on the wrong devices. So each part becomes an
    argument: `qkv_proj.weight#0` is the first part that the program slices off, and its
    `tp.source` is that slice of the stored tensor. Biases are split with their
    matrices; parts may be of different sizes, as of k and v of grouped queries.

    An argument is split if its `tp.source` is the whole stored tensor of its own name,
    and the program only uses it through slices along one of its dimensions that
    together take every element; elementwise ops, transposes, converts, broadcasts,
    products and reshapes that split the dimension may come in between. An argument that
    has a sharding stays whole; entries that share an argument all split it in the same
    way, or not at all. `tp-run` reads and writes the stored tensor by its name.

    The backward pass is split as well, where it consists of the same parts:
    concatenations of them, and the same ops after these. A product that sums over them
    is a sum of products, the norm of a gradient a sum of sums. A result of the
    argument's shape that is made of the parts alone, its gradient or its updated value,
    becomes a result for each, `grad.qkv_proj.weight#0` with a `tp.source` that says
    which part of `grad.qkv_proj.weight` it is. An argument that the program only
    updates, such as a moment, is split with its weight. A donated argument is donated
    part by part, or stays whole. Arguments whose products or results use more than the
    parts stay whole, too. A result that has a sharding is not split, and no part of the
    backward pass is split if another op uses a gradient as a whole.

    **Requires:** calls are inlined.

    **Guarantees:** results that are not split keep their types, names and
    shardings, also those that were called by their numbers.

    **Example:** `test/Import/split-packed.mlir`,
    `test/Import/split-packed-training.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TPOPT_PASSES_IMPORT_PASSES

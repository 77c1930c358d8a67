// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that bring in what users wrote elsewhere.

#ifndef TPOPT_PASSES_IMPORT_PASSES
#define TPOPT_PASSES_IMPORT_PASSES

include "mlir/Pass/PassBase.td"

def ApplyPlanPass : Pass<"tp-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Annotate named arguments with the shardings of a plan";
  let description = [{
    A plan says for patterns of argument names how the arguments are cut along
    one axis of the mesh. `plan` is words joined with `+`, such as
    `megatron+sp+fsdp`, or a JSON file:

    ```json
    {"layers.*.self_attn.q_proj": "colwise",
     "layers.*.self_attn.o_proj": "rowwise",
     "*norm.weight": "replicate",
     "x": [["data"], ["model:(1)2"]],
     "logits": [["data"], [], ["model"]]}
    ```

    A pattern is compared with `tp.name`, also without a leading `model.` and
    without what follows the module's name (`.weight`, `.bias`, `#q`); `*` stands
    for anything, `?` for one character, `[qkv]` for one of these, `{up,down}` for
    either word. The first pattern that matches wins; one that matches nothing
    is an error. What is annotated already stays as it is; a pattern that so has
    no effect is a warning. What has no `tp.name` goes by its number, `arg0` and
    `result0`, as in reports and in tp-run.

    * `colwise` cuts what a weight puts out: the output features of a projection
      or a head, the hidden features of an embedding, its bias.
    * `rowwise` cuts what it takes in: the input features of a projection, the
      vocabulary of an embedding; its bias is whole on every device.
    * `packed_colwise` and `packed_rowwise` do so with every part of a weight that
      is several in one, q, k and v or gate and up. Where each part is
      an argument of its own (`tp-split-packed`), `colwise` and `rowwise` do the same.
    * `grouped_gemm` cuts a stack of experts in dimension 0: whole experts.
    * `replicate` keeps the argument whole.
    * A list names the axes of every dimension, major first, sub-axes as
      `model:(1)2`.

    The other words of transformers 5 are known, too. What they say of activations
    and gradients follows from propagation here:

    | word | read as |
    | --- | --- |
    | `colwise_rep`, `colwise_gather_output`, `embedding_colwise` | `colwise` |
    | `rowwise_rep`, `rowwise_split_input`, `embedding_rowwise` | `rowwise` |
    | `replicated_with_grad_allreduce`, `mla_kv_a_proj` | `replicate` |
    | `moe_tp_experts`, `moe_identity_expert`, `ep_dispatch_experts`, `all_reduce`, `local_params` | nothing: they are about what flows through a module |

    `sequence_parallel` is refused: it cuts activations alone. Write
    `megatron+sp`, or cut an input or a result along the sequence.

    A plan that transformers ships stands under the name that it has there, as
    `json.dump({"tp_plan": model.tp_plan}, file)` writes it; `base_model_tp_plan`,
    `_tp_plan` and the same of `ep_plan` are read, too, beside entries of one's own:

    ```json
    {"base_model_tp_plan": {"layers.*.self_attn.q_proj": "colwise",
                            "layers.*.mlp.experts.gate_up_proj": "packed_colwise"},
     "x": [["data"], []]}
    ```

    There `*` is one number, an entry that matches nothing is a warning, for the
    plan serves many models, and parameters that nothing names are whole on every
    device, as in transformers: arguments with `tp.source` or that role, which the
    program does not write. A stack of experts is cut as it is stored: `colwise`
    cuts dimension 1, `rowwise` dimension 2. A table of embeddings that is the
    output head, too, is cut over the vocabulary by words of either; PyTorch's
    exports have a second name for it that nothing uses, where any word will do.

    A state that `tp-build-step` adds is called after its parameter,
    `adamw.exp_avg/NAME`, and follows it by propagation. It is meant only by
    patterns that have a `/`, such as `adamw.*/layers.*`.

    A result is meant by its whole name alone, and lies as a list or `replicate`
    says. One that is also an argument's, as a cache's, is of both.

    Which features those are is read off the first op that uses the argument.
    Where they are heads, [kv, head] or [kv, group, head], heads stay whole: the
    largest part of the axis that divides the key-value heads cuts those, and the
    rest cuts the queries of each, if it divides them; otherwise the axis cuts the
    key-value heads unevenly.

    **megatron** is column, then row parallel (arXiv:1909.08053) for the families
    that `--tp-import=hf` knows: queries, keys, values and the first matrices of
    an MLP colwise, the others rowwise, embeddings and output heads over the
    vocabulary, all other weights replicated, KV caches as the keys. If the mesh
    has an axis `data`, batches of tokens and caches are cut along it. A result
    called `logits` is asked for whole, but for its batch: who picks the next
    token needs all of a row.

    | word | what it cuts |
    | --- | --- |
    | `megatron` | weights, along `axis` |
    | `sp` | beside `megatron`: what products sum over `axis`, and what they need whole, along the sequence, which is the last dimension that does not come from the weight (arXiv:2205.05198) |
    | `ddp` | inputs, along the dimension of their samples and the data axis; parameters and states are whole along that |
    | `fsdp` | `ddp` and `zero=3` |

    `zero` cuts along the data axis what an optimizer keeps (1), also gradients, as
    `tp.gradient` marks them (2), also parameters (3) (arXiv:1910.02054). It adds
    the axis to the sharding that is there, on the dimension which it cuts most
    evenly, if possible one that nothing else cuts; a state called after a parameter
    lies as that does without it. `zero=1:AXIS` names the data axis, which is `data`
    otherwise. What is cut along it already stays as it is.

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
           "What is cut along the data axis, too: the state of the optimizer "
           "(1), gradients (2), parameters (3); 1:AXIS names the axis">,
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

    Operations are known by name and attributes: the module may have been read by
    our readers of the text, or by the real dialects.

    **Requires:** tensors are static; no complex numbers.

    **Guarantees:** no operation of stablehlo, chlo, mhlo or sdy is left.

    **Example:** `test/Import/StableHLO/elementwise.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect",
                           "::mlir::func::FuncDialect"];
}

def InlineCallsPass : Pass<"tp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inline all calls, so that entries are what is left";
  let description = [{
    Shardings flow through a program's values, and a private function called from
    two places may have to be cut in two ways. So calls are inlined, and private
    functions that nobody calls any more are dropped. A module without either is
    left as it is.

    **Requires:** calls are not recursive.

    **Guarantees:** no public function calls another.

    **Example:** `test/Import/inline-calls.mlir`
  }];
}

def RaisePass : Pass<"tp-raise", "::mlir::ModuleOp"> {
  let summary = "Recognise transformer ops in the primitives that exporters write";
  let description = [{
    JAX and PyTorch export a softmax as a maximum, a difference, exponentials, a
    sum and a quotient. This finds what the transformer ops of `tp` decompose into,
    as exporters and authors write it, and puts the op there: `softmax`,
    `layer_norm`, `rms_norm`, `gelu`, `silu`, `gated`, `rotary`, `attention` (with
    its scale, causal masks and windows, and repeated key-value heads),
    `embedding`, `cross_entropy`. Sums of padded neighbours, which the gradient of
    slices consists of, become `concat`.

    PyTorch multiplies matrices, or stacks of them: what flattens dims before and
    splits them behind is written without, so that every dim can be cut, and what
    is repeated to make a stack is not. Products with 1 and -1 go, too, and sums
    with 0.

    What is written in several ways is written in one, so that it costs the same:
    an einsum has transposes of its operands and its result in its equation, and
    the operand with the result's last dimension on the right; reductions of
    reductions are one; a broadcast that only adds dimensions of size 1 is a
    reshape; a dynamic slice with constant starts is a slice.

    Slices, pads and concatenations of each other along a dimension take what they
    use: a slice of a pad is a pad of a slice, and no value of 65 rows stands
    between two of 64. What only shifts a value, a roll or a pad and a slice, is a
    `splice`, whose two sides are cut alike. Every s-th element of a dimension that
    s divides is one of each group of s, which needs nothing of others where s
    divides blocks.

    Only what is the same function of real numbers is raised, and only where it
    was computed in at least f32, as the transformer ops compute; of what was
    rounded to 16 bits on the way, the rest stays primitive. A score that is
    replaced by -1e9 or less counts as hidden, and one to which -1e30 or less is
    added, in which it is lost. Values between that something else
    uses, such as the gradient, and values that carry a sharding keep their ops,
    and the group stays as it is.

    Remarks of the category `tp-raise` say what was raised, and where.

    **Requires:** calls are inlined: what calls another function is no primitive.

    **Guarantees:** results keep their types, locations and shardings.

    **Example:** `test/Import/Raise/norms.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def SplitPackedPass : Pass<"tp-split-packed", "::mlir::ModuleOp"> {
  let summary = "Make each part of a packed weight a weight of its own";
  let description = [{
    Models store q, k and v, or gate and up, in one matrix, multiply by it once and
    slice what comes out. Cut into blocks, such a matrix has parts of both on some
    device, and what is computed of them lies where it is not needed. So each part
    becomes an argument: `qkv_proj.weight#0` is the first that the program slices
    off, and its `tp.source` is that box of the stored tensor. Biases are split with
    their matrices; parts may be of different sizes, as of k and v of grouped
    queries.

    An argument is split if its `tp.source` is a stored tensor of its own name, as
    it is, and all that is made of it are slices along one of its dimensions that
    take each element; elementwise ops, transposes, converts, broadcasts, products
    and reshapes that split the dimension may come between. One that carries a
    sharding stays whole; entries that share an argument split it alike, or not at
    all. `tp-run` takes and gives the stored tensor by its name.

    The backward pass is split with it, where it is made of the same parts:
    concatenations of them, and the same ops behind. A product that sums over them
    is a sum of products, the norm of a gradient a sum of sums. A result of the argument's shape that is made of the parts
    alone, its gradient or its updated value, becomes a result for each,
    `grad.qkv_proj.weight#0` with a `tp.source` that says which part of
    `grad.qkv_proj.weight` it is. An argument that the program only updates, such as
    a moment, is split with its weight. What is donated is donated part by part, or
    stays whole, as do arguments whose products or results are not made of the parts
    alone. A result that carries a sharding is not split, and nothing of the backward
    pass where a gradient is taken whole by something else.

    **Requires:** calls are inlined.

    **Guarantees:** results that are not split keep their types, names and
    shardings, also those that were called by their numbers.

    **Example:** `test/Import/split-packed.mlir`,
    `test/Import/split-packed-training.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TPOPT_PASSES_IMPORT_PASSES

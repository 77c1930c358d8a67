// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that builds a training step.

#ifndef TPOPT_PASSES_TRAIN_PASSES
#define TPOPT_PASSES_TRAIN_PASSES

include "mlir/Pass/PassBase.td"

def BuildStepPass : Pass<"tp-build-step", "::mlir::ModuleOp"> {
  let summary = "Turn a program that computes a loss into a training step";
  let description = [{
    The entry gets the state of the optimizer as additional arguments after its own, and
    returns the new parameters, the new state, the loss and its other results, in this
    order. Parameters and states are donated to the results with their new values.
    States have the role `optimizer_state`, so they are zero before the first step. A
    state is called `adamw.exp_avg/NAME` after its parameter, and the number of steps is
    `train.step`. If a parameter has a sharding, its states get it, too. A copy of the
    original entry is called `evaluate`.

    `docs/training.md` says what the options mean.

    **Requires:** calls are inlined.

    **Guarantees:** ops of the step that serve a parameter say so in their
    locations, `grad(NAME)` and `adamw(NAME)`.

    **Example:** `test/Train/build-step.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "The result that training minimizes">,
    Option<"weight", "weight", "std::string", "\"\"",
           "The result that is the weight of a micro-batch's loss">,
    Option<"train", "train", "std::string", "\"\"",
           "Name patterns of the arguments to train; by default all parameters">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "sgd, adam, adamw, lion or adafactor, as in adamw(lr=3e-4)">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "constant, linear or cosine, as in cosine(warmup=100,steps=1000)">,
    Option<"clip", "clip", "std::string", "\"\"",
           "Largest norm of all gradients; larger gradients are scaled down">,
    Option<"accumulate", "accumulate", "std::string", "\"\"",
           "Number of micro-batches in a step">,
    Option<"master", "master", "std::string", "\"\"",
           "f32: keep a copy of each bf16 parameter in f32, and update the copy">,
    Option<"decay", "decay", "std::string", "\"\"",
           "Name patterns of the parameters with weight decay; by default all">,
    Option<"noDecay", "no_decay", "std::string", "\"\"",
           "Name patterns of the parameters without weight decay">,
    Option<"entry", "entry", "std::string", "\"\"",
           "The function to train, if the module has several">,
    Option<"verify", "verify", "bool", "true",
           "Verify the gradients, as tp-verify-gradient does, and that micro-batches "
           "give the same step as all of them at once">,
  ];
}

#endif // TPOPT_PASSES_TRAIN_PASSES

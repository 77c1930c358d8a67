// Part of the tp-opt project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The pass that makes a step of training.

#ifndef TPOPT_PASSES_TRAIN_PASSES
#define TPOPT_PASSES_TRAIN_PASSES

include "mlir/Pass/PassBase.td"

def BuildStepPass : Pass<"tp-build-step", "::mlir::ModuleOp"> {
  let summary = "Make a step of training of the program of a loss";
  let description = [{
    The entry gets the state of the optimizer as arguments behind its own, and
    gives the new parameters, the new state, the loss and its other results, in
    this order. Parameters and states are donated to the results that follow
    them. States have the role `optimizer_state`, so they are zero before the
    first step. They are called `adamw.exp_avg/NAME` after the parameter, and the
    number of steps `train.step`; what carries a sharding gives it to its states.

    A copy of the entry as it was is called `evaluate`.

    `docs/training.md` says what the options mean.

    **Requires:** calls are inlined.

    **Guarantees:** ops of the step that serve a parameter say so in their
    locations, `grad(NAME)` and `adamw(NAME)`.

    **Example:** `test/Train/build-step.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect", "::tp::spmd::SPMDDialect"];
  let options = [
    Option<"loss", "loss", "std::string", "\"\"",
           "The result that is to fall">,
    Option<"weight", "weight", "std::string", "\"\"",
           "The result that says what the loss of a micro-batch counts">,
    Option<"train", "train", "std::string", "\"\"",
           "Patterns of the arguments that are trained; by default all "
           "parameters">,
    Option<"optimizer", "optimizer", "std::string", "\"\"",
           "sgd, adam, adamw, lion or adafactor, as in adamw(lr=3e-4)">,
    Option<"schedule", "schedule", "std::string", "\"\"",
           "constant, linear or cosine, as in cosine(warmup=100,steps=1000)">,
    Option<"clip", "clip", "std::string", "\"\"",
           "The most that the norm of all gradients may be">,
    Option<"accumulate", "accumulate", "std::string", "\"\"",
           "Micro-batches of a step">,
    Option<"master", "master", "std::string", "\"\"",
           "f32: bf16 parameters have a copy in f32, which is updated">,
    Option<"decay", "decay", "std::string", "\"\"",
           "Patterns of the parameters that decay; by default all">,
    Option<"noDecay", "no_decay", "std::string", "\"\"",
           "Patterns of the parameters that do not decay">,
    Option<"entry", "entry", "std::string", "\"\"",
           "The entry, if the module has several">,
    Option<"verify", "verify", "bool", "true",
           "Prove the gradients, as tp-verify-gradient does, and that "
           "micro-batches together do what all of them at once would">,
  ];
}

#endif // TPOPT_PASSES_TRAIN_PASSES

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What there is to choose in a program, as plain data.
//
//     %h = einsum %x, %w         choices:  0  the layout of %x      [fixed]
//     %y = relu %h                         1  the layout of %w      [fixed]
//                                          2  the strategy of einsum
//                                          3  the strategy of relu
//                                values:   %x, made by 0, needed by 2
//                                          %w, made by 1, needed by 2
//                                          %h, made by 2, needed by 3, ..
//
// A selection takes one option of each choice. That says in which layout each
// value is made and in which each user needs it; where the two differ, the
// value is resharded. Whatever the program of a selection costs follows from
// the graph (PlanPrice.h).

#ifndef TPOPT_PLAN_PLANGRAPH_H
#define TPOPT_PLAN_PLANGRAPH_H

#include "ProgramView.h"
#include "SearchSpace.h"

namespace tp::plan {

/// An option of each choice, by number.
using Selection = std::vector<unsigned>;

struct Choice {
  const StrategySet *options = nullptr;
  double times = 1;   ///< How often a call of the function runs it.
  unsigned point = 0; ///< Where it runs.
};

/// A tensor of a choice. Each option of the choice gives it a layout.
struct Port {
  unsigned choice = 0, tensor = 0;
};

struct PlanUse {
  Port port;
  mlir::OpOperand *operand; ///< Null at a border.
  /// Points: a copy for this use is made before the first and held until the
  /// last. They differ if the use is in a region and the value is not.
  unsigned begin, end;
  /// The first point after the user that is not in a region of it.
  unsigned after;
  /// The user is a constraint or a barrier, which only passes the value on.
  bool isPassedOn = false;
};

struct PlanValue {
  mlir::Value value;
  mlir::RankedTensorType type;
  mlir::RankedTensorType storedType; ///< What its memory is counted by.
  Port producer;
  llvm::SmallVector<PlanUse, 2> uses; ///< In program order.
  double times = 1; ///< How often a copy of the value is made.
  /// What its reshards pay of the start of a launch.
  StartShares shares;
  /// The number of choices that come before the value in program order.
  unsigned position = 0;
  /// The value that this one is, by number. Constraints and barriers only pass
  /// their operand on, so their result has its copies in common with it. Other
  /// values are their own origin.
  unsigned origin = 0;
  /// Of an origin: the uses of all values that are this one, in program order.
  std::vector<PlanUse> needs;
  /// A crossing of the border of a manual region. The program around it pays.
  bool isBorder = false;

  /// The points between which memory is held for the value itself, besides for
  /// its uses.
  unsigned begin = 0, end = 0;
  /// The first point at which a copy of it can be made.
  unsigned after = 0;
  enum Storage {
    Activation, ///< Held from where it is made to its last use.
    Persistent, ///< Of the caller, from one call to the next: a parameter.
    Elsewhere,  ///< Written into the storage of another value, or not counted.
  } storage = Activation;
};

struct PlanGraph {
  std::vector<Choice> choices;
  std::vector<PlanValue> values;
  unsigned numPoints = 0;
  /// What the bodies of manual regions hold at most, which are planned apart.
  struct Held {
    int64_t bytes;
    unsigned begin, end;
  };
  llvm::SmallVector<Held, 0> bodies;

  llvm::DenseMap<mlir::Operation *, unsigned> opChoices;
  /// Of what regions carry, of arguments, and of what crosses a border: by the
  /// result or argument that stands for it.
  llvm::DenseMap<mlir::Value, unsigned> carriers;
  llvm::DenseMap<mlir::Value, unsigned> valueNumbers;
  /// The choice of the layout of each free result, by the result's number.
  llvm::DenseMap<unsigned, unsigned> results;

  const LayoutList &getLayouts(Port port) const {
    return *choices[port.choice].options->layouts[port.tensor];
  }
  llvm::ArrayRef<uint16_t> getPorts(Port port) const {
    return choices[port.choice].options->ports[port.tensor];
  }
  unsigned getLayout(Port port, const Selection &selection) const {
    return choices[port.choice].options->getLayout(port.tensor,
                                                   selection[port.choice]);
  }
};

/// The graph of a view of a function, or of a manual region. `freeArguments` as
/// in PlannerOptions.
PlanGraph buildGraph(SearchSpace &space, const ProgramView &view,
                     mlir::Operation *root, bool freeArguments);

} // namespace tp::plan

#endif // TPOPT_PLAN_PLANGRAPH_H

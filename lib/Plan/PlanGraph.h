// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The choices in a program, as plain data.
//
//     %h = einsum %x, %w         choices:  0  the layout of %x      [fixed]
//     %y = relu %h                         1  the layout of %w      [fixed]
//                                          2  the strategy of einsum
//                                          3  the strategy of relu
//                                values:   %x, made by 0, needed by 2
//                                          %w, made by 1, needed by 2
//                                          %h, made by 2, needed by 3, ..
//
// A selection takes one option of each choice. That determines the layout in
// which each value is made, and the layout in which each user needs it; where
// the two differ, the value is resharded. Graph and selection determine the
// cost of the program (PlanPrice.h).

#ifndef TPOPT_PLAN_PLANGRAPH_H
#define TPOPT_PLAN_PLANGRAPH_H

#include "ProgramView.h"
#include "SearchSpace.h"

namespace tp::plan {

/// The number of the selected option, for each choice.
using Selection = std::vector<unsigned>;

struct Choice {
  const StrategySet *options = nullptr;
  double times = 1;   ///< How often a call of the function runs the op.
  unsigned point = 0; ///< Where the op runs.
};

/// One of the tensors of a choice. Each option of the choice gives it a layout.
struct Port {
  unsigned choice = 0, tensor = 0;
};

struct PlanUse {
  Port port;
  mlir::OpOperand *operand; ///< Null at a border.
  /// A copy for this use is made before point `begin` and held until point
  /// `end`. The two differ if the use is in a region and the value is defined
  /// outside of that region.
  unsigned begin, end;
  /// The first program point after the using op and its regions.
  unsigned after;
  /// The user is a constraint or a barrier, which only passes the value on.
  bool isPassedOn = false;
};

struct PlanValue {
  mlir::Value value;
  mlir::RankedTensorType type;
  mlir::RankedTensorType storedType; ///< The type that determines its memory.
  Port producer;
  llvm::SmallVector<PlanUse, 2> uses; ///< In program order.
  double times = 1; ///< How often a copy of the value is made.
  /// The parts of their prices that this value's reshards pay.
  ReshardShares shares;
  /// The number of choices that precede the value in program order.
  unsigned position = 0;
  /// The number of the value that this one is equal to. Constraints and
  /// barriers only pass their operand on, so their result shares the operand's
  /// copies. All other values are their own origin.
  unsigned origin = 0;
  /// The uses of all values whose origin is this value, in program order. Empty
  /// if this value is not its own origin.
  std::vector<PlanUse> needs;
  /// True for a value that enters the manual region, and for one that leaves
  /// it. A reshard of such a value is paid for by the plan of the surrounding
  /// program.
  bool isBorder = false;

  /// Memory is held for the value itself from point `begin` to point `end`, or
  /// to the last use of the value if that is later.
  unsigned begin = 0, end = 0;
  /// The first point at which a copy of the value can be made.
  unsigned after = 0;
  enum Storage {
    Activation, ///< Held from its definition to its last use.
    Persistent, ///< Owned by the caller and kept between calls: a parameter.
    Elsewhere,  ///< Written into the storage of another value, or not counted.
  } storage = Activation;
};

struct PlanGraph {
  std::vector<Choice> choices;
  std::vector<PlanValue> values;
  unsigned numPoints = 0;
  /// The peak memory of each manual region's body. The bodies are planned
  /// separately.
  struct Held {
    int64_t bytes;
    unsigned begin, end;
  };
  llvm::SmallVector<Held, 0> bodies;

  llvm::DenseMap<mlir::Operation *, unsigned> opChoices;
  /// The choices of layouts of arguments, of values that regions carry, and of
  /// values that enter or leave a manual region. The key is the argument or
  /// result that represents the value.
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

/// Builds the plan graph of `root`, a function or manual region, with the
/// rewrites of `view`. `freeArguments` is as in PlannerOptions.
PlanGraph buildGraph(SearchSpace &space, const ProgramView &view,
                     mlir::Operation *root, bool freeArguments);

} // namespace tp::plan

#endif // TPOPT_PLAN_PLANGRAPH_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// A labeling problem over classes of alike nodes.

#ifndef TPOPT_LIB_SOLVER_LIFT_H
#define TPOPT_LIB_SOLVER_LIFT_H

#include "tpopt/Solver/PBQP.h"

#include <map>
#include <tuple>

namespace tp::pbqp {

struct Problem::Lifted {
  /// The edge between classes that an edge counts in.
  struct Place {
    unsigned edge; ///< `kNone` inside of a class.
    unsigned count;
    bool isTurned; ///< Whether it runs the other way.
  };
  static constexpr unsigned kNone = ~0u;

  /// The choice for all nodes that is this one for their classes.
  std::vector<unsigned> expand(llvm::ArrayRef<unsigned> labels) const {
    std::vector<unsigned> result;
    for (unsigned number : classOf)
      result.push_back(labels[number]);
    return result;
  }

  /// That of so many edges together.
  const CostMatrix &getMatrix(const CostMatrix &matrix, unsigned count,
                              bool turn);

  /// Over the classes; its matrices are below.
  Problem labeling;
  /// By that of one edge, how many edges, and whether it is turned.
  std::map<std::tuple<const CostMatrix *, unsigned, bool>, CostMatrix> matrices;
  /// The class of each node, numbered as they occur.
  std::vector<unsigned> classOf;
  std::vector<Place> places; ///< By edge.
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_LIFT_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Edges of a labeling problem for the candidates that are left.
//
// Port states that no candidate has any more are gone from the matrices. Edges
// that shared a matrix and are left with the same states go on sharing one, and
// equal lists of ports are one: layers are alike, what they share stays in the
// cache, and who looks for what is alike compares addresses.

#ifndef TPOPT_LIB_SOLVER_COMPACTION_H
#define TPOPT_LIB_SOLVER_COMPACTION_H

#include "tpopt/Solver/PBQP.h"

#include "llvm/Support/xxhash.h"

#include <map>
#include <tuple>
#include <unordered_set>

namespace tp::pbqp {

/// Lists, of which equal ones have one address, as long as this lives.
template <typename T> class SharedLists {
public:
  const std::vector<T> &get(llvm::ArrayRef<T> list) {
    return *lists.insert(list.vec()).first;
  }

private:
  struct Hash {
    size_t operator()(const std::vector<T> &list) const {
      return llvm::xxh3_64bits(
          llvm::ArrayRef(reinterpret_cast<const uint8_t *>(list.data()),
                         list.size() * sizeof(T)));
    }
  };
  std::unordered_set<std::vector<T>, Hash> lists;
};

class Problem::Compaction {
public:
  /// Numbers for the values that occur, in the order in which they do.
  struct Numbering {
    explicit Numbering(size_t numValues) : known(numValues, -1) {}

    uint16_t get(size_t value) {
      int &number = known[value];
      if (number < 0) {
        number = values.size();
        values.push_back(value);
      }
      return number;
    }

    std::vector<int> known;
    std::vector<size_t> values; ///< By number.
  };

  /// The candidates of a node that are left.
  using Candidates = std::vector<unsigned>;
  /// The port states that stay, by their new numbers.
  using States = std::vector<size_t>;

  const Candidates &share(llvm::ArrayRef<unsigned> left) {
    return candidates.get(left);
  }

  /// What is left of an edge, at both ends.
  struct Rest {
    States states[2];
    llvm::ArrayRef<uint16_t> ports[2];
    const CostMatrix *matrix;
  };
  /// Adds to `problem` an edge between the nodes `from` and `to` that is to
  /// them what `edge` is to those of its candidates that are left, in lists
  /// from `share`.
  const Rest &addEdge(Problem &problem, const Edge &edge, unsigned from,
                      const Candidates &leftOfFrom, unsigned to,
                      const Candidates &leftOfTo);

private:
  Rest makeRest(const Edge &edge, const Candidates &leftOfFrom,
                const Candidates &leftOfTo);
  const CostMatrix &getMatrix(const CostMatrix &whole, const States &rows,
                              const States &columns);

  SharedLists<unsigned> candidates;
  SharedLists<uint16_t> ports;
  std::map<std::tuple<const CostMatrix *, States, States>, CostMatrix> matrices;
  std::map<std::tuple<const CostMatrix *, const uint16_t *, const uint16_t *,
                      const Candidates *, const Candidates *>,
           Rest>
      rests;
};

} // namespace tp::pbqp

#endif // TPOPT_LIB_SOLVER_COMPACTION_H

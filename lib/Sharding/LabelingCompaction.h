// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Edges of a labeling problem for the candidates that are left.
//
// Port states that no candidate has any more are gone from the matrices. Edges
// that shared a matrix and are left with the same states go on sharing one, and
// equal lists of ports are one: layers are alike, what they share stays in the
// cache, and who looks for what is alike compares addresses.

#ifndef TPOPT_LIB_SHARDING_LABELINGCOMPACTION_H
#define TPOPT_LIB_SHARDING_LABELINGCOMPACTION_H

#include "tpopt/Sharding/Labeling.h"

#include "llvm/ADT/Hashing.h"

#include <map>
#include <tuple>
#include <unordered_set>

namespace tp {

class Labeling::Compaction {
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

  /// The port states that stay, by their new numbers.
  using States = std::vector<size_t>;

  /// Adds to `problem` an edge between the nodes `from` and `to` that is to
  /// them what `edge` is to those of its candidates that are left.
  std::pair<States, States> addEdge(Labeling &problem, const Edge &edge,
                                    unsigned from,
                                    llvm::ArrayRef<unsigned> leftOfFrom,
                                    unsigned to,
                                    llvm::ArrayRef<unsigned> leftOfTo);

private:
  std::pair<States, llvm::ArrayRef<uint16_t>>
  number(llvm::ArrayRef<uint16_t> old, unsigned numOld,
         llvm::ArrayRef<unsigned> left);
  const CostMatrix &getMatrix(const CostMatrix &whole, const States &rows,
                              const States &columns);

  struct Hash {
    size_t operator()(const std::vector<uint16_t> &ports) const {
      return llvm::hash_combine_range(ports.begin(), ports.end());
    }
  };
  std::unordered_set<std::vector<uint16_t>, Hash> ports;
  std::map<std::tuple<const CostMatrix *, States, States>, CostMatrix> matrices;
};

} // namespace tp

#endif // TPOPT_LIB_SHARDING_LABELINGCOMPACTION_H

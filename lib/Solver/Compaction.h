// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Edges of a problem from which some options have been removed.
//
// A copy of an edge has only the rows and columns that a remaining option uses.
// If options 0 and 2 of three remain at end 0, and their rows are 3 and 1, then
// the copy has rows 3 and 1 of the matrix, in this order, and the indices (0,
// 1):
//
//     options   0  1  2             options   0  2
//     rows      3  0  1      ->     rows      0  1     (were 3 and 1)
//
// Copies share what they can: edges that had the same matrix and keep the same
// rows and columns share one matrix again, and equal lists of indices are
// stored once. Large problems repeat the same few edges many times. Sharing
// keeps them in the cache, and lets code that looks for equal edges compare
// addresses.

#ifndef TPOPT_LIB_SOLVER_COMPACTION_H
#define TPOPT_LIB_SOLVER_COMPACTION_H

#include "lib/Solver/PBQP.h"

#include "llvm/Support/xxhash.h"

#include <map>
#include <tuple>
#include <unordered_set>

namespace tp::solver {

/// Stores lists. Equal lists have one address, which is valid as long as this
/// object.
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

/// Gives numbers to values below some limit: 0, 1, 2 and so on, in the order in
/// which the values first occur.
struct Numbering {
  explicit Numbering(size_t limit) : numbers(limit, -1) {}

  uint16_t get(size_t value) {
    int &number = numbers[value];
    if (number < 0) {
      number = values.size();
      values.push_back(value);
    }
    return number;
  }

  std::vector<int> numbers;   ///< Indexed by value: its number, or -1.
  std::vector<size_t> values; ///< Indexed by number.
};

class Problem::Compaction {
public:
  /// The remaining options of a node.
  using Options = std::vector<unsigned>;
  /// The remaining rows or columns of a matrix, indexed by their new numbers.
  using Lines = std::vector<size_t>;

  /// Returns the same list for all nodes with these remaining options.
  const Options &share(llvm::ArrayRef<unsigned> options) {
    return optionLists.get(options);
  }

  /// A copy of an edge, for the remaining options at both ends.
  struct CompactEdge {
    Lines lines[2]; ///< Indexed by end.
    /// Indexed by end and remaining option.
    llvm::ArrayRef<uint16_t> indices[2];
    const CostMatrix *matrix;
  };
  /// Adds to `problem` a copy of `edge`, from node `from` to node `to`. The
  /// lists of remaining options, `fromOptions` and `toOptions`, must come from
  /// share().
  const CompactEdge &addEdge(Problem &problem, const Edge &edge, unsigned from,
                             const Options &fromOptions, unsigned to,
                             const Options &toOptions);

private:
  CompactEdge copyEdge(const Edge &edge, const Options &fromOptions,
                       const Options &toOptions);
  const CostMatrix &getMatrix(const CostMatrix &whole, const Lines &rows,
                              const Lines &columns);

  SharedLists<unsigned> optionLists;
  SharedLists<uint16_t> indexLists;
  std::map<std::tuple<const CostMatrix *, Lines, Lines>, CostMatrix> matrices;
  /// Keyed by the addresses of everything that determines a copy.
  std::map<std::tuple<const CostMatrix *, const uint16_t *, const uint16_t *,
                      const Options *, const Options *>,
           CompactEdge>
      copies;
};

} // namespace tp::solver

#endif // TPOPT_LIB_SOLVER_COMPACTION_H

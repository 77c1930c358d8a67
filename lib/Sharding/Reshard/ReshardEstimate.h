// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The costs of reshards, for choosing among many layouts.
///
/// Partition prices every pair of layouts of every tensor, and most of these
/// pairs are equivalent:
///
/// * The order of the dimensions does not matter, and dimensions that neither
///   side shards are interchangeable.
/// * Without links a cost is a number of bytes. If a dimension is a multiple of
///   the number of devices that could share it, the payload of every step is
///   proportional to its size.
///
/// On a mesh of 2 x 4, all of
///
///     f32[4096, 512]      [{"x"}, {}] -> [{}, {"x"}]
///     bf16[16, 4096]      [{}, {"x"}] -> [{"x"}, {}]
///     f32[7, 64, 32]      [{}, {"x"}, {}] -> [{}, {}, {"x"}]
///
/// are equivalent to the reshard of a [2, 2] tensor with one byte per element
/// from [{"x"}, {}] to [{}, {"x"}], times 2097152, 32768 and 14336.
///
/// For kinds of shapes with few layouts, tables hold all costs (ReshardTable.h
/// in lib/Sharding/Reshard). Any other cost takes a search, the same one as in
/// the planner. If moving whole axes does not reach the lower bound, a table
/// for parts of axes is consulted. Tables and plans consider the same paths,
/// with the same parts of axes and the same dimensions, so an estimate equals
/// the cost of the plan.
///
/// Layouts and shapes have numbers, so that three numbers look up a known
/// price:
///
///     LayoutPool pool;
///     ReshardEstimator estimator(mesh, pool);
///     unsigned from = pool.getNumber(sharding), to = ..;
///     ReshardEstimator::Shape shape = estimator.getShape({4096, 512}, 4);
///     estimator.get(from, to, shape).cost;   // 2097152

#ifndef TPOPT_SHARDING_RESHARD_RESHARDESTIMATE_H
#define TPOPT_SHARDING_RESHARD_RESHARDESTIMATE_H

#include "lib/Sharding/Algebra/LayoutPool.h"
#include "tpopt/Sharding/Reshard.h"

#include "llvm/ADT/DenseMap.h"

#include <map>
#include <memory>

namespace tp {

namespace reshard {
class Table;
} // namespace reshard

/// Not thread-safe. Mesh and pool must outlive the estimator, and the mesh must
/// not change.
class ReshardEstimator {
public:
  ReshardEstimator(const Mesh &mesh, const LayoutPool &pool);
  ~ReshardEstimator();

  const LayoutPool &getPool() const { return pool; }

  /// The number of a normalized shape (Kind), and the ratio between the cost of
  /// a tensor and the cost of a tensor with the normalized shape.
  struct Shape {
    unsigned number;
    double copies;
  };
  Shape getShape(llvm::ArrayRef<int64_t> sizes, int64_t elementBytes);

  struct Estimate {
    double cost = 0; ///< Bytes per device, or seconds on a mesh with links.
    int64_t launches = 0;
  };
  /// The cost of the plan between two layouts of the pool, for tensors of
  /// `shape`, whose rank the layouts must have.
  Estimate get(unsigned from, unsigned to, Shape shape);
  /// Announces that reshards to `layouts` will be priced. Pricing several of
  /// them at once is cheaper.
  void expect(llvm::ArrayRef<unsigned> layouts, Shape shape) {
    for (unsigned layout : layouts)
      prices[shape.number].getPlace(layout);
  }

private:
  struct Kind {
    llvm::SmallVector<int64_t, 4> sizes;
    int64_t elementBytes;
    bool operator<(const Kind &o) const {
      return std::tie(elementBytes, sizes) < std::tie(o.elementBytes, o.sizes);
    }
  };
  /// The known prices of reshards between layouts of one kind.
  class Prices {
  public:
    /// Negative if the price is not known yet. The reference is valid until the
    /// next call.
    Estimate &at(unsigned from, unsigned to);
    unsigned getPlace(unsigned layout);
    /// The layouts by place, that is, by their row in the table of prices.
    llvm::ArrayRef<unsigned> getLayouts() const { return layouts; }

  private:
    /// The place of each layout: its row and column in `rows`. Places are
    /// assigned in the order in which layouts are first queried.
    std::vector<unsigned> places;
    std::vector<unsigned> layouts;
    /// Indexed by the places of the source and the target layout. Unknown
    /// prices are negative or missing.
    std::vector<std::vector<Estimate>> rows;
  };
  /// The tables for one kind of shape and one way to split axes into digits.
  struct Tables;
  std::unique_ptr<Tables> createTables(const Kind &kind,
                                       const AxisList &system);
  unsigned getUse(unsigned layout);
  Tables *getTables(unsigned from, unsigned to, unsigned kind);
  Estimate compute(unsigned from, unsigned to, unsigned kind);
  Estimate search(const TensorSharding &from, const TensorSharding &to,
                  const Kind &kind);

  const Mesh &mesh;
  const LayoutPool &pool;
  int64_t numDevices;
  ReshardPlanner planner;
  static constexpr unsigned kUnknown = ~0u;
  /// The number of the set of axes that each layout uses (see `useNumbers`).
  std::vector<unsigned> uses;
  std::map<Kind, unsigned> kindNumbers;
  std::vector<const Kind *> kinds; ///< Indexed by number; keys of the map.
  /// Numbers for sets of axes, and for digit systems. The sets of axes of two
  /// layouts determine the digit system in which both can be written
  /// (`systemOf`, computed by getCoarseSystems() in lib/Sharding/Reshard).
  std::map<AxisList, unsigned> useNumbers, systemNumbers;
  /// Indexed by number. The elements point to keys of `systemNumbers`.
  std::vector<const AxisList *> systems;
  static constexpr unsigned kNoSystem = ~0u;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> systemOf;
  /// Keyed by the kind of shape, with its dimensions sorted by size, and by the
  /// digit systems.
  std::map<std::pair<Kind, std::vector<AxisList>>,
           std::unique_ptr<reshard::Table>>
      costs;
  /// Indexed by kind and digits.
  std::vector<std::vector<std::unique_ptr<Tables>>> tables;
  std::vector<Prices> prices; ///< Indexed by kind.
};

} // namespace tp

#endif // TPOPT_SHARDING_RESHARD_RESHARDESTIMATE_H

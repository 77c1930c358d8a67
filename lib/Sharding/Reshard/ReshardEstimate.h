// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What reshards cost, for choosing among many layouts.
///
/// Partition prices every pair of layouts of every tensor, and most of these
/// are one question asked again:
///
/// * The order of the dimensions does not matter, nor which of those that
///   neither side cuts is which.
/// * Without links a cost is a number of bytes. Where a dimension is a multiple
///   of the number of devices that could share it, every step's payload is a
///   multiple, too.
///
/// On a mesh of 2 x 4, all of
///
///     f32[4096, 512]      [{"x"}, {}] -> [{}, {"x"}]
///     bf16[16, 4096]      [{}, {"x"}] -> [{"x"}, {}]
///     f32[7, 64, 32]      [{}, {"x"}, {}] -> [{}, {}, {"x"}]
///
/// are an exchange of one byte per element of [2, 2] from [{"x"}, {}] to
/// [{}, {"x"}], times 4194304, 32768 and 14336 * 4.
///
/// Of kinds with few layouts, tables hold the answers to all questions
/// (ReshardTable.h in lib/Sharding/Reshard); others take a search each, that of
/// the planner. What whole axes cannot do at the least cost is looked up in a
/// table of their parts. Tables and plans look at all ways along the same parts
/// through the same dimensions, so an estimate is what the plan costs.
///
/// Layouts and shapes have numbers, so that a price that is known is found by
/// three of them:
///
///     LayoutPool pool;
///     ReshardEstimator estimator(mesh, pool);
///     unsigned from = pool.getNumber(sharding), to = ..;
///     ReshardEstimator::Shape shape = estimator.getShape({4096, 512}, 4);
///     estimator.get(from, to, shape).cost;   // 4194304

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

  /// A kind of shape, and how many times as much a tensor costs.
  struct Shape {
    unsigned number;
    double copies;
  };
  Shape getShape(llvm::ArrayRef<int64_t> sizes, int64_t elementBytes);

  struct Estimate {
    double cost = 0; ///< Bytes per device, or seconds on a mesh with links.
    int64_t launches = 0;
  };
  /// Of a way between layouts of the pool, of tensors of that shape's rank.
  /// What the plan costs.
  Estimate get(unsigned from, unsigned to, Shape shape);
  /// Says that ways to `layouts` will be asked for. Several are found at once
  /// for less.
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
  /// What is known of ways between layouts of one kind.
  class Prices {
  public:
    /// Below 0 if it is not known yet. Stays where it is until the next call.
    Estimate &at(unsigned from, unsigned to);
    unsigned getPlace(unsigned layout);
    /// By place.
    llvm::ArrayRef<unsigned> getLayouts() const { return layouts; }

  private:
    std::vector<unsigned> places; ///< By layout, in the order of questions.
    std::vector<unsigned> layouts;
    std::vector<std::vector<Estimate>> rows; ///< By place, as far as asked.
  };
  /// The answers for one kind along the same axes.
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
  std::vector<unsigned> uses; ///< By layout, if known, which axes it uses.
  std::map<Kind, unsigned> kindNumbers;
  std::vector<const Kind *> kinds; ///< By number, in the map.
  /// The digits in which a pair of layouts can be written, by what axes they
  /// use: getCoarseSystems() in lib/Sharding/Reshard.
  std::map<AxisList, unsigned> useNumbers, systemNumbers;
  std::vector<const AxisList *> systems; ///< By number, in the map.
  static constexpr unsigned kNoSystem = ~0u;
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> systemOf;
  /// By kind, with dimensions in order of their sizes, and digits.
  std::map<std::pair<Kind, std::vector<AxisList>>,
           std::unique_ptr<reshard::Table>>
      costs;
  /// By kind and digits.
  std::vector<std::vector<std::unique_ptr<Tables>>> tables;
  std::vector<Prices> prices; ///< By kind.
};

} // namespace tp

#endif // TPOPT_SHARDING_RESHARD_RESHARDESTIMATE_H

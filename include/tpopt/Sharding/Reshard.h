// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From one sharding of a tensor to another, as the cheapest sequence of
/// collectives.
///
/// # A worked example
///
/// A 16x8 tensor on `["x"=4, "y"=2]` lies as `[{"x"}, {"y"}]` and is wanted as
/// `[{"y"}, {"x"}]`. Gathering it everywhere and cutting it anew sends 112
/// elements per device. But half of x is as large as y, so the two can trade
/// places while the pieces are small, and the other half of x follows:
///
///     [{"x"}, {"y"}]                      a 4x4 block on every device
///       CP{x:(1)2,y} V=16                 devices exchange whole blocks
///     [{"y", "x":(2)2}, {"x":(1)2}]
///       A2A{x:(2)2} V=16                  half a block to the neighbour
///     [{"y"}, {"x"}]                      an 8x2 block, 16 + 8 = 24 sent
///
/// # The steps
///
/// A **step** is one collective, or one of the two moves that send nothing. V
/// is its payload in elements of one device, w what a device sends on a ring of
/// the g devices along its axes.
///
///     step              shardings                            V      w
///     AllSlice          appends axes nothing uses            -      0
///     ToPartial         such axes, or a dim's last, become   -      0
///                       unreduced: identity elements elsewhere
///     AllGather         drops the last axes of dims          output (g-1)/g V
///     ReduceScatter     appends unreduced axes to dims       input  (g-1)/g V
///     AllReduce         drops unreduced axes                 tensor 2(g-1)/g V
///     AllToAll          moves the last axes of some dims to  buffer (g-1)/g V
///                       the end of others, all at once
///     CollectivePermute same number of blocks in every dim,  buffer V
///                       any other axes
///
/// Payloads count padding. With flat uneven blocks (see Sharding.h) a dimension
/// may be cut further, or have blocks joined, only where block boundaries
/// coincide or where it is whole on one side: 10 rows on 4 devices (3,3,3,1)
/// cannot become 10 rows on 2 devices (5,5) in one step. Every step obeys
/// applyStep(), which planner, IR verifiers and tests share.
///
/// # The plan
///
/// A plan is a shortest path over shardings. A step costs alpha + beta * bytes
/// sent, with the largest alpha and the largest beta of its axes: one launch
/// runs all its rings in lockstep, so the slowest link sets both. Without links
/// a step costs the bytes sent. Ties go to fewer launches, then to a fixed
/// order. Costs are compared as integers (bytes times devices, or picoseconds),
/// so a tie is a tie on every machine.
///
/// What the search leaves out, on purpose:
///
/// * Axes that neither side uses stay idle. Sharing an all-reduce with idle
///   devices (slice, reduce, gather) could send less, in three launches on
///   devices that the user left alone.
/// * A value becomes unreduced only on axes that the target wants unreduced.
///   Data that is only moved is never added to anything, not even to zero.
/// * Axes move through the dimensions that either side cuts, and two more, or
///   all where layouts are few.
///
/// It first moves axes as the two sides cut them. Unless that meets a lower
/// bound, it also moves parts of axes: all prime parts if there are at most
/// four, else the axes are cut into four parts, or one more than there are, in
/// as many ways as have few states.
///
/// Where states are few, all of them are looked at; a plan over at most four
/// prime parts is the cheapest there is then, with the exceptions above. Others
/// are searched from the plan that reduces, gathers and slices, which always
/// exists, up to a fixed number of steps: first with those axes as one that
/// both sides keep together (ReshardBundles.h in lib/Sharding/Reshard). The
/// plan has `complete = false` then. It matters what comes first: such a
/// reshard is planned as its reduction (ReshardReduction.h), so that what asks
/// the same gets one answer. Estimates ask the same, too, and so are what plans
/// cost.
///
/// The set of steps is that of Shardy's reshard-to-collectives pass, the search
/// replaces its fixed order. The bounds that guide the search are in
/// lib/Sharding/Reshard/ReshardSearch.h.

#ifndef TPOPT_SHARDING_RESHARD_H
#define TPOPT_SHARDING_RESHARD_H

#include "tpopt/Sharding/Sharding.h"

#include "llvm/Support/Error.h"

#include <unordered_map>
#include <vector>

namespace tp {

enum class CollectiveKind : uint8_t {
  AllSlice,
  ToPartial,
  AllGather,
  ReduceScatter,
  AllReduce,
  AllToAll,
  CollectivePermute,
};

/// `all_slice`, `to_partial`, `all_gather`, ..: as ops and report spell it.
llvm::StringRef stringify(CollectiveKind kind);

/// Whether a step of this kind sends nothing, and so is no launch.
inline bool isFree(CollectiveKind kind) {
  return kind == CollectiveKind::AllSlice || kind == CollectiveKind::ToPartial;
}

/// Whether a step of this kind combines what several devices hold.
inline bool isReduction(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

/// What a device sends for a payload of `payload` elements over `groupSize`
/// devices, in elements.
double getWireElements(CollectiveKind kind, int64_t groupSize, int64_t payload);

/// An axis that an all-to-all takes from the end of dimension `from` and puts
/// at the end of dimension `to`.
struct AxisMove {
  AxisRef axis;
  unsigned from = 0, to = 0;

  bool operator==(const AxisMove &o) const {
    return axis == o.axis && from == o.from && to == o.to;
  }
};

/// One collective or free move with all that it is made of.
struct ReshardStep {
  CollectiveKind kind = CollectiveKind::AllSlice;
  /// One entry per dimension: the axes an AllSlice or a ReduceScatter appends,
  /// an AllGather or a ToPartial removes. Empty for other kinds.
  llvm::SmallVector<AxisList, 4> dimAxes;
  /// Only for AllToAll, in the order in which the targets get their axes.
  llvm::SmallVector<AxisMove, 2> moves;
  /// All axes of the collective, sorted and merged. Those of a
  /// CollectivePermute are the ones whose coordinates change.
  AxisList axes;
  /// The layout after the step.
  TensorSharding result;
  /// V of the table above; 0 for free steps.
  int64_t payload = 0;
  /// Seconds if the mesh has links, else bytes sent per device. Set by plans.
  double cost = 0;

  int64_t getGroupSize() const { return getSize(axes); }
  double getWire() const {
    return getWireElements(kind, getGroupSize(), payload);
  }
  /// `A2A{x} V=32`, without V if the step is free.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
};

/// The sharding that `step` makes of `in`, recomputed from its `kind`,
/// `dimAxes`, `moves` and `axes`; a CollectivePermute is checked against its
/// `result`, of which a ToPartial uses the kind. Errors say in words which part
/// of the step is not allowed. `in` must be valid for the mesh; the axes of
/// `step` need not be, except that each names an axis of the mesh.
llvm::Expected<TensorSharding> applyStep(const Mesh &mesh,
                                         const TensorSharding &in,
                                         const ReshardStep &step,
                                         llvm::ArrayRef<int64_t> shape);

/// Whether `step` may follow `in` and leads to its `result`, with `axes` and
/// `payload` as they should be. Returns what is wrong, if anything.
std::optional<std::string> verifyStep(const Mesh &mesh,
                                      const TensorSharding &in,
                                      const ReshardStep &step,
                                      llvm::ArrayRef<int64_t> shape);

/// The step of `kind` that leads from `in` to `out`, or why there is none.
llvm::Expected<ReshardStep> makeStep(const Mesh &mesh, CollectiveKind kind,
                                     const TensorSharding &in,
                                     const TensorSharding &out,
                                     llvm::ArrayRef<int64_t> shape);

/// Who sends to whom in a CollectivePermute from `in` to `out`: for every
/// device the one whose buffer it receives. Dimensions keep their positions;
/// axes that are idle, or unreduced, on both sides keep their coordinates, and
/// those that become idle (unreduced) take over, by position, from those that
/// were.
llvm::SmallVector<int64_t> getPermuteSources(const Mesh &mesh,
                                             const TensorSharding &in,
                                             const TensorSharding &out);

/// A sequence of steps. Empty if both sides are the same layout.
struct ReshardPlan {
  TensorSharding from;
  std::vector<ReshardStep> steps;
  /// The sum of the steps' costs.
  double cost = 0;
  /// The number of steps that are not free.
  int64_t launches = 0;
  /// False if the search was cut short: the plan is right, but there may be a
  /// cheaper one.
  bool complete = true;

  const TensorSharding &getResult() const {
    return steps.empty() ? from : steps.back().result;
  }
  /// Elements sent per device.
  double getWire() const;
  /// Whether devices hold all of a tensor on the way that they hold a part of
  /// before and after.
  bool fullyGathers() const;
  /// `S{y}; AG{x} V=64`.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
  std::string str(const Mesh &mesh) const;
};

/// Plans reshards over one mesh and remembers them. Not thread-safe. The mesh
/// must outlive the planner and not change.
class ReshardPlanner {
public:
  /// `evenly`: no step may lead to blocks with padding. Then the shardings that
  /// it plans between have none.
  explicit ReshardPlanner(const Mesh &mesh, bool evenly = false)
      : mesh(mesh), evenly(evenly) {}

  /// The cheapest way from `from` to `to`, which must be valid shardings of a
  /// tensor of this shape; only their layouts count. The reference stays valid
  /// as long as the planner.
  const ReshardPlan &plan(const TensorSharding &from, const TensorSharding &to,
                          llvm::ArrayRef<int64_t> shape, int64_t elementBytes);

  double cost(const TensorSharding &from, const TensorSharding &to,
              llvm::ArrayRef<int64_t> shape, int64_t elementBytes) {
    return plan(from, to, shape, elementBytes).cost;
  }

private:
  struct Query {
    TensorSharding from, to;
    llvm::SmallVector<int64_t, 4> shape;
    int64_t elementBytes;
    bool operator==(const Query &o) const {
      return from == o.from && to == o.to && shape == o.shape &&
             elementBytes == o.elementBytes;
    }
  };
  struct QueryHash {
    size_t operator()(const Query &query) const;
  };

  const Mesh &mesh;
  bool evenly;
  std::unordered_map<Query, ReshardPlan, QueryHash> plans;
};

} // namespace tp

#endif // TPOPT_SHARDING_RESHARD_H

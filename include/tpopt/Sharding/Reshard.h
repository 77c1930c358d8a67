// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file From one sharding of a tensor to another, as the cheapest sequence of
/// collectives.
///
/// # A worked example
///
/// A 16x8 tensor on `["x"=4, "y"=2]` has the sharding `[{"x"}, {"y"}]` and
/// needs `[{"y"}, {"x"}]`. Gathering the whole tensor on every device and
/// slicing it again sends 112 elements per device. But half of x is as large as
/// y, so the two can trade places while the blocks are small, and the other
/// half of x follows:
///
///     [{"x"}, {"y"}]                      a 4x4 block on every device
///       CP{x:(1)2,y} V=16                 devices exchange whole blocks
///     [{"y", "x":(2)2}, {"x":(1)2}]
///       A2A{x:(2)2} V=16                  half a block to the neighbour
///     [{"y"}, {"x"}]                      an 8x2 block, 16 + 8 = 24 sent
///
/// # The steps
///
/// A **step** is one collective, or one of two operations that send nothing. V
/// is its payload in elements per device, and w is the number of elements that
/// a device sends on a ring of the g devices along the step's axes.
///
///     step              shardings                            V      w
///     AllSlice          appends unused axes                  -      0
///     ToPartial         makes unused axes, or the last of a  -      0
///                       dim, unreduced: others hold the identity
///     AllGather         drops the last axes of dims          output (g-1)/g V
///     ReduceScatter     appends unreduced axes to dims       input  (g-1)/g V
///     AllReduce         drops unreduced axes                 tensor 2(g-1)/g V
///     AllToAll          moves the last axes of some dims to  buffer (g-1)/g V
///                       the end of others, all at once
///     CollectivePermute same number of blocks in every dim,  buffer V
///                       any other axes
///
/// Payloads include padding. With flat uneven blocks (see Sharding.h), blocks
/// may be split or joined only if the block boundaries coincide or the
/// dimension is whole on one side: 10 rows on 4 devices (3,3,3,1) cannot become
/// 10 rows on 2 devices (5,5) in one step. applyStep() defines which steps are
/// allowed; the planner, IR verifiers and tests all use it.
///
/// # The plan
///
/// A plan is a shortest path over shardings. A step costs alpha + beta * bytes
/// sent, with the largest alpha and the largest beta of its axes: all rings of
/// a launch run in lockstep, so the slowest link determines both. Without
/// links, the cost of a step is the number of bytes sent. If costs are equal,
/// the plan with fewer launches is chosen, and then the first in a fixed order.
/// Costs are compared as integers (bytes times devices, or picoseconds), so the
/// choice is the same on every machine.
///
/// The search deliberately ignores some plans:
///
/// * Axes that neither side uses stay idle. Sharing an all-reduce with idle
///   devices (slice, reduce, gather) could send less, but takes three launches,
///   on devices that the user did not assign to the value.
/// * A value becomes unreduced only on axes that the target wants unreduced. So
///   data that only moves is never added to anything, not even to zero.
/// * Axes move only through the dimensions that either side shards and two
///   others, or through all dimensions if there are few layouts.
///
/// The search first moves axes in the parts that the two sides use. If the
/// result does not reach a lower bound, it also moves smaller parts: the prime
/// parts if there are at most four of them. Otherwise it splits the axes into
/// four parts in total, or into one part more than there are if that is more.
/// Of the ways to do so, it tries only as many as keep the number of states
/// small.
///
/// If there are few states, the search visits all of them. A plan over at most
/// four prime parts is then the cheapest, with the exceptions above. Otherwise
/// the search starts from a plan that always exists (reduce, gather and slice),
/// visits a limited number of states, and sets `complete = false`. It first
/// treats axes that both sides keep together as one axis (ReshardBundles.h in
/// lib/Sharding/Reshard). As the result depends on the order of visits, the
/// search runs on the reduction of the reshard (ReshardReduction.h): reshards
/// with the same reduction get the same plan. Estimates use the same searches,
/// so an estimate is the cost of the plan.
///
/// The steps are those of Shardy's reshard-to-collectives pass; the search
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

/// The name of a kind in ops and in the report, such as `all_gather`.
llvm::StringRef stringify(CollectiveKind kind);

/// Whether a step of this kind sends nothing, so that nothing is launched.
inline bool isFree(CollectiveKind kind) {
  return kind == CollectiveKind::AllSlice || kind == CollectiveKind::ToPartial;
}

/// Whether a step of this kind reduces: adds up (or takes the maximum or
/// minimum of) the values of several devices.
inline bool isReduction(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce ||
         kind == CollectiveKind::ReduceScatter;
}

/// The number of elements that each device sends in a collective over
/// `groupSize` devices with a payload of `payload` elements.
double getWireElements(CollectiveKind kind, int64_t groupSize, int64_t payload);

/// An axis that an all-to-all removes from the end of dimension `from` and
/// appends to dimension `to`.
struct AxisMove {
  AxisRef axis;
  unsigned from = 0, to = 0;

  bool operator==(const AxisMove &o) const {
    return axis == o.axis && from == o.from && to == o.to;
  }
};

/// One collective, or one operation that sends nothing, with all of its
/// parameters.
struct ReshardStep {
  CollectiveKind kind = CollectiveKind::AllSlice;
  /// For each dimension, the axes that an AllSlice or a ReduceScatter appends,
  /// or that an AllGather or a ToPartial removes. Empty for other kinds.
  llvm::SmallVector<AxisList, 4> dimAxes;
  /// Only for AllToAll, in the order in which axes are appended to their
  /// targets.
  llvm::SmallVector<AxisMove, 2> moves;
  /// All axes of the collective, sorted and merged. For a CollectivePermute,
  /// those whose coordinates change.
  AxisList axes;
  /// The layout after the step.
  TensorSharding result;
  /// The payload: V in the table of steps above. It is 0 for free operations.
  int64_t payload = 0;
  /// The cost in seconds if the mesh has links, otherwise in bytes sent per
  /// device. Only the steps of a plan have a cost.
  double cost = 0;

  int64_t getGroupSize() const { return getSize(axes); }
  double getWire() const {
    return getWireElements(kind, getGroupSize(), payload);
  }
  /// Prints the step, for example `A2A{x} V=32`. Omits V if nothing is sent.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
};

/// Returns the sharding that results from applying `step` to `in`. Recomputes
/// it from the step's `kind`, `dimAxes`, `moves` and `axes`. Uses the step's
/// `result` only to check a CollectivePermute, and to get the reduction kind of
/// a ToPartial. Returns an error that says which part of the step is not
/// allowed, if any. `in` must be valid for the mesh. The axes of `step` need
/// not be valid, except that each must name an axis of the mesh.
llvm::Expected<TensorSharding> applyStep(const Mesh &mesh,
                                         const TensorSharding &in,
                                         const ReshardStep &step,
                                         llvm::ArrayRef<int64_t> shape);

/// Checks that `step` may be applied to `in` and leads to its `result`, and
/// that its `axes` and `payload` are correct. Returns a description of what is
/// wrong, if anything.
std::optional<std::string> verifyStep(const Mesh &mesh,
                                      const TensorSharding &in,
                                      const ReshardStep &step,
                                      llvm::ArrayRef<int64_t> shape);

/// Returns the step of kind `kind` that leads from `in` to `out`, or an error
/// that says why there is no such step.
llvm::Expected<ReshardStep> makeStep(const Mesh &mesh, CollectiveKind kind,
                                     const TensorSharding &in,
                                     const TensorSharding &out,
                                     llvm::ArrayRef<int64_t> shape);

/// The senders of a CollectivePermute from `in` to `out`: for each device, the
/// device whose buffer it receives. A device receives the block that it holds
/// according to `out`. If axes are idle, several devices hold this block
/// according to `in`, and one of them is the sender. Sender and receiver have
/// the same coordinates along the axes that are idle in both shardings. The
/// sender's position along the axes that are idle only in `in` is the
/// receiver's position along the axes that are idle only in `out`. Unreduced
/// axes are treated in the same way as idle axes.
llvm::SmallVector<int64_t> getPermuteSources(const Mesh &mesh,
                                             const TensorSharding &in,
                                             const TensorSharding &out);

/// A sequence of steps. Empty if both sides have the same layout.
struct ReshardPlan {
  TensorSharding from;
  std::vector<ReshardStep> steps;
  /// The sum of the steps' costs.
  double cost = 0;
  /// The number of steps that send something.
  int64_t launches = 0;
  /// False if the search was cut short: the plan is correct, but there may be a
  /// cheaper one.
  bool complete = true;

  const TensorSharding &getResult() const {
    return steps.empty() ? from : steps.back().result;
  }
  /// Elements sent per device.
  double getWire() const;
  /// Whether each device holds the whole tensor after some step, although each
  /// device holds only a part before and after the plan.
  bool fullyGathers() const;
  /// Prints the steps of the plan, for example `S{y}; AG{x} V=64`.
  void print(llvm::raw_ostream &os, const Mesh &mesh) const;
  std::string str(const Mesh &mesh) const;
};

/// Plans reshards on one mesh and caches the plans. Not thread-safe. The mesh
/// must outlive the planner and must not change.
class ReshardPlanner {
public:
  /// If `evenly` is true, no step of a plan may lead to blocks with padding.
  /// Then the shardings passed to `plan` must not have padding either.
  explicit ReshardPlanner(const Mesh &mesh, bool evenly = false)
      : mesh(mesh), evenly(evenly) {}

  /// Returns the cheapest plan that the search finds from `from` to `to`. Both
  /// must be valid shardings of a tensor of this shape, of which only the
  /// layouts matter. The reference is valid until the planner is destroyed.
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

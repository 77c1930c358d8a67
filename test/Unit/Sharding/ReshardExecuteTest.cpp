// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Runs plans on numbers: every device has a padded buffer with garbage in the
// padding, every step moves elements as a runtime would, and then each device
// must hold what the step's result says. A plan is right if each of its steps
// is, whatever it starts from, and they lead to the target: so a step that many
// plans share is run once.
//
// All pairs of shardings of a rank-2 tensor, unreduced ones included, on x2,y2
// and x2,y3 and x4,y2 with sub-axes, for even and uneven sizes; of rank 3 a
// sample, or with TPOPT_EXHAUSTIVE all on x2,y3 and x2,y4, and on x4,y4 all
// without unreduced axes.

#include "Enumerate.h"
#include "Notation.h"

#include "tpopt/Sharding/Reshard.h"

#include <set>

using namespace tp;
using namespace tp::test;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Index = SmallVector<int64_t, 4>;

/// Calls `fn(index, number)` for all indices below `shape`, row-major.
template <typename Fn> void forEach(ArrayRef<int64_t> shape, Fn fn) {
  Index index(shape.size(), 0);
  if (llvm::is_contained(shape, 0))
    return;
  for (int64_t number = 0;; ++number) {
    fn(index, number);
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}

class Machine {
public:
  Machine(const Mesh &mesh, ArrayRef<int64_t> shape, const TensorSharding &in)
      : mesh(mesh), shape(shape), now(in.getLayout()) {
    Index local = getLocalShape(now, shape);
    int64_t addends = getSize(now.unreduced);
    buffers = makeBuffers(now, [&](int64_t device) {
      Index begin = getBegin(now, device);
      int64_t which = getPosition(mesh, now.unreduced, device);
      return [=](const Index &index) {
        Index at = add(begin, index);
        return isReal(at) ? getAddend(at, which, addends, now.kind) : garbage;
      };
    });
  }

  void run(const ReshardStep &step) {
    const TensorSharding &next = step.result;
    unsigned rank = shape.size();
    Index in = getLocalShape(now, shape), out = getLocalShape(next, shape);
    SmallVector<AxisList, 4> dimAxes = step.dimAxes, leaving(rank);
    dimAxes.resize(rank);

    switch (step.kind) {
    case CollectiveKind::AllSlice:
    case CollectiveKind::ReduceScatter: {
      auto groupOf = getGroupOf(
          step.kind == CollectiveKind::AllSlice ? AxisList() : step.axes);
      set(next, makeBuffers(next, [&](int64_t device) {
            Index offset = getOffset(dimAxes, out, device);
            return [=](const Index &index) {
              return combine(groupOf[device], add(offset, index), in);
            };
          }));
      return;
    }
    case CollectiveKind::AllReduce: {
      auto groupOf = getGroupOf(step.axes);
      set(next, makeBuffers(next, [&](int64_t device) {
            return [=](const Index &index) {
              return combine(groupOf[device], index, in);
            };
          }));
      return;
    }
    case CollectiveKind::AllGather:
    case CollectiveKind::AllToAll: {
      // An element comes from the member of the group that has the right block
      // in every dimension that is joined.
      SmallVector<AxisList, 4> arriving(rank);
      for (const AxisMove &move : step.moves)
        arriving[move.to].push_back(move.axis);
      SmallVector<int64_t, 4> joined(rank, 1);
      for (unsigned dim = 0; dim < rank; ++dim)
        joined[dim] = getSize(dimAxes[dim]);
      for (const AxisMove &move : step.moves)
        joined[move.from] *= move.axis.size;
      auto groupOf = getGroupOf(step.axes);
      std::vector<Index> blocks;
      for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
        blocks.emplace_back();
        for (unsigned dim = 0; dim < rank; ++dim)
          blocks.back().push_back(
              getPosition(mesh, now.dims[dim].axes, device) % joined[dim]);
      }
      set(next, makeBuffers(next, [&](int64_t device) {
            Index offset = getOffset(arriving, out, device);
            return [=](const Index &index) {
              Index block, at = add(offset, index);
              for (unsigned dim = 0; dim < rank; ++dim) {
                block.push_back(joined[dim] > 1 ? at[dim] / in[dim] : 0);
                if (joined[dim] > 1)
                  at[dim] %= in[dim];
              }
              for (int64_t sender : groupOf[device])
                if (blocks[sender] == block)
                  return read(sender, at, in);
              return garbage;
            };
          }));
      return;
    }
    case CollectiveKind::CollectivePermute: {
      auto sources = getPermuteSources(mesh, now, next);
      set(next, makeBuffers(next, [&](int64_t device) {
            return [=](const Index &index) {
              return read(sources[device], index, in);
            };
          }));
      return;
    }
    case CollectiveKind::ToPartial: {
      AxisList fromDims;
      for (const AxisList &list : dimAxes)
        fromDims.append(list);
      AxisList idle = *subtract(step.axes, fromDims);
      set(next, makeBuffers(next, [&](int64_t device) {
            bool keeps = getPosition(mesh, idle, device) == 0;
            Index offset = getOffset(dimAxes, in, device);
            return [=](const Index &index) {
              Index at;
              bool has = keeps;
              for (unsigned dim = 0; dim < rank; ++dim) {
                at.push_back(index[dim] - offset[dim]);
                has &= at[dim] >= 0 && at[dim] < in[dim];
              }
              return has ? read(device, at, in) : getIdentity(next.kind);
            };
          }));
      return;
    }
    }
  }

  /// Whether every device holds what `to` says.
  bool holds(const TensorSharding &to) const {
    if (!now.sameLayout(to))
      return false;
    Index local = getLocalShape(now, shape);
    auto groupOf = getGroupOf(now.unreduced);
    bool right = true;
    for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
      Index begin = getBegin(now, device);
      forEach(local, [&](const Index &index, int64_t) {
        Index at = add(begin, index);
        if (isReal(at))
          right &= combine(groupOf[device], index, local) == getValue(at);
      });
    }
    return right;
  }

private:
  using Buffers = std::vector<std::vector<int64_t>>;
  static constexpr int64_t garbage = 123456789;

  /// `make(device)` gives the function from index to element.
  template <typename Make>
  Buffers makeBuffers(const TensorSharding &layout, Make make) const {
    Buffers result;
    Index local = getLocalShape(layout, shape);
    for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
      auto element = make(device);
      result.emplace_back();
      forEach(local, [&](const Index &index, int64_t) {
        result.back().push_back(element(index));
      });
    }
    return result;
  }
  void set(const TensorSharding &layout, Buffers next) {
    now = layout;
    buffers = std::move(next);
  }

  static Index add(const Index &a, const Index &b) {
    Index sum = a;
    for (size_t i = 0; i < b.size(); ++i)
      sum[i] += b[i];
    return sum;
  }
  bool isReal(const Index &at) const {
    for (size_t dim = 0; dim < at.size(); ++dim)
      if (at[dim] >= shape[dim])
        return false;
    return true;
  }
  int64_t getValue(const Index &at) const {
    int64_t value = 17;
    for (int64_t i : at)
      value = (value * 31 + i) % 10007;
    return value;
  }
  int64_t getAddend(const Index &at, int64_t which, int64_t addends,
                    ReduceKind kind) const {
    int64_t value = getValue(at), owner = value % addends;
    int64_t other = 1 + (value * 7 + which) % 97;
    if (kind == ReduceKind::Max)
      return which == owner ? value : value - other;
    if (kind == ReduceKind::Min)
      return which == owner ? value : value + other;
    if (which != owner)
      return other;
    for (int64_t i = 0; i < addends; ++i)
      if (i != owner)
        value -= 1 + (getValue(at) * 7 + i) % 97;
    return value;
  }
  static int64_t getIdentity(ReduceKind kind) {
    return kind == ReduceKind::Sum   ? 0
           : kind == ReduceKind::Max ? -1'000'000'000
                                     : 1'000'000'000;
  }

  Index getBegin(const TensorSharding &layout, int64_t device) const {
    SmallVector<AxisList, 4> lists;
    for (const DimSharding &dim : layout.dims)
      lists.push_back(dim.axes);
    return getOffset(lists, getLocalShape(layout, shape), device);
  }
  Index getOffset(ArrayRef<AxisList> lists, const Index &block,
                  int64_t device) const {
    Index offset;
    for (auto [list, size] : llvm::zip_equal(lists, block))
      offset.push_back(getPosition(mesh, list, device) * size);
    return offset;
  }
  std::vector<SmallVector<int64_t>> getGroupOf(const AxisList &axes) const {
    std::vector<SmallVector<int64_t>> groupOf(mesh.getNumDevices());
    for (const auto &group : getGroups(mesh, axes))
      for (int64_t device : group)
        groupOf[device] = group;
    return groupOf;
  }

  int64_t read(int64_t device, const Index &index, const Index &local) const {
    int64_t number = 0;
    for (auto [i, size] : llvm::zip_equal(index, local)) {
      if (i >= size)
        return garbage;
      number = number * size + i;
    }
    return buffers[device][number];
  }
  int64_t combine(ArrayRef<int64_t> group, const Index &index,
                  const Index &local) const {
    int64_t result = read(group.front(), index, local);
    for (int64_t device : group.drop_front()) {
      int64_t other = read(device, index, local);
      result = now.kind == ReduceKind::Sum   ? result + other
               : now.kind == ReduceKind::Max ? std::max(result, other)
                                             : std::min(result, other);
    }
    return result;
  }

  const Mesh &mesh;
  ArrayRef<int64_t> shape;
  TensorSharding now;
  Buffers buffers;
};

/// Executes the steps of plans over one mesh for one shape.
class Executor {
public:
  Executor(const Mesh &mesh, ArrayRef<int64_t> shape)
      : mesh(mesh), shape(shape), planner(mesh) {}

  /// Plans, verifies each step by the law, and runs those that are new.
  ::testing::AssertionResult executes(const TensorSharding &from,
                                      const TensorSharding &to) {
    const ReshardPlan &plan = planner.plan(from, to, shape, 4);
    auto failure = [&] {
      return ::testing::AssertionFailure()
             << from.str(mesh) << " to " << to.str(mesh) << ": "
             << plan.str(mesh) << ": ";
    };
    TensorSharding now = from;
    double cost = 0;
    for (const ReshardStep &step : plan.steps) {
      if (std::optional<std::string> error = verifyStep(mesh, now, step, shape))
        return failure() << *error;
      if (executed.insert(getKey(now, step)).second) {
        Machine machine(mesh, shape, now);
        machine.run(step);
        if (!machine.holds(step.result))
          return failure() << "wrong elements";
      }
      now = step.result;
      cost += step.cost;
    }
    if (plan.steps.empty() ? !Machine(mesh, shape, from).holds(to)
                           : !now.sameLayout(to))
      return failure() << "leads to " << now.str(mesh);
    if (std::abs(cost - plan.cost) > 1e-6 * cost)
      return failure() << "cost " << plan.cost << ", steps " << cost;
    return ::testing::AssertionSuccess();
  }

private:
  using Key = std::vector<int64_t>;
  static void append(Key &key, ArrayRef<AxisRef> axes) {
    key.push_back(axes.size());
    for (const AxisRef &axis : axes)
      key.insert(key.end(), {axis.axis, axis.pre, axis.size});
  }
  static void append(Key &key, const TensorSharding &sharding) {
    for (const DimSharding &dim : sharding.dims)
      append(key, dim.axes);
    append(key, sharding.unreduced);
    key.push_back(int64_t(sharding.kind));
  }
  /// All that a step does, and from where.
  static Key getKey(const TensorSharding &from, const ReshardStep &step) {
    Key key{int64_t(step.kind)};
    append(key, from);
    append(key, step.result);
    append(key, step.axes);
    for (const AxisList &axes : step.dimAxes)
      append(key, axes);
    for (const AxisMove &move : step.moves) {
      append(key, move.axis);
      key.insert(key.end(), {move.from, move.to});
    }
    return key;
  }

  const Mesh &mesh;
  ArrayRef<int64_t> shape;
  ReshardPlanner planner;
  std::set<Key> executed;
};

std::vector<TensorSharding> getAll(const AxisList &digits, unsigned rank,
                                   ReduceKind kind = ReduceKind::Sum,
                                   bool withUnreduced = true) {
  std::vector<TensorSharding> all;
  for (const DigitLayout &layout :
       getAllLayouts(digits.size(), rank, withUnreduced)) {
    all.push_back(toSharding(layout, digits));
    all.back().kind = kind;
  }
  return all;
}

void executeAll(const Mesh &mesh, ArrayRef<TensorSharding> from,
                ArrayRef<TensorSharding> to, ArrayRef<int64_t> shape,
                unsigned every = 1) {
  Executor executor(mesh, shape);
  unsigned count = 0;
  for (const TensorSharding &a : from)
    for (const TensorSharding &b : to)
      if (count++ % every == 0)
        ASSERT_TRUE(executor.executes(a, b));
}

TEST(ReshardExecute, AllPairsOfRankTwo) {
  for (const char *text : {"x2,y2", "x2,y3", "x4,y2"}) {
    Mesh m = mesh(text);
    auto all = getAll(getPrimeDigits(m), 2);
    for (std::vector<int64_t> shape :
         {std::vector<int64_t>{16, 16}, {10, 10}, {16, 10}})
      executeAll(m, all, all, shape);
  }
}

// Every kind of reduction, and from one to another.
TEST(ReshardExecute, Kinds) {
  Mesh m = mesh("x2,y3");
  AxisList digits = getPrimeDigits(m);
  for (ReduceKind a : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
    for (ReduceKind b : {ReduceKind::Sum, ReduceKind::Max, ReduceKind::Min})
      executeAll(m, getAll(digits, 2, a), getAll(digits, 2, b), {6, 10});
}

// One side reads an axis as 2x3, the other as 3x2.
TEST(ReshardExecute, PartsThatDoNotFit) {
  Mesh m = mesh("x6,y2");
  AxisList twoFirst = {{0, 1, 2}, {0, 2, 3}, {1, 1, 2}};
  AxisList threeFirst = {{0, 1, 3}, {0, 3, 2}, {1, 1, 2}};
  for (std::vector<int64_t> shape : {std::vector<int64_t>{12, 12}, {10, 7}})
    executeAll(m, getAll(twoFirst, 2), getAll(threeFirst, 2), shape, 5);
}

// Tensors smaller than the mesh.
TEST(ReshardExecute, TinyTensors) {
  Mesh m = mesh("x4,y2");
  auto all = getAll(getPrimeDigits(m), 2);
  for (std::vector<int64_t> shape :
       {std::vector<int64_t>{1, 1}, {3, 2}, {0, 5}})
    executeAll(m, all, all, shape, 7);
  auto scalars = getAll(getPrimeDigits(m), 0);
  executeAll(m, scalars, scalars, {});
}

TEST(ReshardExecute, RankThree) {
  for (auto [text, every] : {std::pair("x2,y3", 7u), {"x2,y4", 101u}}) {
    Mesh m = mesh(text);
    auto all = getAll(getPrimeDigits(m), 3);
    for (const std::vector<int64_t> &shape : kRankThree)
      executeAll(m, all, all, shape, isExhaustive() ? 1 : every);
  }
}

// All that hold nothing unreduced, or a sample; of those that do a sample.
TEST(ReshardExecute, RankThreeOnSixteenDevices) {
  Mesh m = mesh("x4,y4");
  AxisList digits = getPrimeDigits(m);
  auto most = getAll(digits, 3, ReduceKind::Sum, /*withUnreduced=*/false);
  auto all = getAll(digits, 3);
  for (const std::vector<int64_t> &shape : kRankThree) {
    executeAll(m, most, most, shape, isExhaustive() ? 1 : 10007);
    executeAll(m, all, all, shape, 20011);
  }
}

TEST(ReshardExecute, SampleOfRankThree) {
  for (const char *text : {"x2,y2,z2", "x2,y3,z2"}) {
    Mesh m = mesh(text);
    auto all = getAll(getPrimeDigits(m), 3);
    executeAll(m, all, all, {12, 5, 4}, 61);
  }
}

} // namespace

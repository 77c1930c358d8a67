// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Propagation of random programs, and of large ones.

#include "ProgramNotation.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <random>
#include <set>
#include <tuple>

using namespace tp;
using namespace tp::test;

namespace {

/// Random programs of up to a few dozen ops over random annotations.
class Generator {
public:
  Generator(unsigned seed)
      : random(seed),
        program(pick({"a2,b2", "a4,b2", "a2,b3", "a8", "a6,b4", "a2,b2,c2"})) {}

  std::unique_ptr<Program> generate();

private:
  unsigned roll(unsigned n) { return random() % n; }
  const char *pick(std::initializer_list<const char *> list) {
    return *(list.begin() + roll(list.size()));
  }
  int64_t size() {
    static const int64_t sizes[] = {1, 2, 3, 4, 6, 8, 12, 16};
    return sizes[roll(std::size(sizes))];
  }
  TensorSharding annotation(unsigned rank);
  ValueId fresh(const Shape &shape) {
    return values.emplace_back(
        program->graph.addValue(shape, 32, annotation(shape.size())));
  }
  ValueId any() { return values[roll(values.size())]; }
  /// A value of rank 2.
  ValueId anyMatrix();
  void addOp();

  std::mt19937 random;
  std::unique_ptr<Program> owned;
  struct Holder {
    std::unique_ptr<Program> p;
    Holder(const char *mesh) : p(std::make_unique<Program>(mesh)) {}
    Program *operator->() { return p.get(); }
  } program;
  std::vector<ValueId> values;
};

TensorSharding Generator::annotation(unsigned rank) {
  const Mesh &mesh = program->mesh;
  TensorSharding sharding = TensorSharding::replicate(rank, true);
  if (roll(3) != 0 || rank == 0)
    return sharding;
  for (unsigned tries = roll(4); tries > 0; --tries) {
    TensorSharding next = sharding;
    AxisRef axis = AxisRef::full(mesh, roll(mesh.axes.size()));
    if (axis.size % 2 == 0 && roll(3) == 0)
      axis = roll(2) ? AxisRef{axis.axis, 1, 2}
                     : AxisRef{axis.axis, 2, axis.size / 2};
    unsigned where = roll(10);
    if (where == 0)
      next.replicated.push_back(axis);
    else if (where == 1)
      next.unreduced.push_back(axis);
    else
      next.dims[roll(rank)].axes.push_back(axis);
    if (!verify(next, mesh, rank))
      sharding = next;
  }
  for (DimSharding &dim : sharding.dims) {
    dim.open = roll(2);
    if (!dim.axes.empty() && roll(4) == 0)
      dim.priority = roll(3);
  }
  return sharding;
}

ValueId Generator::anyMatrix() {
  for (unsigned tries = 0; tries < 8; ++tries) {
    ValueId value = any();
    if (program->graph.getShape(value).size() == 2)
      return value;
  }
  return fresh({size(), size()});
}

void Generator::addOp() {
  PropagationGraph &graph = program->graph;
  auto result = [&](ShardingRule rule, llvm::ArrayRef<ValueId> operands,
                    const Shape &shape, OpClass opClass) {
    program->rules.push_back(std::move(rule));
    ValueId value = fresh(shape);
    graph.addOp(&program->rules.back(), operands, value, opClass,
                roll(12) ? Direction::Both : static_cast<Direction>(roll(4)));
  };
  auto parse = [&](llvm::StringRef equation, llvm::ArrayRef<ValueId> operands,
                   const Shape &shape) {
    llvm::SmallVector<Shape> shapes;
    for (ValueId operand : operands)
      shapes.emplace_back(graph.getShape(operand));
    return llvm::cantFail(parseRule(equation, shapes, shape));
  };
  switch (roll(6)) {
  case 0: {
    ValueId x = any();
    Shape shape(graph.getShape(x));
    ValueId y = roll(2) ? x : fresh(shape);
    result(parse("...,...->...", {x, y}, shape), {x, y}, shape,
           OpClass::Elementwise);
    return;
  }
  case 1: {
    ValueId x = anyMatrix();
    Shape shape(graph.getShape(x));
    ValueId w = shape[0] == shape[1] && roll(2) ? x : fresh({shape[1], size()});
    Shape out = {shape[0], graph.getShape(w)[1]};
    result(parse("ik,kj->ij", {x, w}, out), {x, w}, out, OpClass::Other);
    return;
  }
  case 2: {
    ValueId x = anyMatrix();
    Shape out = {graph.getShape(x)[1], graph.getShape(x)[0]};
    result(parse("ij->ji", x, out), x, out, OpClass::DataMovement);
    return;
  }
  case 3: {
    ValueId x = any();
    Shape from(graph.getShape(x)), to;
    int64_t rest = 1;
    for (int64_t dim : from)
      rest *= dim;
    for (unsigned left = roll(3); left > 0; --left) {
      int64_t part = std::gcd(rest, size());
      to.push_back(part);
      rest /= part;
    }
    to.push_back(rest);
    result(makeReshapeRule(from, to), x, to, OpClass::DataMovement);
    return;
  }
  case 4: {
    ValueId x = anyMatrix();
    Shape shape(graph.getShape(x));
    if (roll(2)) {
      Shape out = {shape[0]};
      result(parse("ij->i", x, out), x, out, OpClass::Other);
    } else {
      Shape out = {size(), shape[0], shape[1]};
      result(parse("ij->bij", x, out), x, out, OpClass::Broadcast);
    }
    return;
  }
  case 5: {
    ValueId x = any();
    Shape shape(graph.getShape(x));
    ValueId target = graph.addValue(
        shape, 32, TensorSharding::replicate(shape.size(), true));
    values.push_back(target);
    EXPECT_FALSE(graph.addDataFlow({x, fresh(shape)}, target));
    return;
  }
  }
}

std::unique_ptr<Program> Generator::generate() {
  fresh({size(), size()});
  fresh({size(), size(), size()});
  fresh({size()});
  for (unsigned n = 1 + roll(30); n > 0; --n)
    addOp();
  return std::move(program.p);
}

/// Appends the smallest part of `axes` behind `have`, or gives up if there is
/// nothing to append.
std::optional<AxisRef> firstStep(const AxisList &axes, const AxisList &have) {
  AxisList rest = dropPrefix(axes, have);
  if (rest.empty())
    return std::nullopt;
  AxisRef step = rest.front();
  for (int64_t divisor = 2; divisor <= step.size; ++divisor)
    if (step.size % divisor == 0) {
      step.size = divisor;
      break;
    }
  return step;
}

/// An independent reading of the rules: no axis is left that an open dimension
/// could take from a tensor it listens to, unless another such tensor wants
/// something else there.
void expectFixpoint(const Program &p) {
  const PropagationGraph &graph = p.graph;
  for (OpId op = 0; op < graph.getNumOps(); ++op) {
    const ShardingRule &rule = graph.getRule(op);
    auto tensors = graph.getTensors(op);
    std::vector<TensorProjection> projections;
    for (unsigned t = 0; t < tensors.size(); ++t)
      projections.push_back(project(rule, t, graph.getSharding(tensors[t])));
    auto hears = [&](unsigned target, unsigned source) {
      bool from = graph.isOperand(op, source), to = graph.isOperand(op, target);
      if (target == source ||
          (from && to && graph.getClass(op) == OpClass::Elementwise))
        return false;
      Direction allowed = graph.getAllowed(op);
      return allowed == Direction::Both ||
             (from && !to && allowed == Direction::Forward) ||
             (!from && to && allowed == Direction::Backward);
    };
    for (unsigned t = 0; t < tensors.size(); ++t) {
      const TensorSharding &sharding = graph.getSharding(tensors[t]);
      for (auto [d, dim] : llvm::enumerate(rule.getTensor(t)))
        for (unsigned f : dim) {
          const AxisList &have = projections[t][f].axes;
          for (unsigned s = 0; s < tensors.size(); ++s) {
            const AxisList &axes = projections[s][f].axes;
            if (!hears(t, s) || !startsWith(axes, have) ||
                !sharding.dims[d].open)
              continue;
            std::optional<AxisRef> step = firstStep(axes, have);
            if (!step)
              continue;
            bool contradicted = false;
            for (unsigned o = 0; o < tensors.size(); ++o) {
              const AxisList &other = projections[o][f].axes;
              AxisList next = have;
              appendMerged(next, *step);
              contradicted |= hears(t, o) && startsWith(other, have) &&
                              !startsWith(have, other) &&
                              !startsWith(other, next) &&
                              !startsWith(next, other);
            }
            if (contradicted)
              continue;
            TensorSharding more = sharding;
            appendMerged(more.dims[d].axes, *step);
            TensorProjection expected = projections[t];
            appendMerged(expected[f].axes, *step);
            bool fits = !verify(more, p.mesh, more.getRank()) &&
                        !overlap(more.replicated, *step) &&
                        llvm::all_of(more.replicated,
                                     [&](const AxisRef &axis) {
                                       return axis.canCoexist(*step);
                                     }) &&
                        project(rule, t, more) == expected;
            EXPECT_FALSE(fits) << "op " << op << " tensor " << t << " dim " << d
                               << " has " << show(p.mesh, sharding)
                               << " and could take " << show(p.mesh, *step);
          }
        }
    }
  }
}

/// Every axis that is at one end of an op and not at the other has its loss.
void expectLossesAreComplete(const Program &p) {
  std::set<std::tuple<OpId, ValueId, unsigned>> lost;
  for (const Loss &loss : p.provenance.getLosses()) {
    lost.insert({loss.op, loss.value, loss.factor});
    EXPECT_TRUE(p.graph.getSharding(loss.source).uses(loss.loser));
    if (loss.winner && loss.rule != LossRule::SourcesDisagree &&
        loss.rule != LossRule::Replicated) {
      EXPECT_TRUE(p.graph.getSharding(loss.value).uses(*loss.winner));
    }
    EXPECT_TRUE(loss.winner || loss.rule != LossRule::SourcesDisagree);
  }
  for (OpId op = 0; op < p.graph.getNumOps(); ++op) {
    const ShardingRule &rule = p.graph.getRule(op);
    auto tensors = p.graph.getTensors(op);
    for (unsigned t = 0; t < tensors.size(); ++t)
      for (unsigned s = 0; s < tensors.size(); ++s) {
        if (s == t || (p.graph.getClass(op) == OpClass::Elementwise &&
                       p.graph.isOperand(op, s) && p.graph.isOperand(op, t)))
          continue;
        auto to = project(rule, t, p.graph.getSharding(tensors[t]));
        auto from = project(rule, s, p.graph.getSharding(tensors[s]));
        for (unsigned f = 0; f < rule.factors.size(); ++f)
          EXPECT_TRUE(!rule.hasFactor(t, f) ||
                      startsWith(to[f].axes, from[f].axes) ||
                      lost.count({op, tensors[t], f}));
      }
  }
}

/// Every axis that a value did not start with leads back to one that did.
void expectTracesReachAnnotations(const Program &p,
                                  const std::vector<TensorSharding> &initial) {
  for (ValueId value = 0; value < p.graph.getNumValues(); ++value)
    for (const DimSharding &dim : p.graph.getSharding(value).dims)
      for (const AxisRef &axis : dim.axes) {
        auto path = p.provenance.trace(p.graph, value, axis);
        ValueId seed = path.empty() ? value : path.back().source;
        AxisRef last = path.empty() ? axis : path.back().axis;
        EXPECT_TRUE(overlap(initial[seed].getDimAxes(), last));
        for (size_t i = 0; i + 1 < path.size(); ++i)
          EXPECT_EQ(p.graph.getNode(path[i].source),
                    p.graph.getNode(path[i + 1].value));
      }
}

TEST(PropagationFuzz, RandomProgramsReachAValidFixpoint) {
  uint64_t arrivals = 0, losses = 0;
  for (unsigned seed = 0; seed < 8000 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::unique_ptr<Program> p = Generator(seed).generate();
    std::vector<TensorSharding> initial;
    for (ValueId value = 0; value < p->graph.getNumValues(); ++value)
      initial.push_back(p->graph.getSharding(value));
    p->run();

    for (ValueId value = 0; value < p->graph.getNumValues(); ++value) {
      const TensorSharding &now = p->graph.getSharding(value);
      EXPECT_FALSE(verify(now, p->mesh, now.getRank()));
      EXPECT_EQ(now.replicated, initial[value].replicated);
      EXPECT_EQ(now.unreduced, initial[value].unreduced);
      for (auto [before, after] :
           llvm::zip_equal(initial[value].dims, now.dims)) {
        EXPECT_EQ(before.open, after.open);
        EXPECT_EQ(before.priority, after.priority);
        EXPECT_TRUE(startsWith(after.axes, before.axes));
        EXPECT_TRUE(before.open || before.axes == after.axes);
      }
      EXPECT_FALSE(overlap(now.getDimAxes(), now.replicated));
    }
    expectFixpoint(*p);
    expectLossesAreComplete(*p);
    expectTracesReachAnnotations(*p, initial);
    arrivals += p->provenance.getArrivals().size();
    losses += p->provenance.getLosses().size();

    // The same again, in other memory.
    std::unique_ptr<Program> again = Generator(seed).generate();
    again->run();
    for (ValueId value = 0; value < p->graph.getNumValues(); ++value)
      EXPECT_EQ(again->graph.getSharding(value), p->graph.getSharding(value));
    EXPECT_EQ(again->provenance.getVisits(), p->provenance.getVisits());
  }
  EXPECT_GT(arrivals, 10000u);
  EXPECT_GT(losses, 10000u);
}

/// `layers` decoder layers of 16 ops, annotated as Megatron does.
std::unique_ptr<Program> makeDecoder(unsigned layers) {
  auto p = std::make_unique<Program>("data2,model4");
  auto rule = [&](llvm::StringRef equation, llvm::ArrayRef<Shape> operands,
                  const Shape &result) {
    p->rules.push_back(llvm::cantFail(parseRule(equation, operands, result)));
    return &p->rules.back();
  };
  Shape x = {4, 128, 512}, heads = {4, 128, 8, 64}, f = {4, 128, 2048};
  Shape scores = {4, 8, 128, 128};
  const auto *norm = rule("bsd!,d->bsd", {x, {512}}, x);
  const auto *project = rule("bsm,mhd->bshd", {x, {512, 8, 64}}, heads);
  const auto *score = rule("bqhd,bkhd->bhqk", {heads, heads}, scores);
  const auto *softmax = rule("bhqk!->bhqk!", {scores}, scores);
  const auto *mix = rule("bhqk,bkhd->bqhd", {scores, heads}, heads);
  const auto *join = rule("bshd,hdm->bsm", {heads, {8, 64, 512}}, x);
  const auto *add = rule("...,...->...", {x, x}, x);
  const auto *up = rule("bsm,mf->bsf", {x, {512, 2048}}, f);
  const auto *unary = rule("...->...", {f}, f);
  const auto *multiply = rule("...,...->...", {f, f}, f);
  const auto *down = rule("bsf,fm->bsm", {f, {2048, 512}}, x);
  auto op = [&](const ShardingRule *r, llvm::ArrayRef<ValueId> operands,
                const Shape &shape, OpClass opClass = OpClass::Other) {
    ValueId result = p->value(shape);
    p->graph.addOp(r, operands, result, opClass);
    return result;
  };
  ValueId h = p->value(x, "[data,-,-]");
  for (unsigned layer = 0; layer < layers; ++layer) {
    ValueId n = op(norm, {h, p->value({512})}, x);
    ValueId qkv[3];
    for (ValueId &projected : qkv)
      projected =
          op(project, {n, p->value({512, 8, 64}, "[-,model,-]")}, heads);
    ValueId s = op(softmax, op(score, {qkv[0], qkv[1]}, scores), scores);
    ValueId a = op(mix, {s, qkv[2]}, heads);
    a = op(join, {a, p->value({8, 64, 512})}, x);
    h = op(add, {h, a}, x, OpClass::Elementwise);
    n = op(norm, {h, p->value({512})}, x);
    ValueId gate = op(up, {n, p->value({512, 2048}, "[-,model]")}, f);
    gate = op(unary, gate, f, OpClass::Elementwise);
    ValueId u = op(up, {n, p->value({512, 2048}, "[-,model]")}, f);
    u = op(multiply, {gate, u}, f, OpClass::Elementwise);
    ValueId d = op(down, {u, p->value({2048, 512})}, x);
    h = op(add, {h, d}, x, OpClass::Elementwise);
  }
  p->ret(h, "[data,-,-]");
  return p;
}

TEST(PropagationScale, AFewVisitsPerOpHoweverManyOps) {
  auto small = makeDecoder(10), large = makeDecoder(1000);
  small->run();
  large->run();
  double perOpSmall =
      double(small->provenance.getVisits()) / small->graph.getNumOps();
  double perOpLarge =
      double(large->provenance.getVisits()) / large->graph.getNumOps();
  EXPECT_LE(perOpLarge, perOpSmall * 1.1);
  EXPECT_LE(perOpLarge, 8);
  EXPECT_TRUE(large->provenance.getLosses().empty())
      << "nothing competes in Megatron's plan";
}

TEST(PropagationScale, AChainIsLinearFromEitherEnd) {
  // The annotation at the end has to walk all the way up.
  for (bool atStart : {true, false}) {
    Program p("a2");
    ValueId first = p.value({8, 8}, atStart ? "[a?,?]" : "");
    ValueId x = first;
    for (unsigned i = 0; i < 2000; ++i)
      x = p.map(x);
    x = p.map(x, atStart ? "" : "[a?,?]");
    p.run();
    EXPECT_EQ(p[first], "[a?,?]");
    EXPECT_EQ(p[x], "[a?,?]");
    EXPECT_LE(p.provenance.getVisits(), 10 * p.graph.getNumOps());
    EXPECT_EQ(p.provenance
                  .trace(p.graph, atStart ? x : first, AxisRef::full(p.mesh, 0))
                  .size(),
              2001u);
  }
}

} // namespace

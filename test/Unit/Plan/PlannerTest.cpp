// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Plans of programs without annotations against all plans that there are.

#include "Programs.h"

#include "lib/Plan/Atoms.h"
#include "lib/Plan/Copies.h"

#include "lib/Plan/Planner.h"

#include "gtest/gtest.h"

#include <limits>
#include <numeric>
#include <set>

using namespace mlir;
using namespace tp;
using namespace tp::plan;
using namespace tp::cost;

namespace {

/// The least cost of all selections of a program's graph, from tables of what
/// every combination of options costs. It knows nothing of the solver or of its
/// model: the copies of a value are priced together, whatever their number.
class ExactOptimum {
public:
  ExactOptimum(PlannedProgram &program, bool decomposes)
      : space(*program.table,
              collectAtoms(program.function, *program.table, /*allAxes=*/true),
              *program.cost, /*evenly=*/false),
        view(program.function) {
    if (decomposes)
      decompose();
    graph = buildGraph(space, view, program.function, /*freeArguments=*/true);
    for (unsigned choice = 0; choice < graph.choices.size(); ++choice)
      addChoice(choice);
    for (unsigned value = 0; value < graph.values.size(); ++value)
      addValue(value);
  }

  double run() {
    std::vector<unsigned> left(graph.choices.size());
    std::iota(left.begin(), left.end(), 0);
    while (!left.empty()) {
      auto next = std::min_element(
          left.begin(), left.end(), [&](unsigned a, unsigned b) {
            return countCombinations(getNeighbours(a)) <
                   countCombinations(getNeighbours(b));
          });
      eliminate(*next);
      left.erase(next);
    }
    double cost = 0;
    for (const Table &table : tables)
      cost += table.costs.front();
    return cost;
  }

private:
  /// A cost for each combination of the options of some choices; the last
  /// choice changes fastest.
  struct Table {
    std::vector<unsigned> choices;
    std::vector<double> costs;
  };

  void decompose() {
    SmallVector<ProgramView::Rewrite *> rewrites;
    for (Operation *op : SmallVector<Operation *>(view.getOps()))
      if (isa<AttentionOp>(op))
        rewrites.push_back(&view.add(op, {}, [&](OpBuilder &builder) {
          return cast<DecomposeOpInterface>(op).decompose(builder);
        }));
    view.set(rewrites, true);
  }

  size_t count(unsigned choice) const {
    return graph.choices[choice].options->prices.size();
  }
  size_t countCombinations(ArrayRef<unsigned> choices) const {
    size_t product = 1;
    for (unsigned choice : choices)
      product *= count(choice);
    return product;
  }

  /// Makes the table of a function of a selection.
  void addTable(std::vector<unsigned> choices,
                llvm::function_ref<double(const Selection &)> getCost) {
    llvm::sort(choices);
    choices.erase(llvm::unique(choices), choices.end());
    Selection selection(graph.choices.size(), 0);
    Table table{choices, {}};
    size_t combinations = countCombinations(choices);
    for (size_t at = 0; at < combinations; ++at) {
      size_t rest = at;
      for (unsigned choice : llvm::reverse(choices)) {
        selection[choice] = rest % count(choice);
        rest /= count(choice);
      }
      table.costs.push_back(getCost(selection));
    }
    tables.push_back(std::move(table));
  }

  void addChoice(unsigned number) {
    addTable({number}, [&](const Selection &selection) {
      const Choice &choice = graph.choices[number];
      return choice.times * choice.options->prices[selection[number]].cost;
    });
  }

  void addValue(unsigned number) {
    const PlanValue &value = graph.values[number];
    std::vector<unsigned> choices{value.producer.choice};
    for (const PlanUse &use : value.needs)
      choices.push_back(use.port.choice);
    ReshardPrices prices = space.getPrices(value.type);
    addTable(choices, [&](const Selection &selection) {
      double cost = 0;
      auto copies = getCopies(space, graph, number, prices, selection);
      for (const Copy &copy : ArrayRef(copies).drop_front())
        cost += value.times *
                prices.get(copies[copy.source].layout, copy.layout, false).cost;
      return cost;
    });
  }

  /// The other choices of the tables that have a choice.
  std::vector<unsigned> getNeighbours(unsigned choice) const {
    std::set<unsigned> neighbours;
    for (const Table &table : tables)
      if (llvm::is_contained(table.choices, choice))
        neighbours.insert(table.choices.begin(), table.choices.end());
    neighbours.erase(choice);
    return {neighbours.begin(), neighbours.end()};
  }

  /// Replaces the tables of a choice by one with its best option for each
  /// combination of the others.
  void eliminate(unsigned choice) {
    std::vector<Table> own;
    std::vector<unsigned> neighbours = getNeighbours(choice);
    llvm::erase_if(tables, [&](Table &table) {
      if (!llvm::is_contained(table.choices, choice))
        return false;
      own.push_back(std::move(table));
      return true;
    });
    addTable(neighbours, [&](Selection selection) {
      double least = std::numeric_limits<double>::infinity();
      for (unsigned option = 0; option < count(choice); ++option) {
        selection[choice] = option;
        double cost = 0;
        for (const Table &table : own) {
          size_t at = 0;
          for (unsigned other : table.choices)
            at = at * count(other) + selection[other];
          cost += table.costs[at];
        }
        least = std::min(least, cost);
      }
      return least;
    });
  }

  SearchSpace space;
  ProgramView view;
  PlanGraph graph;
  std::vector<Table> tables;
};

std::optional<Machine> getSlowMachine() {
  // Slow enough that work counts beside a launch on these sizes.
  Machine machine;
  machine.name = "slow";
  machine.flops = 1e8;
  machine.memoryBandwidth = 1e8;
  machine.link = {1e-5, 1e-8};
  return machine;
}

/// Plans a program with everything free, and compares with all plans that there
/// are, with its attention whole and decomposed.
void check(const std::string &mesh, const char *text,
           std::optional<Machine> machine) {
  PlannedProgram program(mesh, text, machine);
  Planner planner(program.function, *program.table, *program.cost,
                  {/*freeArguments=*/true, /*allAxes=*/true});
  planner.choose();
  EXPECT_TRUE(planner.isOptimal());
  double least = std::numeric_limits<double>::infinity();
  for (bool decomposes : {false, true})
    least = std::min(least, ExactOptimum(program, decomposes).run());
  double cost = planner.getCost().price.cost;
  EXPECT_NEAR(cost, least, 1e-9 * least) << mesh;
}

const char *const kMeshes[] = {"\"x\"=4", "\"x\"=2, \"y\"=2"};

TEST(PlannerTest, MlpIsOptimal) {
  for (const char *mesh : kMeshes) {
    check(mesh, getMlp(), std::nullopt);
    check(mesh, getMlp(), getSlowMachine());
  }
}

TEST(PlannerTest, AttentionIsOptimal) {
  for (const char *mesh : kMeshes) {
    check(mesh, getAttention(), std::nullopt);
    check(mesh, getAttention(), getSlowMachine());
  }
}

} // namespace

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "PlanPrice.h"

#include "lib/Cost/ProgramCost.h"

using namespace tp;
using namespace tp::plan;
using namespace tp::cost;

PlanPrice::PlanPrice(SearchSpace &space, const PlanGraph &graph,
                     Selection selection)
    : space(space), graph(graph), selection(std::move(selection)),
      valuesOf(graph.choices.size()), scratch(graph.choices.size()),
      parts(graph.values.size()), targets(graph.values.size()),
      prices(graph.choices.size() + graph.values.size()),
      held(getMoment(graph.numPoints) + 1) {
  for (const PlanGraph::Held &body : graph.bodies)
    held.add(getMoment(body.begin), getMoment(body.end), body.bytes);
  for (unsigned choice = 0; choice < graph.choices.size(); ++choice)
    priceChoice(choice);
  findTargets();
  for (unsigned number = 0; number < graph.values.size(); ++number) {
    const PlanValue &value = graph.values[number];
    if (value.origin != number || value.isBorder)
      continue;
    auto add = [&](Port port) {
      llvm::SmallVector<unsigned, 4> &values = valuesOf[port.choice];
      if (values.empty() || values.back() != number)
        values.push_back(number);
    };
    add(value.producer);
    for (const PlanUse &use : value.needs)
      add(use.port);
    for (auto target = targets[number]; target;
         target = targets[target->value]) {
      add(graph.values[target->value].producer);
      add(target->use);
    }
    parts[number].prices = space.getPrices(value.type);
    priceValue(number);
  }
}

void PlanPrice::findTargets() {
  for (unsigned number = 0; number < graph.values.size(); ++number)
    for (const PlanUse &use : graph.values[number].needs) {
      if (!use.operand || !cost::isOverwritten(*use.operand))
        continue;
      auto it = graph.valueNumbers.find(use.operand->getOwner()->getResult(0));
      if (it != graph.valueNumbers.end() &&
          graph.values[it->second].storage == PlanValue::Elsewhere)
        targets[it->second] = {number, use.port};
    }
}

bool PlanPrice::holdsMemory(unsigned number) const {
  if (graph.values[number].storage == PlanValue::Activation)
    return true;
  std::optional<Target> target = targets[number];
  if (!target)
    return false;
  Port producer = graph.values[target->value].producer;
  return graph.getLayout(target->use, selection) !=
             graph.getLayout(producer, selection) ||
         (graph.values[target->value].storage == PlanValue::Elsewhere &&
          holdsMemory(target->value));
}

void PlanPrice::select(unsigned choice, unsigned option) {
  if (selection[choice] == option)
    return;
  selection[choice] = option;
  priceChoice(choice);
  for (unsigned value : valuesOf[choice])
    priceValue(value);
}

void PlanPrice::setCuts(unsigned value, Cuts cuts) {
  parts[value].cuts = std::move(cuts);
  priceValue(value);
}

void PlanPrice::priceChoice(unsigned number) {
  const Choice &choice = graph.choices[number];
  prices.set(number, choice.times * choice.options->prices[selection[number]]);
  int64_t bytes = choice.options->scratchBytes[selection[number]];
  if (bytes != scratch[number]) {
    unsigned moment = getMoment(choice.point);
    held.add(moment, moment, bytes - scratch[number]);
    scratch[number] = bytes;
  }
}

void PlanPrice::priceValue(unsigned number) {
  const PlanValue &value = graph.values[number];
  Part &part = parts[number];
  for (const Held &range : part.held)
    held.add(range.begin, range.end, -range.bytes);
  part.held.clear();
  persistent -= part.persistent;
  part.persistent = 0;

  Price price;
  auto copies = getCopies(number);
  for (auto [index, copy] : llvm::enumerate(copies)) {
    int64_t bytes = space.getBytes(value.storedType, copy.layout);
    if (index == 0 && value.storage == PlanValue::Persistent)
      part.persistent = bytes;
    if (index == 0 && !holdsMemory(number))
      continue;
    part.held.push_back({bytes, copy.begin, copy.end});
    held.add(copy.begin, copy.end, bytes);
    if (index == 0)
      continue;
    price += value.times * part.prices->get(copies[copy.source].layout,
                                            copy.layout, value.times > 1);
  }
  persistent += part.persistent;
  prices.set(graph.choices.size() + number, price);
}

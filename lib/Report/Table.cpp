// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report for a terminal.

#include "Repeats.h"
#include "Summary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace tp;

/// The maximum length of a line.
static constexpr size_t kWidth = 100;

void tp::printWrapped(llvm::raw_ostream &os, llvm::StringRef text,
                      size_t indent) {
  size_t room = kWidth - indent;
  while (!text.empty()) {
    size_t length = text.size();
    if (length > room) {
      length = text.take_front(room + 1).rfind(' ');
      if (length == llvm::StringRef::npos || length == 0)
        length = room;
    }
    os.indent(indent) << text.take_front(length) << '\n';
    text = text.drop_front(length).ltrim();
  }
}

static std::string shorten(llvm::StringRef text, size_t width) {
  return text.size() <= width ? text.str()
                              : (text.take_front(width - 2) + "..").str();
}

static std::string formatShare(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.0f %%", 100 * share);
  return text;
}

static void printCollective(const CollectiveEntry &entry,
                            const RepeatedName &name, llvm::raw_ostream &os) {
  bool isOne = name.getCount() == 1;
  std::string line = formatBytes(entry.wireBytes * entry.times) + "  " +
                     entry.kind + " " + formatAxes(entry.axes);
  if (entry.times != 1)
    line += " x" + std::to_string(entry.times);
  line += " of " + name.str() + (isOne ? "" : ", each");
  if (isOne && !entry.loc.empty())
    line += ", for " + entry.loc;
  printWrapped(os, line, 4);
  if (!entry.reason.empty())
    printWrapped(os, entry.reason, 8);
  if (!entry.note.empty())
    printWrapped(os, entry.note, 8);
  if (!entry.advice.empty())
    // No sharding makes an all-reduce unnecessary, but a different sharding may
    // halve the bytes that it sends.
    printWrapped(os,
                 (llvm::StringRef(entry.kind).contains("all_reduce")
                      ? "cheaper: "
                      : "to avoid it: ") +
                     entry.advice,
                 8);
}

static void printCollectives(const FunctionReport &function,
                             llvm::raw_ostream &os) {
  std::vector<CollectiveGroup> groups = groupCollectives(function);
  CollectiveGroup all = sumGroups(groups);
  auto row = [&](llvm::StringRef kind, llvm::StringRef axes,
                 llvm::ArrayRef<std::string> cells) {
    os << "  " << llvm::left_justify(kind, 20)
       << llvm::left_justify(shorten(axes, 23), 24);
    for (llvm::StringRef cell : cells)
      os << llvm::right_justify(cell, 10);
    os << '\n';
  };
  row("collective", "axes", {"count", "payload", "sent", "time", "share"});
  auto group = [&](const CollectiveGroup &g) {
    row(g.kind, g.axes,
        {std::to_string(g.launches), formatBytes(g.bytes),
         formatBytes(g.wireBytes),
         function.timed ? formatTime(g.microseconds) : "-",
         formatShare(getShare(g, all))});
  };
  for (const CollectiveGroup &g : groups)
    group(g);
  if (groups.size() > 1)
    group(all);

  os << "\n  largest, by bytes sent\n";
  std::vector<const CollectiveEntry *> sorted =
      getLargest(function, function.collectives.size());
  auto repeated = groupRepeated<CollectiveEntry>(
      sorted, [](const CollectiveEntry &entry) { return entry.value; },
      [](const CollectiveEntry &a, const CollectiveEntry &b) {
        return a.kind == b.kind && a.axes == b.axes && a.reason == b.reason &&
               a.wireBytes == b.wireBytes && a.times == b.times;
      });
  repeated.resize(std::min<size_t>(repeated.size(), 5),
                  {nullptr, RepeatedName("")});
  for (const Repeated<CollectiveEntry> &group : repeated)
    printCollective(*group.value, group.name, os);
}

/// A row for each tensor: its type, its sharding, and what a device holds.
static void printTensors(llvm::StringRef title,
                         llvm::ArrayRef<TensorEntry> tensors,
                         llvm::raw_ostream &os) {
  std::vector<const TensorEntry *> list;
  for (const TensorEntry &tensor : tensors)
    list.push_back(&tensor);
  auto repeated = groupRepeated<TensorEntry>(
      list, [](const TensorEntry &tensor) { return tensor.name; },
      [](const TensorEntry &a, const TensorEntry &b) {
        return a.global == b.global && a.local == b.local &&
               a.sharding == b.sharding;
      });
  if (repeated.empty())
    return;
  constexpr size_t most = 40;
  size_t more = repeated.size() - std::min(repeated.size(), most);
  repeated.resize(repeated.size() - more, {nullptr, RepeatedName("")});
  auto getSharding = [](const TensorEntry &tensor) {
    return tensor.local == tensor.global ? "whole" : tensor.sharding;
  };
  size_t names = 0, types = 0, shardings = 0;
  for (const Repeated<TensorEntry> &row : repeated) {
    names = std::max(names, row.name.str().size());
    types = std::max(types, row.value->global.size());
    shardings = std::max(shardings, getSharding(*row.value).size());
  }
  // Names get the remaining width. The end of a name says most, so long names
  // lose their beginning.
  constexpr size_t bytes = 10, least = 20;
  size_t used = 4 + 2 * 3 + bytes + types + shardings;
  names = std::min(names, std::max(least, kWidth - std::min(kWidth, used)));
  os << "\n  " << title << "\n";
  for (const auto &[tensor, repeatedName] : repeated) {
    std::string name = repeatedName.str();
    if (name.size() > names)
      name = ".." + name.substr(name.size() - names + 2);
    std::string line;
    llvm::raw_string_ostream(line)
        << llvm::left_justify(name, names) << "  "
        << llvm::left_justify(tensor->global, types) << "  "
        << llvm::left_justify(getSharding(*tensor), shardings) << "  "
        << llvm::right_justify(formatBytes(tensor->bytes), bytes);
    os.indent(4) << shorten(line, kWidth - 4) << '\n';
  }
  if (more > 0)
    os << "    and " << more << " more, in --tp-report=FILE.json or .html\n";
}

/// Prints the times of layers. Equal layers share one row.
static void printLayers(const FunctionReport &function, llvm::raw_ostream &os) {
  if (!function.timed || function.layers.empty())
    return;
  std::vector<const LayerEntry *> layers;
  for (const LayerEntry &layer : function.layers)
    layers.push_back(&layer);
  auto describe = [](const LayerEntry &layer) {
    return "communication " + formatTime(layer.communication) +
           (layer.compute > 0 ? ", compute " + formatTime(layer.compute) : "");
  };
  auto repeated = groupRepeated<LayerEntry>(
      layers, [](const LayerEntry &layer) { return layer.name; },
      [&](const LayerEntry &a, const LayerEntry &b) {
        return describe(a) == describe(b);
      });
  constexpr size_t most = 8;
  os << "\n  layers\n";
  for (const auto &[layer, name] :
       llvm::ArrayRef(repeated).take_front(std::min(repeated.size(), most)))
    printWrapped(os,
                 name.str() + (name.getCount() > 1 ? ", each: " : ": ") +
                     describe(*layer),
                 4);
  if (repeated.size() > most)
    os << "    and " << repeated.size() - most << " more kinds\n";
}

static void printMemory(const MemoryEntry &memory, llvm::raw_ostream &os) {
  os << "\n  memory per device\n";
  for (auto &[what, bytes] : listMemory(memory)) {
    std::string text = formatBytes(bytes);
    os << "    " << llvm::left_justify(what, 14)
       << llvm::right_justify(text, 12);
    if (what == "activations")
      if (std::string note = describeActivations(memory); !note.empty())
        os << "  " << shorten(note, 66);
    os << '\n';
  }
  os << "    " << llvm::left_justify("peak", 14)
     << llvm::right_justify(formatBytes(memory.getTotal()), 12) << "  "
     << judgeCapacity(memory) << '\n';
  if (std::string padding = describePadding(memory); !padding.empty())
    os << "    " << padding << '\n';
}

void tp::writeTable(const Report &report, llvm::raw_ostream &os) {
  for (const FunctionReport &function : report.functions) {
    printWrapped(os, summarize(function), 0);
    std::string on = "on " + describeMesh(function.mesh);
    if (!report.machine.empty())
      on += " (" + report.machine + ")";
    printWrapped(os, on, 2);
    printWrapped(os, describeProof(function), 2);
    if (std::string call = describeCall(function); !call.empty())
      printWrapped(os, call, 2);
    os << '\n';
    if (!function.collectives.empty())
      printCollectives(function, os);
    printTensors("arguments, and bytes of each on a device", function.inputs,
                 os);
    printTensors("results", function.outputs, os);
    printLayers(function, os);
    printMemory(function.memory, os);
    if (std::string times = compareTimes(function); !times.empty())
      printWrapped(os, times, 2);
    if (std::string overlap = describeOverlap(function); !overlap.empty())
      printWrapped(os, overlap, 2);
    if (std::string alike = describeReplicated(function); !alike.empty())
      printWrapped(os, alike, 2);
    if (std::string plan = describePlan(function); !plan.empty())
      printWrapped(os, plan, 2);
    os << '\n';
  }
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report for a terminal.

#include "Summary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace tp;

/// No line is longer.
static constexpr size_t kWidth = 100;

/// `text` in lines that start with `indent` blanks, broken between words; a
/// word that is too long for a line is cut.
static void printWrapped(llvm::raw_ostream &os, llvm::StringRef text,
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
  for (const CollectiveEntry *entry : getLargest(function, 5)) {
    std::string line = formatBytes(entry->wireBytes * entry->times) + "  " +
                       entry->kind + " " + formatAxes(entry->axes);
    if (entry->times != 1)
      line += " x" + std::to_string(entry->times);
    line += " of " + entry->value;
    if (!entry->loc.empty())
      line += ", " + entry->loc;
    printWrapped(os, line, 4);
    if (!entry->reason.empty())
      printWrapped(os, entry->reason, 8);
    if (!entry->note.empty())
      printWrapped(os, entry->note, 8);
    // What was asked for can be unasked.
    if (entry->requested && entry->kind == "all_gather" &&
        !entry->advice.empty())
      printWrapped(os, "to avoid it: " + entry->advice, 8);
  }
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
    os << '\n';
    if (!function.collectives.empty())
      printCollectives(function, os);
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

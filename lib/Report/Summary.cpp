// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Totals of a report, and sentences that describe the report.

#include "Summary.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

#include <cmath>

using namespace tp;

static std::string formatNumber(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

std::string tp::formatBytes(int64_t bytes) {
  static constexpr llvm::StringLiteral units[] = {"KiB", "MiB", "GiB", "TiB",
                                                  "PiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = bytes / 1024.0;
  unsigned unit = 0;
  // Go to the next unit while the value would be printed as 1024.0.
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return formatNumber("%.1f ", value) + units[unit].str();
}

std::string tp::formatTime(double microseconds) {
  if (microseconds < 999.95)
    return formatNumber("%.1f us", microseconds);
  if (microseconds < 999995)
    return formatNumber("%.2f ms", microseconds / 1e3);
  return formatNumber("%.2f s", microseconds / 1e6);
}

std::string tp::formatAxes(llvm::ArrayRef<std::string> axes) {
  return "{" + llvm::join(axes, ", ") + "}";
}

int64_t MeshEntry::getNumDevices() const {
  int64_t devices = 1;
  for (auto &[name, size] : axes)
    devices *= size;
  return devices;
}

std::vector<CollectiveGroup>
tp::groupCollectives(const FunctionReport &function) {
  std::vector<CollectiveGroup> groups;
  for (const CollectiveEntry &entry : function.collectives) {
    std::string axes = llvm::join(entry.axes, ",");
    auto group = llvm::find_if(groups, [&](const CollectiveGroup &g) {
      return g.kind == entry.kind && g.axes == axes;
    });
    if (group == groups.end()) {
      groups.push_back({entry.kind, axes});
      group = std::prev(groups.end());
    }
    group->launches += entry.times;
    group->bytes += entry.bytes * entry.times;
    group->wireBytes += entry.wireBytes * entry.times;
    group->microseconds += entry.microseconds * entry.times;
  }
  return groups;
}

CollectiveGroup tp::sumGroups(llvm::ArrayRef<CollectiveGroup> groups) {
  CollectiveGroup sum;
  sum.kind = "total";
  for (const CollectiveGroup &group : groups) {
    sum.launches += group.launches;
    sum.bytes += group.bytes;
    sum.wireBytes += group.wireBytes;
    sum.microseconds += group.microseconds;
  }
  return sum;
}

double tp::getShare(const CollectiveGroup &part, const CollectiveGroup &all) {
  if (all.microseconds > 0)
    return part.microseconds / all.microseconds;
  return all.wireBytes > 0 ? double(part.wireBytes) / all.wireBytes : 0;
}

std::vector<const CollectiveEntry *>
tp::getLargest(const FunctionReport &function, size_t count) {
  std::vector<const CollectiveEntry *> list;
  for (const CollectiveEntry &entry : function.collectives)
    list.push_back(&entry);
  llvm::sort(list, [](const auto *a, const auto *b) {
    int64_t first = a->wireBytes * a->times, second = b->wireBytes * b->times;
    return first != second ? first > second : a < b; // else program order
  });
  list.resize(std::min(count, list.size()));
  return list;
}

std::string tp::summarize(const FunctionReport &function) {
  llvm::MapVector<llvm::StringRef, int64_t> kinds;
  int64_t sent = 0;
  for (const CollectiveEntry &entry : function.collectives) {
    kinds[entry.kind] += entry.times;
    sent += entry.wireBytes * entry.times;
  }
  llvm::SmallVector<std::string> parts;
  for (auto &[kind, count] : kinds)
    parts.push_back(std::to_string(count) + " " + kind.str());
  return "@" + function.name + ": " +
         (parts.empty() ? "no collectives" : llvm::join(parts, ", ")) + "; " +
         formatBytes(sent) + " sent and " +
         formatBytes(function.memory.getTotal()) + " held per device";
}

std::string tp::describeMesh(const MeshEntry &mesh) {
  llvm::SmallVector<std::string> axes;
  for (auto &[name, size] : mesh.axes)
    axes.push_back(name + "=" + std::to_string(size));
  int64_t devices = mesh.getNumDevices();
  std::string text = llvm::join(axes, " x ") + ", " + std::to_string(devices) +
                     (devices == 1 ? " device" : " devices");
  // A longer list is of no use to a reader.
  constexpr size_t most = 16;
  if (mesh.deviceIds.empty())
    return text;
  if (mesh.deviceIds.size() > most)
    return text + " in the order of device_ids";
  text += " in the order";
  for (int64_t device : mesh.deviceIds)
    text += " " + std::to_string(device);
  return text;
}

std::vector<std::pair<std::string, int64_t>>
tp::listMemory(const MemoryEntry &memory) {
  std::vector<std::pair<std::string, int64_t>> rows;
  for (auto &[what, bytes] :
       {std::pair("parameters", memory.parameters),
        std::pair("kv cache", memory.cache), std::pair("state", memory.state),
        std::pair("gradients", memory.gradients),
        std::pair("optimizer", memory.optimizer),
        std::pair("activations", memory.activations)})
    if (bytes > 0)
      rows.push_back({what, bytes});
  return rows;
}

std::string tp::describeActivations(const MemoryEntry &memory) {
  llvm::SmallVector<std::string> notes;
  if (memory.isCompiled)
    notes.push_back("as compiled; " + formatBytes(memory.planned) +
                    " as planned");
  if (!memory.peakOp.empty())
    notes.push_back("most at " + memory.peakOp);
  return llvm::join(notes, ", ");
}

std::string tp::judgeCapacity(const MemoryEntry &memory) {
  if (memory.capacity == 0)
    return "capacity unknown";
  std::string share =
      formatNumber("%.1f %%", 100.0 * memory.getTotal() / memory.capacity);
  share += " of " + formatBytes(memory.capacity);
  if (memory.fits())
    return "fits: " + share;
  return "DOES NOT FIT: " + share + ", " + formatBytes(memory.getMissing()) +
         " are missing";
}

std::string tp::describePadding(const MemoryEntry &memory) {
  if (memory.padding == 0)
    return "";
  return formatBytes(memory.padding) +
         " of this is padding on the device that holds the least data (" +
         formatNumber("%.2f %%", 100.0 * memory.padding / memory.getTotal()) +
         ")";
}

std::string tp::describeProof(const FunctionReport &function) {
  std::string text = "verified: " + function.verified;
  if (function.verified == "field")
    return text + ", by computing this program and the whole program";
  if (function.verified == "static")
    return text + ", by the sharding rules; nothing was computed";
  return text + ", nothing was proved";
}

std::string tp::describeCall(const FunctionReport &function) {
  if (!function.timed || function.compute == 0)
    return "";
  return "predicted: " + formatTime(function.getPredicted()) + " per call" +
         (function.overlap.isKnown ? ""
                                   : ", if devices wait for each collective");
}

std::string tp::compareTimes(const FunctionReport &function) {
  if (!function.timed || function.compute == 0)
    return "";
  std::string text = "compute " + formatTime(function.compute) +
                     ", communication " + formatTime(function.communication) +
                     ": ratio " + formatNumber("%.2f", function.getRatio());
  if (function.getRatio() > 1)
    text += ", the links are the bottleneck";
  return text;
}

std::string tp::describeOverlap(const FunctionReport &function) {
  const OverlapEntry &overlap = function.overlap;
  if (!overlap.isKnown || overlap.getCommunication() <= 0)
    return "";
  return "a call: " + formatTime(overlap.scheduled) + ", " +
         formatTime(overlap.exposed) +
         " of it waiting for collectives; without overlap: " +
         formatTime(overlap.written) + ", " +
         formatTime(overlap.getCommunication()) +
         " of it waiting; no order of the ops takes less than " +
         formatTime(overlap.bound);
}

std::string tp::describeReplicated(const FunctionReport &function) {
  constexpr double kLeast = 0.01;
  constexpr size_t kLayers = 4;
  if (function.operations.getShare() <= kLeast)
    return "";
  auto format = [](const Operations &operations) {
    return formatNumber("%.1f %%", 100 * operations.getShare());
  };
  std::string text =
      "repeated on every device: " + format(function.operations) +
      " of the operations";
  Operations outside = function.operations;
  llvm::SmallVector<const LayerEntry *> layers;
  for (const LayerEntry &layer : function.layers) {
    outside.all -= layer.operations.all;
    outside.replicated -= layer.operations.replicated;
    if (layer.operations.getShare() > kLeast)
      layers.push_back(&layer);
  }
  if (function.layers.empty())
    return text;
  // Layers with the most replicated work come first, and equal ones in program
  // order.
  llvm::sort(layers, [](const LayerEntry *a, const LayerEntry *b) {
    return std::pair(-a->operations.replicated, a) <
           std::pair(-b->operations.replicated, b);
  });
  for (const LayerEntry *layer :
       llvm::ArrayRef(layers).take_front(std::min(layers.size(), kLayers)))
    text += ", " + format(layer->operations) + " of " + layer->name;
  if (layers.size() > kLayers)
    text += ", " + std::to_string(layers.size() - kLayers) + " more layers";
  if (outside.getShare() > kLeast)
    text += ", " + format(outside) + " of the operations outside layers";
  return text;
}

/// Describes in a few words what an entry changes: `+3.0 us`, `-1 launch`.
static std::string describeChange(const FunctionReport &function,
                                  const PriceEntry &entry) {
  llvm::SmallVector<std::string> parts;
  auto add = [&](double amount, llvm::StringRef what) {
    // Changes too small to be printed are omitted.
    if (std::abs(amount) < (function.timed ? 0.05 : 0.5))
      return;
    parts.push_back((amount < 0 ? "-" : "+") +
                    (function.timed
                         ? formatTime(std::abs(amount))
                         : formatBytes(std::llround(std::abs(amount)))) +
                    " " + what.str());
  };
  add(entry.sent, "sent");
  if (function.timed)
    add(entry.computed, "computed");
  if (entry.launches != 0)
    parts.push_back((entry.launches > 0 ? "+" : "") +
                    std::to_string(entry.launches) +
                    (std::abs(entry.launches) == 1 ? " launch" : " launches"));
  return llvm::join(parts, ", ");
}

std::string tp::describePlan(const FunctionReport &function) {
  if (!function.plan.isKnown)
    return "";
  std::string text = "planned " + std::to_string(function.plan.reshards) +
                     (function.plan.reshards == 1 ? " reshard" : " reshards");
  if (function.plan.gap == 0)
    text += ", proved optimal";
  else
    // Without times, a cost in bytes contains arithmetic, converted to bytes,
    // and not only the bytes that are sent.
    text +=
        ", at most " +
        (function.timed ? formatTime(function.plan.gap)
                        : "the cost of sending " +
                              formatBytes(std::llround(function.plan.gap))) +
        " above the optimum";
  for (const PriceEntry &entry : function.price)
    if (std::string change = describeChange(function, entry); !change.empty())
      text += "; " + entry.kind + " " + change;
  return text;
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a partitioned program sends, computes and holds, as plain data
/// and in three forms.
///
/// `buildReport` (BuildReport.h) reads a module; the writers here know nothing
/// of MLIR. The JSON form is a contract, version 1: fields may be added, never
/// removed, and their order is fixed, so that equal programs give equal bytes.
/// The table, for a terminal, is at most 100 columns wide:
///
///     @main: 2 all_reduce; 24.0 MiB sent and 1.2 GiB held per device
///       on data=2 x model=4, 8 devices (h200)
///       verified: field, by computing this program and the whole one
///
///       collective      axes     count    payload       sent       time  share
///       all_reduce      model        2   16.0 MiB   24.0 MiB    88.0 us   100%
///
/// Arguments, collectives and layers that differ in a number of their names
/// alone are one line.
///
/// Units: bytes are those of one device; times are microseconds of one call.
/// Without a machine, and without links on the mesh, times are unknown: JSON
/// has 0 and `"timed": false`, the table a dash. Memory without a known
/// capacity has capacity 0 and fits.
///
/// The HTML form is one file that fetches nothing.

#ifndef TPOPT_REPORT_REPORT_H
#define TPOPT_REPORT_REPORT_H

#include "lib/Report/Picture.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tp {

/// One launch, of every device.
struct CollectiveEntry {
  std::string kind;              ///< `all_reduce` and so on.
  std::vector<std::string> axes; ///< Sub-axes as `model:(1)2`.
  std::string op;                ///< `sum`, `max`, `min`, or `none`.
  int64_t groupSize = 1;
  int64_t bytes = 0;     ///< The payload.
  int64_t wireBytes = 0; ///< What a device sends in a ring.
  int64_t times = 1;     ///< Launches for one call of the function.
  double microseconds = 0;
  std::string loc; ///< `file:line:col`; empty if unknown.
  std::string reason;
  std::string value; ///< The name of what is sent.
  std::string layer; ///< Empty outside of layers.
  std::string note;  ///< What `times` leaves out.
  std::string advice;
  bool requested = false; ///< By an annotation.
};

/// An argument or a result.
struct TensorEntry {
  std::string name;
  std::string role;     ///< As `tp.role`, or `output`.
  bool isGiven = false; ///< Whether `tp.role` gives it; else it is inferred.
  std::string global, local, sharding;
  int64_t bytes = 0; ///< Of a device's buffer.
  int64_t paddingBytes = 0;
  Picture picture;
};

/// How many operations a device computes.
struct Operations {
  double all = 0;
  double replicated = 0; ///< Those that every device does alike.

  double getShare() const { return all > 0 ? replicated / all : 0; }
};

struct LayerEntry {
  std::string name;
  double communication = 0, compute = 0; ///< Microseconds.
  Operations operations;

  double getRatio() const { return compute > 0 ? communication / compute : 0; }
};

struct MemoryEntry {
  int64_t parameters = 0, activations = 0, cache = 0, state = 0, gradients = 0,
          optimizer = 0;
  int64_t padding = 0;  ///< Of all of these, how much means nothing.
  int64_t capacity = 0; ///< 0 if unknown.
  std::string peakOp;   ///< Where activations take most, as planned.
  /// Whether activations are what the compiled program allocates; else they are
  /// what the plan counts on, which is always in `planned`.
  bool isCompiled = false;
  int64_t planned = 0;

  int64_t getTotal() const {
    return parameters + activations + cache + state + gradients + optimizer;
  }
  bool fits() const { return getMissing() == 0; }
  /// What a device would need beyond its capacity.
  int64_t getMissing() const {
    return capacity == 0 ? 0 : std::max<int64_t>(0, getTotal() - capacity);
  }
};

struct MeshEntry {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> deviceIds; ///< By place; empty if each has its number.

  int64_t getNumDevices() const;
};

/// By how much something changes what a function costs. The sums of all entries
/// are the totals of the report.
struct PriceEntry {
  std::string stage;             ///< `partition` and so on.
  std::string kind;              ///< As in `#tp.price`: `plan`, `combined` ..
  std::string what;              ///< The same in words.
  double sent = 0, computed = 0; ///< Microseconds if the report is timed, else
                                 ///< bytes.
  int64_t launches = 0;
  int64_t peakBytes = 0; ///< Of activations.
  int64_t count = 0;     ///< What `kind` counts.
};

/// What Partition decided.
struct PlanEntry {
  bool isKnown = false;
  int64_t reshards = 0;
  int64_t merged = 0; ///< Constants that became one with another.
  double gap = 0;     ///< How much better another plan could be; as `sent`.
};

/// What the compiled program is predicted to take, in microseconds.
struct OverlapEntry {
  bool isKnown = false;
  double written = 0;   ///< With every collective waited for at once,
  double scheduled = 0; ///< and as it is.
  double bound = 0;     ///< No order of starts and waits goes below it.
  double exposed = 0;   ///< Of `scheduled`, spent waiting for collectives.

  /// Of `written`, spent waiting for collectives.
  double getCommunication() const { return written - scheduled + exposed; }
};

struct FunctionReport {
  std::string name;
  MeshEntry mesh;
  std::vector<CollectiveEntry> collectives;
  std::vector<TensorEntry> inputs, outputs;
  std::vector<LayerEntry> layers;
  MemoryEntry memory;
  bool timed = false;                    ///< Whether times are known.
  Operations operations;                 ///< Per device.
  int64_t inputBytes = 0;                ///< All arguments, per device.
  double communication = 0, compute = 0; ///< Microseconds.
  /// How far the program has been verified: `field` by computing, `static` by
  /// its rules alone, or `off`.
  std::string verified = "off";
  double verifyMicroseconds = 0;
  OverlapEntry overlap;
  PlanEntry plan;
  std::vector<PriceEntry> price; ///< In the order of the stages.

  double getRatio() const { return compute > 0 ? communication / compute : 0; }
  /// Microseconds of a call: as scheduled, or with nothing overlapped.
  double getPredicted() const {
    return overlap.isKnown ? overlap.scheduled : communication + compute;
  }
};

struct Report {
  std::string machine; ///< Empty if none was given.
  std::vector<MeshEntry> meshes;
  std::vector<FunctionReport> functions;
};

void writeJSON(const Report &report, llvm::raw_ostream &os);
void writeTable(const Report &report, llvm::raw_ostream &os);
void writeHTML(const Report &report, llvm::raw_ostream &os);

/// Writes `report` to `path` in the form that its ending asks for, JSON for
/// `-`. A file is replaced only when all of it is written. Messages begin with
/// their error code.
llvm::Error writeReport(const Report &report, llvm::StringRef path);

/// `512 B`, `16.0 MiB`.
std::string formatBytes(int64_t bytes);
/// `31.5 us`, `2.40 ms`.
std::string formatTime(double microseconds);
/// `{data, model:(1)2}`.
std::string formatAxes(llvm::ArrayRef<std::string> axes);

} // namespace tp

#endif // TPOPT_REPORT_REPORT_H

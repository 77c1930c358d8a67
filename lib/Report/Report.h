// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What a partitioned program sends, computes and holds, as plain data
/// and in three forms.
///
/// `buildReport` (BuildReport.h) reads a module; the writers here know nothing
/// of MLIR. The JSON form is a contract, version 1: fields may be added, but
/// are never removed, and their order is fixed, so that equal programs give
/// equal bytes. The table, for a terminal, is at most 100 columns wide:
///
///     @main: 2 all_reduce; 24.0 MiB sent and 1.2 GiB held per device
///       on data=2 x model=4, 8 devices (h200)
///       verified: field, by computing this program and the whole program
///
///       collective      axes     count    payload       sent       time  share
///       all_reduce      model        2   16.0 MiB   24.0 MiB    88.0 us   100%
///
/// Arguments, collectives and layers whose names differ only in a number share
/// one line.
///
/// Units: bytes are those of one device; times are microseconds of one call.
/// Without a machine, and without links on the mesh, times are unknown: JSON
/// has 0 and `"timed": false`, the table has a dash. An unknown memory capacity
/// is given as 0, and then every program fits.
///
/// The HTML form is one file that loads nothing else.

#ifndef TPOPT_REPORT_REPORT_H
#define TPOPT_REPORT_REPORT_H

#include "lib/Report/Picture.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tp {

/// What a launch sends in collectives of one kind and reduction.
struct ShareEntry {
  std::string kind, op;
  int64_t bytes = 0, wireBytes = 0;
};

/// One collective launch, which runs on every device.
struct CollectiveEntry {
  /// `all_reduce` and so on; `all_gather+all_reduce` if it has parts of both.
  std::string kind;
  std::vector<std::string> axes; ///< Sub-axes as `model:(1)2`.
  std::string op; ///< `sum`, `max`, `min`, several as `sum+max`, or `none`.
  std::vector<ShareEntry> shares;
  int64_t groupSize = 1;
  int64_t bytes = 0;     ///< The payload.
  int64_t wireBytes = 0; ///< Bytes that a device sends in a ring.
  int64_t times = 1;     ///< Launches for one call of the function.
  double microseconds = 0;
  std::string loc; ///< `file:line:col`; empty if unknown.
  std::string reason;
  std::string value; ///< The name of the value that is sent.
  std::string layer; ///< Empty outside of layers.
  std::string note;  ///< Says what `times` does not count.
  std::string advice;
  bool requested = false; ///< Whether an annotation asks for it.
};

/// An argument or a result.
struct TensorEntry {
  std::string name;
  std::string role;     ///< Values of `tp.role`, or `output`.
  bool isGiven = false; ///< Whether `tp.role` gives it; else it is inferred.
  std::string global, local, sharding;
  int64_t bytes = 0; ///< Bytes of a device's buffer.
  int64_t paddingBytes = 0;
  Picture picture;
};

/// The number of operations that a device computes.
struct Operations {
  double all = 0;
  double replicated = 0; ///< Those that every device repeats.

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
  int64_t padding = 0;  ///< The part of all these bytes that is padding.
  int64_t capacity = 0; ///< 0 if unknown.
  std::string peakOp;   ///< The op at the peak of activations in the plan.
  /// Whether `activations` are the bytes that the compiled program allocates.
  /// Otherwise they are the bytes of the plan, which are always in `planned`.
  bool isCompiled = false;
  int64_t planned = 0;

  int64_t getTotal() const {
    return parameters + activations + cache + state + gradients + optimizer;
  }
  bool fits() const { return getMissing() == 0; }
  /// The memory that a device would need beyond its capacity.
  int64_t getMissing() const {
    return capacity == 0 ? 0 : std::max<int64_t>(0, getTotal() - capacity);
  }
};

struct MeshEntry {
  std::string name;
  std::vector<std::pair<std::string, int64_t>> axes;
  std::vector<int64_t> deviceIds; ///< In mesh order; empty if 0, 1, 2, ..

  int64_t getNumDevices() const;
};

/// The amount by which one decision or pass changes the cost of a function. All
/// entries add up to the totals of the report.
struct PriceEntry {
  std::string stage;             ///< `partition` and so on.
  std::string kind;              ///< As in `#tp.price`: `plan`, `combined` ..
  std::string what;              ///< `kind` in words.
  double sent = 0, computed = 0; ///< Microseconds if the report is timed, else
                                 ///< bytes.
  int64_t launches = 0;
  int64_t peakBytes = 0; ///< The peak of activations.
  int64_t count = 0;     ///< The number of things that `kind` counts.
};

/// The decisions of the partition stage.
struct PlanEntry {
  bool isKnown = false;
  int64_t reshards = 0;
  int64_t merged = 0; ///< Constants that were merged into another one.
  /// The most that another plan could save, in the unit of `sent`.
  double gap = 0;
};

/// The predicted time of the compiled program, in microseconds.
struct OverlapEntry {
  bool isKnown = false;
  double written = 0;   ///< The time if each collective is awaited at once.
  double scheduled = 0; ///< The time with the actual schedule.
  double bound = 0;     ///< A lower bound for any order of starts and waits.
  double exposed = 0;   ///< Time in `scheduled` spent waiting for collectives.

  /// The part of `written` spent waiting for collectives.
  double getCommunication() const { return written - scheduled + exposed; }
};

struct FunctionReport {
  std::string name;
  MeshEntry mesh;
  std::vector<CollectiveEntry> collectives;
  std::vector<TensorEntry> inputs, outputs;
  std::vector<LayerEntry> layers;
  MemoryEntry memory;
  bool timed = false;     ///< Whether times are known.
  Operations operations;  ///< Per device.
  int64_t inputBytes = 0; ///< Bytes of all arguments, per device.
  double communication = 0, compute = 0; ///< Microseconds.
  /// How the program has been verified: `field` by computing, `static` by the
  /// sharding rules without computing, or `off` if it has not been verified.
  std::string verified = "off";
  double verifyMicroseconds = 0;
  OverlapEntry overlap;
  PlanEntry plan;
  std::vector<PriceEntry> price; ///< In the order of the stages.

  double getRatio() const { return compute > 0 ? communication / compute : 0; }
  /// The time of a call in microseconds: as scheduled, or without overlap.
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

/// Writes `report` to `path`, in the form given by the file extension; `-`
/// writes JSON to standard output. A file is replaced only when all of the
/// report is written. Messages begin with their error code.
llvm::Error writeReport(const Report &report, llvm::StringRef path);

/// `512 B`, `16.0 MiB`.
std::string formatBytes(int64_t bytes);
/// `31.5 us`, `2.40 ms`.
std::string formatTime(double microseconds);
/// `{data, model:(1)2}`.
std::string formatAxes(llvm::ArrayRef<std::string> axes);

} // namespace tp

#endif // TPOPT_REPORT_REPORT_H

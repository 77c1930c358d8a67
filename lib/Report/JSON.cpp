// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report as JSON: a contract, see Report.h.

#include "lib/Report/Report.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>

using namespace tp;

namespace {

class JSONWriter {
public:
  explicit JSONWriter(llvm::raw_ostream &os) : json(os, /*IndentSize=*/1) {}

  void write(const Report &report) {
    json.object([&] {
      json.attribute("version", 1);
      json.attributeArray("meshes", [&] {
        for (const MeshEntry &mesh : report.meshes)
          json.object([&] {
            string("name", mesh.name);
            writeAxes("axes", mesh);
            if (!mesh.deviceIds.empty())
              json.attributeArray("device_ids", [&] {
                for (int64_t device : mesh.deviceIds)
                  json.value(device);
              });
          });
      });
      // Most modules have one mesh; if there are several, this is the first
      // function's.
      if (!report.functions.empty())
        writeAxes("mesh", report.functions.front().mesh);
      else if (!report.meshes.empty())
        writeAxes("mesh", report.meshes.front());
      else
        writeAxes("mesh", {});
      if (report.machine.empty())
        json.attribute("machine", nullptr);
      else
        string("machine", report.machine);
      json.attributeArray("functions", [&] {
        for (const FunctionReport &function : report.functions)
          write(function);
      });
    });
  }

private:
  /// A double with a fixed number of digits, which is easy to read and does not
  /// depend on how a library prints doubles.
  void number(llvm::StringRef key, double value, int digits = 3) {
    if (std::abs(value) < 0.5 * std::pow(10, -digits))
      value = 0; // and not -0
    json.attributeBegin(key);
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.*f", digits, value);
    json.rawValue(text);
    json.attributeEnd();
  }

  /// Names come from the program and may contain any bytes.
  void string(llvm::StringRef key, llvm::StringRef value) {
    json.attribute(key, llvm::json::fixUTF8(value));
  }

  void writeAxes(llvm::StringRef key, const MeshEntry &mesh) {
    json.attributeArray(key, [&] {
      for (const auto &axis : mesh.axes)
        json.object([&] {
          string("axis", axis.first);
          json.attribute("size", axis.second);
        });
    });
  }

  void write(const FunctionReport &function) {
    json.object([&] {
      string("name", function.name);
      string("mesh", function.mesh.name);
      json.attributeArray("collectives", [&] {
        for (const CollectiveEntry &entry : function.collectives)
          write(entry);
      });
      writeTensors("inputs", function.inputs);
      writeTensors("outputs", function.outputs);
      json.attributeArray("layers", [&] {
        for (const LayerEntry &layer : function.layers)
          write(layer);
      });
      json.attributeObject("memory", [&] { write(function.memory); });
      write(function.operations);
      json.attribute("input_bytes_per_device", function.inputBytes);
      json.attribute("peak_bytes_per_device", function.memory.getTotal());
      json.attribute("timed", function.timed);
      number("comm_us", function.communication);
      number("compute_us", function.compute);
      number("comm_compute_ratio", function.getRatio());
      writeOverlap(function.overlap);
      string("verified", function.verified);
      number("verify_us", function.verifyMicroseconds);
      number("predicted_s", function.timed ? function.getPredicted() * 1e-6 : 0,
             /*digits=*/9);
      writePlan(function);
    });
  }

  void writeOverlap(const OverlapEntry &overlap) {
    if (!overlap.isKnown)
      return json.attribute("overlap", nullptr);
    json.attributeObject("overlap", [&] {
      number("written_us", overlap.written);
      number("scheduled_us", overlap.scheduled);
      number("bound_us", overlap.bound);
      number("exposed_us", overlap.exposed);
    });
  }

  void writePlan(const FunctionReport &function) {
    const PlanEntry &plan = function.plan;
    if (!plan.isKnown)
      json.attribute("plan", nullptr);
    else
      json.attributeObject("plan", [&] {
        string("unit", function.timed ? "us" : "B");
        json.attribute("reshards", plan.reshards);
        json.attribute("merged", plan.merged);
        json.attribute("optimal", plan.gap == 0);
        number("gap", plan.gap);
      });
    json.attributeArray("price", [&] {
      for (const PriceEntry &entry : function.price)
        json.object([&] {
          string("stage", entry.stage);
          string("kind", entry.kind);
          string("what", entry.what);
          number("sent", entry.sent);
          number("computed", entry.computed);
          json.attribute("launches", entry.launches);
          json.attribute("peak_bytes", entry.peakBytes);
          json.attribute("count", entry.count);
        });
    });
  }

  void writeTensors(llvm::StringRef key, llvm::ArrayRef<TensorEntry> tensors) {
    json.attributeArray(key, [&] {
      for (const TensorEntry &tensor : tensors)
        write(tensor);
    });
  }

  void write(const CollectiveEntry &entry) {
    json.object([&] {
      string("kind", entry.kind);
      json.attributeArray("axes", [&] {
        for (const std::string &axis : entry.axes)
          json.value(llvm::json::fixUTF8(axis));
      });
      string("op", entry.op);
      json.attribute("group_size", entry.groupSize);
      json.attribute("bytes", entry.bytes);
      json.attribute("wire_bytes", entry.wireBytes);
      json.attributeArray("shares", [&] {
        for (const ShareEntry &share : entry.shares)
          json.object([&] {
            string("kind", share.kind);
            string("op", share.op);
            json.attribute("bytes", share.bytes);
            json.attribute("wire_bytes", share.wireBytes);
          });
      });
      json.attribute("times", entry.times);
      number("predicted_us", entry.microseconds);
      string("loc", entry.loc);
      string("reason", entry.reason);
      string("value", entry.value);
      string("layer", entry.layer);
      json.attribute("requested", entry.requested);
      string("advice", entry.advice);
      string("note", entry.note);
    });
  }

  void write(const TensorEntry &tensor) {
    json.object([&] {
      string("name", tensor.name);
      string("role", tensor.role);
      json.attribute("role_given", tensor.isGiven);
      string("global", tensor.global);
      string("local", tensor.local);
      string("sharding", tensor.sharding);
      json.attribute("bytes", tensor.bytes);
      json.attribute("padding_bytes", tensor.paddingBytes);
    });
  }

  void write(const LayerEntry &layer) {
    json.object([&] {
      string("name", layer.name);
      number("comm_us", layer.communication);
      number("compute_us", layer.compute);
      number("ratio", layer.getRatio());
      write(layer.operations);
    });
  }

  void write(const Operations &operations) {
    number("flops_per_device", operations.all, /*digits=*/0);
    number("replicated_flops_per_device", operations.replicated, /*digits=*/0);
  }

  void write(const MemoryEntry &memory) {
    json.attribute("parameters", memory.parameters);
    json.attribute("activations", memory.activations);
    json.attribute("kv_cache", memory.cache);
    json.attribute("state", memory.state);
    json.attribute("gradients", memory.gradients);
    json.attribute("optimizer", memory.optimizer);
    json.attribute("padding", memory.padding);
    json.attribute("capacity", memory.capacity);
    json.attribute("fits", memory.fits());
    json.attribute("missing", memory.getMissing());
    string("peak_op", memory.peakOp);
    json.attribute("compiled", memory.isCompiled);
    json.attribute("planned", memory.planned);
  }

  llvm::json::OStream json;
};

} // namespace

void tp::writeJSON(const Report &report, llvm::raw_ostream &os) {
  JSONWriter(os).write(report);
  os << '\n';
}

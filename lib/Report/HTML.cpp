// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The report as one HTML page that loads nothing else.

#include "Summary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace tp;

static constexpr llvm::StringLiteral kStyle = R"css(
:root { --ink: #1c2733; --soft: #5d6b7a; --line: #d9e0e7; --paper: #ffffff;
  --comm: #d1603d; --work: #2f7f95; --pale: #f3f6f8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6ebf0; --soft: #9aa8b6;
  --line: #37424e; --paper: #171d24; --comm: #e58261; --work: #56acc2;
  --pale: #212932; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink);
  background: var(--paper); max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.25rem; margin: 2.5rem 0 0; }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
.bad { color: var(--comm); font-weight: 600; }
table { border-collapse: collapse; } .scroll { overflow-x: auto; }
th { text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: .2rem .8rem .2rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; } .n { text-align: right; white-space: nowrap; }
.head td { border-bottom: 0; padding-top: .5rem; white-space: nowrap; }
code { font: 13px ui-monospace, monospace; }
.bar { display: flex; height: .8rem; width: 24rem; background: var(--pale); }
.comm { background: var(--comm); } .work { background: var(--work); }
.key { display: inline-block; width: .8rem; height: .8rem; }
details { margin: .2rem 0; } summary { cursor: pointer; }
.grid td, .grid th { border: 1px solid var(--line); padding: .1rem .5rem;
  font: 12px ui-monospace, monospace; text-align: center; }
.grid th { color: var(--soft); font-weight: 400; border: 0; }
)css";

namespace {

class HTMLWriter {
public:
  explicit HTMLWriter(llvm::raw_ostream &os) : os(os) {}

  void write(const Report &report) {
    os << "<!doctype html>\n<html lang=\"en\">\n<head>\n"
          "<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width\">\n"
          "<title>tp-opt report</title>\n<style>"
       << kStyle << "</style>\n</head>\n<body>\n<h1>tp-opt report</h1>\n";
    for (const FunctionReport &function : report.functions)
      write(function, report.machine);
    os << "</body>\n</html>\n";
  }

private:
  /// Text from the program may contain any bytes, and must not become markup.
  std::string escape(llvm::StringRef text) {
    std::string out;
    llvm::raw_string_ostream stream(out);
    llvm::printHTMLEscaped(llvm::json::fixUTF8(text), stream);
    return out;
  }

  void header(llvm::ArrayRef<llvm::StringRef> names) {
    os << "<div class=\"scroll\"><table>\n<tr>";
    for (llvm::StringRef name : names) {
      // A leading '#' marks a column of numbers.
      bool number = name.consume_front("#");
      os << (number ? "<th class=\"n\">" : "<th>") << name << "</th>";
    }
    os << "</tr>\n";
  }
  void footer() { os << "</table></div>\n"; }
  void cell(llvm::StringRef text) { os << "<td>" << escape(text) << "</td>"; }
  void code(llvm::StringRef text) {
    os << "<td><code>" << escape(text) << "</code></td>";
  }
  void number(llvm::StringRef text) {
    os << "<td class=\"n\">" << escape(text) << "</td>";
  }
  void paragraph(llvm::StringRef text, llvm::StringRef style = "soft") {
    if (!text.empty())
      os << "<p class=\"" << style << "\">" << escape(text) << "</p>\n";
  }
  void title(llvm::StringRef text) { os << "<h3>" << text << "</h3>\n"; }

  void write(const FunctionReport &function, llvm::StringRef machine) {
    os << "<h2>@" << escape(function.name) << "</h2>\n";
    paragraph(summarize(function), "");
    paragraph("On " + describeMesh(function.mesh) +
              (machine.empty() ? "" : " (" + machine.str() + ")") + ".");
    paragraph(describeProof(function));
    paragraph(describeCall(function));
    paragraph(compareTimes(function), function.getRatio() > 1 ? "bad" : "soft");
    paragraph(describeOverlap(function));
    paragraph(describeReplicated(function));
    paragraph(describePlan(function));
    if (!function.collectives.empty())
      writeGroups(function);
    writeMemory(function.memory);
    if (function.timed)
      writeLayers(function);
    if (!function.collectives.empty())
      writeCollectives(function);
    writeTensors("Arguments", function.inputs);
    writeTensors("Results", function.outputs);
  }

  void writeGroups(const FunctionReport &function) {
    std::vector<CollectiveGroup> groups = groupCollectives(function);
    CollectiveGroup all = sumGroups(groups);
    title("Communication");
    header({"collective", "axes", "#count", "#payload", "#sent", "#time",
            "share"});
    for (const CollectiveGroup &group : groups) {
      os << "<tr>";
      cell(group.kind);
      cell(group.axes);
      number(std::to_string(group.launches));
      number(formatBytes(group.bytes));
      number(formatBytes(group.wireBytes));
      number(function.timed ? formatTime(group.microseconds) : "-");
      os << "<td><div class=\"bar\" style=\"width:10rem\">";
      bar("comm", getShare(group, all));
      os << "</div></td></tr>\n";
    }
    footer();
  }

  void bar(llvm::StringRef style, double share) {
    os << "<div class=\"" << style
       << "\" style=\"width:" << llvm::format("%.2f", 100 * share)
       << "%\"></div>";
  }

  void writeCollectives(const FunctionReport &function) {
    title("Every collective, in program order");
    header({"collective", "of", "where", "#payload", "#sent", "#times"});
    for (const CollectiveEntry &entry : function.collectives) {
      os << "<tr class=\"head\">";
      cell(entry.kind + " " + formatAxes(entry.axes));
      code(entry.value);
      code(entry.loc);
      number(formatBytes(entry.bytes));
      number(formatBytes(entry.wireBytes));
      number(std::to_string(entry.times));
      os << "</tr>\n<tr><td></td><td colspan=\"5\" class=\"soft\">"
         << escape(entry.reason.empty() ? "written in the program"
                                        : entry.reason);
      if (entry.requested && !entry.reason.empty())
        os << "; an annotation asks for it";
      if (!entry.note.empty())
        os << "<br>" << escape(entry.note);
      if (!entry.advice.empty())
        os << "<br>To avoid it: " << escape(entry.advice);
      os << "</td></tr>\n";
    }
    footer();
  }

  void writeMemory(const MemoryEntry &memory) {
    title("Memory per device");
    header({"what", "#bytes", "share"});
    int64_t total = std::max<int64_t>(memory.getTotal(), 1);
    for (auto &[what, bytes] : listMemory(memory)) {
      os << "<tr>";
      std::string note =
          what == "activations" ? describeActivations(memory) : std::string();
      cell(note.empty() ? what : what + ", " + note);
      number(formatBytes(bytes));
      os << "<td><div class=\"bar\">";
      bar("work", double(bytes) / total);
      os << "</div></td></tr>\n";
    }
    footer();
    paragraph("Peak " + formatBytes(memory.getTotal()) + ", " +
                  judgeCapacity(memory) + ".",
              memory.fits() ? "soft" : "bad");
    paragraph(describePadding(memory));
  }

  void writeLayers(const FunctionReport &function) {
    double longest = 0;
    for (const LayerEntry &layer : function.layers)
      longest = std::max(longest, layer.communication + layer.compute);
    if (longest == 0)
      return;
    title("Layers");
    os << "<p class=\"soft\"><span class=\"key work\"></span> compute "
          "<span class=\"key comm\"></span> communication</p>\n";
    header({"layer", "#compute", "#communication", "#ratio", ""});
    for (const LayerEntry &layer : function.layers) {
      os << "<tr>";
      cell(layer.name);
      number(formatTime(layer.compute));
      number(formatTime(layer.communication));
      os << "<td class=\"n\">" << llvm::format("%.2f", layer.getRatio())
         << "</td><td><div class=\"bar\">";
      bar("work", layer.compute / longest);
      bar("comm", layer.communication / longest);
      os << "</div></td></tr>\n";
    }
    footer();
  }

  void writeTensors(llvm::StringRef heading,
                    llvm::ArrayRef<TensorEntry> tensors) {
    if (tensors.empty())
      return;
    title(heading);
    header({"name", "role", "whole", "per device", "sharding", "#bytes",
            "#padding", "devices"});
    for (const TensorEntry &tensor : tensors) {
      os << "<tr>";
      code(tensor.name);
      cell(tensor.role + (tensor.isGiven ? "" : " (no role given)"));
      code(tensor.global);
      code(tensor.local);
      code(tensor.sharding);
      number(formatBytes(tensor.bytes));
      number(tensor.paddingBytes ? formatBytes(tensor.paddingBytes) : "");
      os << "<td>";
      write(tensor.picture);
      os << "</td></tr>\n";
    }
    footer();
  }

  void write(const Picture &picture) {
    // Above this size a picture does not help.
    constexpr size_t kMost = 64;
    if (picture.boxes.size() == 1 && picture.notes.empty()) {
      os << "<span class=\"soft\">whole on every device</span>";
      return;
    }
    if (picture.rowLabels.size() > kMost ||
        picture.columnLabels.size() > kMost) {
      os << "<span class=\"soft\">" << picture.boxes.size() << " parts</span>";
      return;
    }
    os << "<details><summary>" << picture.boxes.size()
       << (picture.boxes.size() == 1 ? " part" : " parts")
       << "</summary><table class=\"grid\"><tr><th></th>";
    for (const std::string &label : picture.columnLabels)
      os << "<th>" << escape(label) << "</th>";
    os << "</tr>";
    for (unsigned row = 0; row < picture.rowLabels.size(); ++row) {
      os << "<tr><th>" << escape(picture.rowLabels[row]) << "</th>";
      for (unsigned column = 0; column < picture.columnLabels.size(); ++column)
        os << "<td>" << escape(picture.getBox(row, column)) << "</td>";
      os << "</tr>";
    }
    os << "</table>";
    paragraph(picture.caption);
    for (const std::string &note : picture.notes)
      paragraph(note);
    os << "</details>";
  }

  llvm::raw_ostream &os;
};

} // namespace

void tp::writeHTML(const Report &report, llvm::raw_ostream &os) {
  HTMLWriter(os).write(report);
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that say what a program costs, and why. They change nothing.

#ifndef TPOPT_PASSES_REPORT_PASSES
#define TPOPT_PASSES_REPORT_PASSES

include "mlir/Pass/PassBase.td"

def ReportPass : Pass<"tp-report", "::mlir::ModuleOp"> {
  let summary = "Say what the program sends, computes and holds";
  let description = [{
    Prints a table to stderr and, with `file`, writes the report as JSON or as one
    HTML page (see `lib/Report/Report.h`). As a flag, a lone value is the file:
    `--tp-report=OUT.json`. The file is replaced only when all of it is written.

    Times need a machine, or links on the mesh. Without `machine`, it is the one
    that `tp-partition` was given, which the module remembers.

    **Requires:** collectives are planned (`tp-plan-collectives`); types may be
    global or local.

    **Guarantees:** the module is unchanged.

    **Example:** `test/Report/json.mlir`
  }];
  let dependentDialects = ["::tp::TPDialect"];
  let options = [
    Option<"file", "file", "std::string", "\"\"",
           "Where to write: a path that ends in .json or .html, or - for JSON "
           "on stdout">,
    Option<"table", "table", "bool", "true", "Print the table to stderr">,
    Option<"machine", "machine", "std::string", "\"\"",
           "Device to predict times for: h100, h200, cpu, or a JSON file">
  ];
}

def ExplainPass : Pass<"tp-explain", "::mlir::ModuleOp"> {
  let summary = "Say why values are sharded as they are";
  let description = [{
    Prints to stderr, for one value or for all: the sharding that propagation gave
    it and the one it has now, the way every axis came, the axes that did not
    arrive and what was in their way, the collectives that move the value with
    their reasons, and a picture of the devices. As a flag, a lone value is the
    name: `--tp-explain=w1`.

    A value is called by the `tp.name` of its argument or the name in its
    location, and what a function returns by that of the result, too. Names are
    those of the record, which Propagate makes; later stages may have replaced the
    value, and then it has no sharding now.

    **Requires:** the record of `tp-propagate{explain=true}`.

    **Guarantees:** the record is gone; else the module is unchanged.

    **Example:** `test/Report/explain.mlir`
  }];
  let options = [
    Option<"valueName", "name", "std::string", "\"\"",
           "The value to explain; all of them if empty">
  ];
}

def RemarkCollectivesPass : Pass<"tp-remark-collectives", "::mlir::ModuleOp"> {
  let summary = "Emit a remark for every collective";
  let description = [{
    Points at the op that makes each collective necessary, with its bytes, its
    reason, and what would remove it. Category `tp-comm`; shown by
    `--remarks-filter=tp-comm`.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** the module is unchanged.

    **Remarks emitted:** Missed for a collective that another annotation would
    save or cheapen; Analysis for one that an annotation asks for, or that
    nothing would cheapen.

    **Example:** `test/Report/remarks.mlir`
  }];
}

def StrictPass : Pass<"tp-strict", "::mlir::ModuleOp"> {
  let summary = "Reject gathers, exchanges and idle axes that nobody asked for";
  let description = [{
    Every all_gather, all_to_all and collective_permute must serve an annotation:
    a constraint, an annotated result, the boundary of a manual region. Others
    are errors that name the op and what to write. Sums are allowed: they are what
    inner-dimension sharding means. Collectives that were in the input count as
    asked for.

    What is a warning elsewhere is an error, too: an axis of the mesh along which
    nothing is cut, a mesh along which nothing is cut at all, an entry of the plan
    that changes nothing, a plan that does not fit into the memory of a device.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** the module is unchanged.

    **Example:** `test/Report/strict.mlir`
  }];
}

#endif // TPOPT_PASSES_REPORT_PASSES

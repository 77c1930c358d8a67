// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The passes that say what a program costs, and why. They change nothing.

#ifndef TPOPT_PASSES_REPORT_PASSES
#define TPOPT_PASSES_REPORT_PASSES

include "mlir/Pass/PassBase.td"

def ReportPass : Pass<"tp-report", "::mlir::ModuleOp"> {
  let summary = "Report communication, compute and memory of the program";
  let description = [{
    Prints a table to stderr and, with `file`, writes the report as JSON or as one
    HTML page (see `lib/Report/Report.h`). On the command line, a value without a key is
    the file: `--tp-report=OUT.json`. The file is replaced only after all of it has been
    written.

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
  let summary = "Explain why values are sharded as they are";
  let description = [{
    Prints to stderr, for one value or for all: the sharding that propagation gave
    it and the one it has now, the path by which every axis was propagated to it, the
    axes that were not propagated and why, the collectives that move the value with
    their reasons, and a picture of the devices. On the command line, a value without a
    key is the name: `--tp-explain=w1`.

    The name of a value is the `tp.name` of its argument or the name in its location; a
    returned value also has the name of the result. The names are those of the record
    that `tp-propagate` writes. If a later stage has replaced the value, it has no
    current sharding.

    **Requires:** the record of `tp-propagate{explain=true}`.

    **Guarantees:** the record is removed; otherwise the module is unchanged.

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
    Points at the op that makes each collective necessary, with its bytes, its reason,
    and a change that would remove it. Category `tp-comm`; shown by
    `--remarks-filter=tp-comm`.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** the module is unchanged.

    **Remarks emitted:** Missed for a collective that another annotation would avoid or
    make cheaper; Analysis for one that an annotation requests, or that no annotation
    would make cheaper.

    **Example:** `test/Report/remarks.mlir`
  }];
}

def StrictPass : Pass<"tp-strict", "::mlir::ModuleOp"> {
  let summary = "Reject gathers, exchanges and unused axes that are not requested";
  let description = [{
    Every all_gather, all_to_all and collective_permute must serve an annotation:
    a constraint, an annotated result, the boundary of a manual region. Others
    are errors that name the op and the annotation to write. Sums are allowed, because
    sharding an inner dimension requires them. Collectives that were in the input count
    as requested.

    Some warnings become errors: an axis of the mesh along which no tensor is cut, a
    mesh along which no tensor is cut at all, an entry of the plan that changes nothing,
    a plan that does not fit into the memory of a device.

    **Requires:** collectives are planned (`tp-plan-collectives`).

    **Guarantees:** the module is unchanged.

    **Example:** `test/Report/strict.mlir`
  }];
}

#endif // TPOPT_PASSES_REPORT_PASSES

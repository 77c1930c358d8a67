// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reference.h"

#include "Generate.h"
#include "Inputs.h"
#include "Program.h"
#include "Progress.h"
#include "runtime/Core/Errors.h"

using namespace tprt;
using namespace tprun;

absl::StatusOr<std::unique_ptr<Session>> Reference::open(int draw) const {
  TPRT_ASSIGN_OR_RETURN(Program program, loadReference(sharded, options, draw));
  SessionOptions sessionOptions;
  sessionOptions.createBackend = program.createBackend;
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                        Session::open(sessionOptions, program.artifact));
  TPRT_RETURN_IF_ERROR(bindInputs(*session, options).status());
  return session;
}

/// Returns the progress message.
static std::string describeRun(int draw) {
  return draw == 0 ? "running the whole program"
                   : absl::StrCat("running the whole program with other "
                                  "rounding errors, number ",
                                  draw);
}

absl::StatusOr<std::vector<std::string>>
Reference::run(const std::string &entry, int draw) const {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, open(draw));
  Progress progress(describeRun(draw));
  TPRT_RETURN_IF_ERROR(session->run(entry));
  std::vector<std::string> outputs;
  const EntryRow &row = sharded.rows<EntryRow>()[*sharded.findEntry(entry)];
  for (const Artifact::Result &output : sharded.getResults(row)) {
    TPRT_ASSIGN_OR_RETURN(outputs.emplace_back(), session->read(output.name));
  }
  return outputs;
}

absl::StatusOr<std::vector<int64_t>> Reference::generate(int draw) const {
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, open(draw));
  Progress progress(describeRun(draw));
  return tprun::generate(*session, options, /*prints=*/false);
}

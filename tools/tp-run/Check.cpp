// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Check.h"

#include "Compare.h"
#include "Generate.h"
#include "Inputs.h"
#include "Program.h"
#include "Progress.h"
#include "runtime/Core/Errors.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>

using namespace tprt;

/// A session of the whole program with the inputs of the sharded one.
static absl::StatusOr<std::unique_ptr<Session>>
openReference(const Session &session, const tprun::Options &options) {
  TPRT_ASSIGN_OR_RETURN(tprun::Program program,
                        tprun::loadReference(session.getArtifact(), options));
  SessionOptions sessionOptions;
  sessionOptions.createBackend = program.createBackend;
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> reference,
                        Session::open(sessionOptions, program.artifact));
  TPRT_RETURN_IF_ERROR(tprun::bindInputs(*reference, options).status());
  return reference;
}

absl::Status tprun::checkOutputs(Session &session, const Options &options,
                                 const std::string &entry) {
  const Artifact &artifact = session.getArtifact();
  Range outputs = artifact.rows<EntryRow>()[*artifact.findEntry(entry)].outputs;
  std::vector<std::string> results; // all ranks read, one compares
  for (const OutputRow &output : artifact.rows<OutputRow>(outputs)) {
    TPRT_ASSIGN_OR_RETURN(results.emplace_back(),
                          session.read(artifact.text(output.name)));
  }
  if (session.getFirstRank() != 0)
    return absl::OkStatus();
  Session::LifeSigns signs(session); // the others wait for the end
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> reference,
                        openReference(session, options));
  {
    Progress progress("running the whole program");
    TPRT_RETURN_IF_ERROR(reference->run(entry));
  }
  std::vector<std::string> wrong;
  bool checks = outputs.count == 0;
  auto result = results.begin();
  for (const OutputRow &output : artifact.rows<OutputRow>(outputs)) {
    std::string name(artifact.text(output.name));
    TPRT_ASSIGN_OR_RETURN(std::string wanted, reference->read(name));
    if (wanted.size() != result->size())
      return makeError(ErrorCode::CheckFailed, "output '", name, "' has ",
                       result->size(), " bytes, of the whole program it has ",
                       wanted.size());
    Difference difference = compare(output.dtype, *result++, wanted);
    double tolerance = getTolerance(output.dtype);
    bool isFine = difference.relative <= tolerance;
    checks |= !difference.isAllNaN;
    if (!isFine)
      wrong.push_back(name);
    std::printf("check %s: differs by %.3g, %.3g of the largest, %g allowed: "
                "%s\n",
                name.c_str(), difference.absolute, difference.relative,
                tolerance,
                !isFine               ? "WRONG"
                : difference.isAllNaN ? "nothing but NaN, so nothing is checked"
                                      : "ok");
    if (!isFine)
      std::printf("  the largest at element %lld\n",
                  static_cast<long long>(difference.place));
  }
  if (!checks)
    return makeError(ErrorCode::CheckFailed,
                     "nothing but NaN comes out, of the whole program, too: "
                     "choose inputs that it is made for, --input=NAME=FILE");
  if (wrong.empty())
    return absl::OkStatus();
  return makeError(ErrorCode::CheckFailed, absl::StrJoin(wrong, ", "),
                   wrong.size() == 1 ? " is" : " are",
                   " not what the whole program computes");
}

absl::Status tprun::checkTokens(Session &session, const Options &options,
                                const std::vector<int64_t> &tokens) {
  if (session.getFirstRank() != 0)
    return absl::OkStatus();
  Session::LifeSigns signs(session); // the others wait for the end
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Session> reference,
                        openReference(session, options));
  TPRT_ASSIGN_OR_RETURN(std::vector<int64_t> wanted,
                        generate(*reference, options, /*prints=*/false));
  auto [ours, theirs] =
      std::mismatch(tokens.begin(), tokens.end(), wanted.begin(), wanted.end());
  auto same = ours - tokens.begin();
  bool isFine = ours == tokens.end() && theirs == wanted.end();
  std::printf("check tokens: %lld of %zu equal: %s\n",
              static_cast<long long>(same), wanted.size(),
              isFine ? "ok" : "WRONG");
  if (isFine)
    return absl::OkStatus();
  return makeError(ErrorCode::CheckFailed, "from token ", same,
                   " on the whole program generates ",
                   absl::StrJoin(theirs, wanted.end(), ","));
}

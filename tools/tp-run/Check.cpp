// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Check.h"

#include "Compare.h"
#include "Reference.h"
#include "runtime/Core/Errors.h"

#include "absl/strings/str_join.h"

#include <algorithm>
#include <cstdio>

using namespace tprt;
using namespace tprun;

/// Each output is first compared with kDraws runs that have other rounding
/// errors. If an output seems wrong, kMostDraws of these runs decide.
static constexpr int kDraws = 4, kMostDraws = 12;

namespace {
/// Compares the outputs of one run of a sharded program with those of the whole
/// program.
class OutputCheck {
public:
  OutputCheck(const Artifact &artifact, const Options &options,
              std::string entry, std::vector<Artifact::Result> outputs,
              std::vector<std::string> got)
      : reference(artifact, options), entry(std::move(entry)),
        outputs(std::move(outputs)), got(std::move(got)) {}

  absl::Status judge();
  absl::Status report() const;

private:
  absl::Status compareAll();
  absl::Status makeDraws(int count);
  bool has(Verdict verdict) const;
  std::vector<std::string> getNames(Verdict verdict) const;

  const Reference reference;
  const std::string entry;
  const std::vector<Artifact::Result> outputs;
  const std::vector<std::string> got;
  std::vector<std::string> wanted;
  std::vector<std::vector<std::string>> draws; ///< The outputs of each draw.
  std::vector<Comparison> comparisons;
};
} // namespace

absl::Status OutputCheck::makeDraws(int count) {
  while (static_cast<int>(draws.size()) < count) {
    int number = static_cast<int>(draws.size()) + 1;
    TPRT_ASSIGN_OR_RETURN(draws.emplace_back(), reference.run(entry, number));
  }
  return absl::OkStatus();
}

absl::Status OutputCheck::compareAll() {
  comparisons.clear();
  for (const Artifact::Result &output : outputs) {
    size_t i = comparisons.size();
    if (wanted[i].size() != got[i].size())
      return makeError(ErrorCode::CheckFailed, "output '", output.name,
                       "' has ", got[i].size(),
                       " bytes, but in the whole program it has ",
                       wanted[i].size());
    std::vector<absl::string_view> own;
    for (const std::vector<std::string> &draw : draws)
      own.push_back(draw[i]);
    comparisons.push_back(compare(output.dtype, got[i], wanted[i], own));
  }
  return absl::OkStatus();
}

absl::Status OutputCheck::judge() {
  TPRT_ASSIGN_OR_RETURN(wanted, reference.run(entry, 0));
  // If all bits are equal, no runs with other rounding errors are needed.
  if (wanted != got)
    TPRT_RETURN_IF_ERROR(makeDraws(kDraws));
  TPRT_RETURN_IF_ERROR(compareAll());
  // A few runs may miss rare effects of rounding, so more runs are made.
  if (!has(Verdict::Wrong))
    return absl::OkStatus();
  TPRT_RETURN_IF_ERROR(makeDraws(kMostDraws));
  return compareAll();
}

bool OutputCheck::has(Verdict verdict) const {
  return std::any_of(
      comparisons.begin(), comparisons.end(),
      [&](const Comparison &each) { return each.verdict == verdict; });
}

std::vector<std::string> OutputCheck::getNames(Verdict verdict) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < comparisons.size(); ++i)
    if (comparisons[i].verdict == verdict)
      names.emplace_back(outputs[i].name);
  return names;
}

absl::Status OutputCheck::report() const {
  for (size_t i = 0; i < comparisons.size(); ++i) {
    std::printf("check %s: %s\n", std::string(outputs[i].name).c_str(),
                describe(comparisons[i], outputs[i].dtype).c_str());
  }
  std::vector<std::string> wrong = getNames(Verdict::Wrong);
  if (!wrong.empty())
    return makeError(ErrorCode::CheckFailed, "the values of ",
                     absl::StrJoin(wrong, ", "),
                     " differ from those of the whole program");
  std::vector<std::string> undecided = getNames(Verdict::Undecided);
  bool isChecked = comparisons.empty() || has(Verdict::Fine);
  if (!isChecked && undecided.empty())
    return makeError(ErrorCode::CheckFailed,
                     "all outputs are NaN, also in the whole program: give "
                     "realistic inputs by --input=NAME=FILE");
  if (!isChecked)
    return makeError(
        ErrorCode::CheckUndecided,
        "the outputs differ by no more than rounding alone could explain, so "
        "the check is inconclusive; give other inputs by --input=NAME=FILE");
  if (!undecided.empty())
    std::fprintf(stderr, "note: %zu of %zu outputs are undecided\n",
                 undecided.size(), comparisons.size());
  return absl::OkStatus();
}

absl::Status tprun::checkOutputs(Session &session, const Options &options,
                                 const std::string &entry) {
  const Artifact &artifact = session.getArtifact();
  std::vector<Artifact::Result> outputs = artifact.getResults(
      artifact.rows<EntryRow>()[*artifact.findEntry(entry)]);
  std::vector<std::string> got; // all ranks read, one compares
  for (const Artifact::Result &output : outputs) {
    TPRT_ASSIGN_OR_RETURN(got.emplace_back(), session.read(output.name));
  }
  if (session.getFirstRank() != 0)
    return absl::OkStatus();
  Session::LifeSigns signs(session); // the other ranks wait meanwhile
  OutputCheck check(artifact, options, entry, std::move(outputs),
                    std::move(got));
  TPRT_RETURN_IF_ERROR(check.judge());
  return check.report();
}

/// Returns how many tokens two texts have in common at their start.
static size_t countCommon(absl::Span<const int64_t> a,
                          absl::Span<const int64_t> b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
         a.begin();
}

absl::Status tprun::checkTokens(Session &session, const Options &options,
                                const std::vector<int64_t> &tokens) {
  if (session.getFirstRank() != 0)
    return absl::OkStatus();
  Session::LifeSigns signs(session); // the other ranks wait meanwhile
  Reference reference(session.getArtifact(), options);
  TPRT_ASSIGN_OR_RETURN(std::vector<int64_t> wanted, reference.generate(0));
  size_t same = countCommon(tokens, wanted);
  bool isEqual = tokens == wanted, isUndecided = false;
  // Rounding explains the difference if a run with other rounding errors has
  // another token at this position or earlier.
  for (int draw = 1; !isEqual && !isUndecided && draw <= kMostDraws; ++draw) {
    TPRT_ASSIGN_OR_RETURN(std::vector<int64_t> drawn, reference.generate(draw));
    isUndecided = drawn != wanted && countCommon(drawn, wanted) <= same;
  }
  std::printf(
      "check tokens: %zu of %zu equal: %s\n", same, wanted.size(),
      isEqual ? "ok"
      : isUndecided
          ? "undecided after these, because rounding alone changes the choice"
          : "WRONG");
  if (isEqual || (isUndecided && same > 0))
    return absl::OkStatus();
  if (isUndecided)
    return makeError(ErrorCode::CheckUndecided,
                     "rounding alone changes the first token, so the check is "
                     "undecided; choose another prompt");
  return makeError(ErrorCode::CheckFailed,
                   "the tokens differ from token number ", same,
                   " on; from there on, the whole program generates ",
                   absl::StrJoin(wanted.begin() + static_cast<ptrdiff_t>(same),
                                 wanted.end(), ","));
}

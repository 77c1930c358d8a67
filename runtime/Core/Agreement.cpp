// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Agreement.h"

#include "runtime/Core/Hash.h"
#include "runtime/Core/Shapes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>

using namespace tprt;

using Notes = absl::btree_map<std::string, std::string>;

/// Packs names and values, each preceded by its length, as either may hold any
/// byte.
static std::string pack(const Notes &notes) {
  std::string bytes;
  for (const auto &[name, value] : notes)
    absl::StrAppend(&bytes, name.size(), " ", name, value.size(), " ", value);
  return bytes;
}

static Notes unpack(absl::string_view bytes) {
  auto take = [&] {
    size_t end = bytes.find(' '), size = 0;
    if (end == absl::string_view::npos ||
        !absl::SimpleAtoi(bytes.substr(0, end), &size))
      bytes = "";
    else
      bytes.remove_prefix(end + 1);
    std::string piece(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
    return piece;
  };
  Notes notes;
  while (!bytes.empty()) {
    std::string name = take();
    notes[name] = take();
  }
  return notes;
}

/// Describes how the ranks' values differ, for example `--seed is 1 on rank 0,
/// and 2 on rank 1, 2`. Returns an empty string if all values are equal.
static std::string describeDifference(const std::string &name,
                                      absl::Span<const Notes> ranks) {
  std::vector<std::string> values; // ordered by their first rank
  absl::btree_map<std::string, std::vector<size_t>> ranksOf;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    auto found = ranks[rank].find(name);
    std::string value = found == ranks[rank].end() ? "not given"
                        : found->second.empty()    ? "empty"
                                                   : found->second;
    if (ranksOf[value].empty())
      values.push_back(value);
    ranksOf[value].push_back(rank);
  }
  if (values.size() == 1)
    return "";
  for (std::string &value : values)
    value =
        absl::StrCat(value, " on rank ", absl::StrJoin(ranksOf[value], ", "));
  return absl::StrCat(name, " is ", absl::StrJoin(values, ", and "));
}

void Agreement::note(absl::string_view name, absl::string_view value) {
  std::string key(name);
  all[key] = fresh[key] = std::string(value);
}

absl::Status Agreement::compare(World &world) const {
  constexpr absl::string_view occasion = "comparing what the ranks were given";
  std::string mine = pack(all);
  TPRT_ASSIGN_OR_RETURN(
      std::vector<std::string> digests,
      world.exchange(absl::StrFormat("%016x", hashBytes(mine)), occasion));
  if (absl::c_all_of(digests, [&](const std::string &digest) {
        return digest == digests.front();
      }))
    return absl::OkStatus();
  TPRT_ASSIGN_OR_RETURN(std::vector<std::string> packed,
                        world.exchange(mine, occasion));
  std::vector<Notes> ranks;
  Notes names;
  for (const std::string &theirs : packed) {
    ranks.push_back(unpack(theirs));
    names.insert(ranks.back().begin(), ranks.back().end());
  }
  std::vector<std::string> differences;
  for (const auto &[name, value] : names)
    if (std::string text = describeDifference(name, ranks); !text.empty())
      differences.push_back(std::move(text));
  constexpr size_t shown = 4;
  std::string more;
  if (differences.size() > shown)
    more = absl::StrCat("; and ", differences.size() - shown, " more");
  differences.resize(std::min(differences.size(), shown));
  return makeError(ErrorCode::RanksDisagree, "rank ", world.getRank(),
                   ": the ranks were given different values: ",
                   absl::StrJoin(differences, "; "), more,
                   "; start all ranks with the same options, inputs and "
                   "weights");
}

uint64_t Agreement::closeRun() {
  history = hashBytes(pack(fresh), history);
  last = std::exchange(fresh, {});
  return history;
}

std::string Agreement::listLast() const {
  return absl::StrJoin(last, ", ", [](std::string *out, const auto &note) {
    out->append(note.first);
  });
}

std::string tprt::describeBytes(absl::string_view bytes) {
  return absl::StrFormat("bytes with digest %016x", hashBytes(bytes));
}

absl::StatusOr<std::string> tprt::describeStored(const TensorReader &tensor) {
  constexpr uint64_t samples = 16, sampleBytes = 4096;
  uint64_t size = *getNumElements(tensor.shape) * getSize(tensor.dtype);
  bool isShort = size <= samples * sampleBytes;
  std::string sample(isShort ? size : sampleBytes, '\0');
  uint64_t digest = hashBytes("", size);
  for (uint64_t i = 0; i < (isShort ? 1 : samples); ++i) {
    uint64_t begin = (size - sample.size()) / (samples - 1) * i;
    TPRT_RETURN_IF_ERROR(tensor.read(begin, sample.size(), &sample[0]));
    digest = hashBytes(sample, digest);
  }
  return absl::StrFormat("%s[%s] from a file, with digest %016x",
                         getName(tensor.dtype),
                         absl::StrJoin(tensor.shape, ", "), digest);
}

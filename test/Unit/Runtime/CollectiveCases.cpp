// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "CollectiveCases.h"

#include "runtime/Core/StridedCopy.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

namespace {

/// Element i of rank r's source: small integers of both signs, exact in every
/// type, so that any correct result is exactly the reference.
double valueOf(int rank, int64_t i, DType dtype) {
  int64_t value = (rank * 7 + i * 3) % 11;
  bool isSigned = dtype <= DType::I8;
  if (dtype == DType::Bool)
    return value % 2;
  return static_cast<double>(isSigned ? value - 5 : value);
}

void store(DType dtype, char *to, double value) {
  if (dtype <= DType::F16)
    return copyStrided(dtype, to, {}, DType::F64,
                       reinterpret_cast<const char *>(&value), {}, {});
  // Integers of any width: the low bytes. The 8-bit floats are only moved.
  int64_t number = static_cast<int64_t>(value);
  std::memcpy(to, &number, getSize(dtype));
}

struct Case {
  CollectiveKind kind;
  DType dtype;
  Reduction reduction;
  int64_t count;
};

std::vector<Case> getCases() {
  std::vector<Case> cases;
  for (uint32_t type = 0; type < kNumDTypes; ++type)
    for (uint32_t kind = 0; kind < kNumCollectives; ++kind)
      for (int64_t count : {0, 1, 5, 2500, 40000}) {
        if (count > 2500 && type % 3 != 0)
          continue; // takes long
        auto dtype = static_cast<DType>(type);
        bool reduces = kind == 0 || kind == 2;
        if (!reduces)
          cases.push_back(
              {CollectiveKind(kind), dtype, Reduction::None, count});
        else if (dtype < DType::F8E4M3FN)
          for (Reduction op : {Reduction::Sum, Reduction::Max, Reduction::Min})
            cases.push_back({CollectiveKind(kind), dtype, op, count});
      }
  return cases;
}

double combine(const Case &test, double a, double b) {
  switch (test.reduction) {
  case Reduction::Max:
    return std::max(a, b);
  case Reduction::Min:
    return std::min(a, b);
  default:
    return test.dtype == DType::Bool ? std::max(a, b) : a + b;
  }
}

/// What the collective leaves at `position`, or nothing if zeros.
std::vector<char> getWanted(const Case &test, int ranks, int position,
                            absl::Span<const int64_t> permutation) {
  int64_t size = getSize(test.dtype), count = test.count;
  bool many = test.kind == CollectiveKind::AllGather ||
              test.kind == CollectiveKind::AllToAll;
  std::vector<char> wanted((many ? ranks : 1) * count * size);
  for (int64_t chunk = 0; chunk < (many ? ranks : 1); ++chunk)
    for (int64_t i = 0; i < count; ++i) {
      double value = 0;
      switch (test.kind) {
      case CollectiveKind::AllReduce:
      case CollectiveKind::ReduceScatter: {
        int64_t at =
            test.kind == CollectiveKind::AllReduce ? i : position * count + i;
        value = valueOf(0, at, test.dtype);
        for (int rank = 1; rank < ranks; ++rank)
          value = combine(test, value, valueOf(rank, at, test.dtype));
        break;
      }
      case CollectiveKind::AllGather:
        value = valueOf(static_cast<int>(chunk), i, test.dtype);
        break;
      case CollectiveKind::AllToAll:
        value =
            valueOf(static_cast<int>(chunk), position * count + i, test.dtype);
        break;
      case CollectiveKind::CollectivePermute:
        if (permutation[position] >= 0)
          value =
              valueOf(static_cast<int>(permutation[position]), i, test.dtype);
        break;
      }
      store(test.dtype, &wanted[(chunk * count + i) * size], value);
    }
  return wanted;
}

/// A case under way.
struct Running {
  CollectiveRow row = {};
  std::vector<char> source, result, wanted;
};

} // namespace

static void prepare(Running &now, const Case &test, World &world,
                    absl::Span<const int64_t> permutation) {
  int ranks = world.getSize();
  now.row.kind = test.kind;
  now.row.dtype = test.dtype;
  now.row.reduction = test.reduction;
  now.row.count = test.count;
  int64_t size = getSize(test.dtype);
  now.source.resize(ranks * test.count * size + 1);
  for (int64_t i = 0; i < ranks * test.count; ++i)
    store(test.dtype, &now.source[i * size],
          valueOf(world.getRank(), i, test.dtype));
  now.wanted = getWanted(test, ranks, world.getRank(), permutation);
  now.result.assign(now.wanted.size(), 'x');
}

absl::Status tprt::checkCollectives(World &world) {
  // More than a transport may have room for at once.
  constexpr size_t together = 7;
  int ranks = world.getSize();
  std::vector<Case> cases = getCases();
  std::vector<int> everyone(ranks);
  std::vector<int64_t> permutation(ranks);
  for (int i = 0; i < ranks; ++i) {
    everyone[i] = i;
    permutation[i] = i - 1; // a shift; position 0 gets zeros
  }
  TPRT_ASSIGN_OR_RETURN(std::unique_ptr<Communicator> group,
                        world.split(everyone));
  for (size_t first = 0; first < cases.size(); first += together) {
    size_t end = std::min(first + together, cases.size());
    std::vector<Running> running(end - first);
    for (size_t n = first; n < end; ++n) {
      Running &now = running[n - first];
      prepare(now, cases[n], world, permutation);
      // All-reduces of odd types go in place.
      bool inPlace = cases[n].kind == CollectiveKind::AllReduce &&
                     static_cast<uint32_t>(cases[n].dtype) % 2;
      if (inPlace)
        now.result.assign(now.source.begin(),
                          now.source.begin() + now.result.size());
      char *to = now.result.data();
      TPRT_RETURN_IF_ERROR(
          group->start(static_cast<uint32_t>(n),
                       {&now.row, permutation, inPlace ? to : now.source.data(),
                        to, "test"}));
    }
    for (size_t n = first; n < end; ++n) {
      TPRT_RETURN_IF_ERROR(group->finish(static_cast<uint32_t>(n)));
      if (running[n - first].result != running[n - first].wanted)
        return absl::InternalError(absl::StrCat(
            "rank ", world.getRank(), ": another result of kind ",
            static_cast<int>(cases[n].kind), ", type ", getName(cases[n].dtype),
            ", operation ", static_cast<int>(cases[n].reduction), ", count ",
            cases[n].count));
    }
  }
  return absl::OkStatus();
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LinkCases.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace tprt;

namespace {
struct LinkCase {
  std::vector<int> group;
  std::vector<uint32_t> links;
  CollectiveRow row = {};
  std::vector<float> source = {}, result = {};
  std::unique_ptr<Communicator> communicator = nullptr;
};
} // namespace

static std::vector<LinkCase> makeLinkCases(World &world) {
  int rank = world.getRank(), size = world.getSize();
  std::vector<int> near = {rank / 2 * 2, rank / 2 * 2 + 1}, far, all(size);
  for (int other = rank % 2; other < size; other += 2)
    far.push_back(other);
  std::iota(all.begin(), all.end(), 0);
  std::vector<LinkCase> cases;
  for (const std::vector<int> &group : {near, far, all})
    for (const std::vector<uint32_t> &links :
         std::vector<std::vector<uint32_t>>{
             {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}})
      cases.push_back({group, links});
  return cases;
}

absl::Status test::checkLinks(World &world, Progress &progress) {
  constexpr int64_t count = 3000;
  std::vector<LinkCase> cases = makeLinkCases(world);
  for (LinkCase &own : cases) {
    own.row.dtype = DType::F32;
    own.row.reduction = Reduction::Sum;
    own.row.count = count;
    own.source.assign(count, 1.0f);
    TPRT_ASSIGN_OR_RETURN(own.communicator,
                          progress.split(own.group, {own.links}));
  }
  std::mt19937 engine(1);
  std::vector<uint32_t> order(cases.size());
  std::iota(order.begin(), order.end(), 0);
  for (int round = 0; round < 50; ++round) {
    std::shuffle(order.begin(), order.end(), engine);
    for (uint32_t i : order) {
      cases[i].result.assign(count, 0.0f);
      TPRT_RETURN_IF_ERROR(cases[i].communicator->start(
          i, {&cases[i].row,
              {},
              reinterpret_cast<const char *>(cases[i].source.data()),
              reinterpret_cast<char *>(cases[i].result.data()),
              "link case"}));
    }
    TPRT_RETURN_IF_ERROR(progress.check());
    std::shuffle(order.begin(), order.end(), engine);
    for (uint32_t i : order) {
      TPRT_RETURN_IF_ERROR(cases[i].communicator->finish(i));
      auto sum = static_cast<float>(cases[i].group.size());
      if (cases[i].result != std::vector<float>(count, sum))
        return makeError(ErrorCode::KernelFailed, "round ", round, ", case ", i,
                         ": a wrong sum");
    }
  }
  return absl::OkStatus();
}

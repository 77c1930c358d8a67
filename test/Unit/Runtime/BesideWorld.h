// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What tests of worlds run on when collectives go on beside the rank.

#ifndef TPOPT_TEST_UNIT_RUNTIME_BESIDEWORLD_H
#define TPOPT_TEST_UNIT_RUNTIME_BESIDEWORLD_H

#include "runtime/Communicators/Progress.h"

namespace tprt::test {

/// A world whose communicators go on beside the rank's thread.
class BesideWorld final : public World {
public:
  BesideWorld(World &world, Progress &progress)
      : world(world), progress(progress) {}
  int getRank() const override { return world.getRank(); }
  int getSize() const override { return world.getSize(); }
  absl::StatusOr<std::unique_ptr<Communicator>>
  split(const std::vector<int> &group) override {
    return progress.split(group);
  }
  absl::StatusOr<std::vector<std::string>>
  exchange(absl::string_view mine, absl::string_view what) override {
    return world.exchange(mine, what);
  }
  void fail(const absl::Status &cause) override { world.fail(cause); }
  absl::Status check() override { return progress.check(); }

private:
  World &world;
  Progress &progress;
};

} // namespace tprt::test

#endif // TPOPT_TEST_UNIT_RUNTIME_BESIDEWORLD_H

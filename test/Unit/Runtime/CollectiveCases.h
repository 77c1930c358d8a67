// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Collectives of every kind, type, operation and size against their
/// definition, whatever carries them.

#ifndef TPRT_TEST_COLLECTIVECASES_H
#define TPRT_TEST_COLLECTIVECASES_H

#include "runtime/Communicators/Communicator.h"

namespace tprt {

/// All ranks call it. Several collectives are under way at once. An error names
/// the first case that left something else.
absl::Status checkCollectives(World &world);

} // namespace tprt

#endif // TPRT_TEST_COLLECTIVECASES_H

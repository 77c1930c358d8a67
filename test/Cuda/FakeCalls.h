// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file What the functions of the fake libcuda begin with.

#ifndef TPOPT_TEST_CUDA_FAKECALLS_H
#define TPOPT_TEST_CUDA_FAKECALLS_H

#include "FakeState.h"

using Guard = std::lock_guard<std::recursive_mutex>;

/// What every call begins with.
#define ENTER()                                                                \
  Guard guard(get().lock);                                                     \
  if (failsNow(__func__))                                                      \
    return kUnknown;                                                           \
  if (get().isBroken)                                                          \
    return kUnknown;

#define ENTER_CONTEXT()                                                        \
  ENTER()                                                                      \
  if (!current)                                                                \
    return refuse(std::string(__func__) + " without a context",                \
                  kInvalidContext);

/// What a call begins with that ends something. It may tell of an error of
/// earlier work, and ends it all the same.
#define ENTER_END()                                                            \
  Result result = failsNow(__func__) ? kUnknown : cuda::kSuccess;              \
  Guard guard(get().lock);                                                     \
  if (get().isBroken || !current)                                              \
    return kUnknown;

/// What must not happen while the thread captures.
#define ENTER_NO_CAPTURE()                                                     \
  ENTER_CONTEXT()                                                              \
  if (captures > 0)                                                            \
    return refuse(std::string(__func__) + " while capturing",                  \
                  kUnsupportedInCapture);

#endif // TPOPT_TEST_CUDA_FAKECALLS_H

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What every unit test of the compiler includes.

#include "Precompiled.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

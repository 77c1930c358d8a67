// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Finds the known word that a misspelt word probably means.

#ifndef TPOPT_SUPPORT_NEARNAME_H
#define TPOPT_SUPPORT_NEARNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tp {

/// Returns the word in `known` that a misspelt word probably means; empty if
/// none is close. Up to two letters may be wrong, or up to a third of the
/// letters if that is more. A word of one or two letters matches nothing.
llvm::StringRef findNearName(llvm::StringRef word,
                             llvm::ArrayRef<llvm::StringRef> known);

} // namespace tp

#endif // TPOPT_SUPPORT_NEARNAME_H

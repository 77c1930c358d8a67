// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file The word that was probably meant.

#ifndef TPOPT_SUPPORT_NEARNAME_H
#define TPOPT_SUPPORT_NEARNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace tp {

/// Returns the word in `known` that a misspelt word probably means; empty if
/// none is close. Two letters may be wrong, or a third of a longer word; a word
/// of one or two letters is like no other.
llvm::StringRef findNearName(llvm::StringRef word,
                             llvm::ArrayRef<llvm::StringRef> known);

} // namespace tp

#endif // TPOPT_SUPPORT_NEARNAME_H

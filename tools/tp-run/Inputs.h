// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Values for a program's inputs, and its outputs as text.

#ifndef TPRUN_INPUTS_H
#define TPRUN_INPUTS_H

#include "Options.h"
#include "runtime/Core/Session.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace tprun {

/// Binds weights, --input values, and random numbers to what is left. `ours`
/// are inputs that the caller binds itself.
absl::Status bindInputs(tprt::Session &session, const Options &options,
                        absl::Span<const absl::string_view> ours);

/// The bytes of integers or floats in an element type.
std::string encode(tprt::DType dtype, absl::Span<const double> values);
/// And back.
std::vector<double> decode(tprt::DType dtype, absl::string_view bytes);

/// Prints each output of an entry: a line with name and type, then its rows.
absl::Status printOutputs(tprt::Session &session, uint32_t entry);

} // namespace tprun

#endif // TPRUN_INPUTS_H

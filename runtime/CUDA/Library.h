// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// \file Opening NVIDIA's libraries when a GPU is asked for.
///
/// The runtime can be built without NVIDIA's headers and libraries: Driver.h,
/// Blas.h and Nccl.h declare the few functions that it calls, each in a table
///
///     #define TPRT_DRIVER_FUNCTIONS(F) F(init, cuInit, int(unsigned))
///
/// in which each row has our name, the symbol, and the type. The table is
/// expanded to a struct of pointers, which `open..` fills once per process:
///
///     TPRT_ASSIGN_OR_RETURN(const Driver *driver, openDriver());
///     driver->init(0);
///
/// Enumerations are declared as int, and handles as pointers to opaque structs.
/// A test compares all of it with NVIDIA's headers where these are installed.
/// Errors: GpuLibrary names the library or symbol that is missing and what to
/// install.

#ifndef TPRT_CUDA_LIBRARY_H
#define TPRT_CUDA_LIBRARY_H

#include "runtime/Core/Errors.h"

#include "absl/types/span.h"

namespace tprt {

/// Declares a pointer to a library function, with the type in the table. The
/// pointer is null if the function is optional and the library lacks it.
#define TPRT_LIBRARY_MEMBER(name, symbol, ...)                                 \
  using name##Type = __VA_ARGS__;                                              \
  name##Type *name = nullptr;

struct LibraryFunction {
  const char *symbol;
  void **place;
  bool optional;
};

/// Opens the first of these libraries that exists and fills in the functions.
/// `remedy` tells what to install.
absl::Status openLibrary(absl::Span<const char *const> names,
                         absl::string_view remedy,
                         absl::Span<const LibraryFunction> functions);

} // namespace tprt

#endif // TPRT_CUDA_LIBRARY_H

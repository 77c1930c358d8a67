// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/CpuFeatures.h"

#include "runtime/Core/Errors.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <utility>
#include <vector>

using namespace tprt;

namespace {
struct Feature {
  absl::string_view name;
  bool present;
};
} // namespace

#if defined(__x86_64__)

static constexpr absl::string_view kArchitecture = "x86_64";

static std::vector<Feature> getFeatures() {
  __builtin_cpu_init();
#define FEATURE(name) {name, __builtin_cpu_supports(name) != 0}
  return {FEATURE("sse3"),         FEATURE("ssse3"),
          FEATURE("sse4.1"),       FEATURE("sse4.2"),
          FEATURE("popcnt"),       FEATURE("avx"),
          FEATURE("avx2"),         FEATURE("fma"),
          FEATURE("f16c"),         FEATURE("bmi"),
          FEATURE("bmi2"),         FEATURE("avx512f"),
          FEATURE("avx512bw"),     FEATURE("avx512cd"),
          FEATURE("avx512dq"),     FEATURE("avx512vl"),
          FEATURE("avx512ifma"),   FEATURE("avx512vbmi"),
          FEATURE("avx512vbmi2"),  FEATURE("avx512vnni"),
          FEATURE("avx512bitalg"), FEATURE("avx512vpopcntdq"),
          FEATURE("avx512bf16")};
#undef FEATURE
}

#elif defined(__aarch64__)

static constexpr absl::string_view kArchitecture = "aarch64";

/// Returns the features that every AArch64 CPU has.
static std::vector<Feature> getFeatures() {
  return {{"neon", true}, {"fp-armv8", true}};
}

#endif

std::string tprt::getHostCpu() {
  std::vector<absl::string_view> present;
  for (const Feature &feature : getFeatures())
    if (feature.present)
      present.push_back(feature.name);
  return absl::StrCat(kArchitecture, ":", absl::StrJoin(present, ","));
}

absl::Status tprt::checkCpu(absl::string_view required) {
  std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(required, absl::MaxSplits(':', 1));
  if (parts.first != kArchitecture)
    return makeError(ErrorCode::CpuMismatch, "the artifact was made for '",
                     parts.first, "', but this machine is ", kArchitecture,
                     "; compile the program for this machine");
  std::vector<Feature> features = getFeatures();
  for (absl::string_view name :
       absl::StrSplit(parts.second, ',', absl::SkipEmpty())) {
    auto found =
        std::find_if(features.begin(), features.end(),
                     [&](const Feature &one) { return one.name == name; });
    if (found == features.end())
      return makeError(
          ErrorCode::CpuMismatch, "the artifact needs '", name,
          "', but this runtime cannot test whether the CPU has "
          "it; compile the program for a CPU with at most these features: ",
          getHostCpu());
    if (!found->present)
      return makeError(ErrorCode::CpuMismatch, "the artifact needs '", name,
                       "', which this CPU lacks; compile the program on this "
                       "machine");
  }
  return absl::OkStatus();
}

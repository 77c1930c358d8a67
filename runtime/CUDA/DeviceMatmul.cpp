// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/DeviceMatmul.h"

#include "runtime/CUDA/TuningCache.h"
#include "runtime/CUDA/Workspace.h"

#include "absl/strings/match.h"
#include "absl/types/optional.h"

#include <algorithm>
#include <cstring>

using namespace tprt;

static constexpr int kProposals = 8;

/// A matmul in the form of the library's descriptors.
struct DeviceMatmul::Prepared {
  explicit Prepared(const Blas &blas) : blas(blas) {}
  ~Prepared() {
    for (blas::Layout layout : {first, second, addend, result})
      if (layout)
        blas.destroyLayout(layout);
    if (preference)
      blas.destroyPreference(preference);
    if (desc)
      blas.destroyDesc(desc);
  }

  const Blas &blas;
  MatmulPlan plan;
  blas::Desc desc = nullptr;
  blas::Layout first = nullptr, second = nullptr, addend = nullptr,
               result = nullptr;
  blas::Preference preference = nullptr;
  blas::Algorithm algorithm = {};
};

/// The addresses of the operands.
struct DeviceMatmul::Addresses {
  cuda::Pointer a, b, c, addend;
  cuda::Pointer bias = 0;
};

DeviceMatmul::DeviceMatmul(const Device &device, const Blas &blas,
                           const Artifact &artifact)
    : device(device), blas(blas), artifact(artifact) {}

DeviceMatmul::~DeviceMatmul() {
  rows.clear();
  if (handle)
    blas.destroy(handle);
}

absl::StatusOr<std::unique_ptr<DeviceMatmul>>
DeviceMatmul::create(const Device &device, const Artifact &artifact,
                     const BufferPlaces &memory, World &world, bool isFast) {
  TPRT_ASSIGN_OR_RETURN(const Blas *blas, openBlas());
  std::unique_ptr<DeviceMatmul> matmul(
      new DeviceMatmul(device, *blas, artifact));
  TPRT_RETURN_IF_ERROR(blas->check(blas->create(&matmul->handle), "starting"));
  TPRT_ASSIGN_OR_RETURN(matmul->workspace, device.allocate(kBlasWorkspace));
  for (const MatmulRow &row : artifact.rows<MatmulRow>())
    TPRT_RETURN_IF_ERROR(matmul->prepare(row, isFast));
  TPRT_RETURN_IF_ERROR(matmul->choose(memory, world, isFast));
  return matmul;
}

static int getType(DType dtype) {
  return dtype == DType::BF16       ? blas::kBF16
         : dtype == DType::F16      ? blas::kF16
         : dtype == DType::F8E4M3FN ? blas::kF8E4M3
                                    : blas::kF32;
}

static int getEpilogue(const Epilogue &epilogue) {
  int bits = epilogue.bias >= 0 ? blas::kEpilogueBias : 0;
  if (epilogue.activation == PostOpKind::Relu)
    bits |= blas::kEpilogueRelu;
  if (epilogue.activation == PostOpKind::GeluTanh)
    bits |= blas::kEpilogueGelu;
  return bits == 0 ? blas::kEpilogueNone : bits;
}

absl::Status DeviceMatmul::prepare(const MatmulRow &row, bool isFast) {
  auto prepared = std::make_unique<Prepared>(blas);
  TPRT_ASSIGN_OR_RETURN(prepared->plan, planMatmul(artifact, row));
  const MatmulPlan &plan = prepared->plan;
  bool isTF32 = isFast && row.a.dtype == DType::F32;
  // For 8-bit floats, the library's fast accumulation stays off, which is the
  // default: the program requires sums in f32, and fast accumulation has less
  // precision.
  TPRT_RETURN_IF_ERROR(blas.check(
      blas.createDesc(&prepared->desc,
                      isTF32 ? blas::kComputeTF32 : blas::kCompute32F,
                      blas::kF32),
      "describing a matmul"));
  auto set = [&](int attribute, auto value) {
    return blas.check(
        blas.setDesc(prepared->desc, attribute, &value, sizeof(value)),
        "describing a matmul");
  };
  if (plan.first.isTransposed)
    TPRT_RETURN_IF_ERROR(set(blas::kTransA, int32_t{blas::kTranspose}));
  if (plan.second.isTransposed)
    TPRT_RETURN_IF_ERROR(set(blas::kTransB, int32_t{blas::kTranspose}));
  TPRT_RETURN_IF_ERROR(
      set(blas::kEpilogue, static_cast<int32_t>(::getEpilogue(plan.epilogue))));
  if (plan.epilogue.bias >= 0) {
    TPRT_RETURN_IF_ERROR(
        set(blas::kBiasType, static_cast<int32_t>(getType(row.c.dtype))));
    // Stands in for the bias's address: the heuristic uses only the alignment.
    TPRT_RETURN_IF_ERROR(set(blas::kBias, uint64_t{plan.biasAlignment}));
    if (plan.batchCount > 1)
      TPRT_RETURN_IF_ERROR(
          set(blas::kBiasBatchStride, int64_t{plan.biasBatchStride}));
  }

  TPRT_RETURN_IF_ERROR(blas.check(blas.createPreference(&prepared->preference),
                                  "describing a matmul"));
  auto prefer = [&](int attribute, auto value) {
    return blas.check(blas.setPreference(prepared->preference, attribute,
                                         &value, sizeof(value)),
                      "describing a matmul");
  };
  TPRT_RETURN_IF_ERROR(prefer(blas::kMaxWorkspace, uint64_t{kBlasWorkspace}));
  auto describe = [&](const MatmulPlan::Matrix &matrix, blas::Layout &layout,
                      int alignment) -> absl::Status {
    TPRT_RETURN_IF_ERROR(blas.check(
        blas.createLayout(&layout, getType(matrix.dtype),
                          static_cast<uint64_t>(matrix.rows),
                          static_cast<uint64_t>(matrix.columns), matrix.ld),
        "describing a matrix"));
    if (plan.batchCount > 1) {
      auto count = static_cast<int32_t>(plan.batchCount);
      TPRT_RETURN_IF_ERROR(blas.check(
          blas.setLayout(layout, blas::kBatchCount, &count, sizeof(count)),
          "describing a batch"));
      TPRT_RETURN_IF_ERROR(
          blas.check(blas.setLayout(layout, blas::kBatchStride,
                                    &matrix.batchStride, sizeof(int64_t)),
                     "describing a batch"));
    }
    return prefer(alignment, uint32_t{matrix.alignment});
  };
  TPRT_RETURN_IF_ERROR(
      describe(plan.first, prepared->first, blas::kAlignmentA));
  TPRT_RETURN_IF_ERROR(
      describe(plan.second, prepared->second, blas::kAlignmentB));
  TPRT_RETURN_IF_ERROR(
      describe(plan.addend, prepared->addend, blas::kAlignmentC));
  TPRT_RETURN_IF_ERROR(
      describe(plan.result, prepared->result, blas::kAlignmentD));
  rows.push_back(std::move(prepared));
  return absl::OkStatus();
}

std::string DeviceMatmul::getTuningName() const {
  return tprt::getTuningName(device.name, blas.getVersion());
}

static std::string toBytes(const blas::Algorithm &algorithm) {
  return {reinterpret_cast<const char *>(&algorithm), sizeof(algorithm)};
}

/// Reads an algorithm that was kept in the cache or sent by rank 0; nullopt if
/// there is no valid one for this key.
static absl::optional<blas::Algorithm> findAlgorithm(const Tunings &tunings,
                                                     const std::string &key) {
  blas::Algorithm algorithm;
  auto it = tunings.find(key);
  if (it == tunings.end() || it->second.size() != sizeof(algorithm))
    return absl::nullopt;
  std::memcpy(&algorithm, it->second.data(), sizeof(algorithm));
  return algorithm;
}

absl::Status DeviceMatmul::choose(const BufferPlaces &memory, World &world,
                                  bool isFast) {
  if (rows.empty())
    return absl::OkStatus();
  std::string kind =
      absl::StrCat(device.name, ", cuBLASLt ", blas.getVersion());
  auto getKey = [&](const Prepared &prepared) {
    return absl::StrCat(isFast ? "tf32:" : "", prepared.plan.getKey());
  };
  Tunings choices, kept;
  if (world.getRank() == 0) {
    Tunings known = loadTunings(getTuningName());
    absl::optional<TuningBench> bench;
    for (uint32_t i = 0; i < rows.size(); ++i) {
      Prepared &prepared = *rows[i];
      std::string key = getKey(prepared);
      if (choices.count(key) > 0)
        continue;
      absl::optional<blas::Algorithm> found = findAlgorithm(known, key);
      blas::Heuristic result = {};
      if (found &&
          blas.checkAlgorithm(handle, prepared.desc, prepared.first,
                              prepared.second, prepared.addend, prepared.result,
                              &*found, &result) == blas::kSuccess &&
          result.workspace <= kBlasWorkspace) {
        choices[key] = toBytes(*found);
        continue;
      }
      if (!bench) {
        TPRT_ASSIGN_OR_RETURN(bench, TuningBench::create(device));
      }
      TPRT_ASSIGN_OR_RETURN(Choice choice, measure(i, memory, *bench));
      choices[key] = toBytes(choice.algorithm);
      if (choice.isCertain)
        kept[key] = choices[key];
    }
    if (!kept.empty())
      saveTunings(getTuningName(), kept);
  }
  TPRT_ASSIGN_OR_RETURN(
      std::vector<std::string> all,
      world.exchange(absl::StrCat(kind, "\n", writeTunings(choices)),
                     "choosing algorithms of matmuls"));
  if (!absl::StartsWith(all[0], absl::StrCat(kind, "\n")))
    return makeError(
        ErrorCode::GpuMismatch, "rank ", world.getRank(), " has ", kind,
        ", but rank 0 has ", all[0].substr(0, all[0].find('\n')),
        "; run all ranks on one kind of GPU, with one version of cuBLASLt");
  choices = parseTunings(all[0]);
  for (std::unique_ptr<Prepared> &prepared : rows)
    prepared->algorithm =
        findAlgorithm(choices, getKey(*prepared)).value_or(blas::Algorithm());
  return absl::OkStatus();
}

absl::StatusOr<DeviceMatmul::Choice>
DeviceMatmul::measure(uint32_t row, const BufferPlaces &memory,
                      TuningBench &bench) {
  Prepared &prepared = *rows[row];
  blas::Heuristic proposals[kProposals];
  int count = 0;
  TPRT_RETURN_IF_ERROR(blas.check(
      blas.getHeuristics(handle, prepared.desc, prepared.first, prepared.second,
                         prepared.addend, prepared.result, prepared.preference,
                         kProposals, proposals, &count),
      absl::StrCat("looking for an algorithm for ", prepared.plan.getKey())));
  auto *end = std::remove_if(proposals, proposals + count,
                             [](const blas::Heuristic &proposal) {
                               return proposal.state != blas::kSuccess ||
                                      proposal.workspace > kBlasWorkspace;
                             });
  count = static_cast<int>(end - proposals);
  if (count < 1)
    return makeError(ErrorCode::MatmulFailed, "cuBLASLt has no algorithm for ",
                     prepared.plan.getKey());
  if (count == 1)
    return Choice{proposals[0].algorithm, true};
  // The program's inputs have no values yet, so the test makes its own
  // operands. If memory is short, it reads the program's A and B. It never
  // writes to the program's C, whose memory may be in use.
  std::vector<int64_t> counters(artifact.getNumCounters());
  Addresses addresses = getAddresses(row, memory, counters);
  const MatmulRow &matmul = artifact.rows<MatmulRow>()[row];
  TPRT_ASSIGN_OR_RETURN(
      Owned<cuda::Pointer> a,
      bench.makeOperand(prepared.plan.second.dtype, matmul.a.buffer.size));
  TPRT_ASSIGN_OR_RETURN(
      Owned<cuda::Pointer> b,
      bench.makeOperand(prepared.plan.first.dtype, matmul.b.buffer.size));
  if (a)
    addresses.a = a.get();
  if (b)
    addresses.b = b.get();
  TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> scratch,
                        device.allocate(matmul.c.buffer.size));
  addresses.c = scratch.get();
  if (prepared.plan.epilogue.accumulates)
    addresses.addend = scratch.get();
  TPRT_ASSIGN_OR_RETURN(
      TuningBench::Finding fastest,
      bench.findFastest(count, [&](int way, cuda::Stream stream) {
        prepared.algorithm = proposals[way].algorithm;
        return call(prepared, addresses, stream);
      }));
  return Choice{proposals[fastest.way].algorithm, fastest.isCertain};
}

DeviceMatmul::Addresses
DeviceMatmul::getAddresses(uint32_t row, const BufferPlaces &memory,
                           absl::Span<const int64_t> counters) const {
  const MatmulRow &matmul = artifact.rows<MatmulRow>()[row];
  const Epilogue &epilogue = rows[row]->plan.epilogue;
  absl::Span<const PostOpRow> postOps =
      artifact.rows<PostOpRow>(matmul.postOps);
  Addresses addresses = {};
  addresses.a = memory.resolve(matmul.a.buffer, counters);
  addresses.b = memory.resolve(matmul.b.buffer, counters);
  addresses.c = memory.resolve(matmul.c.buffer, counters);
  addresses.addend =
      epilogue.addend < 0
          ? addresses.c
          : memory.resolve(postOps[epilogue.addend].operand.buffer, counters);
  if (epilogue.bias >= 0)
    addresses.bias =
        memory.resolve(postOps[epilogue.bias].operand.buffer, counters);
  return addresses;
}

absl::Status DeviceMatmul::run(uint32_t row, const BufferPlaces &memory,
                               absl::Span<const int64_t> counters,
                               cuda::Stream stream) {
  Prepared &prepared = *rows[row];
  const MatmulPlan &plan = prepared.plan;
  Addresses whole = getAddresses(row, memory, counters);
  int64_t count = 1;
  for (const Batch &batch : plan.outer)
    count *= batch.size;
  for (int64_t number = 0; number < count; ++number) {
    Addresses addresses = whole;
    int64_t rest = number;
    for (size_t i = plan.outer.size(); i-- > 0;) {
      const Batch &batch = plan.outer[i];
      auto index = static_cast<uint64_t>(rest % batch.size);
      rest /= batch.size;
      auto advance = [&](cuda::Pointer &pointer, size_t operand, DType dtype) {
        pointer += index * static_cast<uint64_t>(batch.strides[operand] *
                                                 getSize(dtype));
      };
      advance(addresses.a, 0, plan.second.dtype);
      advance(addresses.b, 1, plan.first.dtype);
      advance(addresses.c, 2, plan.result.dtype);
      advance(addresses.addend, 3, plan.addend.dtype);
      if (plan.epilogue.bias >= 0)
        advance(addresses.bias, 4, plan.result.dtype);
    }
    TPRT_RETURN_IF_ERROR(call(prepared, addresses, stream));
  }
  return absl::OkStatus();
}

static void *getAddress(cuda::Pointer pointer) {
  return reinterpret_cast<void *>(static_cast<uintptr_t>(pointer));
}

absl::Status DeviceMatmul::call(Prepared &prepared, Addresses addresses,
                                cuda::Stream stream) {
  const Epilogue &epilogue = prepared.plan.epilogue;
  if (epilogue.bias >= 0) {
    void *bias = getAddress(addresses.bias);
    TPRT_RETURN_IF_ERROR(blas.check(
        blas.setDesc(prepared.desc, blas::kBias, &bias, sizeof(bias)),
        "giving a bias"));
  }
  float one = 1;
  float beta = epilogue.accumulates || epilogue.addend >= 0 ? 1 : 0;
  return blas.check(
      blas.matmul(handle, prepared.desc, &one, getAddress(addresses.b),
                  prepared.first, getAddress(addresses.a), prepared.second,
                  &beta, getAddress(addresses.addend), prepared.addend,
                  getAddress(addresses.c), prepared.result, &prepared.algorithm,
                  getAddress(workspace.get()), kBlasWorkspace, stream),
      absl::StrCat("computing ", prepared.plan.getKey()));
}

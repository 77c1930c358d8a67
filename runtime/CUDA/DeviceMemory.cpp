// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/CUDA/DeviceMemory.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

using namespace tprt;

/// The size of a piece of pinned memory: large enough that the cost of starting
/// a copy is negligible.
static constexpr uint64_t kPiece = 8 << 20;

absl::StatusOr<DeviceMemory> DeviceMemory::create(const Device &device,
                                                  const Artifact &artifact,
                                                  int64_t rank,
                                                  cuda::Pointer arena) {
  DeviceMemory memory(device, artifact, rank);
  TPRT_ASSIGN_OR_RETURN(memory.stream, device.createStream(false));
  for (Owned<void *> &piece : memory.staging) {
    TPRT_ASSIGN_OR_RETURN(piece, device.allocateHost(kPiece));
  }
  auto allocateZeroed =
      [&](uint64_t bytes) -> absl::StatusOr<Owned<cuda::Pointer>> {
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> block, device.allocate(bytes));
    if (bytes > 0)
      TPRT_RETURN_IF_ERROR(device.check(
          device.driver.set8(block.get(), 0, bytes, memory.stream.get()),
          "clearing memory"));
    return block;
  };
  memory.places = getBundlePlaces(artifact);
  for (size_t i = 0; i < memory.places.size(); ++i) {
    Owned<cuda::Pointer> block;
    if (!memory.places[i].isMember()) {
      TPRT_ASSIGN_OR_RETURN(block, allocateZeroed(artifact.getLocalBytes(
                                       artifact.rows<InputRow>()[i])));
    }
    memory.inputs.push_back(std::move(block));
  }
  for (const BundleRow &bundle : artifact.rows<BundleRow>()) {
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> block,
                          allocateZeroed(getBytes(artifact, bundle)));
    memory.bundles.push_back(std::move(block));
  }
  for (const OutputRow &output : artifact.rows<OutputRow>()) {
    if (output.alias != kNone) {
      memory.outputs.push_back(memory.inputs[output.alias].get());
      continue;
    }
    TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> block,
                          allocateZeroed(artifact.getLocalBytes(output)));
    memory.outputs.push_back(block.get());
    memory.own.push_back(std::move(block));
  }
  if (!arena) {
    TPRT_ASSIGN_OR_RETURN(memory.ownArena,
                          allocateZeroed(artifact.getArenaBytes()));
    arena = memory.ownArena.get();
  }
  memory.arena = arena;
  absl::string_view bytes = artifact.bytes(SectionKind::Constants);
  TPRT_ASSIGN_OR_RETURN(memory.constants, device.allocate(bytes.size()));
  TPRT_RETURN_IF_ERROR(
      memory.upload(bytes.data(), memory.constants.get(), bytes.size()));
  TPRT_RETURN_IF_ERROR(device.wait(memory.stream.get()));
  return memory;
}

absl::Status DeviceMemory::upload(const char *from, cuda::Pointer to,
                                  uint64_t bytes) {
  // Two pieces of pinned memory take turns: one is filled while the other is
  // being copied to the GPU. Waiting for the stream ensures that the copy from
  // a piece has ended before the piece is filled again. Waiting for an event
  // instead would not be faster, since filling takes most of the time.
  for (uint64_t at = 0, turn = 0; at < bytes; at += kPiece, ++turn) {
    uint64_t size = std::min(kPiece, bytes - at);
    auto *piece = static_cast<char *>(staging[turn % 2].get());
    if (from + at != piece)
      std::memcpy(piece, from + at, size);
    TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
    TPRT_RETURN_IF_ERROR(device->check(
        device->driver.copyToDevice(to + at, piece, size, stream.get()),
        "copying to the GPU"));
  }
  return device->wait(stream.get());
}

absl::Status DeviceMemory::download(cuda::Pointer from, char *to,
                                    uint64_t bytes) {
  for (uint64_t at = 0; at < bytes; at += kPiece) {
    uint64_t size = std::min(kPiece, bytes - at);
    auto *piece = static_cast<char *>(staging[0].get());
    TPRT_RETURN_IF_ERROR(device->check(
        device->driver.copyToHost(piece, from + at, size, stream.get()),
        "copying from the GPU"));
    TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
    if (to + at != piece)
      std::memcpy(to + at, piece, size);
  }
  return absl::OkStatus();
}

/// Allocates host memory for a block that does not fit the pinned memory.
static absl::StatusOr<std::unique_ptr<char[]>> allocateBlock(uint64_t bytes) {
  std::unique_ptr<char[]> block(new (std::nothrow) char[bytes]);
  if (!block)
    return makeError(ErrorCode::OutOfMemory, "cannot allocate ", bytes,
                     " bytes to hold a block on its way to or from the GPU");
  return block;
}

absl::Status
DeviceMemory::write(uint32_t input,
                    absl::FunctionRef<absl::Status(char *block)> fill) {
  uint64_t bytes = artifact->getLocalBytes(artifact->rows<InputRow>()[input]);
  std::unique_ptr<char[]> large;
  auto *block = static_cast<char *>(staging[0].get());
  if (bytes > kPiece) {
    TPRT_ASSIGN_OR_RETURN(large, allocateBlock(bytes));
    block = large.get();
  }
  TPRT_RETURN_IF_ERROR(fill(block));
  const BundlePlace &place = places[input];
  if (!place.isMember())
    return upload(block, inputs[input].get(), bytes);
  TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> dense, device->allocate(bytes));
  TPRT_RETURN_IF_ERROR(upload(block, dense.get(), bytes));
  return copyRows(place, dense.get(), /*isBack=*/false);
}

absl::Status
DeviceMemory::make(uint32_t input,
                   absl::FunctionRef<absl::Status(cuda::Pointer block)> make) {
  uint64_t bytes = artifact->getLocalBytes(artifact->rows<InputRow>()[input]);
  if (bytes == 0)
    return absl::OkStatus();
  const BundlePlace &place = places[input];
  Owned<cuda::Pointer> dense;
  cuda::Pointer block = inputs[input].get();
  if (place.isMember()) {
    TPRT_ASSIGN_OR_RETURN(dense, device->allocate(bytes));
    block = dense.get();
  }
  TPRT_RETURN_IF_ERROR(device->check(
      device->driver.set8(block, 0, bytes, stream.get()), "clearing an input"));
  TPRT_RETURN_IF_ERROR(device->wait(stream.get()));
  TPRT_RETURN_IF_ERROR(make(block));
  return place.isMember() ? copyRows(place, block, /*isBack=*/false)
                          : absl::OkStatus();
}

absl::Status DeviceMemory::clear(uint32_t input) {
  return make(input, [](cuda::Pointer) { return absl::OkStatus(); });
}

absl::Status DeviceMemory::copyRows(const BundlePlace &place,
                                    cuda::Pointer block, bool isBack) {
  cuda::Pointer row = bundles[place.bundle].get() + place.offset;
  for (int64_t i = 0; i < place.rows; ++i) {
    cuda::Pointer from = block, to = row;
    if (isBack)
      std::swap(from, to);
    TPRT_RETURN_IF_ERROR(device->check(
        device->driver.copy(to, from, place.rowBytes, stream.get()),
        "copying a row of a weight"));
    block += place.rowBytes;
    row += place.stride;
  }
  return device->wait(stream.get());
}

absl::Status
DeviceMemory::read(uint32_t output,
                   absl::FunctionRef<absl::Status(const char *block)> use) {
  return show(outputs[output],
              artifact->getLocalBytes(artifact->rows<OutputRow>()[output]),
              use);
}

absl::Status DeviceMemory::readInput(
    uint32_t input, absl::FunctionRef<absl::Status(const char *block)> use) {
  uint64_t bytes = artifact->getLocalBytes(artifact->rows<InputRow>()[input]);
  const BundlePlace &place = places[input];
  if (!place.isMember())
    return show(inputs[input].get(), bytes, use);
  TPRT_ASSIGN_OR_RETURN(Owned<cuda::Pointer> dense, device->allocate(bytes));
  TPRT_RETURN_IF_ERROR(copyRows(place, dense.get(), /*isBack=*/true));
  return show(dense.get(), bytes, use);
}

absl::Status
DeviceMemory::show(cuda::Pointer from, uint64_t bytes,
                   absl::FunctionRef<absl::Status(const char *block)> use) {
  std::unique_ptr<char[]> large;
  auto *block = static_cast<char *>(staging[0].get());
  if (bytes > kPiece) {
    TPRT_ASSIGN_OR_RETURN(large, allocateBlock(bytes));
    block = large.get();
  }
  TPRT_RETURN_IF_ERROR(download(from, block, bytes));
  return use(block);
}

cuda::Pointer DeviceMemory::resolve(const BufferRow &buffer,
                                    absl::Span<const int64_t> counters) const {
  cuda::Pointer base = 0;
  switch (buffer.space) {
  case Space::Arena:
    base = arena;
    break;
  case Space::Input:
    base = inputs[buffer.index].get();
    break;
  case Space::Output:
    base = outputs[buffer.index];
    break;
  case Space::Constant:
    base = constants.get();
    break;
  case Space::Bundle:
    base = bundles[buffer.index].get();
    break;
  }
  return base + buffer.offset +
         static_cast<uint64_t>(artifact->getDistance(buffer, rank, counters));
}

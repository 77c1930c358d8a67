// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TokenFile.h"

#include "runtime/Core/Errors.h"
#include "runtime/Core/File.h"

#include <cstring>
#include <memory>

using namespace tprt;

/// A kind of file that llm.c writes.
struct Format {
  uint32_t magic, version;
  DType dtype;
};

static constexpr Format kFormats[] = {{20240520, 1, DType::U16},
                                      {20240801, 7, DType::U32}};
/// A file of exam questions, to which llm.c gives the same suffix, .bin.
static constexpr uint32_t kQuestions = 20240522;
static constexpr uint64_t kHeaderBytes = 256 * sizeof(uint32_t);

static absl::StatusOr<TensorReader> makeReader(std::shared_ptr<File> file,
                                               uint64_t begin, DType dtype) {
  uint64_t bytes = file->size() - begin;
  if (bytes % getSize(dtype) != 0)
    return makeError(
        ErrorCode::TrainingData, "'", file->getName(), "' has ", file->size(),
        " bytes, which is not a whole number of tokens of ", 8 * getSize(dtype),
        " bits: write uint16 numbers, or llm.c's header and "
        "uint16 or uint32 numbers");
  auto read = [file, begin](uint64_t from, uint64_t size, char *to) {
    return file->read(begin + from, size, to);
  };
  return TensorReader{
      dtype, {static_cast<int64_t>(bytes / getSize(dtype))}, read};
}

absl::StatusOr<TensorReader> tprun::openTokenFile(const std::string &path) {
  TPRT_ASSIGN_OR_RETURN(File opened, File::open(path));
  auto file = std::make_shared<File>(std::move(opened));
  uint32_t header[3] = {};
  if (file->size() >= sizeof(header))
    TPRT_RETURN_IF_ERROR(
        file->read(0, sizeof(header), reinterpret_cast<char *>(header)));
  const auto &[magic, version, count] = header;
  if (magic == kQuestions)
    return makeError(ErrorCode::TrainingData, "'", path,
                     "' holds questions with answers (llm.c's magic number ",
                     magic, "), not tokens: give a file of tokens");
  for (const Format &format : kFormats) {
    if (magic != format.magic)
      continue;
    if (version != format.version)
      return makeError(ErrorCode::TrainingData, "'", path,
                       "' has llm.c's magic number ", magic,
                       ": expects version ", format.version, ", got ", version);
    uint64_t wanted = kHeaderBytes + uint64_t{count} * getSize(format.dtype);
    if (file->size() != wanted)
      return makeError(ErrorCode::TrainingData, "'", path, "' has ",
                       file->size(),
                       " bytes, but according to its header it has ", count,
                       " tokens, which take ", wanted,
                       " bytes: the file is incomplete or still being written");
    return makeReader(std::move(file), kHeaderBytes, format.dtype);
  }
  return makeReader(std::move(file), 0, DType::U16);
}

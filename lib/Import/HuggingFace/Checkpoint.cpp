// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Reads the headers of safetensors files, but never their data.

#include "Checkpoint.h"

#include "lib/Support/JsonFile.h"
#include "tpopt/Support/ErrorCodes.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tp;
using namespace tp::hf;
namespace json = llvm::json;

/// The limit that the format itself sets for headers.
static constexpr uint64_t kMaxHeader = 100'000'000;

/// Returns a location without a line: with a line, a diagnostic could print the
/// file's data.
static Location getLoc(MLIRContext *context, StringRef file) {
  return FileLineColLoc::get(context, file, 0, 0);
}

static LogicalResult fail(MLIRContext *context, StringRef file,
                          const llvm::Twine &reason, std::error_code why = {}) {
  return emitError(getLoc(context, file))
         << prefix(getFileError(why, ErrorCode::BadSafetensors)) << reason
         << "; fetch the file again";
}

/// Returns the bits per element, or 0 for a type that safetensors does not
/// have.
static unsigned getBits(StringRef type) {
  return llvm::StringSwitch<unsigned>(type)
      .Cases({"BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2"}, 8)
      .Cases({"U16", "I16", "F16", "BF16"}, 16)
      .Cases({"U32", "I32", "F32"}, 32)
      .Cases({"U64", "I64", "F64"}, 64)
      .Default(0);
}

namespace {
/// One tensor's entry in a header.
struct StoredTensor {
  Checkpoint::Tensor tensor;
  uint64_t begin = 0, end = 0;
};
} // namespace

static std::optional<uint64_t> toUnsigned(const json::Value &value) {
  std::optional<int64_t> number = value.getAsInteger();
  if (!number || *number < 0)
    return std::nullopt;
  return uint64_t(*number);
}

/// Reads a tensor's entry in a header. Returns a message if the entry is
/// damaged.
static std::optional<std::string>
readStored(const json::Value &value, uint64_t dataSize, StoredTensor &entry) {
  const json::Object *fields = value.getAsObject();
  const json::Array *shape = fields ? fields->getArray("shape") : nullptr;
  const json::Array *offsets =
      fields ? fields->getArray("data_offsets") : nullptr;
  std::optional<StringRef> type =
      fields ? fields->getString("dtype") : std::nullopt;
  if (!shape || !offsets || offsets->size() != 2 || !type)
    return "expects dtype, shape and two data_offsets";
  entry.tensor.type = type->str();
  uint64_t elements = 1;
  for (const json::Value &size : *shape) {
    std::optional<uint64_t> number = toUnsigned(size);
    bool overflow = false;
    if (number)
      elements = llvm::SaturatingMultiply(elements, *number, &overflow);
    if (!number || overflow)
      return "has a shape that is not a list of sizes";
    entry.tensor.shape.push_back(int64_t(*number));
  }
  std::optional<uint64_t> begin = toUnsigned((*offsets)[0]),
                          end = toUnsigned((*offsets)[1]);
  if (!begin || !end || *begin > *end || *end > dataSize)
    return "has data_offsets outside the file";
  unsigned bits = getBits(*type);
  if (!bits)
    return "has the unknown dtype " + type->str();
  bool overflow = false;
  uint64_t bytes =
      llvm::SaturatingMultiply<uint64_t>(elements, bits / 8, &overflow);
  if (overflow || bytes != *end - *begin)
    return "has data_offsets that do not fit its shape";
  entry.begin = *begin;
  entry.end = *end;
  return std::nullopt;
}

static bool isMetadata(const json::Value &value) {
  const json::Object *fields = value.getAsObject();
  return value.getAsNull() ||
         (fields && llvm::all_of(*fields, [](const auto &field) {
            return field.second.getAsString().has_value();
          }));
}

/// Reads the header of `file` into `tensors`.
static LogicalResult readHeader(MLIRContext *context, StringRef file,
                                llvm::StringMap<Checkpoint::Tensor> &tensors) {
  uint64_t fileSize;
  if (std::error_code error = llvm::sys::fs::file_size(file, fileSize))
    return fail(context, file, "cannot be read: " + error.message(), error);
  if (fileSize < 8)
    return fail(context, file, "is shorter than the length of its header");
  auto prefix = llvm::MemoryBuffer::getFileSlice(file, 8, 0);
  if (!prefix)
    return fail(context, file, "cannot be read: " + prefix.getError().message(),
                prefix.getError());
  uint64_t length =
      llvm::support::endian::read64le((*prefix)->getBufferStart());
  if (length > kMaxHeader || length > fileSize - 8)
    return fail(context, file,
                "its header of " + llvm::Twine(length) +
                    " bytes is longer than the file or than the format allows");
  auto header = llvm::MemoryBuffer::getFileSlice(file, length, 8);
  if (!header)
    return fail(context, file, "cannot be read: " + header.getError().message(),
                header.getError());
  auto parsed = JsonFile::parse((*header)->getBuffer());
  if (auto *error = std::get_if<JsonFile::Error>(&parsed))
    return fail(context, file, "its header: " + error->message);
  const json::Object *fields =
      std::get<JsonFile>(parsed).getRoot().getAsObject();
  if (!fields)
    return fail(context, file, "its header is not a JSON object");

  uint64_t dataSize = fileSize - 8 - length;
  SmallVector<std::pair<uint64_t, uint64_t>> ranges;
  for (StringRef name : std::get<JsonFile>(parsed).getKeys()) {
    if (name == "__metadata__") {
      if (!isMetadata(*fields->get(name)))
        return fail(
            context, file,
            "its __metadata__ is not an object whose values are strings");
      continue;
    }
    StoredTensor entry;
    if (std::optional<std::string> error =
            readStored(*fields->get(name), dataSize, entry))
      return fail(context, file, "tensor " + name + " " + *error);
    entry.tensor.file = file.str();
    ranges.push_back({entry.begin, entry.end});
    if (!tensors.try_emplace(name, std::move(entry.tensor)).second)
      return fail(context, file, "tensor " + name + " is in two files");
  }
  // Every byte must belong to exactly one tensor. This catches a header with a
  // wrong length, which would shift all tensors.
  ranges.push_back({dataSize, dataSize});
  llvm::sort(ranges);
  uint64_t place = 0;
  for (auto [begin, end] : ranges) {
    if (begin < place)
      return fail(context, file, "tensors overlap");
    if (begin > place)
      return fail(context, file,
                  "bytes " + llvm::Twine(place) + " to " + llvm::Twine(begin) +
                      " of its data belong to no tensor");
    place = end;
  }
  return success();
}

/// Returns the files that an index names, without duplicates.
static FailureOr<SmallVector<std::string>> readIndex(MLIRContext *context,
                                                     StringRef index) {
  auto parsed = JsonFile::read(index, kMaxHeader);
  if (auto *error = std::get_if<JsonFile::Error>(&parsed))
    return fail(context, index, error->message, error->why);
  const json::Object *root = std::get<JsonFile>(parsed).getRoot().getAsObject();
  const json::Object *map = root ? root->getObject("weight_map") : nullptr;
  if (!map)
    return fail(context, index, "expects an object `weight_map`");
  SmallVector<std::string> files;
  for (const auto &[name, value] : *map) {
    std::optional<StringRef> file = value.getAsString();
    // A name that contains folders could point outside the model's folder.
    if (!file || file->empty() || llvm::sys::path::filename(*file) != *file)
      return fail(context, index,
                  "`weight_map` gives tensor " + StringRef(name) +
                      " no file name");
    files.push_back(file->str());
  }
  llvm::sort(files);
  files.erase(llvm::unique(files), files.end());
  return files;
}

FailureOr<std::optional<Checkpoint>> Checkpoint::load(MLIRContext *context,
                                                      StringRef directory) {
  auto join = [&](StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path;
  };
  Checkpoint checkpoint;
  SmallVector<std::string> files;
  llvm::SmallString<128> single = join("model.safetensors"),
                         index = join("model.safetensors.index.json");
  if (llvm::sys::fs::exists(single)) {
    checkpoint.source = single.str();
    files.push_back("model.safetensors");
  } else if (llvm::sys::fs::exists(index)) {
    checkpoint.source = index.str();
    FailureOr<SmallVector<std::string>> listed = readIndex(context, index);
    if (failed(listed))
      return failure();
    files = std::move(*listed);
  } else {
    return std::optional<Checkpoint>();
  }
  for (StringRef file : files)
    if (failed(readHeader(context, join(file), checkpoint.tensors)))
      return failure();
  return std::optional<Checkpoint>(std::move(checkpoint));
}

std::string Checkpoint::resolve(StringRef name, StringRef prefix) const {
  if (tensors.contains(name))
    return name.str();
  StringRef bare = name;
  std::string other =
      bare.consume_front(prefix) ? bare.str() : (prefix + name).str();
  return tensors.contains(other) ? other : name.str();
}

StringRef Checkpoint::getMainType() const {
  llvm::StringMap<uint64_t> elements;
  for (const auto &entry : tensors)
    elements[entry.second.type] = llvm::SaturatingAdd(
        elements[entry.second.type],
        uint64_t(ShapedType::getNumElements(entry.second.shape)));
  // If two types have equally many elements, the alphabetically first wins.
  StringRef main;
  for (const auto &entry : elements) {
    uint64_t most = main.empty() ? 0 : elements[main];
    if (main.empty() || entry.second > most ||
        (entry.second == most && entry.first() < main))
      main = entry.first();
  }
  return main;
}

void Checkpoint::warnOfUnused(MLIRContext *context) const {
  SmallVector<StringRef> unused;
  for (StringRef name : tensors.keys())
    if (!taken.contains(name))
      unused.push_back(name);
  if (unused.empty())
    return;
  static constexpr size_t kShown = 5;
  llvm::sort(unused);
  InFlightDiagnostic warning = emitWarning(getLoc(context, source));
  warning << unused.size()
          << (unused.size() == 1 ? " tensor is" : " tensors are")
          << " not used by the model: "
          << llvm::join(ArrayRef(unused).take_front(kShown), ", ");
  if (unused.size() > kShown)
    warning << ", ..";
}

LogicalResult Checkpoint::take(MLIRContext *context, StringRef name,
                               ArrayRef<int64_t> shape) {
  taken.insert(name);
  auto found = tensors.find(name);
  if (found == tensors.end())
    return emitError(getLoc(context, source))
           << prefix(ErrorCode::MissingTensor) << "has no tensor " << name
           << ", which config.json requires; fetch the weights that belong to "
              "this config.json";
  const Tensor &tensor = found->second;
  auto error = [&](ErrorCode code) {
    return emitError(getLoc(context, tensor.file))
           << prefix(code) << "tensor " << name << " is ";
  };
  if (ArrayRef<int64_t>(tensor.shape) != shape)
    return error(ErrorCode::TensorShapeMismatch)
           << "[" << tensor.shape << "], not [" << shape
           << "] as config.json requires; fetch the weights that belong to "
              "this "
              "config.json";
  if (!llvm::is_contained({"F64", "F32", "F16", "BF16"}, tensor.type))
    return error(ErrorCode::TensorTypeMismatch)
           << "of type " << tensor.type
           << ", not F64, F32, F16 or BF16; save the model in one of these";
  return success();
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Ptxas.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace tp;
using namespace tp::codegen;
using llvm::Error;
using llvm::Expected;
using llvm::SmallString;
using llvm::StringRef;
using llvm::Twine;

//===----------------------------------------------------------------------===//
// Finding ptxas
//===----------------------------------------------------------------------===//

static bool isProgram(StringRef path) {
  return llvm::sys::fs::can_execute(path);
}

/// Searches the wheels of the Python installation whose executables are in
/// `folder`.
static std::string findInWheel(StringRef folder) {
  SmallString<128> libraries(folder);
  llvm::sys::path::append(libraries, "..", "lib");
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(libraries, error), end;
       it != end && !error; it.increment(error)) {
    if (!llvm::sys::path::filename(it->path()).starts_with("python3"))
      continue;
    // The packages of CUDA 13 and CUDA 12.
    for (StringRef package : {"cu13", "cuda_nvcc"}) {
      SmallString<128> path(it->path());
      llvm::sys::path::append(path, "site-packages", "nvidia", package);
      llvm::sys::path::append(path, "bin", "ptxas");
      if (isProgram(path))
        return path.str().str();
    }
  }
  return "";
}

std::string tp::codegen::findPtxas() {
  auto inRoot = [](StringRef root) -> std::string {
    SmallString<128> path(root);
    llvm::sys::path::append(path, "bin", "ptxas");
    return isProgram(path) ? path.str().str() : "";
  };
  for (const char *name : {"CUDA_HOME", "CUDA_ROOT", "CUDA_PATH"})
    if (std::optional<std::string> root = llvm::sys::Process::GetEnv(name))
      if (std::string path = inRoot(*root); !path.empty())
        return path;
  if (llvm::ErrorOr<std::string> path = llvm::sys::findProgramByName("ptxas"))
    return *path;
  if (std::string path = inRoot("/usr/local/cuda"); !path.empty())
    return path;
  std::string folders = llvm::sys::Process::GetEnv("PATH").value_or("");
  llvm::SmallVector<StringRef> list;
  StringRef(folders).split(list, ':', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef folder : list)
    if (std::string path = findInWheel(folder); !path.empty())
      return path;
  return "";
}

//===----------------------------------------------------------------------===//
// Error messages
//===----------------------------------------------------------------------===//

/// The name of the kernel that contains a line of PTX; lines are counted from
/// 1.
static StringRef findKernel(StringRef ptx, unsigned line) {
  StringRef kernel;
  for (unsigned i = 0; i < line && !ptx.empty(); ++i) {
    auto [text, rest] = ptx.split('\n');
    if (size_t place = text.find(".entry "); place != StringRef::npos)
      kernel = text.drop_front(place + 7).take_while(
          [](char c) { return llvm::isAlnum(c) || c == '_'; });
    ptx = rest;
  }
  return kernel;
}

/// The first error among ptxas's messages, with the kernel that it is in:
/// "ptxas FILE, line 12; error   : Arguments mismatch ..".
static std::string getFirstError(StringRef messages, StringRef ptx) {
  auto [before, error] = messages.split("error");
  StringRef what = error.split('\n').first.ltrim(" :");
  if (what.empty())
    what = messages.split('\n').first;
  unsigned line = 0;
  StringRef place =
      before.drop_front(std::min(before.size(), before.rfind("line ")));
  StringRef kernel;
  if (place.consume_front("line ") && !place.consumeInteger(10, line))
    kernel = findKernel(ptx, line);
  return (kernel.empty() ? what : ("in kernel " + kernel + ": " + what)).str();
}

static Error makeError(const Twine &what) {
  return llvm::createStringError(what);
}

/// Returns true if these are the bytes of an ELF file for a GPU.
static bool isCubin(StringRef bytes) {
  using namespace llvm::ELF;
  if (bytes.size() < sizeof(Elf64_Ehdr) || !bytes.starts_with(ElfMagic))
    return false;
  auto machine = llvm::support::endian::read16le(
      bytes.data() + offsetof(Elf64_Ehdr, e_machine));
  return uint8_t(bytes[EI_CLASS]) == ELFCLASS64 && machine == EM_CUDA;
}

Expected<std::string> tp::codegen::assemble(StringRef ptxas, StringRef ptx,
                                            StringRef chip) {
  SmallString<128> source, binary, messages;
  for (auto [path, suffix] :
       {std::pair(&source, "ptx"), std::pair(&binary, "cubin"),
        std::pair(&messages, "txt")})
    if (std::error_code error =
            llvm::sys::fs::createTemporaryFile("tp-kernels", suffix, *path))
      return makeError("cannot create a temporary file: " + error.message());
  llvm::FileRemover removeSource(source), removeBinary(binary),
      removeMessages(messages);
  {
    std::error_code error;
    llvm::raw_fd_ostream file(source, error);
    file << ptx;
    file.close();
    if (file.has_error()) {
      std::string why = file.error().message();
      file.clear_error();
      return makeError("cannot write " + source + ": " + why);
    }
  }
  std::string architecture = ("--gpu-name=" + chip).str();
  StringRef arguments[] = {ptxas,           architecture, "-O3",
                           "--output-file", binary,       source};
  std::optional<StringRef> streams[] = {StringRef(), StringRef(messages),
                                        StringRef(messages)};
  std::string why;
  int code = llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, streams,
                                       0, 0, &why);
  if (code != 0) {
    auto text = llvm::MemoryBuffer::getFile(messages);
    StringRef said = text ? (*text)->getBuffer() : StringRef();
    return makeError(ptxas + " ended with " + Twine(code) + ": " +
                     (why.empty() ? getFirstError(said, ptx) : why));
  }
  auto bytes = llvm::MemoryBuffer::getFile(binary);
  if (!bytes || !isCubin((*bytes)->getBuffer()))
    return makeError(ptxas + " wrote no code for a GPU");
  return (*bytes)->getBuffer().str();
}

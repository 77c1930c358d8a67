// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Modules, kernels and launches of libcuda.so.1 on the fake GPU.

#include "FakeCalls.h"

#include <atomic>
#include <cctype>
#include <cstring>
#include <elf.h>
#include <iterator>
#include <sstream>

using namespace fakegpu;
using cuda::Result;

static int getChip() {
  return static_cast<int>(getNumber("TPRT_FAKE_CHIP", 120));
}

/// What a block may have of the memory that its threads share, as NVIDIA's
/// table of compute capabilities says.
static int getMaxShared() {
  switch (getChip()) {
  case 80:
  case 87:
    return 163 << 10;
  case 90:
  case 100:
  case 103:
  case 110:
    return 227 << 10;
  default: // 86, 89, 120, 121, and what nobody knows
    return 99 << 10;
  }
}

using Functions = std::vector<std::unique_ptr<CUfunc_st>>;

/// The kernels of PTX, with their parameters and limits. A target with a suffix
/// is for one chip, another one for all later ones.
static Result readPtx(const std::string &text, Functions &functions) {
  size_t target = text.find(".target sm_");
  if (target == std::string::npos)
    return kInvalidImage;
  char suffix = 0;
  int chip = 0;
  std::istringstream(text.substr(target + 11)) >> chip >> std::noskipws >>
      suffix;
  if (chip > getChip() || (std::isalpha(suffix) && chip != getChip()))
    return kNoBinary;
  for (size_t at = 0; (at = text.find(".entry", at)) != std::string::npos;) {
    at += 6;
    size_t open = text.find('(', at), close = text.find(')', at),
           body = text.find('{', close), limit = text.find(".maxntid", close);
    if (close == std::string::npos)
      return kInvalidImage;
    auto function = std::make_unique<CUfunc_st>();
    std::istringstream(text.substr(at, open - at)) >> function->name;
    for (size_t p = open; (p = text.find(".param", p)) < close; ++p)
      ++function->parameters;
    if (limit < body)
      std::istringstream(text.substr(limit + 8)) >> function->maxThreads;
    functions.push_back(std::move(function));
  }
  return cuda::kSuccess;
}

/// Of a section of a cubin that says something about one kernel: the function,
/// if its name begins like that.
static CUfunc_st *findFunction(const Functions &functions, const char *section,
                               const char *prefix) {
  size_t length = std::strlen(prefix);
  for (const auto &function : functions)
    if (std::strncmp(section, prefix, length) == 0 &&
        function->name == section + length)
      return function.get();
  return nullptr;
}

/// A kernel's attributes: a byte for the format, one for the attribute, two for
/// a value or for the size of what follows.
static void readAttributes(const char *at, size_t size, CUfunc_st &function) {
  constexpr unsigned char sized = 4, maxThreads = 5, parameter = 0x17;
  for (size_t i = 0; i + 4 <= size;) {
    auto format = static_cast<unsigned char>(at[i]),
         attribute = static_cast<unsigned char>(at[i + 1]);
    uint16_t bytes;
    std::memcpy(&bytes, at + i + 2, sizeof(bytes));
    function.parameters += attribute == parameter;
    if (attribute == maxThreads)
      std::memcpy(&function.maxThreads, at + i + 4, sizeof(int));
    i += 4 + (format == sized ? bytes : 0);
  }
}

/// The kernels of a cubin. It is an ELF file, which runs on the later chips of
/// its major version.
static Result readCubin(const char *image, Functions &functions) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  constexpr int machine = 190, abiWithWideChips = 8;
  if (header.e_machine != machine)
    return kInvalidImage;
  int chip = header.e_ident[EI_ABIVERSION] < abiWithWideChips
                 ? header.e_flags & 0xff
                 : header.e_flags >> 8 & 0xff;
  if (chip / 10 != getChip() / 10 || chip > getChip())
    return kNoBinary;
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), image + header.e_shoff,
              sections.size() * sizeof(Elf64_Shdr));
  auto getText = [&](size_t table, size_t at) {
    return image + sections[table].sh_offset + at;
  };
  // What runs on its own is global.
  for (const Elf64_Shdr &section : sections)
    for (size_t at = 0; section.sh_type == SHT_SYMTAB && at < section.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, image + section.sh_offset + at, sizeof(symbol));
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC ||
          ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL)
        continue;
      functions.push_back(std::make_unique<CUfunc_st>());
      functions.back()->name = getText(section.sh_link, symbol.st_name);
    }
  for (const Elf64_Shdr &section : sections) {
    const char *name = getText(header.e_shstrndx, section.sh_name);
    if (CUfunc_st *function = findFunction(functions, name, ".nv.info."))
      readAttributes(image + section.sh_offset, section.sh_size, *function);
    if (CUfunc_st *function = findFunction(functions, name, ".text."))
      function->registers = static_cast<int>(section.sh_info >> 24);
    if (CUfunc_st *function = findFunction(functions, name, ".nv.shared."))
      function->ownShared = static_cast<int>(section.sh_size);
  }
  return cuda::kSuccess;
}

/// Why a block of so many threads does not start; empty if it does.
static std::string findObstacle(const CUfunc_st &function, unsigned threads,
                                unsigned shared) {
  constexpr int warp = 32, registersOfBlock = 1 << 16;
  int blockThreads = static_cast<int>(threads);
  if (blockThreads > function.maxThreads)
    return "has more threads than it was compiled for";
  // Of a thread, in eights.
  int registers = (function.registers + 7) / 8 * 8;
  if ((blockThreads + warp - 1) / warp * warp * registers > registersOfBlock)
    return "has more registers than there are";
  return static_cast<int>(shared) + function.ownShared > function.maxShared
             ? "has more shared memory than was asked for"
             : "";
}

extern "C" {

Result cuModuleLoadData(cuda::Module *module, const void *image) {
  ENTER_NO_CAPTURE()
  auto *bytes = static_cast<const char *>(image);
  bool isCubin = std::memcmp(bytes, ELFMAG, SELFMAG) == 0;
  Functions functions;
  Result result =
      isCubin ? readCubin(bytes, functions) : readPtx(bytes, functions);
  if (result != cuda::kSuccess)
    return result;
  auto made = std::make_unique<CUmod_st>();
  for (std::unique_ptr<CUfunc_st> &function : functions) {
    if (get().kernels)
      function->kernel = get().kernels->find(function->name);
    get().functions.insert(function.get());
    std::string name = function->name;
    made->functions[name] = std::move(function);
  }
  record((isCubin ? "cubin of " : "module of ") +
         std::to_string(made->functions.size()) + " kernels");
  *module = made.release();
  get().modules.insert(*module);
  return cuda::kSuccess;
}

Result cuModuleUnload(cuda::Module module) {
  ENTER_CONTEXT()
  if (get().modules.erase(module) == 0)
    return refuse("unloading an unknown module", kInvalidHandle);
  for (auto &[name, function] : module->functions)
    get().functions.erase(function.get());
  delete module;
  return cuda::kSuccess;
}

Result cuModuleGetFunction(cuda::Function *function, cuda::Module module,
                           const char *name) {
  ENTER_CONTEXT()
  if (get().modules.count(module) == 0)
    return refuse("a kernel of an unknown module", kInvalidHandle);
  auto found = module->functions.find(name);
  if (found == module->functions.end())
    return kNotFound;
  *function = found->second.get();
  return cuda::kSuccess;
}

Result cuFuncSetAttribute(cuda::Function function, int attribute, int value) {
  ENTER_CONTEXT()
  if (get().functions.count(function) == 0 ||
      attribute != cuda::kMaxDynamicShared)
    return refuse("an unknown attribute of a kernel");
  if (value + function->ownShared > getMaxShared())
    return kInvalidValue;
  function->maxShared = value + function->ownShared;
  return cuda::kSuccess;
}

Result cuLaunchKernel(cuda::Function function, unsigned x, unsigned y,
                      unsigned z, unsigned threads, unsigned threadsY,
                      unsigned threadsZ, unsigned shared, cuda::Stream stream,
                      void **arguments, void **) {
  ENTER_CONTEXT()
  dieAt("launch");
  if (get().functions.count(function) == 0)
    return refuse("launching an unknown kernel", kInvalidHandle);
  if (x < 1 || y != 1 || z != 1 || threads < 1 || threads > 1024 ||
      threadsY != 1 || threadsZ != 1)
    return refuse("a launch of '" + function->name + "' that no GPU does");
  std::string obstacle = findObstacle(*function, threads, shared);
  if (!obstacle.empty())
    return refuse("a launch of '" + function->name + "' " + obstacle);
  if (!isKnown(stream))
    return refuse("a launch on an unknown stream", kInvalidHandle);
  // Pointers and numbers look alike; a number that happens to be an address
  // has been given one.
  std::vector<uint64_t> words;
  std::ostringstream line;
  line << "launch " << function->name << " <" << x << ", " << threads << ", "
       << shared << ">";
  for (int i = 0; i < function->parameters; ++i) {
    uint64_t word;
    std::memcpy(&word, arguments[i], sizeof(word));
    words.push_back(word);
    std::string known = fakegpu::name(reinterpret_cast<const void *>(word), 0);
    line << " " << (known.empty() ? std::to_string(word) : known);
    if (known.empty() && word > uint64_t{1} << 40 && word < uint64_t{1} << 48)
      return refuse("'" + function->name +
                    "' is given memory that is not "
                    "there, as its argument " +
                    std::to_string(i));
  }
  line << " on " << fakegpu::name(stream);
  record(line.str());
  emulation::Kernel kernel = function->kernel;
  if (get().kernels && !kernel)
    return refuse("no emulated kernel '" + function->name + "'");
  emulation::Grid grid{x, threads, shared};
  long slowness = getSlowness(function->name);
  return enqueue(stream, [=] {
    return [=] {
      spend(slowness);
      if (!kernel)
        return true;
      // Operands come before scalars, and an operand's number is as good.
      std::vector<void *> operands;
      std::vector<int64_t> scalars;
      for (uint64_t word : words) {
        bool isPointer =
            scalars.empty() &&
            !fakegpu::name(reinterpret_cast<const void *>(word), 0).empty();
        if (isPointer)
          operands.push_back(reinterpret_cast<void *>(word));
        else
          scalars.push_back(static_cast<int64_t>(word));
      }
      // No result depends on the order of blocks and warps.
      static std::atomic<size_t> numLaunches = 0;
      emulation::Order order =
          emulation::kOrders[numLaunches++ % std::size(emulation::kOrders)];
      absl::Status status = emulation::launch(kernel, operands.data(),
                                              scalars.data(), grid, order);
      if (!status.ok())
        refuse(std::string(status.message()));
      return true;
    };
  });
}

} // extern "C"

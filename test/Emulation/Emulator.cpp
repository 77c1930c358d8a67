// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Emulator.h"

#include "Fiber.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <numeric>
#include <random>
#include <sys/mman.h>
#include <vector>

using namespace emulation;

namespace {

constexpr int64_t kWarp = 32, kWarpgroup = 4;
constexpr int64_t kMaxThreads = 1024;
constexpr size_t kStackBytes = 128 << 10;
/// What a block may have at most, on all chips so far, and what is looked at
/// behind its memory.
constexpr int64_t kMaxSharedBytes = 227 << 10, kGuardBytes = 4 << 10;
constexpr int kPoison = 0xff;

struct Copy {
  void *to;
  const void *from;
  int32_t bytes, sourceBytes;
  int32_t group;
};

enum class State { Ready, AtBarrier, InWarp, Ended };

struct Thread {
  Fiber fiber;
  State state;
  std::vector<Copy> copies;  ///< Under way, the oldest first.
  std::vector<Copy> arrived; ///< Since the last fence of the proxy.
  int32_t group;             ///< That the next copy is of.
};

/// What the lanes of a warp do together: they leave their arguments, and the
/// last one does it for all.
struct Warp {
  const char *action = nullptr;
  int64_t arrived = 0;
  void *arguments[kWarp];
  WarpProducts products;
};

/// Runs one block after the other on stacks of its own.
class Runner {
public:
  Runner();
  ~Runner();

  absl::Status run(Kernel kernel, void *const *operands, const int64_t *scalars,
                   Grid grid, Order order);

  void wait();
  template <typename Function>
  void actTogether(const char *action, void *arguments, Function act);
  void *getShared(int64_t declared);
  Thread &getThread() { return threads[current]; }
  Warp &getWarp() { return warps[current / kWarp]; }
  int64_t getWarpOfGroup() const { return current / kWarp % kWarpgroup; }
  int64_t getLane() const { return current % kWarp; }
  ProductView &getView() { return view; }
  /// Ends the launch, if there is an error, with who makes it.
  void check(const absl::optional<std::string> &error);
  int64_t numConflicts = 0;

private:
  char *getSharedBegin() {
    constexpr uintptr_t kAlignment = 1024;
    auto begin = reinterpret_cast<uintptr_t>(shared.data());
    return shared.data() + (kAlignment - begin % kAlignment);
  }
  static void enter();
  absl::Status runBlock(int64_t index, Order order);
  absl::Status getDeadlock() const;
  /// What is wrong with the products of a block that has ended.
  absl::Status checkProducts() const;
  /// Lets others run until the state of this thread is `Ready` again.
  void yield(State state);
  /// Ends the launch: the thread gets no other turn.
  void fail(std::string why);

  Kernel kernel;
  void *const *operands;
  const int64_t *scalars;
  Grid grid;

  char *stacks;
  std::vector<char> shared;
  ProductView view;
  int64_t sharedEnd = 0;
  Fiber scheduler;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  int64_t block = 0, current = 0, atBarrier = 0;
  std::mt19937_64 random;
  std::string error;
};

thread_local Runner *running = nullptr;

} // namespace

Runner::Runner()
    : shared(kMaxSharedBytes + kGuardBytes + 1024), view(kMaxSharedBytes) {
  void *memory =
      mmap(nullptr, kMaxThreads * kStackBytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  stacks = memory == MAP_FAILED ? nullptr : static_cast<char *>(memory);
}

Runner::~Runner() {
  if (stacks)
    munmap(stacks, kMaxThreads * kStackBytes);
}

void Runner::enter() {
  Runner &runner = *running;
  runner.kernel(runner.operands, runner.scalars, runner.block, runner.current);
  runner.yield(State::Ended);
}

void Runner::yield(State state) {
  threads[current].state = state;
  threads[current].fiber.switchTo(scheduler);
}

void Runner::fail(std::string why) {
  error = std::move(why);
  yield(State::Ended);
}

void Runner::check(const absl::optional<std::string> &error) {
  if (error)
    fail(absl::StrCat("in block ", block, ", thread ", current, " ", *error));
}

void Runner::wait() {
  if (++atBarrier < grid.threads)
    return yield(State::AtBarrier);
  atBarrier = 0;
  for (Thread &thread : threads)
    thread.state = State::Ready;
}

template <typename Function>
void Runner::actTogether(const char *action, void *arguments, Function act) {
  int64_t index = current / kWarp;
  Warp &warp = warps[index];
  if (warp.arrived > 0 && std::strcmp(warp.action, action) != 0)
    fail(absl::StrCat("in block ", block, ", thread ", current, " is at a ",
                      action, " and others of its warp at ", warp.action));
  warp.action = action;
  warp.arguments[current % kWarp] = arguments;
  if (++warp.arrived < kWarp)
    return yield(State::InWarp);
  warp.arrived = 0;
  act(warp.arguments);
  for (int64_t lane = 0; lane < kWarp; ++lane)
    threads[index * kWarp + lane].state = State::Ready;
}

void *Runner::getShared(int64_t declared) {
  sharedEnd = declared + grid.sharedBytes;
  if (sharedEnd > kMaxSharedBytes)
    fail(absl::StrCat("a block shares ", sharedEnd, " bytes, more than the ",
                      kMaxSharedBytes, " that there are"));
  return getSharedBegin();
}

absl::Status Runner::getDeadlock() const {
  const char *const states[] = {"is ready", "waits at a barrier",
                                "waits for its warp", "has ended"};
  // A thread that waits, and the first one that is elsewhere.
  for (int64_t i = 0; i < grid.threads; ++i) {
    if (threads[i].state == State::Ended)
      continue;
    int64_t other = 0;
    while (other + 1 < grid.threads && threads[other].state == threads[i].state)
      ++other;
    return absl::InternalError(absl::StrCat(
        "in block ", block, ", thread ", i, " ", states[int(threads[i].state)],
        " and thread ", other, " ", states[int(threads[other].state)]));
  }
  return absl::OkStatus();
}

absl::Status Runner::checkProducts() const {
  for (size_t i = 0; i < warps.size(); ++i) {
    const WarpProducts &mine = warps[i].products;
    size_t first = i - i % kWarpgroup;
    if (mine.areUnderWay())
      return absl::InternalError(absl::StrCat("in block ", block, ", warp ", i,
                                              " ends before its products do"));
    if (mine.getCount() != warps[first].products.getCount() ||
        (mine.getCount() > 0 && first + kWarpgroup > warps.size()))
      return absl::InternalError(absl::StrCat("in block ", block,
                                              ", the warpgroup of warp ", i,
                                              " does not multiply together"));
  }
  return absl::OkStatus();
}

/// The numbers below `count`, in this order.
static std::vector<int64_t> getNumbers(int64_t count, Order order,
                                       std::mt19937_64 &random) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  if (order == Order::Descending)
    std::reverse(numbers.begin(), numbers.end());
  if (order == Order::Random)
    std::shuffle(numbers.begin(), numbers.end(), random);
  return numbers;
}

absl::Status Runner::runBlock(int64_t index, Order order) {
  block = index;
  atBarrier = sharedEnd = 0;
  std::fill(shared.begin(), shared.end(), char(kPoison));
  view.reset(getSharedBegin());
  threads.resize(grid.threads);
  warps.assign(grid.threads / kWarp, Warp());
  for (int64_t i = 0; i < grid.threads; ++i) {
    threads[i].state = State::Ready;
    threads[i].copies.clear();
    threads[i].arrived.clear();
    threads[i].group = 0;
    threads[i].fiber.prepare(&enter, stacks + i * kStackBytes, kStackBytes);
  }
  // A warp goes as far as it can before the next one goes on.
  std::vector<int64_t> lanes = getNumbers(kWarp, order, random),
                       turns = getNumbers(grid.threads / kWarp, order, random);
  bool moved = true;
  auto runTurns = [&](int64_t warp) {
    bool movedHere = false;
    for (int64_t lane : lanes) {
      current = warp * kWarp + lane;
      if (!error.empty() || threads[current].state != State::Ready)
        continue;
      movedHere = moved = true;
      scheduler.switchTo(threads[current].fiber);
    }
    return movedHere;
  };
  while (moved && error.empty()) {
    moved = false;
    for (int64_t warp : turns)
      while (runTurns(warp)) {
      }
  }
  if (!error.empty())
    return absl::InternalError(error);
  if (absl::Status status = getDeadlock(); !status.ok())
    return status;
  if (absl::Status status = checkProducts(); !status.ok())
    return status;
  const char *end = getSharedBegin() + sharedEnd;
  for (int64_t i = 0; i < kGuardBytes; ++i)
    if (end[i] != char(kPoison))
      return absl::InternalError(absl::StrCat("block ", block, " writes ", i,
                                              " bytes behind the ", sharedEnd,
                                              " that it shares"));
  return absl::OkStatus();
}

absl::Status Runner::run(Kernel kernel, void *const *operands,
                         const int64_t *scalars, Grid grid, Order order) {
  if (!stacks)
    return absl::ResourceExhaustedError("no memory for stacks");
  if (grid.threads < 1 || grid.threads > kMaxThreads ||
      grid.threads % kWarp != 0)
    return absl::InvalidArgumentError(
        absl::StrCat("a block has whole warps and at most ", kMaxThreads,
                     " threads, not ", grid.threads));
  this->kernel = kernel;
  this->operands = operands;
  this->scalars = scalars;
  this->grid = grid;
  error.clear();
  numConflicts = 0;
  random.seed(1);
  for (int64_t index : getNumbers(grid.blocks, order, random))
    if (absl::Status status = runBlock(index, order); !status.ok())
      return status;
  return absl::OkStatus();
}

static Runner &getRunner() {
  thread_local Runner runner;
  return runner;
}

absl::Status emulation::launch(Kernel kernel, void *const *operands,
                               const int64_t *scalars, Grid grid, Order order) {
  running = &getRunner();
  return running->run(kernel, operands, scalars, grid, order);
}

int64_t emulation::getNumBankConflicts() { return getRunner().numConflicts; }

//===----------------------------------------------------------------------===//
// What kernels call
//===----------------------------------------------------------------------===//

void tpEmulatedBarrier() { running->wait(); }

int32_t tpEmulatedShuffle(int32_t word, int32_t distance) {
  struct Arguments {
    int32_t word, distance, result;
  } mine = {word, distance, 0};
  running->actTogether("shuffle", &mine, [](void *const *all) {
    auto get = [&](int64_t lane) {
      return static_cast<Arguments *>(all[lane]);
    };
    for (int64_t lane = 0; lane < kWarp; ++lane)
      get(lane)->result = get((lane ^ get(lane)->distance) % kWarp)->word;
  });
  return mine.result;
}

void *tpEmulatedSharedMemory(int64_t declared) {
  return running->getShared(declared);
}

void tpEmulatedLoadMatrices(const void *row, int32_t *words, int32_t count,
                            int32_t transposed) {
  struct Arguments {
    const uint16_t *row;
    int32_t *words, count, transposed;
  } mine = {static_cast<const uint16_t *>(row), words, count, transposed};
  running->actTogether("ldmatrix", &mine, [](void *const *all) {
    auto get = [&](int64_t lane) {
      return static_cast<const Arguments *>(all[lane]);
    };
    // Eight rows of 16 bytes are one access if they cover all 32 banks.
    for (int32_t matrix = 0; matrix < get(0)->count; ++matrix) {
      uint32_t banks = 0;
      for (int64_t row = 0; row < 8; ++row)
        banks |=
            1u << (reinterpret_cast<uintptr_t>(get(matrix * 8 + row)->row) /
                   16 % 8);
      running->numConflicts += banks != 0xff;
    }
    for (int64_t lane = 0; lane < kWarp; ++lane)
      for (int32_t matrix = 0; matrix < get(lane)->count; ++matrix) {
        auto element = [&](int64_t row, int64_t column) -> uint32_t {
          return get(matrix * 8 + row)->row[column];
        };
        int64_t i = lane / 4, j = lane % 4 * 2;
        bool turned = get(lane)->transposed;
        uint32_t low = turned ? element(j, i) : element(i, j);
        uint32_t high = turned ? element(j + 1, i) : element(i, j + 1);
        get(lane)->words[matrix] = int32_t(low | high << 16);
      }
  });
}

void tpEmulatedMultiplyMatrices(int32_t *words, int32_t half) {
  struct Arguments {
    int32_t *words;
    Half half;
  } mine = {words, Half(half)};
  running->actTogether("mma", &mine, [](void *const *all) {
    float a[16][16], b[16][8];
    auto getPart = [&](int64_t lane, int word, int part) {
      auto *arguments = static_cast<const Arguments *>(all[lane]);
      auto bits = uint32_t(arguments->words[word]);
      return toFloat(part ? bits >> 16 : bits & 0xffff, arguments->half);
    };
    for (int64_t lane = 0; lane < kWarp; ++lane) {
      int64_t group = lane / 4, pair = lane % 4 * 2;
      for (int part = 0; part < 2; ++part) {
        for (int word = 0; word < 4; ++word)
          a[group + word % 2 * 8][pair + word / 2 * 8 + part] =
              getPart(lane, word, part);
        for (int word = 0; word < 2; ++word)
          b[pair + word * 8 + part][group] = getPart(lane, 4 + word, part);
      }
    }
    for (int64_t lane = 0; lane < kWarp; ++lane)
      for (int64_t i = 0; i < 4; ++i) {
        int64_t row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        int32_t &word = static_cast<Arguments *>(all[lane])->words[6 + i];
        float sum;
        std::memcpy(&sum, &word, sizeof(sum));
        for (int64_t k = 0; k < 16; ++k)
          sum += a[row][k] * b[k][column];
        std::memcpy(&word, &sum, sizeof(sum));
      }
  });
}

void tpEmulatedCopyAsync(void *to, const void *from, int32_t bytes,
                         int32_t sourceBytes) {
  running->check(running->getView().beginCopy(to, bytes));
  std::memset(to, kPoison, bytes);
  Thread &thread = running->getThread();
  thread.copies.push_back({to, from, bytes, sourceBytes, thread.group});
}

void tpEmulatedCommitCopies() { ++running->getThread().group; }

void tpEmulatedWaitForCopies(int32_t pending) {
  Thread &thread = running->getThread();
  auto copy = thread.copies.begin();
  for (; copy != thread.copies.end() && copy->group < thread.group - pending;
       ++copy) {
    std::memcpy(copy->to, copy->from, copy->sourceBytes);
    std::memset(static_cast<char *>(copy->to) + copy->sourceBytes, 0,
                copy->bytes - copy->sourceBytes);
    thread.arrived.push_back(*copy);
  }
  thread.copies.erase(thread.copies.begin(), copy);
}

void tpEmulatedFenceProxy() {
  Thread &thread = running->getThread();
  for (const Copy &copy : thread.arrived)
    running->getView().publish(copy.to, copy.bytes);
  thread.arrived.clear();
}

void tpEmulatedFenceProducts() {
  running->actTogether("wgmma.fence", nullptr, [](void *const *) {
    running->getWarp().products.fence();
  });
}

void tpEmulatedMultiplyWarpgroup(int32_t *sums, const int32_t *fragment,
                                 int64_t a, int64_t b, int32_t columns,
                                 int32_t flags) {
  auto has = [&](ProductFlag flag) { return (flags & int32_t(flag)) != 0; };
  struct Arguments {
    WarpProducts::Lane lane;
    Product product;
  } mine = {{sums, fragment, uint64_t(a), uint64_t(b)},
            {columns, has(ProductFlag::BF16) ? Half::BF16 : Half::F16,
             has(ProductFlag::Adds), has(ProductFlag::HasFragment),
             has(ProductFlag::ByColumnsA), has(ProductFlag::ByColumnsB)}};
  running->actTogether("wgmma", &mine, [](void *const *all) {
    WarpProducts::Lanes lanes;
    for (int64_t lane = 0; lane < kWarp; ++lane)
      lanes[lane] = static_cast<Arguments *>(all[lane])->lane;
    running->check(running->getWarp().products.multiply(
        static_cast<Arguments *>(all[0])->product, running->getWarpOfGroup(),
        lanes, running->getView()));
  });
}

void tpEmulatedCommitProducts() {
  running->actTogether("wgmma.commit_group", nullptr, [](void *const *) {
    running->getWarp().products.commit();
  });
}

void tpEmulatedWaitForProducts(int32_t *words, int32_t count, int32_t pending) {
  running->actTogether("wgmma.wait_group", &pending, [](void *const *all) {
    running->getWarp().products.wait(*static_cast<int32_t *>(all[0]),
                                     running->getView());
  });
  for (int32_t i = 0; i < count; ++i)
    words[i] =
        running->getWarp().products.resolve(words[i], running->getLane());
}

//===----------------------------------------------------------------------===//
// Shared objects
//===----------------------------------------------------------------------===//

/// In the order of `Call`.
static void *const calls[kNumCalls] = {
    reinterpret_cast<void *>(&tpEmulatedBarrier),
    reinterpret_cast<void *>(&tpEmulatedShuffle),
    reinterpret_cast<void *>(&tpEmulatedSharedMemory),
    reinterpret_cast<void *>(&tpEmulatedLoadMatrices),
    reinterpret_cast<void *>(&tpEmulatedMultiplyMatrices),
    reinterpret_cast<void *>(&tpEmulatedCopyAsync),
    reinterpret_cast<void *>(&tpEmulatedCommitCopies),
    reinterpret_cast<void *>(&tpEmulatedWaitForCopies),
    reinterpret_cast<void *>(&tpEmulatedFenceProxy),
    reinterpret_cast<void *>(&tpEmulatedFenceProducts),
    reinterpret_cast<void *>(&tpEmulatedMultiplyWarpgroup),
    reinterpret_cast<void *>(&tpEmulatedCommitProducts),
    reinterpret_cast<void *>(&tpEmulatedWaitForProducts),
};

absl::StatusOr<std::unique_ptr<KernelLibrary>>
KernelLibrary::open(const std::string &path) {
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return absl::NotFoundError(dlerror());
  std::unique_ptr<KernelLibrary> library(new KernelLibrary(handle));
  void *table = dlsym(handle, kCallTable);
  if (!table)
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no library of emulated kernels"));
  std::memcpy(table, calls, sizeof(calls));
  return library;
}

KernelLibrary::~KernelLibrary() { dlclose(handle); }

Kernel KernelLibrary::find(const std::string &name) const {
  return reinterpret_cast<Kernel>(dlsym(handle, name.c_str()));
}

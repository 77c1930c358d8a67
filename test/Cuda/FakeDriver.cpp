// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libcuda.so.1 on the fake GPU.

#include "FakeState.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace fakegpu;
namespace cuda = tprt::cuda;
using cuda::Result;
using Guard = std::lock_guard<std::recursive_mutex>;

static thread_local CUctx_st *current = nullptr;
/// Captures that this thread has begun.
static thread_local int captures = 0;

static int makeNumber(int device, const char *kind) {
  return get().numbers[kind + std::to_string(device)]++;
}

static std::string name(CUevent_st *event) {
  return "d" + std::to_string(event->device) + ".e" +
         std::to_string(event->number);
}

/// What every call begins with.
#define ENTER()                                                                \
  Guard guard(get().lock);                                                     \
  if (failsNow(__func__))                                                      \
    return kUnknown;                                                           \
  if (get().isBroken)                                                          \
    return kUnknown;

#define ENTER_CONTEXT()                                                        \
  ENTER()                                                                      \
  if (!current)                                                                \
    return refuse(std::string(__func__) + " without a context",                \
                  kInvalidContext);

/// What a call begins with that ends something. It may tell of an error of
/// earlier work, and ends it all the same.
#define ENTER_END()                                                            \
  Result result = failsNow(__func__) ? kUnknown : cuda::kSuccess;              \
  Guard guard(get().lock);                                                     \
  if (get().isBroken || !current)                                              \
    return kUnknown;

/// What must not happen while the thread captures.
#define ENTER_NO_CAPTURE()                                                     \
  ENTER_CONTEXT()                                                              \
  if (captures > 0)                                                            \
    return refuse(std::string(__func__) + " while capturing",                  \
                  kUnsupportedInCapture);

static Result copyAsync(void *to, const void *from, size_t bytes,
                        cuda::Stream stream) {
  if (fakegpu::name(to, bytes).empty() || fakegpu::name(from, bytes).empty())
    return refuse("a copy outside of what is allocated");
  if (!isKnown(stream))
    return refuse("a copy on an unknown stream", kInvalidHandle);
  record("copy " + fakegpu::name(to) + " from " + fakegpu::name(from) + " " +
         std::to_string(bytes) + " on " + fakegpu::name(stream));
  return enqueue(stream, [=] {
    return [=] {
      if (fakegpu::name(to, bytes).empty() ||
          fakegpu::name(from, bytes).empty())
        refuse("a copy of memory that was freed before it ran");
      else
        std::memmove(to, from, bytes);
      return true;
    };
  });
}

template <typename T>
static Result setAsync(cuda::Pointer pointer, T value, size_t count,
                       cuda::Stream stream) {
  auto *to = reinterpret_cast<T *>(pointer);
  if (fakegpu::name(to, count * sizeof(T)).empty() || pointer % sizeof(T) != 0)
    return refuse("a fill outside of what is allocated");
  if (!isKnown(stream))
    return refuse("a fill on an unknown stream", kInvalidHandle);
  record("set " + fakegpu::name(to) + " to " + std::to_string(value) + " x " +
         std::to_string(count) + " of " + std::to_string(sizeof(T)) + " on " +
         fakegpu::name(stream));
  return enqueue(stream, [=] {
    return [=] {
      std::fill_n(to, count, value);
      return true;
    };
  });
}

/// The nodes in an order that their edges allow: those of the stream that began
/// the capture as early as can be, or as late. The runtime may do either.
static std::vector<const Graph::Node *> getOrder(const Graph &graph,
                                                 bool originFirst) {
  std::vector<const Graph::Node *> order;
  std::vector<bool> isDone(graph.nodes.size());
  auto isReady = [&](size_t i) {
    return !isDone[i] &&
           std::all_of(graph.nodes[i].after.begin(), graph.nodes[i].after.end(),
                       [&](size_t before) { return isDone[before]; });
  };
  while (order.size() < graph.nodes.size()) {
    size_t chosen = graph.nodes.size();
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!isReady(i))
        continue;
      bool isPreferred = (graph.nodes[i].stream == graph.origin) == originFirst;
      if (isPreferred || chosen == graph.nodes.size())
        chosen = i;
      if (isPreferred)
        break;
    }
    isDone[chosen] = true;
    order.push_back(&graph.nodes[chosen]);
  }
  return order;
}

extern "C" {

Result cuGetErrorString(Result result, const char **text) {
  switch (result) {
  case kInvalidValue:
    *text = "invalid argument";
    break;
  case cuda::kOutOfMemory:
    *text = "out of memory";
    break;
  case 100:
    *text = "no CUDA-capable device is detected";
    break;
  case kInvalidImage:
    *text = "device kernel image is invalid";
    break;
  default:
    *text = "an error of the fake GPU";
  }
  return cuda::kSuccess;
}

Result cuInit(unsigned) {
  ENTER()
  return get().contexts.empty() ? 100 : cuda::kSuccess;
}

Result cuDriverGetVersion(int *version) {
  *version = static_cast<int>(getNumber("TPRT_FAKE_DRIVER", 13000));
  return failsNow(__func__) ? kUnknown : cuda::kSuccess;
}

Result cuDeviceGetCount(int *count) {
  ENTER()
  *count = static_cast<int>(get().contexts.size());
  return cuda::kSuccess;
}

Result cuDeviceGet(cuda::Device *device, int ordinal) {
  ENTER()
  *device = ordinal;
  return static_cast<size_t>(ordinal) < get().contexts.size()
             ? cuda::kSuccess
             : refuse("no such device", 101);
}

Result cuDeviceGetName(char *name, int size, cuda::Device device) {
  ENTER()
  bool isOdd = device == getNumber("TPRT_FAKE_ODD", -1);
  std::snprintf(name, static_cast<size_t>(size), "%s GPU",
                isOdd ? "Odd" : "Fake");
  return cuda::kSuccess;
}

Result cuDeviceGetAttribute(int *value, int attribute, cuda::Device) {
  ENTER()
  long chip = getNumber("TPRT_FAKE_CHIP", 120);
  if (attribute == cuda::kCacheBytes) {
    *value = 4096;
    return cuda::kSuccess;
  }
  *value = static_cast<int>(attribute == cuda::kMajor ? chip / 10 : chip % 10);
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRetain(cuda::Context *context, cuda::Device device) {
  ENTER()
  *context = &get().contexts[static_cast<size_t>(device)];
  ++(*context)->retained;
  return cuda::kSuccess;
}

Result cuDevicePrimaryCtxRelease_v2(cuda::Device device) {
  Result result = failsNow(__func__) ? kUnknown : cuda::kSuccess;
  Guard guard(get().lock);
  int &retained = get().contexts[static_cast<size_t>(device)].retained;
  if (retained == 0)
    return refuse("releasing a context that was released", kInvalidContext);
  if (--retained > 0)
    return result;
  // What was not freed is a leak.
  for (const auto &[pointer, block] : get().blocks)
    if (!block.isHost && block.device == device)
      record("leak: " + fakegpu::name(pointer));
  return result;
}

Result cuCtxSetCurrent(cuda::Context context) {
  ENTER()
  if (context->retained == 0)
    return refuse("a context that was released", kInvalidContext);
  current = context;
  return cuda::kSuccess;
}

Result cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  ENTER_CONTEXT()
  *least = 0;
  *greatest = -5;
  return cuda::kSuccess;
}

/// The kernels of PTX, and how many parameters each has.
Result cuModuleLoadData(cuda::Module *module, const void *image) {
  ENTER_NO_CAPTURE()
  std::string text(static_cast<const char *>(image));
  if (text.find(".target") == std::string::npos)
    return kInvalidImage;
  auto made = std::make_unique<CUmod_st>();
  for (size_t at = 0; (at = text.find(".entry", at)) != std::string::npos;) {
    at += 6;
    size_t open = text.find('(', at), close = text.find(')', at);
    if (close == std::string::npos)
      return kInvalidImage;
    auto function = std::make_unique<CUfunc_st>();
    std::istringstream(text.substr(at, open - at)) >> function->name;
    function->parameters = 0;
    for (size_t p = open; (p = text.find(".param", p)) < close; ++p)
      ++function->parameters;
    if (get().kernels)
      function->kernel = get().kernels->find(function->name);
    get().functions.insert(function.get());
    made->functions[function->name] = std::move(function);
  }
  record("module of " + std::to_string(made->functions.size()) + " kernels");
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
  if (value > 227 << 10)
    return kInvalidValue;
  function->maxShared = value;
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
      threadsY != 1 || threadsZ != 1 ||
      shared > static_cast<unsigned>(function->maxShared))
    return refuse("a launch of '" + function->name + "' that no GPU does");
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
  return enqueue(stream, [=] {
    return [=] {
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
      absl::Status status =
          emulation::launch(kernel, operands.data(), scalars.data(), grid);
      if (!status.ok())
        refuse(std::string(status.message()));
      return true;
    };
  });
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER_CONTEXT()
  *total = static_cast<size_t>(getNumber("TPRT_FAKE_MEMORY", 1l << 40));
  *free = *total - get().used[current->device];
  return cuda::kSuccess;
}

Result cuMemAlloc_v2(cuda::Pointer *pointer, size_t bytes) {
  ENTER_NO_CAPTURE()
  return fakegpu::allocate(pointer, bytes);
}

} // extern "C"

Result fakegpu::allocate(cuda::Pointer *pointer, size_t bytes) {
  Guard guard(get().lock);
  if (!current || bytes == 0)
    return refuse("an allocation of nothing, or without a context");
  size_t &used = get().used[current->device];
  if (used + bytes >
      static_cast<size_t>(getNumber("TPRT_FAKE_MEMORY", 1l << 40)))
    return cuda::kOutOfMemory;
  constexpr size_t alignment = 512;
  auto *memory = static_cast<char *>(std::aligned_alloc(
      alignment, (bytes + alignment - 1) / alignment * alignment));
  if (!memory)
    return cuda::kOutOfMemory;
  used += bytes;
  // A NaN of every float: nobody may count on zeros.
  std::memset(memory, 0xff, bytes);
  int device = current->device;
  get().blocks[memory] = {device, makeNumber(device, "m"), bytes, false};
  *pointer = reinterpret_cast<uintptr_t>(memory);
  record("allocate " + fakegpu::name(memory) + " " + std::to_string(bytes));
  return cuda::kSuccess;
}

extern "C" {

Result cuMemFree_v2(cuda::Pointer pointer) {
  ENTER_END()
  auto *memory = reinterpret_cast<char *>(pointer);
  auto found = get().blocks.find(memory);
  if (found == get().blocks.end() || found->second.isHost)
    return refuse("freeing memory that is not there");
  // It waits for what uses the memory.
  for (CUstream_st *stream : get().streams)
    advance(stream);
  get().used[found->second.device] -= found->second.size;
  get().blocks.erase(found);
  std::free(memory);
  return result;
}

Result cuMemAllocHost_v2(void **pointer, size_t bytes) {
  ENTER_NO_CAPTURE()
  *pointer = std::malloc(bytes);
  get().blocks[static_cast<char *>(*pointer)] = {0, makeNumber(0, "host"),
                                                 bytes, true};
  return cuda::kSuccess;
}

Result cuMemFreeHost(void *pointer) {
  ENTER_CONTEXT()
  if (get().blocks.erase(static_cast<char *>(pointer)) == 0)
    return refuse("freeing host memory that is not there");
  std::free(pointer);
  return cuda::kSuccess;
}

Result cuMemcpyHtoDAsync_v2(cuda::Pointer to, const void *from, size_t bytes,
                            cuda::Stream stream) {
  ENTER_CONTEXT()
  return copyAsync(reinterpret_cast<void *>(to), from, bytes, stream);
}

Result cuMemcpyDtoHAsync_v2(void *to, cuda::Pointer from, size_t bytes,
                            cuda::Stream stream) {
  ENTER_CONTEXT()
  return copyAsync(to, reinterpret_cast<const void *>(from), bytes, stream);
}

Result cuMemcpyDtoDAsync_v2(cuda::Pointer to, cuda::Pointer from, size_t bytes,
                            cuda::Stream stream) {
  ENTER_CONTEXT()
  return copyAsync(reinterpret_cast<void *>(to),
                   reinterpret_cast<const void *>(from), bytes, stream);
}

Result cuMemsetD8Async(cuda::Pointer to, unsigned char value, size_t count,
                       cuda::Stream stream) {
  ENTER_CONTEXT()
  return setAsync<uint8_t>(to, value, count, stream);
}

Result cuMemsetD16Async(cuda::Pointer to, unsigned short value, size_t count,
                        cuda::Stream stream) {
  ENTER_CONTEXT()
  return setAsync<uint16_t>(to, value, count, stream);
}

Result cuMemsetD32Async(cuda::Pointer to, unsigned value, size_t count,
                        cuda::Stream stream) {
  ENTER_CONTEXT()
  return setAsync<uint32_t>(to, value, count, stream);
}

Result cuStreamCreateWithPriority(cuda::Stream *stream, unsigned,
                                  int priority) {
  ENTER_NO_CAPTURE()
  *stream = new CUstream_st{
      current->device, makeNumber(current->device, "s"), {}, false, nullptr};
  get().streams.insert(*stream);
  record("stream " + fakegpu::name(*stream) + " priority " +
         std::to_string(priority));
  return cuda::kSuccess;
}

Result cuStreamDestroy_v2(cuda::Stream stream) {
  ENTER_CONTEXT()
  if (get().streams.erase(stream) == 0)
    return refuse("destroying an unknown stream", kInvalidHandle);
  advance(stream);
  delete stream;
  return cuda::kSuccess;
}

Result cuStreamQuery(cuda::Stream stream) {
  ENTER_CONTEXT()
  if (!isKnown(stream))
    return refuse("asking an unknown stream", kInvalidHandle);
  if (stream->capture)
    return refuse("asking a stream that is captured", kUnsupportedInCapture);
  bool isDone = advance(stream);
  if (get().isBroken)
    return kUnknown;
  return isDone ? cuda::kSuccess : cuda::kNotReady;
}

Result cuEventCreate(cuda::Event *event, unsigned flags) {
  ENTER_CONTEXT()
  *event = new CUevent_st{};
  (*event)->device = current->device;
  (*event)->number = makeNumber(current->device, "e");
  (*event)->hasTime = flags == cuda::kEventDefault;
  get().events.insert(*event);
  return cuda::kSuccess;
}

Result cuEventDestroy_v2(cuda::Event event) {
  ENTER_CONTEXT()
  if (get().events.erase(event) == 0)
    return refuse("destroying an unknown event", kInvalidHandle);
  delete event;
  return cuda::kSuccess;
}

Result cuEventRecord(cuda::Event event, cuda::Stream stream) {
  ENTER_CONTEXT()
  if (get().events.count(event) == 0 || !isKnown(stream))
    return refuse("recording what is unknown", kInvalidHandle);
  record("record " + ::name(event) + " on " + fakegpu::name(stream));
  event->capture = stream->capture;
  event->stream = stream;
  event->covers = stream->captured;
  event->ends = stream->ends;
  if (stream->capture)
    return cuda::kSuccess;
  auto mark = std::make_shared<Mark>();
  mark->stream = stream;
  event->mark = mark;
  return enqueue(stream, [mark] {
    return [mark] {
      mark->isDone = true;
      mark->time = getMilliseconds();
      return true;
    };
  });
}

Result cuStreamWaitEvent(cuda::Stream stream, cuda::Event event, unsigned) {
  ENTER_CONTEXT()
  if (get().events.count(event) == 0 || !isKnown(stream))
    return refuse("waiting for what is unknown", kInvalidHandle);
  record("wait " + ::name(event) + " on " + fakegpu::name(stream));
  if (event->capture || stream->capture) {
    if (!event->capture)
      return refuse("a captured stream waits for an event that is not",
                    kCaptureIsolation);
    if (!stream->capture) {
      stream->capture = event->capture;
      stream->captured = stream->joined = 0;
      stream->ends.clear();
    }
    stream->ends.insert(stream->ends.end(), event->ends.begin(),
                        event->ends.end());
    if (stream == stream->capture->origin)
      event->stream->joined = event->covers;
    return cuda::kSuccess;
  }
  std::shared_ptr<Mark> mark = event->mark;
  if (!mark)
    return cuda::kSuccess; // never recorded: done
  return enqueue(stream, [mark] {
    return [mark] {
      if (!mark->isDone && isKnown(mark->stream))
        advance(mark->stream);
      return mark->isDone;
    };
  });
}

Result cuEventQuery(cuda::Event event) {
  ENTER_CONTEXT()
  if (get().events.count(event) == 0)
    return refuse("asking an unknown event", kInvalidHandle);
  if (event->capture)
    return refuse("asking an event that was captured", kUnsupportedInCapture);
  if (event->mark && !event->mark->isDone && isKnown(event->mark->stream))
    advance(event->mark->stream);
  return !event->mark || event->mark->isDone ? cuda::kSuccess : cuda::kNotReady;
}

Result cuEventElapsedTime(float *milliseconds, cuda::Event begin,
                          cuda::Event end) {
  ENTER_CONTEXT()
  for (CUevent_st *event : {begin, end})
    if (get().events.count(event) == 0 || !event->hasTime || !event->mark)
      return refuse("the time of an event that has none", kInvalidHandle);
  if (!begin->mark->isDone || !end->mark->isDone)
    return cuda::kNotReady;
  *milliseconds = static_cast<float>(end->mark->time - begin->mark->time);
  return cuda::kSuccess;
}

Result cuStreamBeginCapture_v2(cuda::Stream stream, int mode) {
  ENTER_NO_CAPTURE()
  if (!isKnown(stream) || stream->capture || mode != cuda::kCaptureThreadLocal)
    return refuse("a capture that cannot begin");
  ++captures;
  stream->capture = std::make_shared<Graph>();
  stream->capture->origin = stream;
  stream->captured = 0;
  stream->ends.clear();
  record("capture " + fakegpu::name(stream));
  return cuda::kSuccess;
}

/// A capture is over also if it has failed.
Result cuStreamEndCapture(cuda::Stream stream, cuda::Graph *graph) {
  bool fails = failsNow(__func__);
  Guard guard(get().lock);
  if (get().isBroken || !current)
    return kUnknown;
  if (!isKnown(stream) || !stream->capture || stream->capture->origin != stream)
    return refuse("the end of no capture", kCaptureInvalid);
  --captures;
  *graph = nullptr;
  std::shared_ptr<Graph> captured = stream->capture;
  --captured->holders;
  bool isJoined = true;
  for (CUstream_st *other : get().streams) {
    if (other->capture != captured)
      continue;
    other->capture = nullptr;
    if (other != stream && other->joined != other->captured)
      // Not misuse: what is given up may end like this.
      isJoined = false;
  }
  if (fails)
    return kUnknown;
  if (!isJoined) {
    std::fprintf(stderr, "fake GPU: a captured stream was not joined\n");
    return kUnjoined;
  }
  record("captured " + std::to_string(captured->nodes.size()) + " on " +
         fakegpu::name(stream));
  ++captured->holders;
  *graph = new CUgraph_st{captured};
  get().graphs.insert(*graph);
  return cuda::kSuccess;
}

Result cuGraphInstantiateWithFlags(cuda::GraphExec *executable,
                                   cuda::Graph graph,
                                   unsigned long long flags) {
  ENTER_NO_CAPTURE()
  if (get().graphs.count(graph) == 0)
    return refuse("an unknown graph", kInvalidHandle);
  if (flags != cuda::kUseNodePriority)
    return refuse("a graph that forgets the priorities of its streams");
  *executable = new CUgraphExec_st{graph->graph};
  ++graph->graph->holders;
  get().executables.insert(*executable);
  return cuda::kSuccess;
}

Result cuGraphLaunch(cuda::GraphExec executable, cuda::Stream stream) {
  ENTER_CONTEXT()
  if (get().executables.count(executable) == 0 || !isKnown(stream))
    return refuse("launching an unknown graph", kInvalidHandle);
  record("launch graph of " + std::to_string(executable->graph->nodes.size()) +
         " on " + fakegpu::name(stream));
  bool originFirst = executable->launches++ % 2 == 0;
  for (const Graph::Node *node : getOrder(*executable->graph, originFirst)) {
    ++*executable->inFlight;
    enqueue(stream, [node, inFlight = executable->inFlight] {
      return [execution = node->work(), inFlight]() mutable {
        if (!execution())
          return false;
        --*inFlight;
        return true;
      };
    });
  }
  return cuda::kSuccess;
}

Result cuGraphDestroy(cuda::Graph graph) {
  ENTER_END()
  if (get().graphs.erase(graph) == 0)
    return refuse("destroying an unknown graph", kInvalidHandle);
  --graph->graph->holders;
  delete graph;
  return result;
}

/// As seen on an H100 with driver 580, a graph in flight is not "freed
/// asynchronously on completion", as documented: the call waits for it.
Result cuGraphExecDestroy(cuda::GraphExec executable) {
  Result result = failsNow(__func__) ? kUnknown : cuda::kSuccess;
  {
    Guard guard(get().lock);
    if (get().isBroken || !current)
      return kUnknown;
    if (get().executables.count(executable) == 0)
      return refuse("destroying an unknown graph", kInvalidHandle);
  }
  bool isDone = blockUntil([&] { return *executable->inFlight == 0; });
  Guard guard(get().lock);
  if (!isDone)
    return refuse("destroying a graph that never ends");
  get().executables.erase(executable);
  --executable->graph->holders;
  delete executable;
  return result;
}

} // extern "C"

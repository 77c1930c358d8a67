// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// libcuda.so.1 on the fake GPU.

#include "FakeCalls.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sstream>

using namespace fakegpu;
namespace cuda = tprt::cuda;
using cuda::Result;

thread_local CUctx_st *fakegpu::current = nullptr;
thread_local int fakegpu::captures = 0;

/// Of what is allocated.
static constexpr size_t kAlignment = 256;

static int makeNumber(int device, const char *kind) {
  return get().numbers[kind + std::to_string(device)]++;
}

static std::string name(CUevent_st *event) {
  return "d" + std::to_string(event->device) + ".e" +
         std::to_string(event->number);
}

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
  case kNoBinary:
    *text = "no kernel image is available for execution on the device";
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
  // Aligned as is promised, and not better.
  constexpr size_t twice = 2 * kAlignment;
  void *whole = std::aligned_alloc(twice, (bytes + kAlignment + twice - 1) /
                                              twice * twice);
  if (!whole)
    return cuda::kOutOfMemory;
  char *memory = static_cast<char *>(whole) + kAlignment;
  used += bytes;
  // A NaN of every float: nobody may count on zeros. In the middle of large
  // memory it would take more time than all else.
  size_t ends = std::min<size_t>(bytes, 1 << 20);
  std::memset(memory, 0xff, ends);
  std::memset(memory + bytes - ends, 0xff, ends);
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
  std::free(memory - kAlignment);
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

} // extern "C"

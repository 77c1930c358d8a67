// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "FakeState.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <thread>

using namespace fakegpu;
using cuda::Result;

State::State() {
  for (long i = 0; i < getNumber("TPRT_FAKE_DEVICES", 1); ++i)
    contexts.push_back({static_cast<int>(i)});
  if (const char *path = std::getenv("TPRT_RECORD"))
    file = std::fopen(path, "w");
  if (const char *path = std::getenv("TPRT_EMULATED_KERNELS")) {
    auto library = emulation::KernelLibrary::open(path);
    if (library.ok())
      kernels = *std::move(library);
    else
      refuse(std::string(library.status().message()));
  }
}

State &fakegpu::get() {
  static State &state = *new State;
  return state;
}

std::recursive_mutex &fakegpu::getLock() { return get().lock; }

long fakegpu::getNumber(const char *variable, long otherwise) {
  const char *value = std::getenv(variable);
  return value ? std::atol(value) : otherwise;
}

void fakegpu::dieAt(const char *place) {
  const char *wanted = std::getenv("TPRT_FAKE_DEATH");
  if (wanted && std::strcmp(wanted, place) == 0)
    std::raise(SIGKILL);
}

bool fakegpu::failsNow(const char *symbol) {
  static std::string last;
  static int calls = 0;
  const char *wanted = std::getenv("TPRT_FAKE_FAIL");
  if (!wanted)
    return false;
  std::lock_guard<std::recursive_mutex> guard(get().lock);
  if (last != wanted) {
    last = wanted;
    calls = 0;
  }
  size_t length = std::min(last.find(':'), last.size());
  if (last.compare(0, length, symbol) != 0)
    return false;
  ++calls;
  if (length < last.size() && std::atoi(&last[length + 1]) != calls)
    return false;
  record("failing " + last);
  return true;
}

void fakegpu::record(const std::string &line) {
  if (FILE *file = get().file) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fflush(file);
  }
}

Result fakegpu::refuse(const std::string &what, Result result) {
  std::fprintf(stderr, "fake GPU: %s\n", what.c_str());
  record("misuse: " + what);
  get().isBroken = true;
  return result;
}

std::string fakegpu::name(const void *pointer, size_t bytes) {
  auto *at = static_cast<const char *>(pointer);
  auto found = get().blocks.upper_bound(at);
  if (found == get().blocks.begin())
    return "";
  --found;
  auto offset = static_cast<size_t>(at - found->first);
  if (offset + bytes > found->second.size)
    return "";
  std::ostringstream text;
  text << (found->second.isHost ? "host" : "d")
       << (found->second.isHost ? "" : std::to_string(found->second.device))
       << ".m" << found->second.number << "+" << offset;
  return text.str();
}

std::string fakegpu::name(CUstream_st *stream) {
  return "d" + std::to_string(stream->device) + ".s" +
         std::to_string(stream->number);
}

bool fakegpu::isKnown(CUstream_st *stream) {
  return get().streams.count(stream) > 0;
}

Result fakegpu::enqueue(CUstream_st *stream, Work work) {
  if (!isKnown(stream))
    return refuse("work for an unknown stream", kInvalidHandle);
  if (stream->capture) {
    std::vector<Graph::Node> &nodes = stream->capture->nodes;
    nodes.push_back({std::move(work), stream, std::move(stream->ends)});
    stream->ends = {nodes.size() - 1};
    ++stream->captured;
  } else {
    stream->queue.push_back(work());
  }
  return cuda::kSuccess;
}

/// Of the fake GPU. The time of this machine would make the tuning of matmuls
/// choose by chance.
static long now = 0;
static long worksDone = 0;

double fakegpu::getMilliseconds() { return now * 1e-3; }

void fakegpu::spend(long microseconds) { now += microseconds; }

long fakegpu::getSlowness(const std::string &kernel) {
  const char *slow = std::getenv("TPRT_FAKE_SLOW");
  std::istringstream list(slow ? slow : "");
  for (std::string item; std::getline(list, item, ',');) {
    size_t colon = item.find(':');
    if (colon != std::string::npos &&
        kernel.compare(0, colon, item, 0, colon) == 0)
      return std::atol(item.c_str() + colon + 1);
  }
  return 0;
}

bool fakegpu::blockUntil(const std::function<bool()> &isSo) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < end) {
    {
      std::lock_guard<std::recursive_mutex> guard(get().lock);
      for (CUstream_st *stream : get().streams)
        advance(stream);
      if (isSo())
        return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

bool fakegpu::advance(CUstream_st *stream) {
  if (stream->isAdvancing)
    return false;
  stream->isAdvancing = true;
  while (!stream->queue.empty() && stream->queue.front()()) {
    stream->queue.pop_front();
    spend(1);
    long busy = getNumber("TPRT_FAKE_BUSY", 0);
    if (busy > 0 && ++worksDone % busy == 0)
      spend(1000);
  }
  stream->isAdvancing = false;
  return stream->queue.empty();
}

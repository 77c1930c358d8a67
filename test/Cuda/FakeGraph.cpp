// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Captures and graphs of libcuda.so.1 on the fake GPU.

#include "FakeCalls.h"

#include <algorithm>

using namespace fakegpu;
using cuda::Result;

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

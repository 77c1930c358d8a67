// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Thread.h"

#include "runtime/Core/Errors.h"

#include <cstring>

using namespace tprt;

absl::StatusOr<Thread> Thread::start(std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  auto run = [](void *argument) -> void * {
    std::unique_ptr<std::function<void()>> own(
        static_cast<std::function<void()> *>(argument));
    (*own)();
    return nullptr;
  };
  std::unique_ptr<pthread_t, Join> thread(new pthread_t);
  if (int error = ::pthread_create(thread.get(), nullptr, run, owned.get())) {
    delete thread.release(); // the thread has not started
    return makeError(ErrorCode::LimitReached,
                     "cannot start a thread: ", std::strerror(error),
                     "; use fewer ranks or --threads=1, or raise the limits "
                     "(ulimit -u, ulimit -v)");
  }
  owned.release(); // now owned by the thread
  return Thread(std::move(thread));
}

void Thread::detach() && {
  std::unique_ptr<pthread_t> own(thread.release());
  pthread_detach(*own);
}

void Thread::Join::operator()(pthread_t *thread) const {
  ::pthread_join(*thread, nullptr);
  delete thread;
}

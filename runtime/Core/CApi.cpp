// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"
#include "tprt/tprt.h"

#include <new>

using namespace tprt;

static_assert(static_cast<uint32_t>(TPRT_F8E5M2) ==
              static_cast<uint32_t>(DType::F8E5M2));
static_assert(TPRT_F8E5M2 + 1 == kNumDTypes);

struct tprt_session {
  std::unique_ptr<Session> session; ///< None if opening failed.
  std::string error;

  /// Keeps the message and returns the number.
  tprt_status report(const absl::Status &status) {
    if (status.ok())
      return 0;
    error = std::string(status.message());
    return static_cast<tprt_status>(getErrorCode(status));
  }
};

static absl::Status refuse(absl::string_view what) {
  return makeError(ErrorCode::WrongState, what);
}

/// Runs body(Session &) if there is an open session.
template <typename Body>
static tprt_status call(tprt_session *handle, Body body) {
  if (!handle)
    return static_cast<tprt_status>(ErrorCode::WrongState);
  if (!handle->session)
    return handle->report(refuse("the session was not opened"));
  return handle->report(body(*handle->session));
}

static absl::StatusOr<SessionOptions> convert(const tprt_options *options) {
  SessionOptions result;
  if (!options)
    return result;
  if (options->size < sizeof(tprt_options))
    return refuse("tprt_options has no valid size: set it to sizeof");
  if (options->backend)
    result.backend = options->backend;
  if (options->transport)
    result.transport = options->transport;
  result.ranks = options->ranks;
  if (options->threads < 0)
    return refuse("tprt_options.threads is negative");
  result.threads = options->threads;
  if (options->tf32 != 0 && options->tf32 != 1)
    return refuse("tprt_options.tf32 is neither 0 nor 1");
  result.allowTF32 = options->tf32 == 1;
  if (options->timeout_s != 0)
    result.timeout = absl::Seconds(options->timeout_s);
  return result;
}

template <typename OpenArtifact>
static tprt_status open(OpenArtifact openArtifact, const tprt_options *options,
                        tprt_session **result) {
  if (!result)
    return static_cast<tprt_status>(ErrorCode::WrongState);
  *result = new (std::nothrow) tprt_session;
  if (!*result)
    return static_cast<tprt_status>(ErrorCode::OutOfMemory);
  auto tryOpen = [&]() -> absl::Status {
    TPRT_ASSIGN_OR_RETURN(SessionOptions converted, convert(options));
    TPRT_ASSIGN_OR_RETURN(std::shared_ptr<const Artifact> artifact,
                          openArtifact());
    TPRT_ASSIGN_OR_RETURN((*result)->session,
                          Session::open(converted, std::move(artifact)));
    return absl::OkStatus();
  };
  return (*result)->report(tryOpen());
}

tprt_status tprt_open(const char *path, const tprt_options *options,
                      tprt_session **session) {
  return open([&] { return Artifact::open(path ? path : ""); }, options,
              session);
}

tprt_status tprt_open_bytes(const void *bytes, size_t size,
                            const tprt_options *options,
                            tprt_session **session) {
  absl::string_view view(static_cast<const char *>(bytes), bytes ? size : 0);
  return open([&] { return Artifact::fromBytes(view); }, options, session);
}

tprt_status tprt_load(tprt_session *session, const char *path) {
  return call(session, [&](Session &s) -> absl::Status {
    TPRT_ASSIGN_OR_RETURN(std::unique_ptr<SafetensorsFolder> weights,
                          SafetensorsFolder::open(path ? path : ""));
    return s.loadWeights(*weights);
  });
}

/// Hands a C caller's tensor to one of the session's ways to bind.
template <typename Bind>
static absl::Status bindTensor(const char *name, const tprt_tensor *value,
                               Bind bind) {
  if (!name || !value || value->size < sizeof(tprt_tensor) || value->rank < 0 ||
      (value->rank > 0 && !value->shape) || (value->bytes > 0 && !value->data))
    return refuse("tprt_bind without a name or a complete tensor");
  if (static_cast<uint32_t>(value->dtype) >= kNumDTypes)
    return makeError(ErrorCode::InputMismatch, "element type ",
                     static_cast<int>(value->dtype), " is unknown");
  absl::Span<const int64_t> shape(value->shape,
                                  static_cast<size_t>(value->rank));
  absl::string_view bytes(static_cast<const char *>(value->data), value->bytes);
  return bind(static_cast<DType>(value->dtype), shape, bytes);
}

tprt_status tprt_bind(tprt_session *session, const char *name,
                      const tprt_tensor *value) {
  return call(session, [&](Session &s) {
    return bindTensor(name, value,
                      [&](auto... tensor) { return s.bind(name, tensor...); });
  });
}

tprt_status tprt_bind_local(tprt_session *session, const char *name,
                            const tprt_tensor *value) {
  return call(session, [&](Session &s) {
    return bindTensor(name, value, [&](auto... tensor) {
      return s.bindLocal(name, tensor...);
    });
  });
}

tprt_status tprt_agree(tprt_session *session, const char *name,
                       const char *value) {
  return call(session, [&](Session &s) -> absl::Status {
    if (!name || !value)
      return refuse("tprt_agree without a name or a value");
    s.agree(name, value);
    return absl::OkStatus();
  });
}

tprt_status tprt_bind_random(tprt_session *session, const char *name,
                             uint64_t seed) {
  return call(session,
              [&](Session &s) { return s.bindRandom(name ? name : "", seed); });
}

tprt_status tprt_reset(tprt_session *session) {
  return call(session, [](Session &s) { return s.resetState(); });
}

tprt_status tprt_run(tprt_session *session, const char *entry) {
  return call(session, [&](Session &s) { return s.start(entry ? entry : ""); });
}

tprt_status tprt_sync(tprt_session *session, double timeout_s) {
  return call(session, [&](Session &s) {
    return s.wait(timeout_s < 0 ? absl::InfiniteDuration()
                                : absl::Seconds(timeout_s));
  });
}

tprt_status tprt_abort(tprt_session *session, const char *why) {
  // Not through `call`: another thread may be inside one and owns the message.
  if (!session || !session->session)
    return static_cast<tprt_status>(ErrorCode::WrongState);
  session->session->abort(why ? why : "tprt_abort was called");
  return 0;
}

tprt_status tprt_read(tprt_session *session, const char *name, void *data,
                      size_t bytes) {
  return call(session, [&](Session &s) -> absl::Status {
    TPRT_ASSIGN_OR_RETURN(std::string whole, s.read(name ? name : ""));
    if (whole.size() != bytes || (bytes > 0 && !data))
      return makeError(ErrorCode::InputMismatch, "output '", name, "' has ",
                       whole.size(), " bytes, the buffer ", bytes);
    if (bytes > 0)
      std::memcpy(data, whole.data(), bytes);
    return absl::OkStatus();
  });
}

const char *tprt_error(const tprt_session *session) {
  return session ? session->error.c_str() : "no session";
}

int tprt_exit_code(tprt_status status) {
  if (status == 0)
    return 0;
  return getExitCode(makeError(static_cast<ErrorCode>(status)));
}

tprt_status tprt_close(tprt_session *session) {
  if (!session)
    return 0;
  absl::Status status;
  if (session->session)
    status = session->session->close();
  delete session;
  return static_cast<tprt_status>(getErrorCode(status));
}

// Part of the tp-opt project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "runtime/Core/Errors.h"
#include "runtime/Core/Session.h"
#include "tprt/tprt.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

using namespace tprt;

// Element types have the same numbers in C; a type that the C header lacks does
// not compile.
static absl::StatusOr<DType> convert(tprt_dtype type) {
  switch (type) {
#define TPRT_DTYPE(enumerator, number, bytes, mlir, safetensors, c)            \
  static_assert(static_cast<uint32_t>(c) == number);                           \
  case c:                                                                      \
    return DType::enumerator;
#include "runtime/Core/ArtifactEnums.def"
  }
  return makeError(ErrorCode::InputMismatch, "element type ", type,
                   " is unknown");
}

struct tprt_session {
  std::unique_ptr<Session> session; ///< Null if opening failed.
  std::string error;

  /// Keeps the error's message and returns its code.
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

/// Copies a struct of the caller's, whose first member gives its size. A
/// shorter struct is from an older version: the members it lacks are zero, the
/// default. A longer struct is from a newer version: the members that this
/// runtime does not know must be zero. `least` is the size of the first
/// version.
template <typename Struct>
static absl::StatusOr<Struct> copySized(const Struct &given, size_t least,
                                        absl::string_view name) {
  // Such a large size means that the caller has not set the member.
  constexpr size_t most = 4096;
  if (given.size < least || given.size > most)
    return makeError(ErrorCode::WrongState, name, ".size is ", given.size,
                     ": set it to sizeof(", name, ")");
  const char *bytes = reinterpret_cast<const char *>(&given);
  for (size_t i = sizeof(Struct); i < given.size; ++i)
    if (bytes[i] != 0)
      return makeError(ErrorCode::WrongState, name, " has ", given.size,
                       " bytes, and fields after the first ", sizeof(Struct),
                       " bytes are set, but this runtime is too old to support "
                       "them: set them to 0, or use a newer runtime");
  Struct result = {};
  std::memcpy(&result, bytes, std::min(given.size, sizeof(Struct)));
  return result;
}

static absl::StatusOr<SessionOptions> convert(const tprt_options *given) {
  SessionOptions result;
  if (!given)
    return result;
  TPRT_ASSIGN_OR_RETURN(
      tprt_options own,
      copySized(*given, offsetof(tprt_options, threads), "tprt_options"));
  const tprt_options *options = &own;
  if (options->backend)
    result.backend = options->backend;
  if (options->transport)
    result.transport = options->transport;
  result.ranks = options->ranks;
  if (options->threads < 0)
    return refuse("tprt_options.threads must not be negative");
  result.threads = options->threads;
  if (options->tf32 != 0 && options->tf32 != 1)
    return refuse("tprt_options.tf32 must be 0 or 1");
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

/// Passes a C caller's tensor to one of the session's bind functions.
template <typename Bind>
static absl::Status bindTensor(const char *name, const tprt_tensor *value,
                               Bind bind) {
  if (!name || !value)
    return refuse("tprt_bind expects a name and a tensor, got a null pointer");
  constexpr size_t least =
      offsetof(tprt_tensor, bytes) + sizeof(tprt_tensor::bytes);
  TPRT_ASSIGN_OR_RETURN(tprt_tensor tensor,
                        copySized(*value, least, "tprt_tensor"));
  if (tensor.rank < 0 || (tensor.rank > 0 && !tensor.shape) ||
      (tensor.bytes > 0 && !tensor.data))
    return refuse("tprt_bind expects a tensor with a shape and data, got a "
                  "null pointer or a negative rank");
  TPRT_ASSIGN_OR_RETURN(DType dtype, convert(tensor.dtype));
  absl::Span<const int64_t> shape(tensor.shape,
                                  static_cast<size_t>(tensor.rank));
  absl::string_view bytes(static_cast<const char *>(tensor.data), tensor.bytes);
  return bind(dtype, shape, bytes);
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
      return refuse(
          "tprt_agree expects a name and a value, got a null pointer");
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
  // Does not use `call`, which sets the session's error message: another thread
  // may be inside `call`, and only that thread may set the message.
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
                       whole.size(), " bytes, but the buffer has ", bytes);
    if (bytes > 0)
      std::memcpy(data, whole.data(), bytes);
    return absl::OkStatus();
  });
}

const char *tprt_error(const tprt_session *session) {
  return session ? session->error.c_str() : "the session is a null pointer";
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

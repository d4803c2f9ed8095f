// One HTTP request at a time, for APIs and receivers of alerts and spans.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "src/base/result.h"
#include "src/http/message.h"
#include "src/http/tls_context.h"

namespace jobscope {

struct HttpCall {
  std::string method = "GET";
  std::string url;          // http:// or https://
  std::string unix_socket;  // connect to this file instead of the URL's host; "": do not
  HttpHeaders headers;      // Host, Content-Length and Connection are the client's
  std::string body;
  std::chrono::milliseconds timeout{10000};  // of all: name, connection, TLS, request, reply
  // Asked some times a second, once there is a connection to wait for: true ends it.
  std::function<bool()> give_up;
  size_t reply_bytes = 4 << 20;  // more is an error
  // For https: from make_client_tls(), which reads files; keep it for many calls. Null: made for
  // this call, with the system's authorities.
  TlsContext tls;
};

struct HttpReply {
  int status = 0;
  HttpHeaders headers;
  std::string body;

  std::string header(std::string_view name) const { return find_header(headers, name); }
};

// Blocks until the whole reply is there, at most `timeout`. Any status is a reply, redirects too;
// an error is when there is none: code is ETIMEDOUT if time ran out. From any thread.
//
// A name that the resolver does not answer for in time leaves a thread behind until it does.
Result<HttpReply> http_send(const HttpCall& call);

}  // namespace jobscope

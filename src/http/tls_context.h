// What OpenSSL needs to know for TLS, from files or texts in PEM.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "src/base/result.h"

struct ssl_ctx_st;

namespace jobscope {

// May be shared by threads. Keeps what its callbacks need.
using TlsContext = std::shared_ptr<ssl_ctx_st>;

enum class ClientAuth { none, request, require_any, verify_if_given, require_and_verify };

// All PEM texts, not names of files.
struct TlsServerSettings {
  std::string certificate, key;  // the chain, the server's own first
  std::string client_ca;
  ClientAuth client_auth = ClientAuth::none;
  std::vector<std::string> allowed_sans;  // of a client's certificate: one of them must be there
  std::string ciphers;                    // OpenSSL's list, for TLS up to 1.2; "": its default
  std::string curves;                     // OpenSSL's list; "": its default
  bool prefer_server_ciphers = true;
  int min_version = 0, max_version = 0;  // OpenSSL's numbers
};
Result<TlsContext> make_server_tls(const TlsServerSettings& settings);

struct TlsClientSettings {
  std::string ca_file;                     // "": the system's authorities
  std::string certificate_file, key_file;  // of the client; "": none
};
// Verifies the other side, always.
Result<TlsContext> make_client_tls(const TlsClientSettings& settings);

// "TLS12" and so on, as OpenSSL's number. 0 if it is none.
int tls_version(const std::string& name);
// OpenSSL's name of a cipher suite by the name that IANA and Go have for it; "" if there is none.
std::string cipher_name(const std::string& standard_name);
// OpenSSL's name of a curve by Go's: "CurveP256"; "" if there is none.
std::string curve_name(const std::string& go_name);

}  // namespace jobscope

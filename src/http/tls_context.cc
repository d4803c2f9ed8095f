#include "src/http/tls_context.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>

namespace jobscope {
namespace {

template <class T, void (*free)(T*)>
struct Freed {
  void operator()(T* object) const { free(object); }
};
using Bio = std::unique_ptr<BIO, Freed<BIO, BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;

// What OpenSSL says went wrong, the first of its reasons; its queue is empty then.
tl::unexpected<Error> tls_error(const std::string& what, const std::string& hint = {}) {
  const unsigned long code = ERR_get_error();
  const char* reason = code ? ERR_reason_error_string(code) : nullptr;
  ERR_clear_error();
  return fail(what + ": " + (reason ? reason : "not valid"), hint);
}

Bio reader(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// A key with a password would ask at the terminal, if this were not here.
int no_password(char*, int, int, void*) { return 0; }

std::vector<Certificate> read_certificates(const std::string& pem) {
  std::vector<Certificate> found;
  const Bio bio = reader(pem);
  while (Certificate one{PEM_read_bio_X509(bio.get(), nullptr, no_password, nullptr)})
    found.push_back(std::move(one));
  if (!found.empty()) ERR_clear_error();  // "no start line" is how the last one ends
  return found;
}

std::string name_of(const GENERAL_NAME* name) {
  const auto text = [](const ASN1_STRING* value) {
    return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                       static_cast<size_t>(ASN1_STRING_length(value)));
  };
  switch (name->type) {
    case GEN_DNS: return text(name->d.dNSName);
    case GEN_EMAIL: return text(name->d.rfc822Name);
    case GEN_URI: return text(name->d.uniformResourceIdentifier);
    case GEN_IPADD: {
      const std::string bytes = text(name->d.iPAddress);
      char out[INET6_ADDRSTRLEN];
      const int family = bytes.size() == 4 ? AF_INET : AF_INET6;
      if (bytes.size() != 4 && bytes.size() != 16) return "";
      return ::inet_ntop(family, bytes.data(), out, sizeof(out)) ? out : "";
    }
    default: return "";
  }
}

struct ClientPolicy {
  bool verify = false;
  std::vector<std::string> allowed_sans;

  bool allows(X509* certificate) const {
    if (allowed_sans.empty()) return true;
    const std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES, GENERAL_NAMES_free>> names(
        static_cast<GENERAL_NAMES*>(
            X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
      const std::string name = name_of(sk_GENERAL_NAME_value(names.get(), i));
      if (!name.empty() &&
          std::find(allowed_sans.begin(), allowed_sans.end(), name) != allowed_sans.end())
        return true;
    }
    return false;
  }
};

// Called by OpenSSL for a client's certificate.
int judge(X509_STORE_CTX* store, void* data) {
  const auto* policy = static_cast<const ClientPolicy*>(data);
  if (policy->verify && X509_verify_cert(store) != 1) return 0;
  if (policy->allows(X509_STORE_CTX_get0_cert(store))) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

// The context, and what must live as long.
struct Holder {
  std::unique_ptr<SSL_CTX, Freed<SSL_CTX, SSL_CTX_free>> context;
  ClientPolicy policy;
};

std::shared_ptr<Holder> make_holder(const SSL_METHOD* method) {
  auto holder = std::make_shared<Holder>();
  holder->context.reset(SSL_CTX_new(method));
  if (holder->context) {
    SSL_CTX_set_options(holder->context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(holder->context.get(), SSL_MODE_RELEASE_BUFFERS);
  }
  return holder;
}

Result<> use_certificate(SSL_CTX* context, const TlsServerSettings& settings) {
  const auto chain = read_certificates(settings.certificate);
  if (chain.empty()) return tls_error("the server's certificate is not readable");
  if (SSL_CTX_use_certificate(context, chain[0].get()) != 1)
    return tls_error("the server's certificate is refused");
  for (size_t i = 1; i < chain.size(); ++i)
    if (SSL_CTX_add1_chain_cert(context, chain[i].get()) != 1)
      return tls_error("the server's certificate chain is refused");
  const Bio bio = reader(settings.key);
  const Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr));
  if (!key)
    return tls_error("the server's key is not readable", "it must be PEM, without a password");
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1)
    return tls_error("the server's key is not that of its certificate");
  return {};
}

Result<> use_client_policy(Holder& holder, const TlsServerSettings& settings) {
  SSL_CTX* context = holder.context.get();
  if (settings.client_auth == ClientAuth::none) return {};
  holder.policy.verify = settings.client_auth == ClientAuth::verify_if_given ||
                         settings.client_auth == ClientAuth::require_and_verify;
  holder.policy.allowed_sans = settings.allowed_sans;
  if (!settings.client_ca.empty()) {
    const auto authorities = read_certificates(settings.client_ca);
    if (authorities.empty()) return tls_error("the certificates of client_ca are not readable");
    for (const Certificate& one : authorities) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get());
      SSL_CTX_add_client_CA(context, one.get());
    }
  } else if (holder.policy.verify && SSL_CTX_set_default_verify_paths(context) != 1) {
    return tls_error("the system's certificate authorities are not readable");
  }
  int mode = SSL_VERIFY_PEER;
  if (settings.client_auth == ClientAuth::require_any ||
      settings.client_auth == ClientAuth::require_and_verify)
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context, mode, nullptr);
  SSL_CTX_set_cert_verify_callback(context, judge, &holder.policy);
  return {};
}

}  // namespace

Result<TlsContext> make_server_tls(const TlsServerSettings& settings) {
  ERR_clear_error();
  const auto holder = make_holder(TLS_server_method());
  SSL_CTX* context = holder->context.get();
  if (!context) return tls_error("TLS");
  // Each connection is judged anew: what was good for an old session may be revoked.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(context, 0);
  if (settings.prefer_server_ciphers) SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Old versions need hashes that today's security levels refuse; who asks for them means it.
  if (settings.min_version && settings.min_version < TLS1_2_VERSION)
    SSL_CTX_set_security_level(context, 0);
  if (SSL_CTX_set_min_proto_version(context, settings.min_version) != 1 ||
      SSL_CTX_set_max_proto_version(context, settings.max_version) != 1)
    return tls_error("min_version or max_version of TLS");
  if (!settings.ciphers.empty() && SSL_CTX_set_cipher_list(context, settings.ciphers.c_str()) != 1)
    return tls_error("cipher_suites");
  if (!settings.curves.empty() && SSL_CTX_set1_groups_list(context, settings.curves.c_str()) != 1)
    return tls_error("curve_preferences");
  TRY(use_certificate(context, settings));
  TRY(use_client_policy(*holder, settings));
  return TlsContext(holder, context);
}

Result<TlsContext> make_client_tls(const TlsClientSettings& settings) {
  ERR_clear_error();
  const auto holder = make_holder(TLS_client_method());
  SSL_CTX* context = holder->context.get();
  if (!context) return tls_error("TLS");
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_default_passwd_cb(context, no_password);
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  if (settings.ca_file.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1)
      return tls_error("the system's certificate authorities are not readable");
  } else if (SSL_CTX_load_verify_file(context, settings.ca_file.c_str()) != 1) {
    return tls_error("certificate authorities in " + settings.ca_file);
  }
  if (settings.certificate_file.empty()) return TlsContext(holder, context);
  if (SSL_CTX_use_certificate_chain_file(context, settings.certificate_file.c_str()) != 1)
    return tls_error("client certificate " + settings.certificate_file);
  const std::string& key =
      settings.key_file.empty() ? settings.certificate_file : settings.key_file;
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1)
    return tls_error("client key " + key, "it must be PEM, without a password");
  return TlsContext(holder, context);
}

int tls_version(const std::string& name) {
  if (name == "TLS10") return TLS1_VERSION;
  if (name == "TLS11") return TLS1_1_VERSION;
  if (name == "TLS12") return TLS1_2_VERSION;
  if (name == "TLS13") return TLS1_3_VERSION;
  return 0;
}

std::string cipher_name(const std::string& standard_name) {
  const std::string name = OPENSSL_cipher_name(standard_name.c_str());
  return name == "(NONE)" ? "" : name;
}

std::string curve_name(const std::string& go_name) {
  if (go_name == "CurveP256") return "P-256";
  if (go_name == "CurveP384") return "P-384";
  if (go_name == "CurveP521") return "P-521";
  if (go_name == "X25519") return "X25519";
  return "";
}

}  // namespace jobscope

// Keys and certificates, made while a test runs.
#pragma once

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace jobscope {

// A folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    path_ = ::testing::TempDir() + "/jobscope-test-XXXXXX";
    if (!::mkdtemp(path_.data())) ADD_FAILURE() << "no folder for the test";
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  // Whole or not at all, as a careful program writes it.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path("new")) << text;
    std::filesystem::rename(path("new"), path(name));
    return path(name);
  }

 private:
  std::string path_;
};

struct TestCertificate {
  std::string certificate, key;  // PEM
};

// One authority and what it signs. `sans` as OpenSSL has them: "DNS:a,IP:127.0.0.1".
class TestAuthority {
 public:
  TestAuthority() : key_(EVP_EC_gen("P-256")) {
    certificate_ = make("authority", key_, "", nullptr);
  }
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;
  ~TestAuthority() {
    X509_free(certificate_);
    EVP_PKEY_free(key_);
  }

  std::string pem() const { return pem_of(certificate_); }

  TestCertificate issue(const std::string& name, const std::string& sans) const {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = make(name, key, sans, certificate_);
    TestCertificate made{pem_of(certificate), ""};
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
    made.key = text_of(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
    return made;
  }

 private:
  static std::string text_of(BIO* bio) {
    char* data = nullptr;
    const long bytes = BIO_get_mem_data(bio, &data);
    std::string text(data, static_cast<size_t>(bytes));
    BIO_free(bio);
    return text;
  }
  static std::string pem_of(X509* certificate) {
    BIO* out = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(out, certificate);
    return text_of(out);
  }

  X509* make(const std::string& name, EVP_PKEY* key, const std::string& sans, X509* issuer) const {
    static long serial = 1;
    X509* made = X509_new();
    X509_set_version(made, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(made), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made), -86400);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer ? issuer : made));
    X509_set_pubkey(made, key);
    add(made, NID_basic_constraints, issuer ? "CA:FALSE" : "critical,CA:TRUE");
    if (!sans.empty()) add(made, NID_subject_alt_name, sans);
    X509_sign(made, key_, EVP_sha256());
    return made;
  }
  static void add(X509* to, int kind, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(to, extension, -1);
    X509_EXTENSION_free(extension);
  }

  EVP_PKEY* key_;
  X509* certificate_ = nullptr;
};

}  // namespace jobscope

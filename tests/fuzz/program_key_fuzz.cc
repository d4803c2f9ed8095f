// A map's key under every decoder. The first byte chooses the chain, the rest is the key.
#include <array>
#include <string>

#include "src/programs/series.h"
#include "src/programs/sources_for_test.h"
#include "tests/fuzz/target.h"

namespace {

using jobscope::DecoderConfig;

std::vector<DecoderConfig> chain_of(unsigned number) {
  constexpr std::array kFirst = {"uint",  "int",  "string", "hex",    "inet_ip",    "ifname",
                                 "dname", "ksym", "kstack", "regexp", "majorminor", "static_map",
                                 "uint",  "uint", "uint",   "uint",   "uint",       "pci_vendor"};
  constexpr std::array kSecond = {"",      "",        "regexp", "",          "",           "",
                                  "",      "",        "",       "",          "",           "",
                                  "errno", "syscall", "cgroup", "pci_class", "pci_device", ""};
  number %= kFirst.size();
  std::vector<DecoderConfig> chain(1);
  chain[0].name = kFirst[number];
  if (*kSecond[number]) {
    chain.emplace_back();
    chain[1].name = kSecond[number];
  }
  for (DecoderConfig& decoder : chain) decoder.regexps = {"^[a-z]+$", "(.)x*"};
  return chain;
}

}  // namespace

FUZZ_TARGET(program_key) {
  if (bytes.empty()) return;
  static const jobscope::SourcesForTest sources;
  const std::string_view key = bytes.substr(1);
  jobscope::CounterConfig config;
  config.name = "fuzz";
  config.labels.resize(1);
  config.labels[0].name = "l";
  config.labels[0].size = static_cast<uint32_t>(key.size());
  config.labels[0].decoders = chain_of(static_cast<unsigned char>(bytes[0]));
  auto series = jobscope::Series::of_counter(config, {static_cast<uint32_t>(key.size())}, sources);
  if (!series) return;
  series->begin(0);
  const uint64_t one = 1;
  (void)series->add(key, {&one, 1});
  (void)series->family();
}

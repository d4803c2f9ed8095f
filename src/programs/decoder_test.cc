#include "src/programs/decoder.h"

#include <gmock/gmock.h>

#include "src/programs/sources_for_test.h"

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

class FakeSources : public SourcesForTest {
 public:
  std::string interface_name(uint32_t index) const override { return index == 2 ? "eth0" : ""; }
  std::string block_device(uint32_t major, uint32_t minor) const override {
    return major == 254 && minor == 259 ? "vda3" : "";
  }
  std::string kernel_symbol(uint64_t address) const override {
    return address == 0xffff1000 ? "vfs_read" : "";
  }
  std::string cgroup_path(uint64_t id) const override { return id == 23 ? "/a/b" : ""; }
  std::string pci_name(std::string_view level, uint32_t id) const override {
    return level == "vendor" && id == 0x10de ? "NVIDIA Corporation" : "";
  }
};
const FakeSources kSources;

// The bytes of an integer.
template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(value)};
}

// What a chain of decoders makes of bytes; "(skip)" and "error: …" for the other ends.
std::string decoded(std::vector<DecoderConfig> chain, const std::string& bytes) {
  std::vector<LabelConfig> labels(1);
  labels[0].name = "l";
  labels[0].size = static_cast<uint32_t>(bytes.size());
  labels[0].decoders = std::move(chain);
  const auto decoder = KeyDecoder::make(labels, static_cast<uint32_t>(bytes.size()), kSources);
  if (!decoder) return "error: " + decoder.error().what;
  const auto values = decoder->decode(bytes);
  if (!values) return "error: " + values.error().what;
  return *values ? (*values)->at(0) : "(skip)";
}

std::string decoded(const std::string& name, const std::string& bytes) {
  return decoded({{name, {}, false, {}, false}}, bytes);
}

DecoderConfig regexps(std::vector<std::string> patterns) {
  return {"regexp", {}, false, std::move(patterns), false};
}

DecoderConfig map_of(std::map<std::string, std::string> map, bool allow_unknown = false) {
  return {"static_map", std::move(map), true, {}, allow_unknown};
}

TEST(Decoder, uint_of_every_width) {
  EXPECT_EQ(decoded("uint", raw<uint8_t>(200)), "200");
  EXPECT_EQ(decoded("uint", raw<uint16_t>(65535)), "65535");
  EXPECT_EQ(decoded("uint", raw<uint32_t>(4294967295)), "4294967295");
  EXPECT_EQ(decoded("uint", raw<uint64_t>(~0ull)), "18446744073709551615");
  EXPECT_THAT(decoded("uint", "abc"), HasSubstr("an integer of 3 bytes"));
}

TEST(Decoder, string_ends_at_its_first_nul) {
  EXPECT_EQ(decoded("string", "read\0\0x"s), "read");
  EXPECT_EQ(decoded("string", "full"), "full");
  EXPECT_EQ(decoded("string", "\0"s), "");
}

TEST(Decoder, hex) { EXPECT_EQ(decoded("hex", "\x00\xAB\x7f"s), "00ab7f"); }

TEST(Decoder, static_map) {
  const std::string one = raw<uint8_t>(1), two = raw<uint8_t>(2);
  const DecoderConfig uint{"uint", {}, false, {}, false};
  EXPECT_EQ(decoded({uint, map_of({{"1", "write"}})}, one), "write");
  EXPECT_EQ(decoded({uint, map_of({{"1", "write"}})}, two), "unknown:2");
  EXPECT_EQ(decoded({uint, map_of({{"1", "write"}}, true)}, two), "2");
  EXPECT_EQ(decoded("static_map", one), "empty mapping");
}

TEST(Decoder, regexp) {
  EXPECT_EQ(decoded({regexps({"^x", "^pt_(.*)"})}, "pt_main"), "main");
  EXPECT_EQ(decoded({regexps({"m.i"})}, "pt_main"), "mai");
  EXPECT_EQ(decoded({regexps({"(p)(t)", "main"})}, "pt_main"), "main");
  EXPECT_EQ(decoded({regexps({"^main"})}, "pt_main"), "(skip)");
  EXPECT_EQ(decoded({regexps({})}, "pt_main"), "(skip)");
  EXPECT_THAT(decoded({regexps({"("})}, "x"), HasSubstr("error: label 'l': the pattern '('"));
}

TEST(Decoder, inet_ip) {
  EXPECT_EQ(decoded("inet_ip", "\x7f\0\0\x01"s), "127.0.0.1");
  EXPECT_EQ(decoded("inet_ip", std::string(15, '\0') + '\1'), "::1");
  EXPECT_EQ(decoded("inet_ip", std::string(10, '\0') + "\xff\xff\x0a\x00\x00\x17"s), "10.0.0.23");
  EXPECT_THAT(decoded("inet_ip", "abc"), HasSubstr("an address of 3 bytes"));
}

TEST(Decoder, names_of_the_machine) {
  EXPECT_EQ(decoded("ifname", raw<uint32_t>(2)), "eth0");
  EXPECT_EQ(decoded("ifname", raw<uint32_t>(7)), "unknown:7");
  EXPECT_EQ(decoded("majorminor", raw<uint32_t>(3 | 254 << 8 | 1 << 20)), "vda3");
  EXPECT_EQ(decoded("majorminor", raw<uint32_t>(8 << 8 | 1)), "unknown:8:1");
  EXPECT_EQ(decoded("ksym", raw<uint64_t>(0xffff1000)), "vfs_read");
  EXPECT_EQ(decoded("kstack", raw<uint64_t>(0xffff1000) + raw<uint64_t>(5) + raw<uint64_t>(0) +
                                  raw<uint64_t>(0xffff1000)),
            "vfs_read\n??");
  EXPECT_THAT(decoded("kstack", "abc"), HasSubstr("no multiple of 8"));
}

TEST(Decoder, of_what_uint_wrote) {
  const DecoderConfig uint{"uint", {}, false, {}, false};
  const auto after_uint = [&](const char* name, uint64_t value) {
    return decoded({uint, {name, {}, false, {}, false}}, raw(value));
  };
  EXPECT_EQ(after_uint("cgroup", 23), "/a/b");
  EXPECT_EQ(after_uint("cgroup", 5), "unknown_cgroup_id:5");
  EXPECT_EQ(after_uint("errno", 32), "EPIPE");
  EXPECT_EQ(after_uint("errno", 4000), "unknown:4000");
  EXPECT_EQ(after_uint("syscall", 0xffffffffffull), "unknown_syscall:1099511627775");
  EXPECT_EQ(after_uint("pci_vendor", 0x10de), "NVIDIA Corporation");
  EXPECT_EQ(after_uint("pci_class", 0x99), "unknown pci class: 0x99");
  EXPECT_EQ(decoded("pci_vendor", raw<uint16_t>(0x10de)), "NVIDIA Corporation");
  EXPECT_THAT(decoded("errno", "\x20\0\0\0"s), HasSubstr("put 'uint' before it"));
#if defined(__x86_64__)
  EXPECT_EQ(after_uint("syscall", 0), "read");
#endif
}

TEST(Decoder, dname) {
  EXPECT_EQ(decoded("dname", "\3www\7example\3com"s), "www.example.com");
  EXPECT_EQ(decoded("dname", "\3www\0"s), "www.");
  EXPECT_EQ(decoded("dname", ""s), ".");
  EXPECT_EQ(decoded("dname", "\7cut"s), "\7cut");
  EXPECT_EQ(decoded("dname", "\xc0\x0c"s), "\xc0\x0c");
}

TEST(Decoder, unknown_names_are_told) {
  EXPECT_EQ(decoded("uin", "x"), "error: label 'l': there is no decoder 'uin'");
}

TEST(Decoder, int_has_a_sign) {
  EXPECT_EQ(decoded({DecoderConfig{"int", {}, false, {}, false}}, "\xff"), "-1");
  EXPECT_EQ(decoded({DecoderConfig{"int", {}, false, {}, false}}, raw<int32_t>(-70'000)), "-70000");
  EXPECT_EQ(decoded({DecoderConfig{"int", {}, false, {}, false}}, raw<int64_t>(7)), "7");
}

LabelConfig label(const std::string& name, uint32_t offset, uint32_t size,
                  const std::string& decoder) {
  LabelConfig label;
  label.name = name;
  label.offset = offset;
  label.size = size;
  if (!decoder.empty()) label.decoders = {{decoder, {}, false, {}, false}};
  return label;
}

TEST(KeyDecoder, cuts_the_key_where_its_labels_lie) {
  const auto decoder = KeyDecoder::make(
      {label("op", 0, 1, "uint"), label("name", 4, 8, "string"), label("cpu", 12, 2, "uint")}, 14,
      kSources);
  ASSERT_TRUE(decoder);
  EXPECT_TRUE(decoder->lasting());
  const auto values = decoder->decode("\1\xff\xff\xff" + "python\0\0"s + raw<uint16_t>(7));
  ASSERT_TRUE(values && *values);
  EXPECT_THAT(**values, ElementsAre("1", "python", "7"));
  EXPECT_EQ(decoder->decode("short").error().what, "the map's key has 5 bytes, the labels 14");
  EXPECT_EQ(KeyDecoder::make({label("op", 2, 4, "uint")}, 4, kSources).error().what,
            "label 'op' ends at byte 6 of a key of 4");
}

TEST(KeyDecoder, adds_the_labels_of_the_job) {
  LabelConfig pid = label("pid", 0, 4, "uint");
  pid.job = JobKey::process;
  const auto both = KeyDecoder::make({pid}, 4, kSources);
  ASSERT_TRUE(both);
  EXPECT_FALSE(both->lasting());
  EXPECT_THAT(both->names(), ElementsAre("job", "user", "role", "index", "instance", "pid"));
  EXPECT_THAT(**both->decode(raw<uint32_t>(23)), ElementsAre("lenet", "ann", "", "", "", "23"));
  EXPECT_THAT(**both->decode(raw<uint32_t>(1)), ElementsAre("", "", "", "", "", "1"));
  LabelConfig job = label("job", 0, 4, "uint");
  job.job = JobKey::process;
  EXPECT_EQ(KeyDecoder::make({job}, 4, kSources).error().what, "there are two labels 'job'");
}

// Names of members come from the object, which may say anything.
TEST(KeyDecoder, a_name_that_is_none_is_refused) {
  const SourcesForTest sources;
  for (const char* name : {"9a", "a b", "a\"} 1\n", "__a", ""}) {
    LabelConfig label;
    label.name = name;
    label.size = 4;
    label.decoders.resize(1);
    label.decoders[0].name = "uint";
    EXPECT_FALSE(KeyDecoder::make({label}, 4, sources)) << name;
  }
}

}  // namespace
}  // namespace jobscope

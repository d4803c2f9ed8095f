#include "src/programs/key_layout.h"

#include <gmock/gmock.h>
#include <bpf/btf.h>

#include <memory>

namespace jobscope {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// struct key { u32 pid; char comm[16]; u8 raw[4]; enum op op; s64 delta; char pad[4]; struct { u16
// port; } peer; u8 __unused; };
class KeyLayoutTest : public ::testing::Test {
 protected:
  KeyLayoutTest() : types_(btf__new_empty(), btf__free) {
    btf* b = types_.get();
    const int u32 = btf__add_int(b, "unsigned int", 4, 0);
    const int s64 = btf__add_int(b, "long", 8, BTF_INT_SIGNED);
    const int text = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
    const int byte = btf__add_int(b, "unsigned char", 1, 0);
    const int u16 = btf__add_int(b, "unsigned short", 2, 0);
    const int u8 = btf__add_typedef(b, "u8", byte);
    const int comm = btf__add_array(b, u32, text, 16);
    const int raw = btf__add_array(b, u32, u8, 4);
    const int pad = btf__add_array(b, u32, text, 4);
    const int op = btf__add_enum(b, "op", 4);
    btf__add_enum_value(b, "OP_READ", 0);
    btf__add_enum_value(b, "OP_WRITE", 1);
    const int peer = btf__add_struct(b, "peer", 4);
    btf__add_field(b, "port", u16, 0, 0);
    number_ = static_cast<uint32_t>(u32);
    key_ = static_cast<uint32_t>(btf__add_struct(b, "key", 48));
    btf__add_field(b, "pid", u32, 0, 0);
    btf__add_field(b, "comm", comm, 4 * 8, 0);
    btf__add_field(b, "raw", raw, 20 * 8, 0);
    btf__add_field(b, "op", op, 24 * 8, 0);
    btf__add_field(b, "delta", s64, 32 * 8, 0);
    btf__add_field(b, "pad", pad, 40 * 8, 0);
    btf__add_field(b, "peer", peer, 44 * 8, 0);
    btf__add_field(b, "__unused", u8, 47 * 8, 0);
    bits_ = static_cast<uint32_t>(btf__add_struct(b, "bits", 4));
    btf__add_field(b, "low", u32, 0, 3);
  }

  Result<> lay(std::vector<LabelConfig>& labels, uint32_t type, uint32_t size) {
    warnings_.clear();
    return lay_out(labels, {types_.get(), type, size}, "counter 'x'", warnings_);
  }
  static std::vector<std::string> shown(const std::vector<LabelConfig>& labels) {
    std::vector<std::string> text;
    for (const LabelConfig& label : labels) {
      text.push_back(label.name + "@" + std::to_string(label.offset) + "+" +
                     std::to_string(label.size));
      for (const DecoderConfig& decoder : label.decoders) text.back() += " " + decoder.name;
    }
    return text;
  }
  static LabelConfig label(const std::string& name, uint32_t size = 0, uint32_t padding = 0) {
    LabelConfig label;
    label.name = name;
    label.size = size;
    label.padding = padding;
    if (size) label.decoders = {{"uint", {}, false, {}, false}};
    return label;
  }

  std::unique_ptr<btf, decltype(&btf__free)> types_;
  uint32_t key_ = 0, number_ = 0, bits_ = 0;
  std::vector<std::string> warnings_;
};

TEST_F(KeyLayoutTest, without_labels_every_member_is_one) {
  std::vector<LabelConfig> labels;
  ASSERT_TRUE(lay(labels, key_, 48));
  EXPECT_THAT(shown(labels),
              ElementsAre("pid@0+4 uint", "comm@4+16 string", "raw@20+4 hex",
                          "op@24+4 uint static_map", "delta@32+8 int", "peer_port@44+2 uint"));
  EXPECT_EQ(labels[3].decoders[1].static_map.at("1"), "OP_WRITE");
}

TEST_F(KeyLayoutTest, labels_may_name_some_members_in_any_order) {
  std::vector<LabelConfig> labels = {label("op"), label("pid")};
  labels[1].job = JobKey::process;
  ASSERT_TRUE(lay(labels, key_, 48));
  EXPECT_THAT(shown(labels), ElementsAre("op@24+4 uint static_map", "pid@0+4"));
  labels = {label("tgid")};
  EXPECT_EQ(lay(labels, key_, 48).error().what,
            "counter 'x': label 'tgid' has no size, and the key no such member");
}

TEST_F(KeyLayoutTest, a_number_is_called_as_the_label) {
  std::vector<LabelConfig> labels;
  ASSERT_TRUE(lay(labels, number_, 4));
  EXPECT_THAT(shown(labels), ElementsAre("value@0+4 uint"));
  labels = {label("bucket")};
  ASSERT_TRUE(lay(labels, number_, 4));
  EXPECT_THAT(shown(labels), ElementsAre("bucket@0+4 uint"));
}

TEST_F(KeyLayoutTest, sizes_are_checked_against_the_type) {
  std::vector<LabelConfig> labels = {label("pid", 4), label("rest", 44)};
  ASSERT_TRUE(lay(labels, key_, 48));
  EXPECT_THAT(warnings_, ElementsAre());
  labels = {label("pid", 4), label("comm", 12), label("rest", 32)};
  ASSERT_TRUE(lay(labels, key_, 48));
  EXPECT_THAT(warnings_, ElementsAre("counter 'x': label 'comm' is bytes 4 to 16 of the key, its "
                                     "member 'comm' 4 to 20"));
  labels = {label("pid", 2), label("comm", 16)};
  EXPECT_EQ(lay(labels, key_, 48).error().what,
            "counter 'x': the labels make 18 bytes, the key has 48: label 'pid' is bytes 0 to 2 of "
            "the key, its member 'pid' 0 to 4");
}

TEST_F(KeyLayoutTest, what_cannot_be_is_an_error) {
  std::vector<LabelConfig> labels = {label("pid", 4), label("comm")};
  EXPECT_THAT(lay(labels, key_, 48).error().what, HasSubstr("some labels have a size"));
  labels = {};
  EXPECT_THAT(lay(labels, bits_, 4).error().what, HasSubstr("'low' is a bit field"));
  labels = {};
  EXPECT_THAT(lay(labels, 0, 4).error().what, HasSubstr("type of the key is not known"));
  labels = {label("pid", 4)};
  EXPECT_TRUE(lay(labels, 0, 4));  // without a type, as ebpf_exporter
}

}  // namespace
}  // namespace jobscope

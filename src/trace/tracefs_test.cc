#include "src/trace/tracefs.h"

#include <gtest/gtest.h>

#include <cstring>

namespace jobscope {
namespace {

using Kind = TracepointField::Kind;

constexpr const char* kFormat = R"(name: block_rq_issue
ID: 1061
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:sector_t sector;	offset:16;	size:8;	signed:0;
	field:int delta;	offset:24;	size:4;	signed:1;
	field:char comm[16];	offset:28;	size:16;	signed:0;
	field:__data_loc char[] cmd;	offset:44;	size:4;	signed:0;
	field:__rel_loc char[] tail;	offset:48;	size:4;	signed:0;
	field:const char * name;	offset:56;	size:8;	signed:0;
	field:unsigned char addr[3];	offset:64;	size:3;	signed:0;

print fmt: "%d", REC->dev
)";

TEST(TracepointFormat, has_its_own_fields) {
  const auto format = parse_format(kFormat);
  ASSERT_TRUE(format);
  EXPECT_EQ(format->name, "block_rq_issue");
  ASSERT_EQ(format->fields.size(), 8u);
  EXPECT_EQ(format->size, 67u);
  EXPECT_EQ(format->fields[0].name, "dev");
  EXPECT_EQ(format->fields[3].name, "comm");
  EXPECT_EQ(format->fields[3].kind, Kind::text);
  EXPECT_EQ(format->fields[4].name, "cmd");
  EXPECT_EQ(format->fields[4].kind, Kind::dynamic_text);
  EXPECT_TRUE(format->fields[5].relative);
  EXPECT_EQ(format->fields[6].name, "name");
  EXPECT_EQ(format->fields[6].kind, Kind::number);
  EXPECT_EQ(format->fields[7].kind, Kind::bytes);
}

TEST(TracepointFormat, refuses_other_text) {
  EXPECT_FALSE(parse_format(""));
  EXPECT_FALSE(parse_format("name: x\nformat:\n"));
}

template <class T>
void put(std::string& record, size_t at, T value) {
  std::memcpy(record.data() + at, &value, sizeof(value));
}

TEST(TracepointField, is_decoded_from_the_record) {
  const auto format = parse_format(kFormat);
  std::string record(67, '\0');
  put(record, 8, 0xFE000000u);
  put(record, 16, ~0ull);
  put(record, 24, -7);
  record.replace(28, 4, "read");
  put(record, 44, uint32_t{67 | 5 << 16});
  put(record, 48, uint32_t{(72 - 52) | 4 << 16});
  record.replace(64, 3, "\x01\xab\xff");
  record += std::string("cmd\0!", 5) + "end\0";
  record += '\0';
  const auto text = [&](size_t i) { return field_text(format->fields[i], record); };
  EXPECT_EQ(text(0), "4261412864");
  EXPECT_EQ(text(1), "18446744073709551615");
  EXPECT_EQ(text(2), "-7");
  EXPECT_EQ(text(3), "read");
  EXPECT_EQ(text(4), "cmd");
  EXPECT_EQ(text(5), "end");
  EXPECT_EQ(text(7), "01abff");
}

TEST(TracepointField, outside_of_the_record_is_empty) {
  const auto format = parse_format(kFormat);
  std::string record(50, '\0');
  put(record, 44, uint32_t{4000 | 9 << 16});
  EXPECT_EQ(field_text(format->fields[4], record), "");
  EXPECT_EQ(field_text(format->fields[6], record), "");
}

}  // namespace
}  // namespace jobscope

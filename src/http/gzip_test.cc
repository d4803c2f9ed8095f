#include "src/http/gzip.h"

#include <gtest/gtest.h>

#include <random>

namespace jobscope {
namespace {

TEST(Gzip, who_wants_it) {
  for (const char* yes :
       {"gzip", "GZIP", "deflate, gzip", "gzip;q=0.001", "*", "br;q=1, *;q=0.1", " gzip ; q=1.0 ",
        "x-gzip", "gzip, identity", "gzip;q=1, identity; q=0.5"})
    EXPECT_TRUE(accepts_gzip(yes)) << yes;
  for (const char* no :
       {"", "deflate", "gzip;q=0", "gzip;q=0.000", "*;q=0", "gzip;q=0, *", "identity",
        "gzip;q=0.5, identity;q=0.9", "gzipped", "gzip;q=junk", "gzip;q=-1", "gzip;q=nan", ",,;"})
    EXPECT_FALSE(accepts_gzip(no)) << no;
}

TEST(Gzip, there_and_back) {
  std::mt19937 random(7);
  for (const size_t bytes : {0, 1, 1000, 70000, 3000000}) {
    std::string text;
    while (text.size() < bytes) text += static_cast<char>(random() % (bytes % 7 ? 256 : 4));
    for (const int level : {1, 9}) {
      const auto packed = gzip(text, level);
      ASSERT_TRUE(packed);
      EXPECT_EQ(gunzip(*packed, text.size()).value(), text);
      if (bytes > 0) {
        EXPECT_FALSE(gunzip(*packed, text.size() - 1));
      }
      EXPECT_FALSE(gunzip(packed->substr(0, packed->size() - 1), text.size()));
    }
  }
  EXPECT_FALSE(gunzip("plain", 100));
}

}  // namespace
}  // namespace jobscope

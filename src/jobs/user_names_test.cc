#include "src/jobs/user_names.h"

#include <gtest/gtest.h>

#include <fstream>

#include "src/base/folder_for_test.h"

namespace jobscope {
namespace {

TEST(UserNames, are_those_of_the_file) {
  const TestFolder folder;
  const std::string file = folder.path() + "/passwd";
  UserNames users(file);
  EXPECT_EQ(users.name(0), "0");  // no file
  std::ofstream(file) << "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\n\nnonsense\n:x:5:\n"
                         "a:x:7\nb:x:-1:\nc:x:99999999999:\nalice:x:1000:1000::/:/bin/sh\n";
  EXPECT_EQ(users.name(0), "root");
  EXPECT_EQ(users.name(1000), "alice");
  for (const uint32_t uid : {5, 7, 1001}) EXPECT_EQ(users.name(uid), std::to_string(uid));
  EXPECT_EQ(users.name(~0u), "4294967295");
  std::ofstream(file, std::ios::app) << "bob:x:1001:1001::/:/bin/sh\n";
  EXPECT_EQ(users.name(1001), "bob");
}

}  // namespace
}  // namespace jobscope

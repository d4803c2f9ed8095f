#include "src/base/block_devices.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

namespace jobscope {
namespace {

constexpr size_t kMostListed = 20;

std::string listed(const std::string& sys) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(sys + "/block", error))
    names.push_back(entry.path().filename());
  if (names.empty()) return {};
  std::ranges::sort(names);
  std::string text = "there are";
  for (size_t i = 0; i < names.size() && i < kMostListed; ++i) text += " " + names[i];
  return names.size() > kMostListed ? text + " …" : text;
}

uint32_t device_number(unsigned major, unsigned minor) { return major << 20 | minor; }

}  // namespace

std::string block_device_name(uint32_t device) {
  const std::string numbers = std::to_string(device >> 20) + ":" + std::to_string(device & 0xFFFFF);
  std::array<char, 512> target{};
  const std::string link = "/sys/dev/block/" + numbers;
  const ssize_t n = ::readlink(link.c_str(), target.data(), target.size());
  if (n <= 0) return numbers;
  const std::string_view path(target.data(), static_cast<size_t>(n));
  return std::string(path.substr(path.rfind('/') + 1));
}

Result<uint32_t> find_block_device(const std::string& name, const std::string& sys) {
  unsigned major = 0, minor = 0;
  char rest = 0;
  if (std::sscanf(name.c_str(), "%u:%u%c", &major, &minor, &rest) == 2)
    return device_number(major, minor);
  std::error_code error;
  std::filesystem::path path = name;
  if (name.find('/') != std::string::npos) path = std::filesystem::canonical(name, error);
  const std::string last = path.filename();
  std::ifstream numbers(sys + "/block/" + last + "/dev");
  std::string text;
  if (!last.empty() && std::getline(numbers, text) &&
      std::sscanf(text.c_str(), "%u:%u", &major, &minor) == 2)
    return device_number(major, minor);
  if (!last.empty() && std::filesystem::exists(sys + "/class/block/" + last + "/partition", error))
    return fail("'" + name + "' is a part of a disk, and requests are made to the whole disk",
                listed(sys));
  return fail("there is no disk '" + name + "'", listed(sys));
}

}  // namespace jobscope

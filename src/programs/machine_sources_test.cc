#include "src/programs/machine_sources.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace jobscope {
namespace {

namespace fs = std::filesystem;

// A small machine in a folder.
class MachineSourcesTest : public ::testing::Test {
 protected:
  MachineSourcesTest() {
    std::string pattern = (fs::temp_directory_path() / "jobscope-test-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    fs::create_directories(root_ / "sys/dev/block");
    fs::create_symlink("../../devices/virtio1/block/vda/vda3", root_ / "sys/dev/block/254:3");
    std::ofstream(root_ / "kallsyms") << "ffffffff81000000 T startup_64\n"
                                         "ffffffff81000200 t vfs_read\n"
                                         "ffffffff81000100 D some_data\n"
                                         "ffffffffc0000000 t nv_open\t[nvidia]\n"
                                         "broken\n"
                                         "0000000000000000 T hidden\n";
    std::ofstream(root_ / "pci.ids") << "# a comment\n"
                                        "10de  NVIDIA Corporation\n"
                                        "\t2335  GH100 [H200]\n"
                                        "\t\t10de 18be  a subsystem\n"
                                        "19e5  Huawei\n"
                                        "\td801  Ascend\n"
                                        "C 03  Display controller\n"
                                        "\t02  3D controller\n"
                                        "\t\t00  an interface\n"
                                        "zzzz  nobody\n";
    // In containers disks are only here.
    std::ofstream(root_ / "partitions") << "major minor  #blocks  name\n\n"
                                           " 259        1    1048576 nvme0n1p1\n"
                                           "broken\n";
    places_.proc = root_.string();
    places_.sys = (root_ / "sys").string();
    places_.pci_ids = (root_ / "pci.ids").string();
  }
  ~MachineSourcesTest() override { fs::remove_all(root_); }

  fs::path root_;
  MachineSources::Places places_;
};

TEST_F(MachineSourcesTest, disks_by_their_number) {
  const MachineSources sources(places_);
  EXPECT_EQ(sources.block_device(254, 3), "vda3");
  EXPECT_EQ(sources.block_device(259, 1), "nvme0n1p1");
  EXPECT_EQ(sources.block_device(8, 0), "");
}

TEST_F(MachineSourcesTest, the_function_that_an_address_lies_in) {
  const MachineSources sources(places_);
  EXPECT_EQ(sources.kernel_symbol(0xffffffff81000000), "startup_64");
  EXPECT_EQ(sources.kernel_symbol(0xffffffff810001ff), "startup_64");  // data is no function
  EXPECT_EQ(sources.kernel_symbol(0xffffffff81000210), "vfs_read");
  EXPECT_EQ(sources.kernel_symbol(0xffffffffc0000001), "nv_open");
  EXPECT_EQ(sources.kernel_symbol(7), "");
}

TEST_F(MachineSourcesTest, pci_ids) {
  const MachineSources sources(places_);
  EXPECT_EQ(sources.pci_name("vendor", 0x10de), "NVIDIA Corporation");
  EXPECT_EQ(sources.pci_name("device", 0x10de2335), "GH100 [H200]");
  EXPECT_EQ(sources.pci_name("device", 0x19e5d801), "Ascend");
  EXPECT_EQ(sources.pci_name("class", 3), "Display controller");
  EXPECT_EQ(sources.pci_name("subclass", 0x0302), "3D controller");
  EXPECT_EQ(sources.pci_name("device", 0x10de18be), "");
}

TEST_F(MachineSourcesTest, a_machine_without_files_knows_nothing) {
  places_.proc = places_.sys = places_.pci_ids = "/nonexistent";
  const MachineSources sources(places_);
  EXPECT_EQ(sources.block_device(254, 3), "");
  EXPECT_EQ(sources.kernel_symbol(~uint64_t{0}), "");
  EXPECT_EQ(sources.pci_name("vendor", 0x10de), "");
  EXPECT_EQ(sources.cgroup_path(1), "");
}

TEST(MachineSources, the_loopback_interface_is_the_first) {
  EXPECT_EQ(MachineSources({}).interface_name(1), "lo");
  EXPECT_EQ(MachineSources({}).interface_name(0), "");
}

}  // namespace
}  // namespace jobscope

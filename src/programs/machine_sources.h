// What this machine knows of the numbers in a key: names of interfaces, disks, symbols, PCI ids.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "src/programs/decoder.h"

namespace jobscope {

class MachineSources : public DecoderSources {
 public:
  struct Places {
    std::string proc = "/proc", sys = "/sys";
    std::string pci_ids = "/usr/share/misc/pci.ids";  // of the package pci.ids
    // Directory of a cgroup, by id: /sys/fs/cgroup/a/b; "" if it is not known.
    std::function<std::string(uint64_t)> cgroup_path = [](uint64_t) { return std::string(); };
    std::function<std::optional<JobLabels>(JobKey, uint64_t)> job = [](JobKey, uint64_t) {
      return std::optional<JobLabels>();
    };
  };
  explicit MachineSources(Places places) : places_(std::move(places)) {}

  std::string interface_name(uint32_t index) const override;  // of our network namespace
  std::string block_device(uint32_t major, uint32_t minor) const override;
  // The symbol that the address lies in. Symbols are read once; to those that may not see addresses
  // none is known.
  std::string kernel_symbol(uint64_t address) const override;
  // Reads them now, while we may.
  void learn_symbols() const;
  std::string cgroup_path(uint64_t id) const override { return places_.cgroup_path(id); }
  std::string pci_name(std::string_view level, uint32_t id) const override;
  std::optional<JobLabels> job(JobKey kind, uint64_t number) const override {
    return places_.job(kind, number);
  }

 private:
  void read_symbols() const;
  void read_pci_ids() const;

  Places places_;
  mutable std::once_flag symbols_read_, pci_ids_read_;
  mutable std::vector<std::pair<uint64_t, std::string>> symbols_;  // by address
  mutable std::map<std::pair<std::string, uint32_t>, std::string, std::less<>> pci_names_;
};

}  // namespace jobscope

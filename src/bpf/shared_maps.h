// The maps that all BPF objects of a session share.
#pragma once

#include <bpf/libbpf.h>

#include <map>
#include <string>

#include "src/base/fd.h"
#include "src/base/result.h"

namespace jobscope {

// A map declared in bpf/*.bpf.h exists once: the first object to load creates it (or user space
// does, see own()), each later one is given it by name.
class SharedMaps {
 public:
  // Gives a map made by user space. Takes the descriptor.
  void own(const std::string& name, Fd map);
  // Before the load of an object: replaces its maps by those that exist.
  Result<> give(bpf_object* object) const;
  // After the load: keeps those of its maps that are shared and new.
  Result<> keep(bpf_object* object);
  // Descriptor of a shared map, -1 if no object had it.
  int fd(const std::string& name) const;
  // Descriptor of the types (BTF) of a shared map, -1 if it was made without.
  int types(const std::string& name) const;
  // Bytes that the kernel holds for all maps given to keep() or own(), by its own reckoning.
  uint64_t bytes() const;

 private:
  std::map<std::string, Fd> maps_, types_;
};

// Bytes of kernel memory behind a map (fdinfo's memlock); 0 if unknown.
uint64_t map_bytes(int fd);
// The same for all maps of an object that are not shared.
uint64_t private_map_bytes(const bpf_object* object, const SharedMaps& shared);

// Adds, by the name of the program, the runs of an object's programs that the kernel left out
// because the program was already running on that CPU: each is an event, of the job or of others,
// that nobody saw.
void add_missed_runs(const bpf_object* object, std::map<std::string, uint64_t>& to);

}  // namespace jobscope

// One eBPF object of a person's: loaded, attached, its maps at hand.
#pragma once

#include <bpf/libbpf.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fd.h"
#include "src/base/result.h"
#include "src/bpf/skeleton.h"
#include "src/programs/config.h"
#include "src/programs/key_layout.h"
#include "src/programs/mapped_files.h"

namespace jobscope {

struct ProgramState {
  std::string name, section;
  std::string tag;        // the kernel's, hexadecimal; "" if it is not loaded
  uint32_t id = 0;        // the same; 0
  bool attached = false;  // at least once
  std::string why;        // it is not
  uint64_t run_time = 0;  // ns; 0 unless kernel.bpf_stats_enabled
  uint64_t runs = 0;      // the same
  uint64_t left_out = 0;  // runs that the kernel skipped: it would have interrupted itself
};

// Not for use from several threads at once.
class ProgramObject {
 public:
  // `object`: the bytes of NAME.bpf.o. `btf_path`: the kernel's types, "" for the kernel's own.
  //
  // What cannot be loaded or attached is left out and told in programs(); its alternatives are
  // tried in their order. Errors: no BPF object (also one that crashes who reads it), an unknown
  // symbol of kaddrs, a map that cannot be made.
  static Result<std::unique_ptr<ProgramObject>> load(const ProgramConfig& config,
                                                     const std::string& object,
                                                     const std::string& btf_path);

  // As of now. Programs that have given way to an alternative are not among them.
  std::vector<ProgramState> programs() const;
  // The map of a metric; nullptr if there is none.
  const bpf_map* find_map(const std::string& name) const;
  KeyType key_type(const bpf_map* map) const;
  // Whether the values of a map are signed integers.
  bool has_signed_values(const bpf_map* map) const;

  bool has_iterators() const { return !iterators_.empty(); }
  // Whether a map, by the kernel's id, is one that programs at iterators use.
  bool is_of_iterators(uint32_t map_id) const { return iterator_maps_.contains(map_id); }
  // Runs the programs at iterators, which may write maps. Their text is not read.
  void run_iterators() const;
  // Attaches to libraries that appeared meanwhile; the names of those programs that were attached.
  std::vector<std::string> look_for_libraries(uint64_t now);
  bool waits_for_libraries() const { return libraries_.wants_any(); }

 private:
  struct DestroyObject {
    void operator()(bpf_object* object) const { bpf_object__close(object); }
  };
  struct Plan;  // which programs and which of their sections are tried

  ProgramObject() = default;
  Result<bool> attempt(const ProgramConfig& config, Plan& plan, const std::string& btf_path);
  Result<> set_kernel_addresses(const std::vector<std::string>& symbols);
  Result<> attach(bpf_program* program);
  Result<> attach_binary(bpf_program* program, const std::string& path);
  Result<> attach_perf_events(bpf_program* program);
  Result<> attach_xdp(bpf_program* program);

  std::string bytes_;  // libbpf reads them as long as the object lives
  std::unique_ptr<bpf_object, DestroyObject> object_;
  std::vector<Link> links_, iterators_;
  std::set<uint32_t> iterator_maps_;        // ids
  std::map<std::string, std::string> why_;  // by program: why it is not attached
  std::map<std::string, bool> attached_;
  MappedFiles libraries_;
};

}  // namespace jobscope

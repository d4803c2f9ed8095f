#include "src/jobs/job_environment.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <unordered_map>

namespace jobscope {
namespace {

constexpr size_t kMaxTfConfig = 256 << 10;

constexpr std::string_view kTfConfig = "TF_CONFIG";
constexpr std::array<std::string_view, 27> kKnown = {
    "PAI_JOB_NAME", "DLWS_JOB_ID", "PAI_USER_NAME", "DLWS_USER_NAME",
    // of the task: in order of OpenPAI's own preference
    "PAI_CURRENT_TASK_ROLE_NAME", "FC_TASK_INDEX", "PAI_TASK_INDEX",
    "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", "APP_ID",
    // Slurm
    "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_JOB_NAME", "SLURM_JOB_USER", "SLURM_STEP_ID",
    "SLURM_STEPID", "SLURM_PROCID",
    // launchers: PyTorch, Ascend, Open MPI, MPICH and Intel MPI, MindSpore
    "RANK", "WORLD_SIZE", "RANK_ID", "RANK_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MS_ROLE",
    // Kubernetes
    "HOSTNAME", "JOB_COMPLETION_INDEX", kTfConfig};

using Values = std::unordered_map<std::string_view, std::string_view>;

Values known_values(std::string_view block) {
  Values values;
  while (!block.empty()) {
    const size_t end = std::min(block.find('\0'), block.size());
    const std::string_view entry = block.substr(0, end);
    block.remove_prefix(std::min(end + 1, block.size()));
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = entry.substr(0, equals);
    if (std::find(kKnown.begin(), kKnown.end(), name) == kKnown.end()) continue;
    std::string_view value = entry.substr(equals + 1);
    if (name != kTfConfig) value = value.substr(0, kMaxLabel);
    values.emplace(name, value);
  }
  return values;
}

// The value of the first of the names that has one.
template <class... Names>
std::string first_of(const Values& values, const Names&... names) {
  std::string_view found;
  const auto look = [&](std::string_view name) {
    const auto at = values.find(name);
    if (found.empty() && at != values.end()) found = at->second;
  };
  (look(names), ...);
  return std::string(found);
}

// {"cluster": …, "task": {"type": "worker", "index": 0}}; the index may be text.
void read_tf_config(std::string_view text, JobEnvironment& environment) {
  if (text.empty() || text.size() > kMaxTfConfig) return;
  const auto config = nlohmann::json::parse(text, nullptr, false);
  if (!config.is_object() || !config.contains("task") || !config["task"].is_object()) return;
  const auto& task = config["task"];
  if (const auto type = task.find("type"); type != task.end() && type->is_string())
    environment.role = type->get_ref<const std::string&>().substr(0, kMaxLabel);
  const auto index = task.find("index");
  if (index == task.end()) return;
  if (index->is_number_unsigned())
    environment.index = std::to_string(index->get<uint64_t>());
  else if (index->is_string())
    environment.index = index->get_ref<const std::string&>().substr(0, kMaxLabel);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

JobEnvironment parse_job_environment(std::string_view block) {
  const Values values = known_values(block);
  JobEnvironment found;
  found.pai.job = first_of(values, "PAI_JOB_NAME", "DLWS_JOB_ID");
  found.pai.user = first_of(values, "PAI_USER_NAME", "DLWS_USER_NAME");
  found.pai.role = first_of(values, "PAI_CURRENT_TASK_ROLE_NAME");
  found.pai.index = first_of(values, "FC_TASK_INDEX", "PAI_TASK_INDEX",
                             "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX");
  found.pai.attempt = first_of(values, "FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", "APP_ID");
  found.slurm.id = first_of(values, "SLURM_JOB_ID", "SLURM_JOBID");
  found.slurm.name = first_of(values, "SLURM_JOB_NAME");
  found.slurm.user = first_of(values, "SLURM_JOB_USER");
  found.slurm.step = first_of(values, "SLURM_STEP_ID", "SLURM_STEPID");
  found.host_name = first_of(values, "HOSTNAME");
  found.completion_index = first_of(values, "JOB_COMPLETION_INDEX");
  read_tf_config(first_of(values, kTfConfig), found);
  const std::string rank = first_of(values, "RANK", "RANK_ID");
  found.distributed =
      !rank.empty() || !found.role.empty() || !first_of(values, "WORLD_SIZE", "RANK_SIZE").empty();
  if (found.role.empty()) found.role = first_of(values, "MS_ROLE");
  if (found.index.empty())  // of TF_CONFIG it is that of the role
    found.index = first_of(values, "RANK", "RANK_ID", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK",
                           "PMI_RANK", "JOB_COMPLETION_INDEX");
  return found;
}

std::string job_of_pod(const JobEnvironment& environment) {
  constexpr std::array<std::string_view, 7> kReplicas = {
      "-master", "-worker", "-launcher", "-chief", "-evaluator", "-ps", "-scheduler"};
  const std::string_view name = environment.host_name;
  const size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return std::string(name);
  const std::string_view before = name.substr(0, dash), last = name.substr(dash + 1);
  if (!environment.completion_index.empty() && last == environment.completion_index)
    return std::string(before);
  if (!environment.distributed || !is_number(last)) return std::string(name);
  for (const std::string_view replica : kReplicas)
    if (before.ends_with(replica) && before.size() > replica.size())
      return std::string(before.substr(0, before.size() - replica.size()));
  return std::string(name);
}

}  // namespace jobscope

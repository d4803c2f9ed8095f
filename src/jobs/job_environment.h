// What a process's environment says of its job: OpenPAI, Slurm, Kubernetes, and the launchers.
#pragma once

#include <string>
#include <string_view>

namespace jobscope {

// Empty: not told.
struct JobEnvironment {
  struct Pai {  // OpenPAI, and DLWorkspace that came from it
    std::string job, user, role, index, attempt;
  } pai;
  struct Slurm {
    std::string id, name, user, step;
  } slurm;
  // Whatever started it.
  std::string role, index;
  std::string host_name;  // HOSTNAME: in a pod its name, unless the pod has the host's network
  std::string completion_index;  // of an Indexed Job of Kubernetes
  bool distributed = false;      // a launcher of distributed training has spoken
};

// `block` is that of /proc/PID/environ: "A=1\0B=2\0". The first of several entries with one name
// holds, as for getenv(). Values are cut at 256 bytes; an empty one counts as not told.
JobEnvironment parse_job_environment(std::string_view block);

// The name of the job that a pod is part of, from the pod's: what Kubernetes and Kubeflow put
// behind it is taken off. "train-worker-1" → "train", "train-3" of an Indexed Job → "train".
std::string job_of_pod(const JobEnvironment& environment);

constexpr size_t kMaxLabel = 256;  // bytes

}  // namespace jobscope

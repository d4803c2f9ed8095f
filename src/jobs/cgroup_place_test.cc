#include "src/jobs/cgroup_place.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

const std::string kId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kOther(64, 'f');

std::string container(const std::string& path) { return identify_cgroup(path).container; }

TEST(CgroupPlaceOfContainer, is_recognised_as_each_engine_writes_it) {
  for (std::string path :
       {"/docker/ID", "/system.slice/docker-ID.scope", "/libpod_parent/libpod-ID",
        "/machine.slice/libpod-ID.scope/container",
        "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope",
        // containerd, with the cgroupfs driver and systemd's
        "/default/ID", "/system.slice/nerdctl-ID.scope",
        // a kubelet, three qualities of service
        "/kubepods/pod1234/ID", "/kubepods/burstable/pod1234/ID",
        "/kubepods.slice/kubepods-besteffort-pod12_34.slice/cri-containerd-ID.scope",
        "/kubepods.slice/kubepods-pod12_34.slice/crio-ID.scope",
        "/system.slice/containerd.service/kubepods-pod12_34.slice:cri-containerd:ID",
        // seen from another namespace, one in another, what is in one
        "/../../ID", "/docker/OTHER/kubelet/kubepods/pod1234/ID", "/docker/ID/init.scope"}) {
    if (const size_t other = path.find("OTHER"); other != std::string::npos)
      path.replace(other, 5, kOther);
    path.replace(path.find("ID"), 2, kId);
    EXPECT_EQ(container(path), kId) << path;
  }
}

TEST(CgroupPlaceOfContainer, is_not_seen_where_none_is) {
  for (const std::string& path :
       {std::string(), std::string("/"), std::string("/user.slice/user-1000.slice"),
        std::string("//"), "/docker/" + kId.substr(1), "/docker/x" + kId,
        "/docker/" + kId.substr(1) + "g", "/docker/" + kId + "0.scope",
        "/machine.slice/libpod-conmon-" + kId + ".scope", "/kubepods/pod1/crio-conmon-" + kId})
    EXPECT_EQ(container(path), "") << path;
}

TEST(CgroupPlace, tells_pods_from_other_containers) {
  EXPECT_TRUE(identify_cgroup("/kubepods/pod1/" + kId).in_pod);
  EXPECT_TRUE(identify_cgroup("/kubelet.slice/kubelet-kubepods.slice/x").in_pod);
  EXPECT_FALSE(identify_cgroup("/docker/" + kId).in_pod);
}

TEST(CgroupPlace, tells_slurms_jobs) {
  const auto v1 = identify_cgroup("/slurm/uid_1000/job_17/step_0/task_3");
  EXPECT_EQ(v1.slurm_user + " " + v1.slurm_job + " " + v1.slurm_step, "1000 17 0");
  EXPECT_EQ(identify_cgroup("/slurm_node7/uid_1/job_18").slurm_job, "18");
  const auto v2 = identify_cgroup("/system.slice/slurmstepd.scope/job_19/step_extern/user");
  EXPECT_EQ(v2.slurm_user + " " + v2.slurm_job + " " + v2.slurm_step, " 19 extern");
  for (const char* path : {"/job_17", "/slurm", "/slurm/job_x", "/slurm/job_", "/slurm/job_1x",
                           "/system.slice/slurmstepd.scope/system"})
    EXPECT_EQ(identify_cgroup(path).slurm_job, "") << path;
}

TEST(CgroupPlace, of_several_hierarchies_the_one_that_says_most_counts) {
  const auto hybrid = identify_cgroups("9:name=systemd:/\n4:memory:/docker/" + kId + "\n0::/\n");
  EXPECT_EQ(hybrid.container, kId);
  EXPECT_EQ(hybrid.path, "/docker/" + kId);
  EXPECT_EQ(identify_cgroups("0::/docker/" + kId + " (deleted)\n").container, kId);
  EXPECT_EQ(identify_cgroups("0::/docker/" + kId).container, kId);  // no newline
  EXPECT_EQ(identify_cgroups("1:name=a:b:/docker/" + kId + "\n").container, kId);
}

TEST(CgroupPlace, of_nonsense_nothing_is_told) {
  for (const std::string& text : {std::string(), std::string("\n\n"), std::string("::"),
                                  std::string("0:"), std::string("0::"), std::string(1 << 20, '/'),
                                  std::string(1 << 20, '\0'), std::string(1 << 20, 'a')}) {
    const auto identity = identify_cgroups(text);
    EXPECT_EQ(identity.container + identity.slurm_job, "");
  }
}

}  // namespace
}  // namespace jobscope

#include "src/jobs/job_environment.h"

#include <gtest/gtest.h>

namespace jobscope {
namespace {

JobEnvironment parse(const std::vector<std::string>& entries) {
  std::string block;
  for (const std::string& entry : entries) block += entry + '\0';
  return parse_job_environment(block);
}

TEST(JobEnvironment, openpais_names_are_known_and_its_kins) {
  const auto pai = parse({"PAI_JOB_NAME=u~j", "PAI_USER_NAME=u", "PAI_TASK_INDEX=4",
                          "PAI_CURRENT_TASK_ROLE_NAME=ps", "APP_ID=application_1"})
                       .pai;
  EXPECT_EQ(pai.job, "u~j");
  EXPECT_EQ(pai.user, "u");
  EXPECT_EQ(pai.role, "ps");
  EXPECT_EQ(pai.index, "4");
  EXPECT_EQ(pai.attempt, "application_1");
  EXPECT_EQ(parse({"PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX=7"}).pai.index, "7");
  EXPECT_EQ(parse({"PAI_TASK_INDEX=4", "FC_TASK_INDEX=5"}).pai.index, "5");
  const auto old = parse({"DLWS_JOB_ID=d", "DLWS_USER_NAME=e"}).pai;
  EXPECT_EQ(old.job + old.user, "de");
}

TEST(JobEnvironment, an_index_is_what_the_launcher_says) {
  EXPECT_EQ(parse({"RANK=1", "SLURM_PROCID=2"}).index, "1");
  EXPECT_EQ(parse({"SLURM_PROCID=2", "OMPI_COMM_WORLD_RANK=3"}).index, "2");
  EXPECT_EQ(parse({"OMPI_COMM_WORLD_RANK=3"}).index, "3");
  EXPECT_EQ(parse({"PMI_RANK=4"}).index, "4");
  EXPECT_EQ(parse({"RANK_ID=5", "MS_ROLE=MS_WORKER"}).index, "5");
  EXPECT_EQ(parse({"RANK_ID=5", "MS_ROLE=MS_WORKER"}).role, "MS_WORKER");
  EXPECT_EQ(parse({"JOB_COMPLETION_INDEX=6"}).index, "6");
  EXPECT_EQ(parse({"HOME=/"}).index, "");
}

TEST(JobEnvironment, tensorflows_configuration_tells_role_and_index) {
  const auto numbered = parse({R"(TF_CONFIG={"task": {"type": "ps", "index": 2}})", "RANK=9"});
  EXPECT_EQ(numbered.role, "ps");
  EXPECT_EQ(numbered.index, "2");
  EXPECT_EQ(parse({R"(TF_CONFIG={"task": {"index": "1"}})"}).index, "1");
  for (const std::string& bad :
       {std::string(""), std::string("{"), std::string("[]"), std::string(R"({"task": 3})"),
        std::string(R"({"task": {"type": 1, "index": -1}})"), std::string(100'000, '['),
        std::string(1'000'000, ' ')}) {
    const auto told = parse({"TF_CONFIG=" + bad});
    EXPECT_EQ(told.role + told.index, "") << bad.substr(0, 40);
  }
}

TEST(JobEnvironment, a_pod_is_named_by_its_job_less_what_controllers_add) {
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=mnist-worker-12", "RANK=1"})), "mnist");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=a-b-master-0", "WORLD_SIZE=2"})), "a-b");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=sweep-3", "JOB_COMPLETION_INDEX=3"})), "sweep");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=sweep-3", "JOB_COMPLETION_INDEX=4"})), "sweep-3");
  // a database's pods look alike, but nobody trains there
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=redis-master-0"})), "redis-master-0");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=-worker-0", "RANK=1"})), "-worker-0");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=-0", "JOB_COMPLETION_INDEX=0"})), "-0");
  EXPECT_EQ(job_of_pod(parse({"HOSTNAME=train", "RANK=1"})), "train");
}

TEST(JobEnvironment, values_are_cut_and_otherwise_left_as_they_are) {
  EXPECT_EQ(parse({"PAI_JOB_NAME=" + std::string(1000, 'x')}).pai.job, std::string(256, 'x'));
  EXPECT_EQ(parse({"PAI_JOB_NAME=a=b \n\xff\""}).pai.job, "a=b \n\xff\"");
}

TEST(JobEnvironment, the_first_of_one_name_holds_and_an_empty_one_is_none) {
  EXPECT_EQ(parse({"PAI_JOB_NAME=a", "PAI_JOB_NAME=b"}).pai.job, "a");
  EXPECT_EQ(parse({"PAI_JOB_NAME=", "DLWS_JOB_ID=d"}).pai.job, "d");
}

TEST(JobEnvironment, of_nonsense_nothing_is_told) {
  using std::string_literals::operator""s;
  for (const std::string& block :
       {""s, "\0\0\0"s, "="s, "=\0=x"s, "PAI_JOB_NAME"s, std::string(10 << 20, 'x'),
        std::string(10 << 20, '\0'), std::string(10 << 20, '=')})
    EXPECT_EQ(parse_job_environment(block).pai.job, "");
  // without an end it is still one entry
  EXPECT_EQ(parse_job_environment("PAI_JOB_NAME=" + std::string(10 << 20, 'x')).pai.job.size(),
            256u);
}

}  // namespace
}  // namespace jobscope

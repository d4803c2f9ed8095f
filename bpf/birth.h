/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A process and who made it, as src/programs/births.bpf.c tells. */
#pragma once

struct birth {
  unsigned int parent, child; /* process ids */
};

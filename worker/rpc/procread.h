/* Reads of retained output (PROTOCOL 5.3), which may wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/json/json_out.h"
#include "worker/proc/proc.h"

struct rpc_req;

/* Answers now, or when there is something to report. */
struct proc_read {
	uint64_t	 after_seq;
	bool		 has_max;
	uint64_t	 max_bytes;
	uint64_t	 wait_ms;
	bool		 holds;		/* hold new output until all is read */
};

void	 proc_read(struct proc *p, struct rpc_req *req,
	    const struct proc_read *r);

/* exited, exitCode, closed. */
void	 proc_put_state(const struct proc *p, struct json_out *o);

/* A folder for a test, which removes it. */
#pragma once

#define SCRATCH_SIZE	64

void	 scratch_make(char out[SCRATCH_SIZE], const char *name);

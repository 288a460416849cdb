/* The progress of a copy as a line of a terminal. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * Write "name 45% 12.3 MiB 3.4 MiB/s 00:03 left" in width columns, for which
 * size is enough: bytes of total (0: unknown) in ms.  Pure.
 */
void	 progress_line(char *out, size_t size, unsigned width,
	    const char *name, uint64_t bytes, uint64_t total, uint64_t ms);

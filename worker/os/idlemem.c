#include "worker/os/idlemem.h"

#include <sys/mman.h>

#include <malloc.h>
#include <stdint.h>
#include <unistd.h>

#include "common/trick.h"

#define KEEP		(4 * 1024 * 1024)	/* free, at the heap's end */
#define BLOCK		(2 * 1024 * 1024)	/* frames of 1 MiB, in base64 */
#define STACK_DEPTH	((uintptr_t)96 * 1024)	/* what is looked at */
#define STACK_LEFT	((uintptr_t)1024)	/* for our own calls */

/*
 * Below the frame of this function, but for the red zone and the call that
 * does it, nothing is in use.  The range may reach beyond what is mapped
 * (ENOMEM); the rest is done all the same.
 */
static void
give_back_stack(void)
{
	uintptr_t	 page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t	 end = (uintptr_t)__builtin_frame_address(0);

	end = (end - STACK_LEFT) & ~(page - 1);
	(void)madvise((void *)(end - STACK_DEPTH), STACK_DEPTH,
	    MADV_DONTNEED);
}

void
idlemem_give_back(void)
{
	malloc_trim(0);
	give_back_stack();
}

/* Setting one keeps glibc from adapting both, so both are set. */
void
idlemem_keep(void)
{
	if (!HAS_TRICK(keptheap))
		return;
	(void)mallopt(M_TRIM_THRESHOLD, KEEP);
	(void)mallopt(M_MMAP_THRESHOLD, BLOCK);
}

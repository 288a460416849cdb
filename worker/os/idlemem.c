#include "worker/os/idlemem.h"

#include <sys/mman.h>

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/trick.h"

#define BLOCK		((size_t)8 * 1024 * 1024)
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

/*
 * The first large block that is freed has glibc keep twice as much, and larger
 * ones later more.  With mallopt(3) there would be one limit for good: answers
 * of 8 MiB took three times as long.
 */
void
idlemem_keep(void)
{
	void	*volatile block;

	if (!HAS_TRICK(keptheap))
		return;
	block = malloc(BLOCK);
	free(block);
}

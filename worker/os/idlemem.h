/* Memory of a process that works, and of one that waits. */
#pragma once

/* Free memory goes to the kernel: heap, and the stack below the caller. */
void	 idlemem_give_back(void);

/*
 * Until then keep what is free, 4 MiB or more: otherwise glibc gives it back in
 * the midst of a burst, and each page is faulted in again.  Once, also for all
 * that are forked.
 */
void	 idlemem_keep(void);

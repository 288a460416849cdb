/*
 * Memory of a process that waits: what a session has used to begin, stack and
 * heap, would otherwise stay with each of thousands.
 */
#pragma once

/*
 * Give free memory back to the kernel: of the heap, and the stack below the
 * caller.  Using it again costs a page fault for each page.
 */
void	 idlemem_give_back(void);

/* Memory of a process that waits. */
#pragma once

/* Free memory goes to the kernel: heap, and the stack below the caller. */
void	 idlemem_give_back(void);

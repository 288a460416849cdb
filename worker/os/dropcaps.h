#pragma once

/* All, also those root regains by exec.  -1 with errno.  System calls only. */
int	 dropcaps(void);

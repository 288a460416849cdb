/* Memory of OpenSSL for certificates' keys: locked, and wiped when freed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Before anything else of OpenSSL.  0, or -1. */
int	 keymem_init(void) MUST_CHECK;

/*
 * Before the first key is read: make room, for so many connections with TLS
 * at a time.  Later calls change nothing.  0, or -1.
 */
int	 keymem_reserve(uint64_t connections) MUST_CHECK;

/* In a child, where it is not: lock it, if we may. */
void	 keymem_lock(void);

/* Whether other memory of OpenSSL is wiped as well: while a key is read. */
void	 keymem_wipe(bool is_on);

#include "master/hub/admit/keymem.h"

#include <sys/mman.h>

#include <assert.h>
#include <malloc.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of a few RSA keys, and their files while they are read. */
#define KEYMEM_KEYS	((size_t)512 * 1024)
/* The ephemeral key of a connection, which OpenSSL keeps as long as that. */
#define KEYMEM_EACH	32
#define KEYMEM_LEAST	16

static bool	 wipes;
static size_t	 locked_size;

static void *
keymem_malloc(size_t size, const char *file, int line)
{
	(void)file;
	(void)line;
	return malloc(size);
}

static void
keymem_free(void *at, const char *file, int line)
{
	(void)file;
	(void)line;
	if (wipes && at != NULL)
		explicit_bzero(at, malloc_usable_size(at));
	free(at);
}

/* realloc(3) would leave a copy where the memory was. */
static void *
keymem_realloc(void *at, size_t size, const char *file, int line)
{
	size_t	 had;
	void	*to;

	if (!wipes || at == NULL || size == 0)
		return realloc(at, size);
	had = malloc_usable_size(at);
	if ((to = malloc(size)) == NULL)
		return NULL;
	memcpy(to, at, had < size ? had : size);
	keymem_free(at, file, line);
	return to;
}

int
keymem_init(void)
{
	return CRYPTO_set_mem_functions(keymem_malloc, keymem_realloc,
	    keymem_free) == 1 ? 0 : -1;
}

/* Where there is no more of it, handshakes fail. */
int
keymem_reserve(uint64_t connections)
{
	size_t	 size = KEYMEM_KEYS;

	if (CRYPTO_secure_malloc_initialized())
		return 0;
	while (size < SIZE_MAX / 4 && (size - KEYMEM_KEYS) / KEYMEM_EACH <
	    connections)
		size *= 2;
	locked_size = size;
	/* 2: it cannot be locked, by RLIMIT_MEMLOCK, which is no error. */
	return CRYPTO_secure_malloc_init(size, KEYMEM_LEAST) == 0 ? -1 : 0;
}

/* OpenSSL does not say where it is, but what is in it. */
void
keymem_lock(void)
{
	size_t	 page = (size_t)sysconf(_SC_PAGESIZE);
	char	*some, *at;

	if ((some = OPENSSL_secure_malloc(1)) == NULL)
		return;
	at = some - (uintptr_t)some % page;
	while (CRYPTO_secure_allocated(at - 1) == 1)
		at -= page;
	/* Most of it will never be used. */
	(void)mlock2(at, locked_size, MLOCK_ONFAULT);
	OPENSSL_secure_free(some);
}

/* Reading a key leaves copies in other memory. */
void
keymem_wipe(bool is_on)
{
	assert(wipes != is_on);
	wipes = is_on;
}

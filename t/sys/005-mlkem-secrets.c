/*
 * ML-KEM of our own with secrets that valgrind is told are undefined: it then
 * reports whatever branch or address depends on one.  005-mlkem-secrets.sh
 * runs it.  With the argument "branch" or "address" it does so on purpose.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

#include "common/noise/mlkem_priv.h"

#ifndef VALGRIND_MAKE_MEM_UNDEFINED

int
main(void)
{
	puts("built without valgrind/memcheck.h");
	return 77;
}

#else

struct talk {
	uint8_t	 seed[MLKEM_SEED_LEN], m[MLKEM_RANDOM_LEN];
	uint8_t	 public[MLKEM_PUBLIC_LEN], secret[MLKEM_SECRET_LEN];
	uint8_t	 ciphertext[MLKEM_CIPHERTEXT_LEN];
	uint8_t	 shared[MLKEM_SHARED_LEN], got[MLKEM_SHARED_LEN];
	uint8_t	 rejected[MLKEM_SHARED_LEN];
};

static int	 hiding;

static void
hide(void *p, size_t len)
{
	if (hiding)
		(void)VALGRIND_MAKE_MEM_UNDEFINED(p, len);
}

/* That valgrind followed the secret to here proves that it was looking. */
static void
show(void *p, size_t len, int was_secret)
{
	uint8_t	 bits[MLKEM_SECRET_LEN] = { 0 };
	size_t	 i;

	if (!hiding)
		return;
	if (VALGRIND_GET_VBITS(p, bits, len) != 1)
		errx(1, "valgrind does not say what is undefined");
	for (i = 0; i < len; i++) {
		if (was_secret && bits[i] != 0xff)
			errx(1, "byte %zu does not depend on the secret", i);
	}
	(void)VALGRIND_MAKE_MEM_DEFINED(p, len);
}

static void
run(struct talk *t)
{
	hide(t->seed, sizeof(t->seed));
	mlkem_own_keypair(t->seed, t->public, t->secret);
	show(t->public, sizeof(t->public), 1);
	show(t->secret, sizeof(t->secret), 1);

	hide(t->m, sizeof(t->m));
	mlkem_own_encapsulate(t->public, t->m, t->ciphertext, t->shared);
	show(t->ciphertext, sizeof(t->ciphertext), 1);
	show(t->shared, sizeof(t->shared), 1);

	hide(t->secret, MLKEM_SECRET_PUBLIC);
	hide(t->secret + MLKEM_SECRET_Z, 32);
	mlkem_own_decapsulate(t->secret, t->ciphertext, t->got);
	show(t->got, sizeof(t->got), 1);
	t->ciphertext[MLKEM_CIPHERTEXT_LEN - 1] ^= 1;
	mlkem_own_decapsulate(t->secret, t->ciphertext, t->rejected);
	show(t->rejected, sizeof(t->rejected), 1);
	show(t->secret, sizeof(t->secret), 0);
	show(t->seed, sizeof(t->seed), 0);
	show(t->m, sizeof(t->m), 0);
}

/* The compiler is to leave these in. */
static volatile int	 sink;
static const uint8_t	 table[256];

static void
mistake(const char *kind)
{
	uint8_t	 secret[1] = { 7 };

	(void)VALGRIND_MAKE_MEM_UNDEFINED(secret, 1);
	if (strcmp(kind, "branch") == 0) {
		if (secret[0] & 4)
			sink = 1;
	} else
		sink = *(volatile const uint8_t *)&table[secret[0]];
}

int
main(int argc, char **argv)
{
	static struct talk	 plain, hidden;
	size_t			 i;

	if (argc > 1) {
		mistake(argv[1]);
		return 0;
	}
	for (i = 0; i < sizeof(plain.seed); i++)
		plain.seed[i] = (uint8_t)(i * 5);
	for (i = 0; i < sizeof(plain.m); i++)
		plain.m[i] = (uint8_t)(i * 11);
	hidden = plain;
	run(&plain);
	hiding = RUNNING_ON_VALGRIND != 0;
	run(&hidden);
	if (memcmp(&plain, &hidden, sizeof(plain)) != 0)
		errx(1, "not the same results");
	if (memcmp(plain.got, plain.shared, sizeof(plain.got)) != 0 ||
	    memcmp(plain.rejected, plain.shared, sizeof(plain.got)) == 0)
		errx(1, "the wrong shared secret");
	return 0;
}

#endif

/*
 * The vectors of the relay and its Noise channel, t/unit/vectors/NAME.json (a
 * copy of the specification's), for tests.  Whatever is not as it should be
 * ends the test.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/json/json.h"

struct vectors {
	struct json	 j;
	char		*text;
};

/* Bytes that were hex digits. */
struct vector {
	size_t	 len;
	uint8_t	 data[8192];
};

void	 vectors_open(struct vectors *v, const char *name);
void	 vectors_close(struct vectors *v);

/* The value under keys like "executor_static.x25519_secret" in object up. */
uint32_t vectors_find(const struct vectors *v, uint32_t up, const char *keys);

/* The value at token i. */
struct vector	*vectors_hex(const struct vectors *v, uint32_t i);
uint64_t vectors_number(const struct vectors *v, uint32_t i);

/* The bytes under keys: exactly len of them, to out. */
void	 vectors_get(const struct vectors *v, const char *keys, void *out,
	    size_t len);

/* Whether the value under keys in up is hex of exactly these bytes. */
int	 vectors_is(const struct vectors *v, uint32_t up, const char *keys,
	    const void *data, size_t len);

/* Frames for tests, written without the code under test. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <check.h>

/* As ck_assert(), which writes to a file each time, for places run often. */
#define MUST(x)	do { if (!(x)) ck_abort_msg("%s", #x); } while (0)

/* Bytes that grow; free(p). */
struct bytes {
	uint8_t	*p;
	size_t	 len, cap;
};

void		 bytes_put(struct bytes *b, const void *data, size_t len);
void		 bytes_put_byte(struct bytes *b, unsigned byte);

/* Two digits. */
unsigned	 ws_hex(const char *p);

/* The payload of a word (see check_ws.c): from ':' or '*' to its end. */
struct bytes	 ws_payload(const char *p, const char *end);

/* A frame with that first byte; mask NULL: without one. */
void		 ws_put_frame(struct bytes *out, unsigned first,
		    const struct bytes *data, const uint8_t *mask);

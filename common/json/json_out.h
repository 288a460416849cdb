/*
 * Writes JSON at the end of a buf.  Errors stick: look once, at the end.  What
 * was written before the first error stays in the buf.  Commas are put in; that
 * brackets match and keys come in pairs with values is up to the caller.
 *
 *	struct json_out	 o;
 *
 *	json_out_init(&o, &b);
 *	json_out_open(&o, '{');
 *	json_out_key(&o, "seq");
 *	json_out_u64(&o, 1);
 *	json_out_close(&o, '}');
 *	if (json_out_fini(&o) == -1) ...
 */
#ifndef COMMON_JSON_JSON_OUT_H
#define COMMON_JSON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct json_out {
	struct buf	*b;
	bool		 need_comma;
	bool		 is_shown;	/* see json_out_shown() */
	int		 error;		/* errno of the first failure, or 0 */
};

void	 json_out_init(struct json_out *o, struct buf *b);

/*
 * From now on it is for files that people look at in a terminal: in strings,
 * and in what is JSON already, what gives orders to one (DEL, C1) or turns
 * the direction of writing is escaped too.
 */
void	 json_out_shown(struct json_out *o);

/* 0 when everything was written, else -1 with errno of the first failure. */
int	 json_out_fini(struct json_out *o) __attribute__((warn_unused_result));

void	 json_out_open(struct json_out *o, char bracket);	/* '{' or '[' */
void	 json_out_close(struct json_out *o, char bracket);	/* '}' or ']' */

/* A key of ASCII that needs no escapes (ours), or any text. */
void	 json_out_key(struct json_out *o, const char *key);
void	 json_out_key_text(struct json_out *o, const char *key, size_t len);

/*
 * A string.  Escaped as RFC 8259 demands (quote, backslash, below U+0020) and
 * no more; bytes that are not UTF-8 become U+FFFD, one for each.
 */
void	 json_out_text(struct json_out *o, const char *text, size_t len);
void	 json_out_str(struct json_out *o, const char *str);
void	 json_out_u64(struct json_out *o, uint64_t n);
void	 json_out_i64(struct json_out *o, int64_t n);
void	 json_out_bool(struct json_out *o, bool b);
void	 json_out_null(struct json_out *o);

/* The base64 of len bytes, as a string. */
void	 json_out_b64(struct json_out *o, const void *data, size_t len);

/* A value that is JSON already. */
void	 json_out_raw(struct json_out *o, const char *json, size_t len);

#endif

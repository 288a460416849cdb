/* Writes JSON, with commas, to a buf; json_out_fini() tells errors. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct json_out {
	struct buf	*b;
	bool		 need_comma;
	bool		 is_shown;	/* see json_out_shown() */
	int		 error;		/* first errno, or 0 */
};

void	 json_out_init(struct json_out *o, struct buf *b);

/* Also escape what controls a terminal (DEL, C1) or the text direction. */
void	 json_out_shown(struct json_out *o);

/* -1: with errno of the first failure. */
int	 json_out_fini(struct json_out *o) MUST_CHECK;

void	 json_out_open(struct json_out *o, char bracket);	/* '{' or '[' */
void	 json_out_close(struct json_out *o, char bracket);	/* '}' or ']' */

/* Plain ASCII without escapes; any text. */
void	 json_out_key(struct json_out *o, const char *key);
void	 json_out_key_text(struct json_out *o, const char *key, size_t len);

/* What is not UTF-8 becomes U+FFFD. */
void	 json_out_text(struct json_out *o, const char *text, size_t len);
void	 json_out_str(struct json_out *o, const char *str);
void	 json_out_u64(struct json_out *o, uint64_t n);
void	 json_out_i64(struct json_out *o, int64_t n);
void	 json_out_bool(struct json_out *o, bool b);
void	 json_out_null(struct json_out *o);

/* A key, as of json_out_key(), and its value. */
void	 json_out_pair(struct json_out *o, const char *key, const char *str);
void	 json_out_pair_u64(struct json_out *o, const char *key, uint64_t n);
void	 json_out_pair_bool(struct json_out *o, const char *key, bool b);

/* The file: URI of an absolute path; of any other, or NULL, null. */
void	 json_out_uri(struct json_out *o, const char *path);

void	 json_out_b64(struct json_out *o, const void *data, size_t len);

/* A value that is JSON. */
void	 json_out_raw(struct json_out *o, const char *json, size_t len);

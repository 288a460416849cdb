#include "worker/session/asciicast.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json_out.h"
#include "common/json/utf8.h"

#define WHY_MAX		100	/* bytes of a reason */

/* Begin an asciicast row or a JSON object; end_line() ends it. */
static void
begin_line(bool is_terminal, struct json_out *o, struct buf *b, uint64_t us,
    const char *code)
{
	char	 seconds[40];
	int	 n;

	n = snprintf(seconds, sizeof(seconds), "%llu.%06llu",
	    (unsigned long long)(us / 1000000),
	    (unsigned long long)(us % 1000000));
	json_out_init(o, b);
	json_out_shown(o);
	json_out_open(o, is_terminal ? '[' : '{');
	if (!is_terminal)
		json_out_key(o, "t");
	json_out_raw(o, seconds, (size_t)n);
	if (is_terminal)
		json_out_str(o, code);
}

/* End the line.  On failure cut b back to before. */
static int
end_line(bool is_terminal, struct json_out *o, size_t before)
{
	struct buf	*b = o->b;

	json_out_close(o, is_terminal ? ']' : '}');
	if (json_out_fini(o) == 0 && buf_put(b, "\n", 1) == 0)
		return 0;
	b->len = before;
	return -1;
}

static void
put_process(const struct asciicast *c, struct json_out *o)
{
	json_out_key(o, "process");
	json_out_raw(o, c->json_id, c->json_id_len);
}

static void
put_arguments(struct json_out *o, char *const *argv)
{
	size_t	 i;

	json_out_key(o, "arguments");
	json_out_open(o, '[');
	for (i = 0; argv[i] != NULL; i++)
		json_out_str(o, argv[i]);
	json_out_close(o, ']');
}

/* Write argv as one text, the form of asciicast. */
static void
put_command(struct json_out *o, char *const *argv)
{
	size_t	 i, size = 0;
	char	*text, *at;

	for (i = 0; argv[i] != NULL; i++)
		size += strlen(argv[i]) + 1;
	if ((text = malloc(size + 1)) == NULL) {
		o->error = ENOMEM;
		return;
	}
	for (i = 0, at = text; argv[i] != NULL; i++) {
		if (i > 0)
			*at++ = ' ';
		at = stpcpy(at, argv[i]);
	}
	json_out_key(o, "command");
	json_out_text(o, text, (size_t)(at - text));
	free(text);
}

int
asciicast_head(const struct asciicast *c, struct buf *b,
    const struct asciicast_head *h)
{
	struct json_out	 o;
	size_t		 before = b->len;
	char		 title[32];

	json_out_init(&o, b);
	json_out_shown(&o);
	json_out_open(&o, '{');
	if (c->is_terminal) {
		json_out_pair_u64(&o, "version", 2);
		json_out_pair_u64(&o, "width", h->cols);
		json_out_pair_u64(&o, "height", h->rows);
	}
	json_out_pair_u64(&o, "timestamp", h->time);
	if (!c->is_terminal) {
		json_out_pair_u64(&o, "session", h->session);
		return end_line(false, &o, before);
	}
	snprintf(title, sizeof(title), "session %u", h->session);
	json_out_pair(&o, "title", title);
	if (h->argv != NULL)
		put_command(&o, h->argv);
	return end_line(false, &o, before);
}

int
asciicast_start(const struct asciicast *c, struct buf *b, uint64_t us,
    int64_t pid, char *const *argv)
{
	struct json_out	 o;
	size_t		 before = b->len;

	if (c->is_terminal)
		return 0;		/* the header has it */
	begin_line(false, &o, b, us, NULL);
	put_process(c, &o);
	json_out_pair(&o, "event", "start");
	json_out_key(&o, "pid");
	json_out_i64(&o, pid);
	if (argv != NULL)
		put_arguments(&o, argv);
	return end_line(false, &o, before);
}

static int
put_output(const struct asciicast *c, struct buf *b, uint64_t us,
    unsigned stream, const char *text, size_t len)
{
	struct json_out	 o;
	size_t		 before = b->len;

	if (len == 0)
		return 0;
	begin_line(c->is_terminal, &o, b, us, "o");
	if (c->is_terminal) {
		json_out_text(&o, text, len);
		return end_line(true, &o, before);
	}
	put_process(c, &o);
	json_out_pair(&o, "stream", stream == 0 ? "stdout" : "stderr");
	if (utf8_is_valid(text, len)) {
		json_out_key(&o, "data");
		json_out_text(&o, text, len);
	} else {
		json_out_key(&o, "base64");
		json_out_b64(&o, text, len);
	}
	return end_line(false, &o, before);
}

int
asciicast_output(struct asciicast *c, struct buf *b, uint64_t us,
    unsigned stream, const void *data, size_t len)
{
	size_t	 n = c->rest[stream].n, keep;
	char	*joined = NULL;
	int	 r;

	if (n > 0) {
		if ((joined = malloc(n + len)) == NULL)
			return -1;
		memcpy(joined, c->rest[stream].byte, n);
		memcpy(joined + n, data, len);
		data = joined;
		len += n;
	}
	keep = utf8_rest(data, len);
	r = put_output(c, b, us, stream, data, len - keep);
	memcpy(c->rest[stream].byte, (const char *)data + len - keep, keep);
	c->rest[stream].n = keep;
	free(joined);
	return r;
}

int
asciicast_resize(const struct asciicast *c, struct buf *b, uint64_t us,
    uint16_t rows, uint16_t cols)
{
	struct json_out	 o;
	size_t		 before = b->len;
	char		 text[16];

	if (!c->is_terminal)
		return 0;
	snprintf(text, sizeof(text), "%ux%u", cols, rows);
	begin_line(true, &o, b, us, "r");
	json_out_str(&o, text);
	return end_line(true, &o, before);
}

int
asciicast_exit(const struct asciicast *c, struct buf *b, uint64_t us, int code)
{
	struct json_out	 o;
	size_t		 before = b->len;
	char		 text[24];

	begin_line(c->is_terminal, &o, b, us, "m");
	if (c->is_terminal) {
		snprintf(text, sizeof(text), "exit %d", code);
		json_out_str(&o, text);
		return end_line(true, &o, before);
	}
	put_process(c, &o);
	json_out_pair(&o, "event", "exit");
	json_out_key(&o, "code");
	json_out_i64(&o, code);
	return end_line(false, &o, before);
}

int
asciicast_close(struct asciicast *c, struct buf *b, uint64_t us)
{
	unsigned	 i;
	int		 r = 0;

	for (i = 0; i < ASCIICAST_STREAMS; i++) {
		if (put_output(c, b, us, i, (const char *)c->rest[i].byte,
		    c->rest[i].n) == -1)
			r = -1;
		c->rest[i].n = 0;
	}
	return r;
}

int
asciicast_cut(bool is_terminal, struct buf *b, uint64_t us, const char *why)
{
	struct json_out	 o;
	size_t		 before = b->len;
	char		 text[WHY_MAX + 8];

	begin_line(is_terminal, &o, b, us, "m");
	if (is_terminal) {
		snprintf(text, sizeof(text), "cut: %.*s", WHY_MAX, why);
		json_out_str(&o, text);
		return end_line(true, &o, before);
	}
	json_out_pair(&o, "event", "cut");
	json_out_key(&o, "why");
	json_out_text(&o, why, strnlen(why, WHY_MAX));
	return end_line(false, &o, before);
}

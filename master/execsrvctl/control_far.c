#include "master/execsrvctl/control.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/clock.h"
#include "common/json/b64.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

#define CAN		"execsrvOperate"
#define ANSWER_MS	10000
#define READ_MS		20000	/* that the server waits for output */
#define PARAMS_MAX	(64 * 1024)
#define COLUMNS_MAX	256

/* An answer, parsed; its texts end with NUL. */
struct far_answer {
	bool			 is_there;
	struct execsrv_error	 e;	/* if it is an error */
	bool			 is_error;
	char			*text;
	struct json		 j;
};

static void
far_on_answer(void *arg, const char *result, size_t len,
    const struct execsrv_error *e)
{
	struct far_answer	*a = arg;

	assert(!a->is_there && a->text == NULL);
	a->is_there = true;
	a->is_error = true;
	if (e != NULL) {
		a->e = *e;
		return;
	}
	if ((a->text = malloc(len + 1)) != NULL) {
		memcpy(a->text, result, len);
		a->is_error = json_parse(&a->j, a->text, len) == -1;
	}
	if (a->is_error)
		snprintf(a->e.text, sizeof(a->e.text),
		    "the server's answer cannot be read: %s", strerror(errno));
}

static void
far_answer_fini(struct far_answer *a)
{
	json_fini(&a->j);
	free(a->text);
}

/* Send a request and wait; ms: -1 for ever.  0, or -1 with the reason in a. */
static int
far_call(struct execsrv *x, const char *method, struct buf *params, int ms,
    struct far_answer *a)
{
	uint64_t	 now = clock_ms(), deadline = now + (uint64_t)ms;

	if (execsrv_call_json(x, method, (char *)buf_data(params),
	    params->len, far_on_answer, a) == -1) {
		a->e = *execsrv_why(x);
		if (a->e.text[0] == '\0')
			snprintf(a->e.text, sizeof(a->e.text), "%s",
			    strerror(errno));
		return -1;
	}
	for (; !a->is_there && (ms == -1 || now < deadline); now = clock_ms())
		if (execsrv_wait(x, ms == -1 ? EXECSRV_FOREVER :
		    (int)(deadline - now)) == -1)
			break;
	if (a->is_there)
		return a->is_error ? -1 : 0;
	if (execsrv_cancel(x, execsrv_last_request(x)) == 0 &&
	    execsrv_status(x) != EXECSRV_FAILED)
		snprintf(a->e.text, sizeof(a->e.text),
		    "the server does not answer");
	else
		a->e = *execsrv_why(x);
	return -1;
}

/* A text of the answer, or NULL.  What follows it there is not needed. */
static char *
far_text(const struct json *j, uint32_t tok)
{
	const struct json_tok	*t = json_tok(j, tok);

	if (tok == 0 || t->type != JSON_STRING ||
	    memchr(j->text + t->pos, '\0', t->len) != NULL)
		return NULL;
	j->text[t->pos + t->len] = '\0';	/* was the quote */
	return j->text + t->pos;
}

static bool
far_is_true(const struct json *j, const char *key)
{
	uint32_t	 tok = json_find(j, 0, key);

	return tok != 0 && json_tok(j, tok)->type == JSON_TRUE;
}

/* --- tables --- */

static enum table_kind
far_kind(const char *name)
{
	return strcmp(name, "number") == 0 ? TABLE_NUMBER :
	    strcmp(name, "list") == 0 ? TABLE_LIST :
	    strcmp(name, "flag") == 0 ? TABLE_FLAG : TABLE_TEXT;
}

/* Make a table with the columns, if there are any.  -1: malformed, ENOMEM. */
static int
far_head(const struct json *j, enum table_kind kinds[COLUMNS_MAX],
    struct table **t_out)
{
	char		*names[COLUMNS_MAX], *kind;
	uint32_t	 list = json_find(j, 0, "columns"), i;
	size_t		 n = 0;

	if (list == 0 || json_tok(j, list)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i)) {
		if (n == COLUMNS_MAX ||
		    (names[n] = far_text(j, json_find(j, i, "name"))) == NULL ||
		    (kind = far_text(j, json_find(j, i, "kind"))) == NULL)
			return -1;
		execsrv_printable(names[n]);
		kinds[n++] = far_kind(kind);
	}
	if (n == 0)
		return 0;
	*t_out = table_new(n, names, kinds);
	return *t_out != NULL ? 0 : -1;
}

/* Make a cell printable, or each line of a list. */
static void
far_clean(char *cell, bool is_list)
{
	char	*end;

	for (; cell != NULL; cell = end) {
		end = is_list ? strchr(cell, '\n') : NULL;
		if (end != NULL)
			*end = '\0';
		execsrv_printable(cell);
		if (end != NULL)
			*end++ = '\n';
	}
}

static int
far_row(const struct json *j, uint32_t row, const struct control_request *q,
    const enum table_kind *kinds, struct table *t)
{
	char		*cells[COLUMNS_MAX];
	uint32_t	 i;
	size_t		 n = 0;

	assert(table_columns(t) <= COLUMNS_MAX);
	if (json_tok(j, row)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(row); json_more(j, row, i);
	    i = json_after_elem(j, i)) {
		if (n == table_columns(t) ||
		    (cells[n] = far_text(j, i)) == NULL)
			return -1;
		far_clean(cells[n], kinds[n] == TABLE_LIST);
		n++;
	}
	if (n != table_columns(t))
		return -1;
	if (q->on_row == NULL)
		return table_add(t, n, cells);
	q->on_row(q->arg_of_row, cells, n);
	return 0;
}

static int
far_table(const struct json *j, const struct control_request *q,
    struct table **t_out)
{
	enum table_kind	 kinds[COLUMNS_MAX];
	uint32_t	 list = json_find(j, 0, "rows"), i;

	if (far_head(j, kinds, t_out) == -1 || list == 0 ||
	    json_tok(j, list)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i))
		if (*t_out == NULL || far_row(j, i, q, kinds,
		    *t_out) == -1)
			return -1;
	return 0;
}

static int
far_put(const struct control_request *q, struct buf *b)
{
	struct json_out	 o;
	size_t		 i;

	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_pair(&o, "command", q->command);
	json_out_key(&o, "arguments");
	json_out_open(&o, '[');
	for (i = 0; i < q->narg; i++)
		json_out_str(&o, q->arg[i]);
	json_out_close(&o, ']');
	json_out_pair_bool(&o, "option", q->option);
	json_out_close(&o, '}');
	return json_out_fini(&o);
}

/*
 * As a client of it (session/operate): about other sessions of the caller only.
 */
int
control_far_ask(const struct control_request *q, struct table **t_out,
    bool *has_output_out, struct control_error *e)
{
	struct far_answer	 a;
	struct buf		 b;
	uint64_t		 code = EXIT_OTHER;
	char			*why;
	int			 status = EXIT_OTHER;

	*has_output_out = false;
	memset(&a, 0, sizeof(a));
	json_init(&a.j);
	if (!execsrv_can(q->x, CAN)) {
		snprintf(e->text, sizeof(e->text), "this server cannot be "
		    "asked for sessions (it does not announce " CAN ")");
		return EXIT_OTHER;
	}
	buf_init(&b, PARAMS_MAX);
	if (far_put(q, &b) == -1)
		snprintf(e->text, sizeof(e->text), "%s", strerror(errno));
	else if (far_call(q->x, "session/operate", &b,
	    q->is_patient ? -1 : ANSWER_MS, &a) == -1)
		snprintf(e->text, sizeof(e->text), "%s", a.e.text);
	else if (far_table(&a.j, q, t_out) == -1 || json_u64(&a.j,
	    json_find(&a.j, 0, "exitCode"), &code) == -1 || code > 255)
		snprintf(e->text, sizeof(e->text),
		    "the server's answer is malformed");
	else
		status = (int)code;
	if (status != EXIT_OK && e->text[0] == '\0') {
		why = far_text(&a.j, json_find(&a.j, 0, "error"));
		snprintf(e->text, sizeof(e->text), "%s", why != NULL &&
		    why[0] != '\0' ? why : "the server refused");
		execsrv_printable(e->text);
	}
	if (status == EXIT_OK)
		*has_output_out = far_is_true(&a.j, "hasOutput");
	far_answer_fini(&a);
	buf_fini(&b);
	return status;
}

/* --- output --- */

static int
far_piece(const struct json *j, uint32_t tok, control_piece_fn *fn, void *arg)
{
	struct control_piece	 p;
	uint32_t		 chunk = json_find(j, tok, "chunk");
	ssize_t			 n;

	p.stream = far_text(j, json_find(j, tok, "stream"));
	if (p.stream == NULL || chunk == 0 ||
	    json_u64(j, json_find(j, tok, "seq"), &p.seq) == -1 ||
	    json_tok(j, chunk)->type != JSON_STRING)
		return -1;
	p.data = j->text + json_tok(j, chunk)->pos;
	if ((n = b64_decode(p.data, p.data, json_tok(j, chunk)->len)) == -1)
		return -1;
	p.len = (size_t)n;
	return fn(arg, &p);
}

int
control_far_read(struct execsrv *x, control_piece_fn *fn, void *arg,
    struct execsrv_error *e)
{
	struct far_answer	 a;
	struct json_out		 o;
	struct buf		 b;
	uint32_t		 list, i;
	int			 r = -1;

	buf_init(&b, PARAMS_MAX);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair_u64(&o, "waitMs", READ_MS);
	json_out_close(&o, '}');
	memset(e, 0, sizeof(*e));
	memset(&a, 0, sizeof(a));
	json_init(&a.j);
	if (json_out_fini(&o) == -1) {
		snprintf(e->text, sizeof(e->text), "%s", strerror(errno));
		buf_fini(&b);
		return -1;
	}
	if (far_call(x, "session/tail", &b, 2 * READ_MS, &a) == -1) {
		*e = a.e;
	} else if ((list = json_find(&a.j, 0, "pieces")) != 0 &&
	    json_tok(&a.j, list)->type == JSON_ARRAY) {
		r = far_is_true(&a.j, "isOver") ? 0 : 1;
		for (i = json_first(list); r != -1 && json_more(&a.j, list, i);
		    i = json_after_elem(&a.j, i))
			if (far_piece(&a.j, i, fn, arg) == -1)
				r = -1;
	}
	far_answer_fini(&a);
	buf_fini(&b);
	return r;
}

#include "master/hub/hubgather.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define ROW		"{\"row\":{\"environment\":\""
#define ROOM		(64 * 1024 * 1024)	/* bytes, of all hubs */

struct hubgather {
	struct hub		*hub;
	struct hubgather	**place;	/* where the owner has it */
	struct engine_request	 request;
	struct buf		 lines;
	bool			 has_more;
	hubgather_fn		*fn;
	void			*arg;
};

/* --- what is here --- */

void
hubgather_put(struct json_out *o, const struct executor *x)
{
	char	 id[REGISTRATION_TEXT + 1];

	registration_text(x->registration, id);
	json_out_pair(o, "environment", x->environment);
	json_out_pair(o, "labels", x->labels);
	json_out_pair(o, "subject", x->subject->name);
	json_out_pair(o, "address", x->address);
	json_out_pair(o, "registration", id);
	json_out_pair_u64(o, "since", x->since);
	json_out_pair_u64(o, "harnesses", x->nharness);
	json_out_pair_u64(o, "streams", x->nstream);
	json_out_pair_u64(o, "bytes_in", x->bytes_in);
	json_out_pair_u64(o, "bytes_out", x->bytes_out);
}

static int
hubgather_here(struct hubgather *g, const struct hubgather_want *want)
{
	struct executor	**found;
	struct json_out	 o;
	size_t		 i, n;
	int		 r = 0;

	if ((found = switchboard_list(&g->hub->board, want->label,
	    want->after, &n)) == NULL)
		return -1;
	for (i = 0; i < n && i < HUBGATHER_MAX && r == 0; i++) {
		json_out_init(&o, &g->lines);
		json_out_shown(&o);
		json_out_open(&o, '{');
		json_out_key(&o, "row");
		json_out_open(&o, '{');
		hubgather_put(&o, found[i]);
		json_out_close(&o, '}');
		json_out_close(&o, '}');
		r = json_out_fini(&o) == -1 ||
		    buf_put(&g->lines, "\n", 1) == -1 ? -1 : 0;
	}
	g->has_more = n > HUBGATHER_MAX;
	free(found);
	return r;
}

/* --- lines --- */

struct span
hubgather_name(struct span line)
{
	size_t	 i, n = strlen(ROW);

	if (!span_begins(line, ROW))
		return (struct span){ NULL, 0 };
	/* Names have no escapes. */
	for (i = n; i < line.len && line.at[i] != '"'; i++)
		;
	return (struct span){ line.at + n, i - n };
}

static int
hubgather_order(struct span a, struct span b)
{
	size_t	 n = a.len < b.len ? a.len : b.len;
	int	 r = memcmp(a.at, b.at, n);

	return r != 0 ? r : a.len < b.len ? -1 : a.len > b.len;
}

static int
hubgather_by_line(const void *a, const void *b)
{
	return hubgather_order(hubgather_name(*(const struct span *)a),
	    hubgather_name(*(const struct span *)b));
}

/* Count lines, or note those that are rows; last lines say if there is more. */
static size_t
hubgather_lines(struct hubgather *g, struct span *row)
{
	struct span	 rest = { (const char *)buf_data(&g->lines),
			    g->lines.len }, line;
	size_t		 n = 0;

	while (span_cut(&rest, '\n', &line)) {
		if (row == NULL)
			n++;
		else if (hubgather_name(line).at != NULL)
			row[n++] = line;
		else if (memmem(line.at, line.len, "\"next\":", 7) != NULL)
			g->has_more = true;
	}
	return n;
}

/* All hubs have answered, or are late. */
static void
hubgather_finish(struct hubgather *g, unsigned silent)
{
	struct hubgather_page	 page = { .silent = silent };
	size_t			 i, n, max = hubgather_lines(g, NULL);

	assert(*g->place == g && g->request.pending == NULL);
	if ((page.row = calloc(max + 1, sizeof(*page.row))) != NULL) {
		n = hubgather_lines(g, page.row);
		assert(n <= max);
		qsort(page.row, n, sizeof(*page.row), hubgather_by_line);
		/* One that moves just now may be at two. */
		for (i = 0; i < n; i++)
			if (page.n == 0 || hubgather_by_line(
			    &page.row[page.n - 1], &page.row[i]) != 0)
				page.row[page.n++] = page.row[i];
		page.has_more = g->has_more || page.n > HUBGATHER_MAX;
		if (page.n > HUBGATHER_MAX)
			page.n = HUBGATHER_MAX;
	}
	*g->place = NULL;
	g->fn(g->arg, &page);
	free(page.row);
	hubgather_free(&g);
}

static void
hubgather_on_rows(void *arg, struct span text, unsigned silent)
{
	struct hubgather	*g = arg;

	if (text.at == NULL)
		hubgather_finish(g, silent);
	else if (buf_put(&g->lines, text.at, text.len) == -1)
		g->has_more = true;
}

static int
hubgather_ask(struct hubgather *g, const struct hubgather_want *want)
{
	struct engine	*e = g->hub->engine;
	struct json_out	 o;
	struct buf	 b;
	int		 r;

	buf_init(&b, 1024);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "cmd", "list");
	json_out_pair(&o, "label", want->label);
	json_out_pair(&o, "after", want->after);
	json_out_close(&o, '}');
	if ((r = json_out_fini(&o)) == 0)
		e->ops->request(e, NULL, NULL, (struct span){
		    (const char *)buf_data(&b), b.len }, &g->request);
	buf_fini(&b);
	return r;
}

/* --- life --- */

int
hubgather(struct hub *h, const struct hubgather_want *want,
    struct hubgather **out, hubgather_fn *fn, void *arg)
{
	struct hubgather	*g;

	assert(*out == NULL);
	if ((g = calloc(1, sizeof(*g))) == NULL)
		return -1;
	g->hub = h;
	g->place = out;
	g->fn = fn;
	g->arg = arg;
	g->request.fn = hubgather_on_rows;
	g->request.arg = g;
	buf_init(&g->lines, ROOM);
	*out = g;
	if (hubgather_here(g, want) == -1) {
		hubgather_free(out);
		return -1;
	}
	if (want->is_local || !h->engine->is_shared) {
		hubgather_finish(g, 0);
		return 0;
	}
	if (hubgather_ask(g, want) == 0)
		return 0;
	hubgather_free(out);
	return -1;
}

void
hubgather_free(struct hubgather **gp)
{
	struct hubgather	*g = *gp;

	*gp = NULL;
	if (g == NULL)
		return;
	g->hub->engine->ops->cancel_request(g->hub->engine, &g->request);
	buf_fini(&g->lines);
	free(g);
}

/* How far a copy has come, as a line of the terminal: of a file or a tree. */
#include <sys/types.h>

#include <fts.h>
#include <stdio.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"
#include "master/execsrvctl/cp/progress.h"
#include "master/execsrvctl/term.h"

static void
print(struct cp *c, const char *name, uint64_t bytes, uint64_t total,
    const char *end)
{
	char		 line[512], many[PATH_MAX];
	struct cp_shown	*s = &c->shown;
	uint16_t	 rows, cols;

	if (term_size(&rows, &cols) == -1 || cols == 0)
		cols = 80;
	if (s->is_tree) {
		snprintf(many, sizeof(many), "%zu file%s%s%s", s->files,
		    s->files == 1 ? "" : "s", name[0] != '\0' ? ": " : "",
		    name);
		bytes += s->bytes;
		total = s->total;
	}
	progress_line(line, sizeof(line), cols - 1u, s->is_tree ? many : name,
	    bytes, total, clock_ms() - s->begin);
	execsrv_printable(line);
	fprintf(stderr, "\r%s\033[K%s", line, end);
}

void
cp_show(struct cp *c, const char *name, uint64_t bytes, uint64_t total)
{
	uint64_t	 now = clock_ms();

	if (!c->is_shown || now - c->shown.last < SHOW_MS)
		return;
	c->shown.last = now;
	print(c, name, bytes, total, "");
}

void
cp_shown(struct cp *c, const char *name, uint64_t bytes, uint64_t total)
{
	if (!c->is_shown)
		return;
	if (!c->shown.is_tree) {
		print(c, name, bytes, total, "\n");
		return;
	}
	c->shown.files++;
	c->shown.bytes += bytes;
	cp_show(c, name, 0, total);
}

void
cp_show_begin(struct cp *c)
{
	const struct cp_options	*o = c->o;
	FTS			*all;
	FTSENT			*e;

	c->shown.begin = clock_ms();
	c->shown.is_tree = o->recursive || o->n > 1;
	if (!c->is_shown || !c->shown.is_tree || !o->is_upload ||
	    (all = fts_open(o->from, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR,
	    NULL)) == NULL)
		return;
	while ((e = fts_read(all)) != NULL)
		if (e->fts_info == FTS_F)
			c->shown.total += (uint64_t)e->fts_statp->st_size;
	fts_close(all);
}

void
cp_show_end(struct cp *c)
{
	if (c->is_shown && c->shown.is_tree)
		print(c, "", 0, 0, "\n");
}

/*
 * usage: 731-library-calls URL FOLDER HTTP-URL
 *	731-library-calls spawn: FOLDER HTTP-URL COMMAND ...
 *
 * Every request of libexecsrv to a server that is there: what is written in
 * FOLDER is what is read.  Prints what was wrong and ends with 1, or "fine".
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"

#define MS	60000
#define BIG	((size_t)3 * 1024 * 1024 + 77)

#define MUST(c)								\
	do {								\
		if (!(c))						\
			errx(1, "%s:%d: %s (%lld %s)", __FILE__,	\
			    __LINE__, #c, (long long)e.code, e.text);	\
	} while (0)

static struct execsrv_error	 e;
static struct execsrv		*x;
static char			 folder[512], path[600], other[600];

static void
environment(void)
{
	struct execsrv_environment	*info;
	struct execsrv_condition	*c;

	MUST((info = execsrv_environment_info_wait(x, MS, &e)) != NULL);
	MUST(info->shell != NULL && info->shell[0] == '/');
	MUST(info->version != NULL && info->cwd != NULL);
	MUST(strcmp(info->cwd, execsrv_cwd(x)) == 0);
	free(info);
	MUST((c = execsrv_environment_status_wait(x, MS, &e)) != NULL);
	MUST(strcmp(c->status, "ready") == 0);
	free(c);
}

static void
small_files(void)
{
	struct execsrv_fs_create	 mkdir = { .path = folder };
	struct execsrv_fs_write		 put = { .path = path,
					    .bytes = { "a\0b", 3 } };
	struct execsrv_fs_copy		 copy = { .from = path, .to = other };
	struct execsrv_fs_path		 at = { .path = other };
	struct execsrv_content		*c;
	struct execsrv_metadata		*m;
	struct execsrv_path		*p;

	MUST(execsrv_fs_create_directory_wait(x, &mkdir, MS, &e) == 0);
	MUST(execsrv_fs_write_file_wait(x, &put, MS, &e) == 0);
	MUST(execsrv_fs_copy_wait(x, &copy, MS, &e) == 0);
	MUST((c = execsrv_fs_read_file_wait(x, &at, MS, &e)) != NULL);
	MUST(c->bytes.len == 3 && memcmp(c->bytes.data, "a\0b", 3) == 0);
	free(c);
	MUST((m = execsrv_fs_metadata_wait(x, &at, MS, &e)) != NULL);
	MUST(m->is_file && !m->is_directory && !m->is_link && m->size == 3);
	MUST(m->modified_ms > 1700000000000);
	free(m);
	MUST((p = execsrv_fs_canonicalize_wait(x, &at, MS, &e)) != NULL);
	MUST(strcmp(strrchr(p->path, '/'), "/other") == 0);
	free(p);
}

static void
folders(void)
{
	struct execsrv_fs_path		 at = { .path = folder };
	struct execsrv_fs_walk		 walk = { .path = folder,
					    .max_depth = 4, .max_entries = 100,
					    .max_directories = 100 };
	struct execsrv_fs_remove	 gone = { .path = other,
					    .must_exist = true };
	struct execsrv_directory	*d;
	struct execsrv_tree		*t;

	MUST((d = execsrv_fs_directory_wait(x, &at, MS, &e)) != NULL);
	MUST(d->nentries == 2 && d->entries[1].is_file);
	free(d);
	MUST((t = execsrv_fs_walk_wait(x, &walk, MS, &e)) != NULL);
	MUST(t->nentries == 2 && t->nerrors == 0 && !t->is_truncated);
	MUST(strcmp(strrchr(t->entries[0].path, '/'), "/a b") == 0);
	MUST(strcmp(t->entries[0].kind, "file") == 0);
	free(t);
	MUST(execsrv_fs_remove_wait(x, &gone, MS, &e) == 0);
	MUST(execsrv_fs_remove_wait(x, &gone, MS, &e) == -1);
	MUST(e.code == -32004);
	gone.must_exist = false;
	MUST(execsrv_fs_remove_wait(x, &gone, MS, &e) == 0);
}

static void
blocks(void)
{
	struct execsrv_fs_open		 open = { .handle = "h", .path = path,
					    .mode = "replace" };
	struct execsrv_fs_write_block	 put = { .handle = "h", .offset = 2,
					    .bytes = { "xyz", 3 } };
	struct execsrv_fs_read_block	 get = { .handle = "h", .offset = 1,
					    .len = 10 };
	struct execsrv_fs_handle	 h = { .handle = "h" };
	struct execsrv_block		*b;

	MUST(execsrv_fs_open_wait(x, &open, MS, &e) == 0);
	MUST(execsrv_fs_write_block_wait(x, &put, MS, &e) == 0);
	MUST(execsrv_fs_close_wait(x, &h, MS, &e) == 0);
	open.mode = NULL;
	MUST(execsrv_fs_open_wait(x, &open, MS, &e) == 0);
	MUST((b = execsrv_fs_read_block_wait(x, &get, MS, &e)) != NULL);
	MUST(b->is_end && b->bytes.len == 4 &&
	    memcmp(b->bytes.data, "\0xyz", 4) == 0);
	free(b);
	MUST(execsrv_fs_close_wait(x, &h, MS, &e) == 0);
	MUST(execsrv_fs_close_wait(x, &h, MS, &e) == 0 ||
	    e.code == -32004);
}

/* --- streams --- */

struct moved {
	char	*data;
	size_t	 at;
	bool	 is_done;
};

static ssize_t
on_room(void *arg, void *room, size_t size)
{
	struct moved	*m = arg;
	size_t		 n = BIG - m->at < size ? BIG - m->at : size;

	memcpy(room, m->data + m->at, n);
	m->at += n;
	return (ssize_t)n;
}

static void
on_data(void *arg, const void *data, size_t len)
{
	struct moved	*m = arg;

	MUST(len <= BIG - m->at && memcmp(m->data + m->at, data, len) == 0);
	m->at += len;
}

static void
on_done(void *arg, uint64_t bytes, const struct execsrv_error *why)
{
	struct moved	*m = arg;

	if (why != NULL)
		e = *why;
	MUST(why == NULL && bytes == BIG && m->at == BIG);
	m->is_done = true;
}

static void
big_file(void)
{
	static const struct execsrv_transfer_hooks	 hooks = {
		.on_data = on_data, .on_room = on_room, .on_done = on_done
	};
	struct execsrv_file	 f = { .path = path };
	struct execsrv_transfer	*t;
	struct moved		 m = { .data = malloc(BIG) };
	size_t			 i;

	MUST(m.data != NULL);
	for (i = 0; i < BIG; i++)
		m.data[i] = (char)(i * 7 + i / 251);
	MUST((t = execsrv_file_write(x, &f, &hooks, &m)) != NULL);
	while (!m.is_done)
		MUST(execsrv_wait(x, MS) == 0);
	execsrv_transfer_free(&t);
	m.is_done = false;
	m.at = 0;
	MUST((t = execsrv_file_read(x, &f, &hooks, &m)) != NULL);
	while (!m.is_done)
		MUST(execsrv_wait(x, MS) == 0);
	execsrv_transfer_free(&t);
	free(m.data);
}

static void
on_head(void *arg, const struct execsrv_http_head *h)
{
	(void)arg;
	MUST(h->status == 200 && h->nheaders > 0);
}

static void
on_body(void *arg, const void *data, size_t len)
{
	struct moved	*m = arg;
	size_t		 i;

	for (i = 0; i < len; i++)
		MUST(((const char *)data)[i] == 'x');
	m->at += len;
}

static void
on_end(void *arg, const struct execsrv_error *why)
{
	if (why != NULL)
		e = *why;
	MUST(why == NULL);
	((struct moved *)arg)->is_done = true;
}

static void
http(const char *url)
{
	static const struct execsrv_http_hooks	 hooks = {
		.on_head = on_head, .on_body = on_body, .on_done = on_end
	};
	struct execsrv_http_request	 in = { .method = "GET", .url = url };
	struct execsrv_http		*h;
	struct moved			 m = { .at = 0 };

	MUST((h = execsrv_http_request(x, &in, &hooks, &m)) != NULL);
	while (!m.is_done)
		MUST(execsrv_wait(x, MS) == 0);
	MUST(m.at == 300000);
	execsrv_http_free(&h);
}

/* --- watches and processes --- */

static void
on_answer(void *arg, bool is_watched, const struct execsrv_error *why)
{
	if (why != NULL)
		e = *why;
	MUST(is_watched);
	((struct moved *)arg)->at = 1;
}

static void
on_changed(void *arg)
{
	((struct moved *)arg)->is_done = true;
}

static void
watch(void)
{
	static const struct execsrv_watch_hooks	 hooks = {
		.on_answer = on_answer, .on_changed = on_changed
	};
	const char *const	 missing[] = { other, NULL };
	struct execsrv_fs_write	 put = { .path = other, .bytes = { "", 0 } };
	struct execsrv_watch	*w;
	struct moved		 m = { .at = 0 };

	if (!execsrv_can(x, "fsWatchMissing"))
		return;
	MUST((w = execsrv_watch_missing(x, missing, NULL, &hooks, &m)) !=
	    NULL);
	while (m.at == 0)
		MUST(execsrv_wait(x, MS) == 0);
	MUST(execsrv_fs_write_file_wait(x, &put, MS, &e) == 0);
	while (!m.is_done)
		MUST(execsrv_wait(x, MS) == 0);
	execsrv_watch_free(&w);
}

static bool	 is_closed;

static void
on_closed(void *arg)
{
	(void)arg;
	is_closed = true;
}

static void
processes(void)
{
	static const struct execsrv_hooks	 hooks = { .on_closed =
						    on_closed };
	const char *const	 argv[] = { "sh", "-c", "echo $0 $A; pwd",
				    NULL };
	const char *const	 set[] = { "A=set", NULL };
	struct execsrv_env_policy	 policy = { .inherit = "core",
					    .set = set };
	struct execsrv_start	 s = { .argv = argv, .cwd = folder,
				    .env_policy = &policy, .arg0 = "me" };
	struct execsrv_process_read	 in = { .wait_ms = 100 };
	struct execsrv_process_list	*l;
	struct execsrv_retained		*r;
	struct execsrv_process		*p;

	MUST((p = execsrv_process_start(x, &s, &hooks, NULL)) != NULL);
	while (!is_closed)
		MUST(execsrv_wait(x, MS) == 0);
	in.id = execsrv_process_id(p);
	MUST((r = execsrv_process_read_wait(x, &in, MS, &e)) != NULL);
	MUST(r->is_exited && r->is_closed && r->exit_code == 0);
	MUST(r->nchunks >= 1 && !r->is_sandbox_denied);
	MUST(strncmp(r->chunks[0].bytes.data, "me set\n", 7) == 0);
	free(r);
	if (execsrv_can(x, "execsrvProcessList")) {
		MUST((l = execsrv_process_list_wait(x, MS, &e)) != NULL);
		MUST(l->nprocesses == 1 && l->processes[0].is_closed &&
		    strcmp(l->processes[0].id, in.id) == 0);
		free(l);
	}
	execsrv_process_free(&p);
}

int
main(int argc, char **argv)
{
	if (argc < 4)
		errx(1, "usage: 731-library-calls URL FOLDER HTTP-URL ...");
	if (strcmp(argv[1], "spawn:") == 0)
		x = execsrv_spawn_local((const char *const *)argv + 4, NULL,
		    &e);
	else
		x = execsrv_open(argv[1], NULL, &e);
	MUST(x != NULL);
	snprintf(folder, sizeof(folder), "%s/made/deep", argv[2]);
	snprintf(path, sizeof(path), "%s/a b", folder);
	snprintf(other, sizeof(other), "%s/other", folder);
	environment();
	small_files();
	folders();
	blocks();
	big_file();
	http(argv[3]);
	watch();
	processes();
	execsrv_close(&x);
	puts("fine");
	return 0;
}

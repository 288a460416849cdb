/*
 * common/client when a call fails: no crash, nothing left, the caller is told,
 * and whatever says that it worked has.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/execsrvctl/listeners.h"
#include "t/unit/fault.h"
#include "t/unit/peer_help.h"

static unsigned	 nanswers, nfailed;

/* --- answers --- */

static void
on_directory(void *arg, const struct execsrv_directory *r,
    const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, &nanswers);
	ck_assert((r == NULL) != (e == NULL));
	nfailed += r == NULL;
	nanswers++;
	if (r == NULL)
		return;
	ck_assert_uint_eq(r->nentries, 2);
	ck_assert_str_eq(r->entries[0].name, "a");
	ck_assert_str_eq(r->entries[1].name, "\xc3\xa9");
	ck_assert(r->entries[1].is_directory && !r->entries[0].is_directory);
}

static void
on_environment(void *arg, const struct execsrv_environment *r,
    const struct execsrv_error *e)
{
	ck_assert_ptr_eq(arg, &nanswers);
	ck_assert((r == NULL) != (e == NULL));
	nfailed += r == NULL;
	nanswers++;
	if (r == NULL)
		return;
	ck_assert_str_eq(r->shell, "/bin/sh");
	ck_assert_str_eq(r->path_folders[1], "/y");
	ck_assert_ptr_null(r->path_folders[2]);
}

/* A request is refused at once, or it gets an answer, or an error. */
static bool
typed_calls(void)
{
	const struct execsrv_fs_path	 in = { .path = "/x" };
	unsigned			 nsent = 0, i;

	nanswers = nfailed = 0;
	peer_start();
	fault_begin();
	nsent += execsrv_fs_directory(x, &in, on_directory, &nanswers) == 0;
	nsent += execsrv_environment_info(x, on_environment, &nanswers) == 0;
	fault_end();
	if (nsent == 2) {
		peer_say("{\"id\":1,\"result\":{\"entries\":[{\"fileName\":"
		    "\"a\",\"isDirectory\":false,\"isFile\":true},"
		    "{\"fileName\":\"\\u00e9\",\"isDirectory\":true,"
		    "\"isFile\":false}]}}");
		peer_say("{\"id\":2,\"result\":{\"shell\":{\"name\":\"sh\","
		    "\"path\":\"/bin/sh\"},\"prependPathDirs\":"
		    "[\"file:///x\",\"file:///y\"]}}");
	}
	fault_begin();
	for (i = 0; i < 5 && execsrv_wait(x, 0) == 0; i++)
		continue;
	fault_end();
	ck_assert_uint_le(nanswers, nsent);
	ck_assert(nsent < 2 || nanswers == 2 ||
	    execsrv_status(x) != EXECSRV_CONNECTED);
	execsrv_free(&x);
	close(peer);
	ws_reader_fini(&peer_reader);
	return nanswers == 2 && nfailed == 0;
}

/* --- processes --- */

static unsigned	 nends, nlost;

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)arg;
	(void)stream;
	peer_note("%.*s;", (int)len, (const char *)data);
}

static void
on_closed(void *arg)
{
	(void)arg;
	nends++;
}

static void
on_lost(void *arg, const struct execsrv_error *e)
{
	(void)arg;
	ck_assert_ptr_nonnull(e);
	nlost++;
}

static const struct execsrv_hooks	 hooks = {
	.on_output = on_output, .on_closed = on_closed, .on_lost = on_lost,
};

/* Each that was started gets one last hook. */
static bool
processes(void)
{
	static const char *const	 argv[] = { "a", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv_process		*p;
	unsigned			 i;
	int				 fd;

	nends = nlost = 0;
	peer_start();
	fault_begin();
	fd = execsrv_fd(x);
	p = execsrv_process_start(x, &s, &hooks, NULL);
	fault_end();
	peer_say("{\"id\":1,\"result\":{\"processId\":\"p1\"}}");
	peer_say("{\"method\":\"process/output\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":1,\"stream\":\"stdout\",\"chunk\":\"b25l\"}}");
	peer_say("{\"method\":\"process/exited\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":2,\"exitCode\":0,\"sandboxDenied\":false}}");
	peer_say("{\"method\":\"process/closed\",\"params\":{\"processId\":"
	    "\"p1\",\"seq\":3}}");
	fault_begin();
	for (i = 0; i < 5 && execsrv_dispatch(x) == 0; i++)
		continue;
	fault_end();
	if (p != NULL && nends == 1)
		peer_ck_trace("one;");
	ck_assert_uint_le(nends + nlost, p != NULL);
	execsrv_free(&x);
	close(peer);
	ws_reader_fini(&peer_reader);
	return fd != -1 && nends == 1;
}

/* --- HTTP --- */

static void
on_body(void *arg, const void *data, size_t len)
{
	(void)arg;
	peer_note("%.*s;", (int)len, (const char *)data);
}

static void
on_done(void *arg, const struct execsrv_error *e)
{
	(void)arg;
	(void)e;
	nends++;
}

static void
say_delta(unsigned seq, const char *base64)
{
	peer_say("{\"method\":\"http/request/bodyDelta\",\"params\":"
	    "{\"requestId\":\"h1\",\"seq\":%u,\"deltaBase64\":\"%s\","
	    "\"done\":%s}}", seq, base64, seq == 3 ? "true" : "false");
}

/* Pieces that wait for their turn, and one that comes twice. */
static bool
http(void)
{
	static const struct execsrv_http_hooks	 on = {
		.on_body = on_body, .on_done = on_done
	};
	struct execsrv_http_request		 in = {
		.method = "GET", .url = "http://x/"
	};
	struct execsrv_http			*h;
	unsigned				 i;

	nends = 0;
	peer_start();
	fault_begin();
	h = execsrv_http_request(x, &in, &on, NULL);
	fault_end();
	say_delta(3, "c2l4");
	say_delta(2, "dHdv");
	say_delta(2, "dHdv");
	peer_say("{\"id\":1,\"result\":{\"status\":200,\"headers\":[]}}");
	say_delta(1, "b25l");
	fault_begin();
	for (i = 0; i < 5 && execsrv_dispatch(x) == 0; i++)
		continue;
	fault_end();
	ck_assert_uint_le(nends, h != NULL);
	i = nends == 1 && strcmp(trace, "one;two;six;") == 0;
	trace[0] = '\0';
	execsrv_free(&x);
	close(peer);
	ws_reader_fini(&peer_reader);
	return i == 1;
}

/* --- servers --- */

static void
on_json(void *arg, const char *result, size_t len,
    const struct execsrv_error *e)
{
	*(int *)arg = e == NULL && len == 1 && result[0] == '7' ? 1 : -1;
}

/* A program that serves: none of it is left, whatever fails. */
static bool
server_of_ours(void)
{
	static const char	 script[] = "read -r a; printf '%s\\n' "
	    "'{\"id\":1,\"result\":{\"sessionId\":\"s\"}}'; read -r b; "
	    "read -r c; printf '%s\\n' '{\"id\":2,\"result\":7}'; "
	    "exec cat >/dev/null";
	const char		*argv[] = { "/bin/sh", "-c", script, NULL };
	struct execsrv_options	 o = { .initialize_ms = 20000 };
	struct execsrv_error	 e = { .text = "" };
	int			 got = 0;

	fault_begin();
	x = execsrv_spawn_local(argv, &o, &e);
	ck_assert((x == NULL) == (e.text[0] != '\0'));
	if (x != NULL &&
	    execsrv_call_json(x, "m", "{}", 2, on_json, &got) == 0)
		while (got == 0 && execsrv_wait(x, 20000) == 0)
			continue;
	execsrv_close(&x);
	fault_end();
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	return got == 1;
}

/* --- what execsrvctl reads --- */

static bool
listener_files(void)
{
	char	 dir[] = "/tmp/fault.XXXXXX", path[64], *url;
	int	 fd;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/listen", dir);
	ck_assert_int_ne(fd = open(path, O_WRONLY | O_CREAT, 0644), -1);
	ck_assert_int_eq(write(fd, "ws://127.0.0.1:7\n", 17), 17);
	close(fd);
	fault_begin();
	url = listeners_read(dir);
	fault_end();
	if (url != NULL)
		ck_assert_str_eq(url, "ws://127.0.0.1:7");
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
	free(url);
	return url != NULL;
}

static const struct scenario	 list[] = {
	SCENARIO(typed_calls),
	SCENARIO(processes),
	SCENARIO(http),
	SCENARIO(server_of_ours),
	SCENARIO(listener_files),
};

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	return fault_main("fault_client", list,
	    sizeof(list) / sizeof(list[0]));
}

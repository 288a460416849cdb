/*
 * common/client on what a hostile server sends.  First byte: bit 0 from the
 * answer to the upgrade on, bit 1 with no process.  Second and third: two ways
 * to chop (0 whole, else a seed).  The rest comes from the server, which knows
 * the key below.  What hooks hear is the same for any chopping; all that the
 * client says are frames and JSON by the rules; reasons are printable.
 */
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/loop.h"
#include "t/fuzz/chop.h"

#define HEAD	3
#define KEY	"dGhlIHNhbXBsZSBub25jZQ=="
#define MUST(c)	do { if (!(c)) abort(); } while (0)

struct trace {
	uint64_t	 hash;
	size_t		 events;
	bool		 is_closed;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
trace_add(struct trace *t, char kind, const void *data, size_t len)
{
	const uint8_t	*b = data;
	size_t		 i;

	t->hash = (t->hash ^ (uint8_t)kind) * 0x100000001b3;
	for (i = 0; i < len; i++)
		t->hash = (t->hash ^ b[i]) * 0x100000001b3;
	t->events++;
}

static void
check_reason(const struct execsrv_error *e)
{
	char	 text[sizeof(e->text)];

	MUST(memchr(e->text, '\0', sizeof(e->text)) != NULL);
	memcpy(text, e->text, sizeof(text));
	execsrv_printable(text);
	MUST(strcmp(text, e->text) == 0);
}

static bool
is_json(const char *text, size_t len)
{
	struct json	 j;
	char		*copy;
	int		 r;

	MUST((copy = malloc(len)) != NULL);
	memcpy(copy, text, len);
	json_init(&j);
	r = json_parse(&j, copy, len);
	json_fini(&j);
	free(copy);
	return r == 0;
}

/* --- hooks --- */

static void
on_note(void *arg, const char *method, const char *params, size_t len)
{
	MUST(params == NULL ? len == 0 : is_json(params, len));
	trace_add(arg, 'n', method, strlen(method));
}

static void
on_call(void *arg, const struct execsrv_answer *a)
{
	if (a->error != NULL)
		check_reason(a->error);
	else
		MUST(a->result > 0 && a->result < a->json->ntoks);
	trace_add(arg, a->error != NULL ? 'e' : 'r', NULL, 0);
}

static void
on_answer(void *arg, enum execsrv_request what, const struct execsrv_error *e)
{
	if (e != NULL)
		check_reason(e);
	trace_add(arg, (char)('0' + what), NULL, 0);
}

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	struct trace	*t = arg;

	MUST(!t->is_closed);
	trace_add(t, (char)('a' + stream), data, len);
}

static void
on_exited(void *arg, int exit_code, bool sandbox_denied)
{
	struct trace	*t = arg;

	MUST(!t->is_closed);
	trace_add(t, sandbox_denied ? 'y' : 'x', &exit_code,
	    sizeof(exit_code));
}

static void
on_closed(void *arg)
{
	struct trace	*t = arg;

	MUST(!t->is_closed);
	t->is_closed = true;
	trace_add(t, 'z', NULL, 0);
}

/* --- a client --- */

static struct execsrv *
begin(uint8_t flags, struct trace *t)
{
	static const struct execsrv_hooks	 hooks = {
		.on_answer = on_answer, .on_output = on_output,
		.on_exited = on_exited, .on_closed = on_closed
	};
	static const char *const	 argv[] = { "a", NULL };
	static const char *const	 env[] = { NULL };
	struct execsrv_start		 s = { .argv = argv, .env = env,
					    .cwd = "/", .pipe_stdin = true };
	struct execsrv_process		*p;
	struct execsrv			*x;

	MUST((x = execsrv_new()) != NULL);
	strcpy(x->transport.key, KEY);
	execsrv_on_note(x, on_note, t);
	/* The first connection is the only one. */
	x->recovery.recover_ms = 0;
	x->state = EXECSRV_OPEN;
	x->transport.state = TRANSPORT_UP;
	MUST(execsrv_call(x, "initialize", NULL, 0, on_call, t) == 0);
	if ((flags & 2) == 0) {
		MUST((p = execsrv_process_start(x, &s, &hooks, t)) != NULL);
		MUST(execsrv_process_write(p, "in", 2) == 0);
		MUST(execsrv_process_close_stdin(p) == 0);
		MUST(execsrv_process_terminate(p, 0) == 0);
	}
	if ((flags & 1) != 0) {
		x->state = EXECSRV_CONNECTING;
		x->transport.state = TRANSPORT_UPGRADING;
	}
	return x;
}

static void
check_said(struct execsrv *x)
{
	struct ws_reader	 r;
	struct ws_event		 ev;
	struct json		 j;
	uint8_t			*room;
	size_t			 size;

	if (x->transport.out.len == 0)
		return;
	json_init(&j);
	ws_reader_init(&r, true, (size_t)16 << 20, (size_t)64 << 20);
	MUST((room = ws_reader_room(&r, x->transport.out.len, &size)) != NULL);
	memcpy(room, buf_data(&x->transport.out), x->transport.out.len);
	ws_reader_fed(&r, x->transport.out.len);
	for (;;) {
		ws_reader_next(&r, &ev);
		MUST(ev.type != WS_EV_ERROR);
		if (ev.type == WS_EV_NONE)
			break;
		if (ev.type == WS_EV_MESSAGE)
			MUST(json_parse(&j, (char *)ev.data, ev.len) == 0);
		if (ev.type == WS_EV_CLOSE)
			MUST(x->state == EXECSRV_GONE);
	}
	MUST(ws_reader_is_empty(&r) || x->state == EXECSRV_GONE);
	ws_reader_fini(&r);
	json_fini(&j);
}

static struct trace
run(const uint8_t *data, size_t size, uint8_t how)
{
	struct trace	 t = { 0xcbf29ce484222325, 0, false };
	struct execsrv	*x = begin(data[0], &t);
	uint32_t	 state = how;
	size_t		 at, n;
	int		 r = 0;

	for (at = HEAD; at < size && r == 0; at += n) {
		n = chop(&state, how, size - at);
		r = transport_feed(&x->transport, data + at, n);
		MUST((r == -1) == (x->state == EXECSRV_GONE));
	}
	check_said(x);
	check_reason(execsrv_why(x));
	MUST((execsrv_why(x)->text[0] != '\0') == (r == -1));
	MUST(r == 0 || (transport_poll_events(&x->transport) == 0 &&
	    execsrv_wait_ms(x) == 0));
	trace_add(&t, 'w', execsrv_why(x)->text,
	    strlen(execsrv_why(x)->text));
	execsrv_free(&x);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace	 a, b;

	if (size <= HEAD)
		return 0;
	a = run(data, size, data[1]);
	b = run(data, size, data[2]);
	MUST(a.events == b.events && a.hash == b.hash);
	return 0;
}

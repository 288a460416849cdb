/*
 * Messages as lines, of a hostile command.  First and second byte: two ways to
 * chop (0 whole, else a seed).  What hooks hear is the same for both, and what
 * a plain reading of the rules has it: the pieces between line feeds, without
 * a CR at their end, those of blanks only left out.  All that the client says
 * are lines of JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "common/client/loop.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "t/fuzz/chop.h"

#define HEAD	2
#define MUST(c)	do { if (!(c)) abort(); } while (0)

struct trace {
	uint64_t	 hash;
	size_t		 events;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
trace_add(struct trace *t, const void *data, size_t len)
{
	const uint8_t	*b = data;
	size_t		 i;

	for (i = 0; i < len; i++)
		t->hash = (t->hash ^ b[i]) * 0x100000001b3;
	t->events++;
}

static void
on_note(void *arg, const char *method, const char *params, size_t len)
{
	trace_add(arg, method, strlen(method));
	trace_add(arg, params, len);
}

static void
on_call(void *arg, const struct execsrv_answer *a)
{
	trace_add(arg, a->error != NULL ? "e" : "r", 1);
}

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)stream;
	trace_add(arg, data, len);
}

static void
on_closed(void *arg)
{
	trace_add(arg, "z", 1);
}

static struct execsrv *
begin(struct trace *t)
{
	static const struct execsrv_hooks	 hooks = {
		.on_output = on_output, .on_closed = on_closed
	};
	static const char *const	 argv[] = { "a\nb", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/" };
	struct execsrv			*x;

	t->hash = 0xcbf29ce484222325;
	t->events = 0;
	MUST((x = execsrv_new()) != NULL);
	x->transport.is_lines = true;
	x->recovery.recover_ms = 0;
	buf_fini(&x->transport.head);
	buf_init(&x->transport.head, LIMIT_MESSAGE + LIMIT_FRAGMENT);
	execsrv_on_note(x, on_note, t);
	x->state = EXECSRV_OPEN;
	x->transport.state = TRANSPORT_UP;
	MUST(execsrv_call(x, "a", "{\n}", 3, on_call, t) == 0);
	MUST(execsrv_process_start(x, &s, &hooks, t) != NULL);
	return x;
}

/* Each a line, and JSON. */
static void
check_said(struct execsrv *x)
{
	char		*at = (char *)buf_data(&x->transport.out), *end;
	size_t		 left = x->transport.out.len;
	struct json	 j;

	json_init(&j);
	for (; left > 0; left -= (size_t)(end + 1 - at), at = end + 1) {
		MUST((end = memchr(at, '\n', left)) != NULL);
		MUST(json_parse(&j, at, (size_t)(end - at)) == 0);
	}
	json_fini(&j);
}

static void
end(struct execsrv *x, struct trace *t)
{
	check_said(x);
	trace_add(t, execsrv_why(x)->text, strlen(execsrv_why(x)->text));
	execsrv_free(&x);
}

static struct trace
run(const uint8_t *data, size_t size, uint8_t how)
{
	struct trace	 t;
	struct execsrv	*x = begin(&t);
	uint32_t	 state = how;
	size_t		 at, n;
	int		 r = 0;

	for (at = 0; at < size && r == 0; at += n) {
		n = chop(&state, how, size - at);
		r = transport_feed(&x->transport, data + at, n);
		MUST((r == -1) == (x->state == EXECSRV_GONE));
	}
	end(x, &t);
	return t;
}

static void
give_line(struct execsrv *x, const uint8_t *data, size_t len)
{
	char	*line;
	size_t	 i;

	if (len > 0 && data[len - 1] == '\r')
		len--;
	for (i = 0; i < len && strchr(" \t\r", data[i]) != NULL &&
	    data[i] != '\0'; i++)
		continue;
	if (i == len)
		return;
	MUST((line = malloc(len + 1)) != NULL);
	memcpy(line, data, len);
	line[len] = '\0';
	if (utf8_is_valid(line, len))
		execsrv_on_message(x, line, len);
	else
		execsrv_fail(x, EXECSRV_WHY_PROTOCOL,
		    "the server sent a message that is not UTF-8");
	free(line);
}

static struct trace
naive(const uint8_t *data, size_t size)
{
	struct trace	 t;
	struct execsrv	*x = begin(&t);
	size_t		 from = 0, at;

	for (at = 0; at < size && x->state != EXECSRV_GONE; at++)
		if (data[at] == '\n') {
			give_line(x, data + from, at - from);
			from = at + 1;
		}
	end(x, &t);
	return t;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace	 a, b, c;

	if (size <= HEAD)
		return 0;
	a = run(data + HEAD, size - HEAD, data[0]);
	b = run(data + HEAD, size - HEAD, data[1]);
	c = naive(data + HEAD, size - HEAD);
	MUST(a.events == b.events && a.hash == b.hash);
	MUST(a.events == c.events && a.hash == c.hash);
	return 0;
}

/*
 * 402: an execsrv-http that has been broken into.  What it does wrong is in
 * the path of the URL that it is asked for; "/good" is done right.
 */
#include <sys/socket.h>

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc.h"
#include "common/limit.h"

#define FLOOD	(256 * 1024 * 1024)

#define MUST(claim)	do { if (!(claim)) exit(3); } while (0)

static void
tell(enum ipc_kind kind, const void *body)
{
	struct pollfd	 p = { STDIN_FILENO, POLLOUT, 0 };

	MUST(poll(&p, 1, -1) == 1);
	if (ipc_send(STDIN_FILENO, kind, body, -1) == -1)
		exit(0);		/* it has thrown us out */
}

static void
answer(uint64_t id, uint32_t status)
{
	Ipc__HttpAnswer	 out = IPC__HTTP_ANSWER__INIT;

	out.id = id;
	out.status = status;
	tell(IPC_http_answer, &out);
}

static void
field(uint64_t id, size_t len)
{
	static char	 value[LIMIT_HTTP_LINE];
	Ipc__HttpField	 out = IPC__HTTP_FIELD__INIT;

	memset(value, 'x', len);
	value[len] = '\0';
	out.id = id;
	out.name = value;
	out.value = value;
	tell(IPC_http_field, &out);
}

static void
piece(uint64_t id, size_t len)
{
	static uint8_t	 data[LIMIT_HTTP_PIECE + 1];
	Ipc__HttpPiece	 out = IPC__HTTP_PIECE__INIT;

	out.id = id;
	out.data.data = data;
	out.data.len = len;
	tell(IPC_http_piece, &out);
}

static void
done(uint64_t id, const char *error, bool refused)
{
	Ipc__HttpDone	 out = IPC__HTTP_DONE__INIT;

	out.id = id;
	out.error = (char *)(uintptr_t)error;
	out.refused = refused;
	tell(IPC_http_done, &out);
}

static void
ask(uint64_t id, uint32_t bytes)
{
	Ipc__HttpAsk	 out = IPC__HTTP_ASK__INIT;

	out.id = id;
	out.bytes = bytes;
	tell(IPC_http_ask, &out);
}

static void
good(uint64_t id)
{
	answer(id, 200);
	piece(id, 3);
	done(id, "", false);
}

static void
flood(uint64_t id)
{
	size_t	 n;

	answer(id, 200);
	for (n = 0; n < FLOOD; n += LIMIT_HTTP_PIECE)
		piece(id, LIMIT_HTTP_PIECE);
}

static void
lie(uint64_t id, const char *what)
{
	static const char	 garbage[] = "\377\377 what is this?";
	int			 i;

#define WHAT(name)	(strcmp(what, name) == 0)
	if (WHAT("good"))
		good(id);
	else if (WHAT("status"))
		answer(id, 42);
	else if (WHAT("status-large"))
		answer(id, 1000);
	else if (WHAT("twice"))
		answer(id, 200), answer(id, 200);
	else if (WHAT("field-late"))
		answer(id, 200), field(id, 3);
	else if (WHAT("fields"))
		for (i = 0; i < 9; i++)
			field(id, LIMIT_HTTP_LINE / 2 - 1);
	else if (WHAT("piece-early"))
		piece(id, 3);
	else if (WHAT("piece-empty"))
		answer(id, 200), piece(id, 0);
	else if (WHAT("piece-long"))
		answer(id, 200), piece(id, LIMIT_HTTP_PIECE + 1);
	else if (WHAT("flood"))
		flood(id);
	else if (WHAT("foreign"))
		good(id + 1000);
	else if (WHAT("zero"))
		good(0);
	else if (WHAT("ask"))
		ask(id, 1);
	else if (WHAT("ask-much"))
		ask(id, 0xffffffffU);
	else if (WHAT("done-early"))
		done(id, "", false);
	else if (WHAT("refused-late"))
		answer(id, 200), done(id, "no", true);
	else if (WHAT("garbage"))
		MUST(send(STDIN_FILENO, garbage, sizeof(garbage), 0) != -1);
	else if (WHAT("exit"))
		exit(0);
	else if (WHAT("crash"))
		abort();
	/* What comes for one that is over is nobody's fault. */
	else if (WHAT("more"))
		done(id, "early", false), good(id);
}

int
main(void)
{
	struct pollfd			 p = { STDIN_FILENO, POLLIN, 0 };
	struct ipc_msg			 m;
	const Ipc__HttpRequest		*in;
	const char			*path;

	while (poll(&p, 1, -1) == 1) {
		if (ipc_recv(STDIN_FILENO, IPC_ROLE_WORKER, IPC_ROLE_HTTP,
		    &m) != 1)
			return 0;
		if (m.kind == IPC_http_request) {
			in = (const Ipc__HttpRequest *)m.body;
			path = strrchr(in->url, '/');
			lie(in->id, path != NULL ? path + 1 : "");
		}
		ipc_msg_fini(&m);
	}
	return 1;
}

/* RFC 6455 section 4.1, the client's side. */
#include "common/client/transport/http_upgrade.h"

#include <stdio.h>
#include <string.h>

#include "common/client/error.h"
#include "common/net/httphead.h"
#include "common/net/httpwhy.h"
#include "common/span.h"

#define LINES_MAX	100
#define WHY_MAX		200	/* bytes of a reason that is shown */
#define UNTOLD		"a token is missing, or is not accepted"

/* Fields that matter.  The last two must be absent, as not offered. */
enum field { UPGRADE, CONNECTION, ACCEPT, EXTENSIONS, PROTOCOL, FIELDS };

static const char *const	 names[FIELDS] = {
	"Upgrade", "Connection", "Sec-WebSocket-Accept",
	"Sec-WebSocket-Extensions", "Sec-WebSocket-Protocol"
};

size_t
execsrv_upgrade_request(const struct execsrv_address *u, const char *key,
    const char *token, char *out, size_t size)
{
	int	 n;

	n = snprintf(out, size, "GET %s HTTP/1.1\r\n"
	    "Host: %s\r\n"
	    "Upgrade: websocket\r\n"
	    "Connection: Upgrade\r\n"
	    "Sec-WebSocket-Key: %s\r\n"
	    "Sec-WebSocket-Version: 13\r\n"
	    "%s%s%s\r\n", u->path, u->host, key,
	    token != NULL ? "Authorization: Bearer " : "",
	    token != NULL ? token : "", token != NULL ? "\r\n" : "");
	return n < 0 || (size_t)n >= size ? 0 : (size_t)n;
}

/* Note a field that matters.  -1: malformed, or given twice. */
static int
client_upgrade_take_line(struct span line, struct span found[FIELDS])
{
	struct span	 name;
	size_t		 i;

	if (!span_cut(&line, ':', &name) || !span_is_token(name))
		return -1;
	for (i = 0; i < FIELDS; i++)
		if (span_is_nocase(name, names[i])) {
			if (found[i].at != NULL)
				return -1;
			found[i] = span_trim(line);
		}
	return 0;
}

static int
take_lines(struct span rest, struct span found[FIELDS])
{
	struct span	 line;
	unsigned	 n;

	for (n = 0; n < LINES_MAX; n++) {
		if (!httpwhy_line(&rest, &line))
			return -1;
		if (line.len == 0)
			return rest.len == 0 ? 0 : -1;
		if (client_upgrade_take_line(line, found) == -1)
			return -1;
	}
	return -1;
}

/* Return the status of "HTTP/1.1 101 reason", or -1. */
static int
take_status(const struct span *line)
{
	int	 i, status = 0;

	if (line->len < 12 || !span_begins(*line, "HTTP/1.1 ") ||
	    (line->len > 12 && line->at[12] != ' '))
		return -1;
	for (i = 9; i < 12; i++) {
		if (line->at[i] < '0' || line->at[i] > '9')
			return -1;
		status = 10 * status + line->at[i] - '0';
	}
	return status;
}

static bool
is_accepted(const struct span found[FIELDS], const char *key)
{
	char	 accept[HTTPHEAD_ACCEPT_LEN];

	httphead_accept(key, strlen(key), accept);
	return found[EXTENSIONS].at == NULL && found[PROTOCOL].at == NULL &&
	    span_is_nocase(found[UPGRADE], "websocket") &&
	    span_list_has(found[CONNECTION], "upgrade") &&
	    span_is(found[ACCEPT], accept);
}

/* The server refuses: its status, and its reason if it says one. */
static void
client_upgrade_refuse(struct execsrv_error *e, int status, struct span line,
    struct span fields, struct span body)
{
	struct span	 phrase = { line.at + 9, line.len - 9 }, why;
	size_t		 n = phrase.len > 4 ? 4 : phrase.len;

	why = httpwhy_find(httpwhy_type(fields), body,
	    (struct span){ phrase.at + n, phrase.len - n });
	if (phrase.len > 91)
		phrase.len = 91;
	if (why.len > WHY_MAX)
		why.len = WHY_MAX;
	if (why.len == 0 && status == 401)
		why = (struct span){ UNTOLD, strlen(UNTOLD) };
	execsrv_error_set(e, EXECSRV_WHY_REFUSED, "the server refused: HTTP "
	    "%.*s%s%.*s", (int)phrase.len, phrase.at, why.len > 0 ? ": " : "",
	    (int)why.len, why.at);
}

int
execsrv_upgrade_judge(const char *head, size_t len, size_t all,
    const char *key, struct execsrv_error *e)
{
	struct span	 rest = { head, len }, line, found[FIELDS];
	struct span	 body = { head + len, all - len };
	int		 status = -1;

	memset(found, 0, sizeof(found));
	if (httpwhy_line(&rest, &line))
		status = take_status(&line);
	if (status == -1) {
		execsrv_error_set(e, EXECSRV_WHY_PROTOCOL, "not an exec "
		    "server: the answer is not HTTP/1.1");
		return -1;
	}
	if (status != 101) {
		client_upgrade_refuse(e, status, line, rest, body);
		return -1;
	}
	if (take_lines(rest, found) == -1 || !is_accepted(found, key)) {
		execsrv_error_set(e, EXECSRV_WHY_PROTOCOL, "the server's "
		    "answer to the upgrade violates RFC 6455 section 4.1");
		return -1;
	}
	return 0;
}

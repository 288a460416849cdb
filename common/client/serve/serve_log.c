/* The log of a server of one's own: JSON objects or plain text, a line each. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/serve/serve.h"
#include "common/client/text.h"
#include "common/json/utf8.h"

/* Pass on a line.  A warning of the master may be the reason for its end. */
static void
serve_log_give(struct execsrv_server *s, enum execsrv_log_level level,
    const char *role, const char *text)
{
	char	 line[SERVE_LINE_MAX + 64];

	if (level <= EXECSRV_LOG_WARNING && strcmp(role, "execsrvd") == 0)
		execsrv_error_set(&s->why, EXECSRV_WHY_ENDED, "%s", text);
	if (s->on_log == NULL)
		return;
	snprintf(line, sizeof(line), "%s: %s", role, text);
	execsrv_printable(line);
	s->on_log(s->arg, level, line);
}

/* One of ours: {"level":"info","role":"worker","message":"..."} and more. */
static bool
give_object(struct execsrv_server *s, char *text, size_t len)
{
	static const char *const	 levels[] = { "error", "warning",
					    "info", "debug" };
	struct json			 j;
	char				 role[32], message[SERVE_LINE_MAX];
	uint32_t			 level = 0, who = 0, what = 0;
	unsigned			 i = 4;

	json_init(&j);
	if (utf8_is_valid(text, len) && json_parse(&j, text, len) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT) {
		level = json_find(&j, 0, "level");
		who = json_find(&j, 0, "role");
		what = json_find(&j, 0, "message");
	}
	if (level != 0 && who != 0 && what != 0)
		for (i = 0; i < 4; i++)
			if (json_is_text(&j, level, levels[i]))
				break;
	if (i < 4) {
		json_copy_text(&j, who, role, sizeof(role));
		json_copy_text(&j, what, message, sizeof(message));
		serve_log_give(s, (enum execsrv_log_level)(EXECSRV_LOG_ERROR +
		    i), role, message);
	}
	json_fini(&j);
	return i < 4;
}

/* Before it has its settings, a server writes plain text. */
static void
serve_log_give_line(struct execsrv_server *s, char *line, size_t len)
{
	static const char	 name[] = "execsrvd: ";
	char			 copy[SERVE_LINE_MAX + 1];

	assert(len <= SERVE_LINE_MAX);
	/* json_parse() changes the text. */
	memcpy(copy, line, len);
	copy[len] = '\0';
	if (len == 0 || give_object(s, line, len))
		return;
	serve_log_give(s, EXECSRV_LOG_ERROR, "execsrvd", strncmp(copy, name,
	    sizeof(name) - 1) == 0 ? copy + sizeof(name) - 1 : copy);
}

void
execsrv_serve_log(struct execsrv_server *s)
{
	char	*at = s->said, *end;
	size_t	 left = s->nsaid;

	assert(left <= sizeof(s->said));
	while ((end = memchr(at, '\n', left)) != NULL) {
		if (!s->is_cut)
			serve_log_give_line(s, at, (size_t)(end - at));
		s->is_cut = false;
		left -= (size_t)(end + 1 - at);
		at = end + 1;
	}
	if (left == sizeof(s->said)) {
		if (!s->is_cut)
			serve_log_give_line(s, at, left);
		s->is_cut = true;
		left = 0;
	}
	memmove(s->said, at, left);
	s->nsaid = left;
}

void
execsrv_serve_log_end(struct execsrv_server *s)
{
	if (s->nsaid > 0 && !s->is_cut)
		serve_log_give_line(s, s->said, s->nsaid);
	s->nsaid = 0;
}

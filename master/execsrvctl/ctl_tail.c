#include "master/execsrvctl/ctl_tail.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "master/execsrvctl/control.h"

struct show {
	const struct control_request *q;
	bool		 is_json;
	uint64_t	 seq;		/* of the last piece; 0: none yet */
	uint64_t	 shown;		/* the same, when asked again */
	struct ctl_tail_lines *lines;	/* or NULL */
};

/* Print lines; a terminal gets only their ends and tabs unchanged. */
static void
put_safely(FILE *out, char *text, size_t len)
{
	size_t	 i, n;
	char	 end;

	for (i = 0; i < len; i++)
		if (text[i] == '\0')
			text[i] = '?';
	for (; len > 0; text += n, len -= n) {
		for (n = 0; n < len && text[n] != '\n' && text[n] != '\t';)
			n++;
		end = n < len ? text[n] : '\0';
		text[n] = '\0';		/* there is room after the last */
		/* Lines of a terminal end with CR LF. */
		if (end == '\n' && n > 0 && text[n - 1] == '\r')
			text[n - 1] = '\0';
		execsrv_printable(text);
		fputs(text, out);
		if (end != '\0') {
			putc(end, out);
			n++;
		}
	}
}

int
ctl_tail_put(FILE *out, const void *data, size_t len)
{
	char	*copy;

	if (!isatty(fileno(out))) {
		fwrite(data, 1, len, out);
	} else {
		if ((copy = malloc(len + 1)) == NULL)
			return -1;
		memcpy(copy, data, len);
		put_safely(out, copy, len);
		free(copy);
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

size_t
ctl_tail_skip(struct ctl_tail_lines *l, const void *data, size_t len)
{
	const char	*p = data, *end = p + len, *lf;

	for (; p < end && (l->counts || l->n > 0); p = lf + 1) {
		lf = memchr(p, '\n', (size_t)(end - p));
		l->is_open = lf == NULL;
		if (lf == NULL)
			return len;
		l->n += l->counts ? 1 : (uint64_t)-1;
	}
	return (size_t)(p - (const char *)data);
}

static int
ctl_tail_put_json(const struct control_piece *p)
{
	struct json_out	 o;
	struct buf	 b;
	int		 r = -1;

	buf_init(&b, 2 * (size_t)LIMIT_CONTROL_MESSAGE);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair_u64(&o, "seq", p->seq);
	json_out_pair(&o, "stream", p->stream);
	json_out_key(&o, "chunk");
	json_out_b64(&o, p->data, p->len);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == 0 && fwrite(buf_data(&b), 1, b.len,
	    stdout) == b.len && putchar('\n') != EOF)
		r = fflush(stdout);
	buf_fini(&b);
	return r;
}

static int
ctl_tail_on_piece(void *arg, const struct control_piece *given)
{
	struct show		*s = arg;
	struct control_piece	 p = *given;
	size_t			 skipped;

	if (p.seq <= s->shown)
		return 0;
	/* Exit and end have sequence numbers, too, but come last. */
	if (s->seq != 0 && p.seq > s->seq + 1 && !s->is_json &&
	    (s->lines == NULL || !s->lines->counts))
		fputs("execsrvctl: output was dropped before it was read\n",
		    stderr);
	s->seq = p.seq;
	if (s->lines != NULL) {
		skipped = ctl_tail_skip(s->lines, p.data, p.len);
		p.data = (char *)p.data + skipped;
		p.len -= skipped;
		if (p.len == 0)
			return 0;
	}
	return s->is_json ? ctl_tail_put_json(&p) :
	    ctl_tail_put(strcmp(p.stream, "stderr") == 0 ? stderr : stdout,
	    p.data, p.len);
}

/* Show one packet.  1: go on; 0: the end; -1 with errno. */
static int
ctl_tail_receive(struct show *s, int fd)
{
	struct pollfd		 pfd = { .fd = fd, .events = POLLIN };
	const Ipc__TailPiece	*in;
	struct control_piece	 p;
	struct ipc_msg		 m;
	int			 r;

	r = ipc_recv(fd, IPC_ROLE_WORKER, IPC_ROLE_OPERATOR, &m);
	if (r == 1) {
		in = (const Ipc__TailPiece *)m.body;
		p = (struct control_piece){ in->seq, in->stream ==
		    IPC__TAIL_STREAM__ERRORS ? "stderr" : in->stream ==
		    IPC__TAIL_STREAM__TERMINAL ? "pty" : "stdout",
		    in->data.data, in->data.len };
		r = ctl_tail_on_piece(s, &p) == 0 ? 1 : -1;
		ipc_msg_fini(&m);
		return r;
	}
	if (r == 0 || errno != EAGAIN)
		return r;
	return poll(&pfd, 1, -1) == -1 && errno != EINTR ? -1 : 1;
}

static int
ctl_tail_show_near(struct show *s, int fd)
{
	int	 r;

	while ((r = ctl_tail_receive(s, fd)) == 1)
		continue;
	if (r == -1)
		perror("execsrvctl: tail");
	fd_close(&fd);
	return r == 0 ? EXIT_OK : EXIT_OTHER;
}

/* After a connection was lost, and another one made, it is asked for again. */
static int
ctl_tail_show_far(struct show *s)
{
	struct control_error	 e = { .text = "" };
	struct execsrv_error	 why;
	struct table		*t;
	int			 r, stream, status = EXIT_OK;

	while ((r = control_far_read(s->q->x, ctl_tail_on_piece, s, &why)) !=
	    0) {
		if (r == 1)
			continue;
		if (why.text[0] == '\0') {
			perror("execsrvctl: tail");
			return EXIT_OTHER;
		}
		s->shown = s->seq;
		status = control_ask(s->q, &t, &stream, &e);
		table_free(&t);
		if (status != EXIT_OK || stream != CONTROL_FAR)
			break;
	}
	control_complain(&e);
	return status;
}

int
ctl_tail_show(const struct control_request *q, int stream, bool is_json,
    struct ctl_tail_lines *lines)
{
	struct show	 s = { .q = q, .is_json = is_json, .lines = lines };

	return stream == CONTROL_FAR ? ctl_tail_show_far(&s) :
	    ctl_tail_show_near(&s, stream);
}

/* --- which process --- */

/* Name all in the table, which is emptied. */
static void
complain_of_many(const char *session, struct table *t)
{
	const char	*sep = "";
	char		*name;

	fprintf(stderr, "execsrvctl: %s: has %zu processes; name one of them: ",
	    session, table_rows(t));
	while ((name = table_take(t, "process")) != NULL) {
		execsrv_printable(name);
		fprintf(stderr, "%s%s", sep, name);
		sep = ", ";
		free(name);
	}
	fputc('\n', stderr);
}

int
ctl_tail_choose(const char *dir, struct execsrv *x, char *session,
    char **process_out)
{
	struct control_request	 q = { .dir = dir, .x = x, .command = "ps",
				    .arg = &session, .narg = 1 };
	struct control_error	 e;
	struct table		*t;
	int			 status = control_ask(&q, &t, NULL, &e);

	*process_out = NULL;
	control_complain(&e);
	if (status == EXIT_OK && table_rows(t) == 1 &&
	    (*process_out = strdup(table_cell(t, "process"))) == NULL)
		perror("execsrvctl: tail");
	else if (status == EXIT_OK && table_rows(t) == 0)
		fprintf(stderr, "execsrvctl: %s: has no process\n", session);
	else if (status == EXIT_OK && *process_out == NULL)
		complain_of_many(session, t);
	table_free(&t);
	return status != EXIT_OK || *process_out != NULL ? status : EXIT_OTHER;
}

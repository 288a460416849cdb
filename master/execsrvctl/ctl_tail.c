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
	bool		 is_json;
	uint64_t	 seq;		/* of the last piece; 0: none yet */
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
ctl_tail_put_json(const Ipc__TailPiece *p)
{
	struct json_out	 o;
	struct buf	 b;
	int		 r = -1;

	buf_init(&b, 2 * (size_t)LIMIT_CONTROL_MESSAGE);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_key(&o, "seq");
	json_out_u64(&o, p->seq);
	json_out_key(&o, "stream");
	json_out_str(&o, p->stream == IPC__TAIL_STREAM__ERRORS ? "stderr" :
	    p->stream == IPC__TAIL_STREAM__TERMINAL ? "pty" : "stdout");
	json_out_key(&o, "chunk");
	json_out_b64(&o, p->data.data, p->data.len);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == 0 && fwrite(buf_data(&b), 1, b.len,
	    stdout) == b.len && putchar('\n') != EOF)
		r = fflush(stdout);
	buf_fini(&b);
	return r;
}

static int
ctl_tail_on_piece(struct show *s, const Ipc__TailPiece *given)
{
	Ipc__TailPiece	 p = *given;
	size_t		 skipped;

	/* Exit and end have sequence numbers, too, but come last. */
	if (s->seq != 0 && p.seq > s->seq + 1 && !s->is_json &&
	    (s->lines == NULL || !s->lines->counts))
		fputs("execsrvctl: output was dropped before it was read\n",
		    stderr);
	s->seq = p.seq;
	if (s->lines != NULL) {
		skipped = ctl_tail_skip(s->lines, p.data.data, p.data.len);
		p.data.data += skipped;
		p.data.len -= skipped;
		if (p.data.len == 0)
			return 0;
	}
	return s->is_json ? ctl_tail_put_json(&p) :
	    ctl_tail_put(p.stream == IPC__TAIL_STREAM__ERRORS ? stderr :
	    stdout, p.data.data, p.data.len);
}

/* Show one packet.  1: go on; 0: the end; -1 with errno. */
static int
ctl_tail_receive(struct show *s, int fd)
{
	struct pollfd	 pfd = { .fd = fd, .events = POLLIN };
	struct ipc_msg	 m;
	int		 r;

	r = ipc_recv(fd, IPC_ROLE_WORKER, IPC_ROLE_OPERATOR, &m);
	if (r == 1) {
		r = ctl_tail_on_piece(s, (const Ipc__TailPiece *)m.body) == 0 ?
		    1 : -1;
		ipc_msg_fini(&m);
		return r;
	}
	if (r == 0 || errno != EAGAIN)
		return r;
	return poll(&pfd, 1, -1) == -1 && errno != EINTR ? -1 : 1;
}

int
ctl_tail_show(int fd, bool is_json, struct ctl_tail_lines *lines)
{
	struct show	 s = { .is_json = is_json, .lines = lines };
	int		 r;

	while ((r = ctl_tail_receive(&s, fd)) == 1)
		continue;
	if (r == -1)
		perror("execsrvctl: tail");
	fd_close(&fd);
	return r == 0 ? EXIT_OK : EXIT_OTHER;
}

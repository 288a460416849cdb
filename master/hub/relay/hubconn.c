#include "master/hub/relay/hubconn.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define LINGER_MS	5000	/* for the last bytes of one that is over */
#define RECORD		SSL3_RT_MAX_PLAIN_LENGTH
#define READ_AHEAD	(4 * SSL3_RT_MAX_PACKET_SIZE)

/* What is there only while bytes wait, or for the end. */
struct hubconn_sending {
	struct io	 io;
	struct timer	 end;		/* of hubconn_finish() */
	struct buf	 out;
};

struct hubconn {
	TAILQ_ENTRY(hubconn)		 entry;	/* finishing or gone */
	struct hubconn_loop		*loop;
	const struct hubconn_events	*events;	/* NULL: nobody's */
	void				*arg;
	SSL				*ssl;	/* NULL: plain */
	struct hubconn_sending		*sending;	/* or NULL */
	struct io			 in;
	int				 fd;
	uint32_t			 again;	/* bytes that TLS must repeat */
	uint8_t				 paused;
	bool				 is_held;
	bool				 is_secure;	/* handshake is over */
	bool				 is_broken;
	bool				 is_finishing;
	bool				 wants_write;	/* to go on reading */
};

static void	 hubconn_on_readable(void *arg);
static void	 hubconn_on_writable(void *arg);
static void	 hubconn_on_linger(void *arg);

/* --- life --- */

static void
hubconn_on_reap(void *arg)
{
	struct hubconn_loop	*l = arg;
	struct hubconn		*c;

	while ((c = TAILQ_FIRST(&l->gone)) != NULL) {
		TAILQ_REMOVE(&l->gone, c, entry);
		assert(c->fd == -1 && c->sending == NULL);
		free(c);
	}
}

void
hubconn_loop_init(struct hubconn_loop *l, struct event_base *base)
{
	memset(l, 0, sizeof(*l));
	l->base = base;
	TAILQ_INIT(&l->finishing);
	TAILQ_INIT(&l->gone);
	timer_init(&l->reap, base, hubconn_on_reap, l);
}

void
hubconn_loop_fini(struct hubconn_loop *l)
{
	struct hubconn	*c;

	while ((c = TAILQ_FIRST(&l->finishing)) != NULL)
		hubconn_free(&c);
	timer_stop(&l->reap);
	hubconn_on_reap(l);
}

bool
hubconn_loop_make_room(struct hubconn_loop *l)
{
	struct hubconn	*c = TAILQ_FIRST(&l->finishing);

	if (c == NULL)
		return false;
	hubconn_free(&c);
	return true;
}

struct hubconn *
hubconn_new(struct hubconn_loop *l, int fd, SSL_CTX *tls)
{
	struct hubconn	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->loop = l;
	c->fd = fd;
	io_init(&c->in, l->base, fd, EV_READ | EV_PERSIST, hubconn_on_readable,
	    c);
	errno = ENOMEM;
	if (tls != NULL && ((c->ssl = SSL_new(tls)) == NULL ||
	    SSL_set_fd(c->ssl, fd) != 1))
		goto fail;
	if (c->ssl != NULL)
		SSL_set_accept_state(c->ssl);
	if (io_start(&c->in) == -1)
		goto fail;
	l->n++;
	return c;
 fail:
	SSL_free(c->ssl);
	free(c);
	return NULL;
}

int
hubconn_secure(struct hubconn *c, SSL_CTX *tls, const char *name)
{
	unsigned char	 address[16];

	assert(c->ssl == NULL);
	if ((c->ssl = SSL_new(tls)) == NULL || SSL_set_fd(c->ssl, c->fd) != 1)
		return -1;
	SSL_set_connect_state(c->ssl);
	if (inet_pton(AF_INET, name, address) == 1 ||
	    inet_pton(AF_INET6, name, address) == 1) {
		if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(c->ssl),
		    name) != 1)
			return -1;
	} else if (SSL_set1_host(c->ssl, name) != 1 ||
	    SSL_set_tlsext_host_name(c->ssl, name) != 1) {
		return -1;
	}
	hubconn_look(c);
	return 0;
}

bool
hubconn_is_secure(const struct hubconn *c)
{
	return c->is_secure;
}

static void
hubconn_stop_sending(struct hubconn *c)
{
	if (c->sending == NULL)
		return;
	io_stop(&c->sending->io);
	timer_stop(&c->sending->end);
	buf_fini(&c->sending->out);
	free(c->sending);
	c->sending = NULL;
}

void
hubconn_free(struct hubconn **cp)
{
	struct hubconn	*c = *cp;

	*cp = NULL;
	if (c == NULL)
		return;
	assert(c->fd != -1);
	if (c->is_finishing)
		TAILQ_REMOVE(&c->loop->finishing, c, entry);
	hubconn_stop_sending(c);
	io_stop(&c->in);
	SSL_free(c->ssl);
	c->ssl = NULL;
	c->events = NULL;
	fd_close(&c->fd);
	assert(c->loop->n > 0);
	c->loop->n--;
	/* Callers further up may still look whether it lives. */
	TAILQ_INSERT_TAIL(&c->loop->gone, c, entry);
	timer_ensure(&c->loop->reap, 0);
}

void
hubconn_own(struct hubconn *c, const struct hubconn_events *e, void *arg)
{
	assert(c->fd != -1 && !c->is_finishing);
	c->events = e;
	c->arg = arg;
}

int
hubconn_fd(const struct hubconn *c)
{
	return c->fd;
}

/* --- sending --- */

static int
hubconn_begin_sending(struct hubconn *c)
{
	if (c->sending != NULL)
		return 0;
	if ((c->sending = calloc(1, sizeof(*c->sending))) == NULL)
		return -1;
	io_init(&c->sending->io, c->loop->base, c->fd, EV_WRITE | EV_PERSIST,
	    hubconn_on_writable, c);
	timer_init(&c->sending->end, c->loop->base, hubconn_on_linger, c);
	buf_init(&c->sending->out, HUBCONN_QUEUE_MAX);
	return 0;
}

/* Call hubconn_on_writable() when there is room. */
static int
hubconn_want_write(struct hubconn *c)
{
	return hubconn_begin_sending(c) == -1 ? -1 :
	    io_start(&c->sending->io);
}

/* A broken one is told of from the loop: writers do not expect it. */
static int
hubconn_break(struct hubconn *c)
{
	c->is_broken = true;
	if (c->paused == 0)
		io_fire(&c->in);
	else if (hubconn_want_write(c) == 0)
		io_fire(&c->sending->io);
	return -1;
}

static ssize_t
hubconn_ssl_result(struct hubconn *c, int r)
{
	int	 error = SSL_get_error(c->ssl, r);

	if (r > 0)
		return r;
	ERR_clear_error();
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ?
	    EAGAIN : ECONNRESET;
	c->wants_write = error == SSL_ERROR_WANT_WRITE;
	return -1;
}

/* Each SSL_write() sends a record at most. */
static ssize_t
hubconn_send_records(struct hubconn *c, const uint8_t *data, size_t len)
{
	size_t	 at = 0;
	ssize_t	 r;

	c->again = 0;
	while (at < len) {
		ERR_clear_error();
		if ((r = hubconn_ssl_result(c, SSL_write(c->ssl, data + at,
		    (int)(len - at)))) == -1) {
			if (errno == EAGAIN)
				c->again = (uint32_t)(len - at < RECORD ?
				    len - at : RECORD);
			return at > 0 && errno == EAGAIN ? (ssize_t)at : -1;
		}
		at += (size_t)r;
	}
	return (ssize_t)at;
}

/* The header of a message is in the record where the message begins. */
static ssize_t
hubconn_send_tls(struct hubconn *c, const struct iovec *iov, int n)
{
	uint8_t	 first[RECORD];
	size_t	 len = 0, part = 0;
	ssize_t	 sent, r;
	int	 i;

	if (n == 1)
		return hubconn_send_records(c, iov->iov_base, iov->iov_len);
	for (i = 0; i < n && len < sizeof(first); i++) {
		part = iov[i].iov_len < sizeof(first) - len ?
		    iov[i].iov_len : sizeof(first) - len;
		memcpy(first + len, iov[i].iov_base, part);
		len += part;
	}
	if ((sent = hubconn_send_records(c, first, len)) == -1)
		return -1;
	/* The rest of the last piece that is there in part, and the others. */
	for (i--; i < n && (size_t)sent == len; i++, part = 0) {
		if ((r = hubconn_send_records(c, (const uint8_t *)
		    iov[i].iov_base + part, iov[i].iov_len - part)) == -1)
			return errno == EAGAIN ? sent : -1;
		sent += r;
		len += iov[i].iov_len - part;
	}
	return sent;
}

/* Send at once what goes.  The number of bytes, or -1 with errno. */
static ssize_t
hubconn_send(struct hubconn *c, const struct iovec *iov, int n)
{
	const struct msghdr	 m = { .msg_iov = (struct iovec *)(uintptr_t)
				    iov, .msg_iovlen = (size_t)n };

	return c->ssl != NULL ? hubconn_send_tls(c, iov, n) :
	    sendmsg(c->fd, &m, MSG_NOSIGNAL);
}

/* Queue what is behind the first bytes. */
static int
hubconn_queue(struct hubconn *c, const struct iovec *iov, int n, size_t skip)
{
	const uint8_t	*at;
	size_t		 len;
	int		 i;

	if (hubconn_begin_sending(c) == -1)
		return -1;
	for (i = 0; i < n; i++) {
		len = iov[i].iov_len;
		at = iov[i].iov_base;
		if (skip >= len) {
			skip -= len;
			continue;
		}
		if (buf_put(&c->sending->out, at + skip, len - skip) == -1)
			return -1;
		skip = 0;
	}
	return 0;
}

int
hubconn_write(struct hubconn *c, const struct iovec *iov, int n)
{
	ssize_t	 r = 0;
	size_t	 total = 0;
	int	 i;

	if (c->is_broken)
		return -1;
	/* A client's waits for the end of its handshake. */
	if (c->ssl != NULL && !c->is_secure)
		return hubconn_queue(c, iov, n, 0) == -1 ? hubconn_break(c) :
		    0;
	for (i = 0; i < n; i++)
		total += iov[i].iov_len;
	if (hubconn_queued(c) == 0 && !c->is_held &&
	    (r = hubconn_send(c, iov, n)) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			return hubconn_break(c);
		r = 0;
	}
	if ((size_t)r == total)
		return 0;
	return hubconn_queue(c, iov, n, (size_t)r) == -1 ||
	    (!c->is_held && hubconn_want_write(c) == -1) ? hubconn_break(c) :
	    0;
}

void
hubconn_hold(struct hubconn *c)
{
	assert(!c->is_held);
	c->is_held = true;
}

size_t
hubconn_release(struct hubconn *c, size_t n)
{
	struct iovec	 iov;
	struct buf	*out;
	ssize_t		 r;

	assert(c->is_held);
	if (n < c->again)
		n = c->again;
	if (n > hubconn_queued(c))
		n = hubconn_queued(c);
	if (c->is_broken || n == 0)
		return 0;
	out = &c->sending->out;
	iov = (struct iovec){ buf_data(out), n };
	if ((r = hubconn_send(c, &iov, 1)) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			hubconn_break(c);
		return 0;
	}
	buf_drain(out, (size_t)r);
	buf_trim(out, 0);
	return (size_t)r;
}

void
hubconn_unhold(struct hubconn *c)
{
	assert(c->is_held);
	c->is_held = false;
	if (hubconn_queued(c) == 0)
		hubconn_stop_sending(c);
	else if (hubconn_want_write(c) == -1)
		hubconn_break(c);
}

size_t
hubconn_queued(const struct hubconn *c)
{
	return c->sending == NULL ? 0 : c->sending->out.len;
}

static void
hubconn_tell_broken(struct hubconn *c)
{
	if (c->is_finishing)
		hubconn_free(&c);
	else if (c->events != NULL)
		c->events->on_broken(c->arg);
}

static void
hubconn_on_writable(void *arg)
{
	struct hubconn	*c = arg;
	struct buf	*out = &c->sending->out;
	struct iovec	 iov;
	ssize_t		 n;

	assert(c->sending != NULL);
	if (c->is_broken) {
		io_stop(&c->sending->io);
		hubconn_tell_broken(c);
		return;
	}
	if (c->wants_write) {
		c->wants_write = false;
		hubconn_look(c);
	}
	if (c->is_held || (c->ssl != NULL && !c->is_secure)) {
		io_stop(&c->sending->io);
		return;
	}
	if (out->len > 0) {
		iov = (struct iovec){ buf_data(out), out->len };
		if ((n = hubconn_send(c, &iov, 1)) == -1) {
			if (errno == EAGAIN || errno == EINTR)
				return;
			io_stop(&c->sending->io);
			c->is_broken = true;
			hubconn_tell_broken(c);
			return;
		}
		buf_drain(out, (size_t)n);
	}
	if (out->len > 0) {
		/* Some of it went: an owner may go on before all has. */
		if (c->events != NULL)
			c->events->on_drained(c->arg);
		return;
	}
	if (c->is_finishing) {
		hubconn_finish(&c);
		return;
	}
	hubconn_stop_sending(c);
	if (c->events != NULL)
		c->events->on_drained(c->arg);
}

static void
hubconn_on_linger(void *arg)
{
	struct hubconn	*c = arg;

	hubconn_free(&c);
}

/*
 * Reading goes on until the peer closes, too: unread bytes would make the
 * kernel reset the connection before the peer has our last ones.
 */
void
hubconn_finish(struct hubconn **cp)
{
	struct hubconn	*c = *cp;

	*cp = NULL;
	c->events = NULL;
	if (!c->is_finishing)
		TAILQ_INSERT_TAIL(&c->loop->finishing, c, entry);
	c->is_finishing = true;
	c->is_held = false;
	if (c->is_broken || hubconn_want_write(c) == -1) {
		hubconn_free(&c);
		return;
	}
	timer_ensure(&c->sending->end, LINGER_MS);
	if (c->sending->out.len > 0)
		return;
	io_stop(&c->sending->io);
	if (c->ssl != NULL && c->is_secure) {
		ERR_clear_error();
		SSL_shutdown(c->ssl);
		ERR_clear_error();
	}
	if (shutdown(c->fd, SHUT_WR) == -1) {
		hubconn_free(&c);
		return;
	}
	if (c->paused > 0) {
		c->paused = 1;
		hubconn_resume(c);
	}
}

/* --- receiving --- */

static bool
hubconn_handshake(struct hubconn *c)
{
	if (c->ssl == NULL || c->is_secure)
		return true;
	ERR_clear_error();
	if (hubconn_ssl_result(c, SSL_do_handshake(c->ssl)) == -1) {
		if (errno == EAGAIN && (!c->wants_write ||
		    hubconn_want_write(c) == 0))
			return false;
		c->loop->failures++;
		c->is_broken = true;
		return false;
	}
	c->is_secure = true;
	c->loop->handshakes++;
	SSL_set_read_ahead(c->ssl, 1);
	SSL_set_default_read_buffer_len(c->ssl, READ_AHEAD);
	if (hubconn_queued(c) > 0 && hubconn_want_write(c) == -1)
		c->is_broken = true;
	return !c->is_broken;
}

/* Each SSL_read() reads of a record at most. */
static ssize_t
hubconn_recv_records(struct hubconn *c, uint8_t *out, size_t size)
{
	size_t	 at = 0;
	ssize_t	 n;

	do {
		ERR_clear_error();
		n = hubconn_ssl_result(c, SSL_read(c->ssl, out + at,
		    (int)(size - at)));
		if (n == -1 && c->wants_write && hubconn_want_write(c) == -1)
			return -1;
		if (n > 0)
			at += (size_t)n;
	} while (n > 0 && at < size && SSL_has_pending(c->ssl));
	if (at == 0)
		return n;
	/* The end, too, the next one finds. */
	if (n > 0 ? SSL_has_pending(c->ssl) : errno != EAGAIN)
		hubconn_look(c);
	return (ssize_t)at;
}

ssize_t
hubconn_read(struct hubconn *c, void *out, size_t size)
{
	ssize_t	 n;

	if (c->is_broken)
		return -1;
	if (!hubconn_handshake(c))
		return c->is_broken ? -1 : 0;
	if (c->ssl != NULL) {
		n = hubconn_recv_records(c, out, size);
	} else {
		n = recv(c->fd, out, size, 0);
		if (n == 0)
			return -1;
	}
	if (n == -1)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	return n;
}

/* Nobody wants what still comes. */
static void
hubconn_discard(struct hubconn *c)
{
	char	 bytes[4096];

	if (c->is_broken || recv(c->fd, bytes, sizeof(bytes), 0) == 0 ||
	    (errno != EAGAIN && errno != EINTR && errno != 0))
		hubconn_free(&c);
}

static void
hubconn_on_readable(void *arg)
{
	struct hubconn	*c = arg;

	if (c->is_finishing) {
		errno = 0;
		hubconn_discard(c);
	} else if (c->is_broken) {
		hubconn_tell_broken(c);
	} else if (c->events != NULL) {
		c->events->on_readable(c->arg);
	}
}

void
hubconn_look(struct hubconn *c)
{
	if (c->paused == 0)
		io_fire(&c->in);
}

void
hubconn_pause(struct hubconn *c)
{
	assert(c->paused < UINT8_MAX);
	if (c->paused++ == 0)
		io_stop(&c->in);
}

void
hubconn_resume(struct hubconn *c)
{
	assert(c->paused > 0);
	if (--c->paused > 0)
		return;
	if (io_start(&c->in) == -1)
		c->is_broken = true;
	/* TLS may hold bytes that the loop does not know of. */
	if (c->is_broken || (c->ssl != NULL && SSL_has_pending(c->ssl)))
		io_fire(&c->in);
}

bool
hubconn_is_paused(const struct hubconn *c)
{
	return c->paused > 0;
}

/*
 * master/hub/relay/hubconn: a connection with TLS that is held while a record
 * of it has not gone.
 */
#include <sys/socket.h>

#include <check.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "master/hub/relay/hubconn.h"

#define PIECE	(16 * 1024)	/* what a record of TLS holds */
#define TURNS	100000

struct server {
	struct hubconn_loop	 loop;
	struct hubconn		*conn;
	bool			 is_broken;
};

/* --- both ends --- */

static SSL_CTX *
make_tls(void)
{
	SSL_CTX		*tls = SSL_CTX_new(TLS_server_method());
	EVP_PKEY	*key = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
	X509		*cert = X509_new();

	ck_assert(tls != NULL && key != NULL && cert != NULL);
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notBefore(cert), 0));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notAfter(cert), 600));
	ck_assert_int_eq(X509_set_pubkey(cert, key), 1);
	ck_assert_int_gt(X509_sign(cert, key, EVP_sha256()), 0);
	ck_assert_int_eq(SSL_CTX_use_certificate(tls, cert), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(tls, key), 1);
	ck_assert_int_eq(SSL_CTX_set_num_tickets(tls, 0), 1);
	SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	X509_free(cert);
	EVP_PKEY_free(key);
	return tls;
}

static void
on_readable(void *arg)
{
	struct server	*s = arg;
	char		 text[64];

	if (hubconn_read(s->conn, text, sizeof(text)) == -1)
		s->is_broken = true;
}

static void
on_drained(void *arg)
{
	(void)arg;
}

static void
on_broken(void *arg)
{
	((struct server *)arg)->is_broken = true;
}

static const struct hubconn_events events = {
	on_readable, on_drained, on_broken
};

static void
turn(struct server *s)
{
	if (event_base_loop(s->loop.base, EVLOOP_NONBLOCK) == -1 ||
	    s->is_broken)
		ck_abort_msg("the connection is broken");
}

static SSL *
meet(struct server *s, int fd, SSL_CTX *client)
{
	SSL	*ssl = SSL_new(client);
	int	 i;

	ck_assert_ptr_nonnull(ssl);
	ck_assert_int_eq(SSL_set_fd(ssl, fd), 1);
	for (i = 0; i < TURNS && (SSL_connect(ssl) != 1 ||
	    !hubconn_is_secure(s->conn)); i++)
		turn(s);
	ck_assert(hubconn_is_secure(s->conn));
	return ssl;
}

/* --- held --- */

/* Whether bytes are those that stand there of all pieces. */
static bool
is_right(const uint8_t *data, size_t len, size_t at)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (data[i] != (uint8_t)((at + i) / PIECE))
			return false;
	return true;
}

/* Its record is repeated whole, however little of the queue may go. */
START_TEST(test_held)
{
	SSL_CTX		*tls = make_tls(), *client;
	struct server	 s = { .is_broken = false };
	uint8_t		*piece = malloc(PIECE);
	struct iovec	 iov = { piece, PIECE };
	SSL		*ssl;
	size_t		 sent = 0, got = 0;
	int		 pair[2], i, n;

	ck_assert_ptr_nonnull(piece);
	ck_assert_ptr_nonnull(client = SSL_CTX_new(TLS_client_method()));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
	    pair), 0);
	hubconn_loop_init(&s.loop, ev_base_new());
	ck_assert_ptr_nonnull(s.conn = hubconn_new(&s.loop, pair[0], tls));
	hubconn_own(s.conn, &events, &s);
	ssl = meet(&s, pair[1], client);
	for (i = 0; i < TURNS && hubconn_queued(s.conn) == 0; i++) {
		memset(piece, i, PIECE);
		ck_assert_int_eq(hubconn_write(s.conn, &iov, 1), 0);
		sent += PIECE;
	}
	ck_assert_uint_gt(hubconn_queued(s.conn), 0);
	hubconn_hold(s.conn);
	hubconn_release(s.conn, 1);
	for (i = 0; i < TURNS && got < sent; i++) {
		while ((n = SSL_read(ssl, piece, PIECE)) > 0) {
			ck_assert(is_right(piece, (size_t)n, got));
			got += (size_t)n;
		}
		hubconn_release(s.conn, 1000);
		turn(&s);
	}
	ck_assert_uint_eq(got, sent);
	ck_assert_uint_eq(hubconn_queued(s.conn), 0);
	/* Nothing goes by itself, though all before it has gone. */
	memset(piece, (uint8_t)(sent / PIECE), PIECE);
	ck_assert_int_eq(hubconn_write(s.conn, &iov, 1), 0);
	ck_assert_uint_eq(hubconn_queued(s.conn), PIECE);
	turn(&s);
	ck_assert_int_eq(SSL_read(ssl, piece, PIECE), -1);
	hubconn_unhold(s.conn);
	for (i = 0; i < TURNS && got < sent + PIECE; i++) {
		while ((n = SSL_read(ssl, piece, PIECE)) > 0) {
			ck_assert(is_right(piece, (size_t)n, got));
			got += (size_t)n;
		}
		turn(&s);
	}
	ck_assert_uint_eq(got, sent + PIECE);
	SSL_free(ssl);
	close(pair[1]);
	hubconn_free(&s.conn);
	hubconn_loop_fini(&s.loop);
	event_base_free(s.loop.base);
	SSL_CTX_free(client);
	SSL_CTX_free(tls);
	free(piece);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hubconn");
	TCase	*t = tcase_create("held");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_held);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

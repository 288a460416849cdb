/* worker/proxy/helper/socks5.c: what clients of a SOCKS5 proxy may send. */
#include <sys/socket.h>

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "worker/proxy/helper/socks5.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

#define NAME(len)	"\5\1\0\3" len
#define IPV4		"\5\1\0\1"
#define IPV6		"\5\1\0\4"
#define MAPPED		"\0\0\0\0\0\0\0\0\0\0\xff\xff"

struct row {
	enum socks5_result	 want;
	const char		*host;		/* of a good request */
	uint16_t		 port;
	size_t			 len;
	const char		*text;
};

/* --- greetings -------------------------------------------------------------*/

static const struct row greetings[] = {
#define ROW(want, text)	{ SOCKS5_##want, NULL, 0, sizeof(text) - 1, text }
	ROW(OK, "\5\1\0"), ROW(OK, "\5\2\2\0"), ROW(OK, "\5\3\0\1\2"),
	ROW(REFUSED, "\5\1\2"), ROW(REFUSED, "\5\0"),
	ROW(REFUSED, "\5\2\1\xff"),
	ROW(BAD, "\4\1\0\x50\0\0\0\1x\0"), ROW(BAD, "GET / HTTP/1.1\r\n"),
	ROW(BAD, "\0"), ROW(BAD, "\6\1\0"),
#undef ROW
};

START_TEST(test_greetings)
{
	const struct row	*r = &greetings[_i];
	enum socks5_result	 got;
	size_t			 used = 0, n;

	ck_assert_int_eq(socks5_greeting((const uint8_t *)r->text, r->len,
	    &used), r->want);
	if (r->want == SOCKS5_BAD)
		return;
	ck_assert_uint_eq(used, r->len);
	for (n = 0; n < r->len; n++) {
		got = socks5_greeting((const uint8_t *)r->text, n, &used);
		ck_assert_int_eq(got, SOCKS5_MORE);
	}
}
END_TEST

/* --- requests --------------------------------------------------------------*/

static const struct row requests[] = {
#define GOOD(host, port, text)						\
	{ SOCKS5_OK, host, port, sizeof(text) - 1, text }
#define ROW(want, text)	{ SOCKS5_##want, NULL, 0, sizeof(text) - 1, text }
	GOOD("7.7.7.2", 80, IPV4 "\7\7\7\2\0\120"),
	GOOD("a.test", 443, NAME("\6") "a.test\1\273"),
	GOOD("a.test", 65535, NAME("\7") "A.TEST.\377\377"),
	GOOD("::1", 80, IPV6 "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120"),
	GOOD("::ffff:127.0.0.1", 80, IPV6 MAPPED "\177\0\0\1\0\120"),
	GOOD("127.1", 80, NAME("\5") "127.1\0\120"),
	GOOD("7.7.7.2", 80, NAME("\7") "7.7.7.2\0\120"),
	/* names that others read in another way */
	ROW(BAD, NAME("\0") "\0\120"),
	ROW(BAD, NAME("\6") "a\0test\0\120"),
	ROW(BAD, NAME("\7") "a.test\0\0\120"),
	ROW(BAD, NAME("\6") "a test\0\120"),
	ROW(BAD, NAME("\6") "a/test\0\120"),
	ROW(BAD, NAME("\7") "u@atest\0\120"),
	ROW(BAD, NAME("\7") "a.te:80\0\120"),
	ROW(BAD, NAME("\5") "[::1]\0\120"),
	ROW(BAD, NAME("\1") ".\0\120"),
	ROW(BAD, NAME("\4") "a..b\0\120"),
	ROW(BAD, NAME("\5") "a%2eb\0\120"),
	ROW(BAD, NAME("\4") "a\r\nb\0\120"),
	ROW(BAD, NAME("\6") "fe80%l\0\120"),
	/* ports, types, commands */
	ROW(BAD, IPV4 "\7\7\7\2\0\0"),
	ROW(BAD, "\5\1\0\2\7\7\7\2\0\120"),
	ROW(BAD, "\5\1\0\0\7\7\7\2\0\120"),
	ROW(BAD, "\5\1\1\1\7\7\7\2\0\120"),
	ROW(BAD, "\4\1\0\1\7\7\7\2\0\120"),
	ROW(REFUSED, "\5\2\0\1\7\7\7\2\0\120"),
	ROW(REFUSED, "\5\3\0\1\7\7\7\2\0\120"),
	ROW(REFUSED, "\5\0\0\1\7\7\7\2\0\120"),
	ROW(REFUSED, "\5\377\0\3\1a\0\120"),
#undef GOOD
#undef ROW
};

START_TEST(test_requests)
{
	const struct row	*r = &requests[_i];
	struct nethost		 host;
	uint16_t		 port = 0;
	size_t			 used = 0, n;

	ck_assert_int_eq(socks5_request((const uint8_t *)r->text, r->len,
	    &host, &port, &used), r->want);
	if (r->want == SOCKS5_BAD)
		return;
	ck_assert_uint_eq(used, r->len);
	if (r->want == SOCKS5_OK) {
		ck_assert_str_eq(host.text, r->host);
		ck_assert_uint_eq(port, r->port);
	}
	for (n = 0; n < r->len; n++)
		ck_assert_int_eq(socks5_request((const uint8_t *)r->text, n,
		    &host, &port, &used), SOCKS5_MORE);
}
END_TEST

/* An address is one, as a name as well: rules for it hold. */
START_TEST(test_addresses)
{
	static const char	 name[] = NAME("\7") "7.7.7.2\0\120";
	struct nethost		 host;
	uint16_t		 port;
	size_t			 used;

	ck_assert_int_eq(socks5_request((const uint8_t *)name,
	    sizeof(name) - 1, &host, &port, &used), SOCKS5_OK);
	ck_assert_int_eq(host.addr.family, AF_INET);
	ck_assert_mem_eq(host.addr.byte, "\7\7\7\2", 4);
}
END_TEST

/* --- replies ---------------------------------------------------------------*/

START_TEST(test_replies)
{
	struct netaddr	 four = { .family = AF_INET, .byte = { 7, 7, 7, 2 } };
	struct netaddr	 six = { .family = AF_INET6 };
	uint8_t		 out[SOCKS5_REPLY_MAX];

	six.byte[15] = 1;
	ck_assert_uint_eq(socks5_reply(SOCKS5_DONE, &four, 0x1234, out), 10);
	ck_assert_mem_eq(out, "\5\0\0\1\7\7\7\2\x12\x34", 10);
	ck_assert_uint_eq(socks5_reply(SOCKS5_DONE, &six, 80, out), 22);
	ck_assert_mem_eq(out, "\5\0\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\120",
	    22);
	ck_assert_uint_eq(socks5_reply(SOCKS5_COMMAND, NULL, 0, out), 10);
	ck_assert_mem_eq(out, "\5\7\0\1\0\0\0\0\0\0", 10);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("socks5");
	TCase	*t = tcase_create("socks5");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_greetings, 0, N(greetings));
	tcase_add_loop_test(t, test_requests, 0, N(requests));
	tcase_add_test(t, test_addresses);
	tcase_add_test(t, test_replies);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

/* Listening at all addresses of a name: names and ports are of this program. */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/tcplisten.h"

static struct sockaddr_in	 places[TCPLISTEN_MAX + 1];
static struct addrinfo		 infos[TCPLISTEN_MAX + 1];
static size_t			 nplaces;
static bool			 is_local;
static int			 asked, binds;
static int			 refuses[64];	/* errno of each bind(2) */
static in_port_t		 ports[64];	/* that each asked for */

/* 127.0.0.1, 127.0.0.2 and so on. */
int
getaddrinfo(const char *restrict name, const char *restrict port,
    const struct addrinfo *restrict hints, struct addrinfo **restrict out)
{
	asked++;
	if (is_local)
		ck_assert_ptr_null(name);
	else
		ck_assert_str_eq(name, "name");
	ck_assert_int_eq(hints->ai_flags, AI_NUMERICSERV | (is_local ? 0 :
	    AI_PASSIVE));
	for (size_t i = 0; i < nplaces; i++) {
		places[i] = (struct sockaddr_in){ .sin_family = AF_INET,
		    .sin_port = htons((uint16_t)atoi(port)),
		    .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)i) };
		infos[i] = (struct addrinfo){ .ai_family = AF_INET,
		    .ai_addr = (struct sockaddr *)&places[i],
		    .ai_addrlen = sizeof(places[i]),
		    .ai_next = i + 1 < nplaces ? &infos[i + 1] : NULL };
	}
	*out = infos;
	return nplaces > 0 ? 0 : EAI_NONAME;
}

void
freeaddrinfo(struct addrinfo *list)
{
	ck_assert_ptr_eq(list, infos);
}

int
bind(int fd, const struct sockaddr *sa, socklen_t len)
{
	int	(*real)(int, const struct sockaddr *, socklen_t);

	ck_assert_int_lt(binds, 64);
	ports[binds] = ((const struct sockaddr_in *)(const void *)sa)->sin_port;
	if ((errno = refuses[binds++]) != 0)
		return -1;
	*(void **)&real = dlsym(RTLD_NEXT, "bind");
	return real(fd, sa, len);
}

static size_t
begin(size_t n, const char *port, int fds[TCPLISTEN_MAX], const char **why)
{
	nplaces = n;
	asked = binds = 0;
	return tcplisten("name", port, fds, why);
}

static void
finish(int *fds, size_t n)
{
	while (n > 0)
		close(fds[--n]);
	memset(refuses, 0, sizeof(refuses));
}

START_TEST(test_all)
{
	const char	*why;
	unsigned	 port;
	size_t		 n;
	int		 fds[TCPLISTEN_MAX], on;
	socklen_t	 len = sizeof(on);

	n = begin(3, "0", fds, &why);
	ck_assert_uint_eq(n, 3);
	ck_assert_int_eq(asked, 1);
	port = tcplisten_port(fds[0]);
	ck_assert_uint_ne(port, 0);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(tcplisten_port(fds[i]), port);
		ck_assert_int_eq(getsockopt(fds[i], SOL_SOCKET, SO_ACCEPTCONN,
		    &on, &len), 0);
		ck_assert_int_eq(on, 1);
		ck_assert_int_eq(accept(fds[i], NULL, NULL), -1);
		ck_assert_int_eq(errno, EAGAIN);
	}
	finish(fds, n);
	/* No more than there is room for. */
	n = begin(TCPLISTEN_MAX + 1, "0", fds, &why);
	ck_assert_uint_eq(n, TCPLISTEN_MAX);
	finish(fds, n);
}
END_TEST

/* Whatever the resolver says of it. */
START_TEST(test_localhost)
{
	const char	*why;
	int		 fds[TCPLISTEN_MAX];
	size_t		 n;

	is_local = true;
	nplaces = 1;
	n = tcplisten("LocalHost", "0", fds, &why);
	ck_assert_uint_eq(n, 1);
	finish(fds, n);
	is_local = false;
}
END_TEST

/* Free at the first address and taken at the second: another port. */
START_TEST(test_again)
{
	const char	*why;
	size_t		 n;
	int		 fds[TCPLISTEN_MAX];

	refuses[1] = EADDRINUSE;
	n = begin(2, "0", fds, &why);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(asked, 2);
	ck_assert_int_eq(binds, 4);
	ck_assert_uint_eq(ports[0], 0);
	ck_assert_uint_eq(ports[2], 0);
	ck_assert_uint_eq(ports[3], htons((uint16_t)tcplisten_port(fds[0])));
	finish(fds, n);
	/* Not for ever. */
	for (int i = 0; i < 64; i++)
		refuses[i] = EADDRINUSE;
	ck_assert_uint_eq(begin(2, "0", fds, &why), 0);
	ck_assert_str_eq(why, strerror(EADDRINUSE));
	ck_assert_int_eq(binds, 20);
	finish(fds, 0);
}
END_TEST

/* A port that was named is taken at one of them: none is kept. */
START_TEST(test_taken)
{
	const char	*why;
	char		 text[8];
	int		 fds[TCPLISTEN_MAX], last;
	size_t		 n = begin(1, "0", fds, &why);

	ck_assert_uint_eq(n, 1);
	snprintf(text, sizeof(text), "%u", tcplisten_port(fds[0]));
	finish(fds, n);
	last = dup(STDERR_FILENO);
	refuses[1] = EADDRINUSE;
	ck_assert_uint_eq(begin(3, text, fds, &why), 0);
	ck_assert_str_eq(why, strerror(EADDRINUSE));
	ck_assert_int_eq(asked, 1);
	ck_assert_int_eq(binds, 2);
	finish(fds, 0);
	close(last);
	ck_assert_int_eq(dup(STDERR_FILENO), last); /* none is left open */
	close(last);
}
END_TEST

/* A family that is off is left out; if all are, that is said. */
START_TEST(test_off)
{
	const char	*why;
	size_t		 n;
	int		 fds[TCPLISTEN_MAX];

	refuses[0] = EADDRNOTAVAIL;
	n = begin(2, "0", fds, &why);
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(asked, 1);
	finish(fds, n);
	refuses[0] = refuses[1] = EACCES;
	ck_assert_uint_eq(begin(2, "0", fds, &why), 0);
	ck_assert_str_eq(why, strerror(EACCES));
	ck_assert_int_eq(asked, 1);
	finish(fds, 0);
	ck_assert_uint_eq(begin(0, "0", fds, &why), 0);
	ck_assert_str_eq(why, gai_strerror(EAI_NONAME));
}
END_TEST

START_TEST(test_port)
{
	int	 fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_uint_eq(tcplisten_port(fd), 0);
	close(fd);
	ck_assert_uint_eq(tcplisten_port(-1), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("tcplisten");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_test(t, test_all);
	tcase_add_test(t, test_localhost);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_taken);
	tcase_add_test(t, test_off);
	tcase_add_test(t, test_port);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

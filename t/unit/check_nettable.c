/* master/auth/nettable.c: lines of /proc/net/tcp and tcp6. */
#include <sys/socket.h>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/auth/nettable.h"

#define REST	" 00000000:00000000 00:00000000 00000000 "
#define FOUR	"   0: 0100007F:1F90 0200007F:C350 01" REST

static struct nettable_row	 row;

static int
parse(const char *line)
{
	return nettable_parse(line, strlen(line), &row);
}

static const struct {
	const char	*line;
	int		 result;
	unsigned	 uid;
	unsigned long	 inode;
} rows[] = {
	{ FOUR " 1000        0 12345 1 00", 0, 1000, 12345 },
	{ FOUR "    0        0 0 1 00", 0, 0, 0 },
	{ FOUR "4294967295        0 18446744073709551 1", 0, 4294967295U,
	    18446744073709551UL },
	{ FOUR "1000        0 12345", 0, 1000, 12345 },
	{ FOUR "4294967296        0 12345 1", -1, 0, 0 },
	{ FOUR "1000        0 ", -1, 0, 0 },
	{ FOUR "1000        0 12345x", -1, 0, 0 },
	{ FOUR "-1        0 12345", -1, 0, 0 },
	{ FOUR, -1, 0, 0 },
	{ "", -1, 0, 0 },
	{ "  sl  local_address rem_address   st tx_queue rx_queue tr", -1, 0,
	    0 },
	{ "   0: 0100007f:1F90 0200007F:C350 01" REST "1 0 2 3", -1, 0, 0 },
	{ "   0: 0100007F:1F9 0200007F:C350 01" REST "1 0 2 3", -1, 0, 0 },
	{ "   0: 0100007F0100007F:1F90 0200007F:C350 01" REST "1 0 2 3", -1,
	    0, 0 },
	{ "   0 0100007F:1F90 0200007F:C350 01" REST "1 0 2 3", -1, 0, 0 },
	{ "   0: 0100007F:1F90 0200007F:C350 1" REST "1 0 2 3", -1, 0, 0 },
};

START_TEST(test_rows)
{
	ck_assert_msg(parse(rows[_i].line) == rows[_i].result, "%s",
	    rows[_i].line);
	if (rows[_i].result == -1)
		return;
	ck_assert_uint_eq(row.uid, rows[_i].uid);
	ck_assert_uint_eq(row.inode, rows[_i].inode);
	ck_assert_uint_eq(row.state, 1);
	ck_assert_uint_eq(row.local.port, 0x1f90);
	ck_assert_uint_eq(row.remote.port, 0xc350);
}
END_TEST

/* Each part of a line may be its end. */
START_TEST(test_cut)
{
	const char	*line = rows[0].line;
	size_t		 whole = strlen(FOUR " 1000        0 1"), n;
	char		*exact;

	for (n = 0; n < whole; n++) {
		ck_assert_ptr_nonnull(exact = malloc(n + 1));
		memcpy(exact, line, n);
		ck_assert_int_eq(nettable_parse(exact, n, &row), -1);
		free(exact);
	}
}
END_TEST

/* What the kernel says of a connection of our own. */
static void
look_for(const char *file, const struct in6_addr *address, uint16_t local,
    uint16_t remote)
{
	char	*line = NULL;
	size_t	 cap = 0;
	ssize_t	 n;
	FILE	*f;
	int	 found = 0, read = 0;

	ck_assert_ptr_nonnull(f = fopen(file, "re"));
	while ((n = getline(&line, &cap, f)) > 0) {
		if (nettable_parse(line, (size_t)n - 1, &row) == -1)
			continue;
		read++;
		if (row.local.port != local || row.remote.port != remote)
			continue;
		found++;
		ck_assert_mem_eq(&row.local.address, address, 16);
		ck_assert_mem_eq(&row.remote.address, address, 16);
		ck_assert_uint_eq(row.uid, geteuid());
		ck_assert_uint_gt(row.inode, 0);
	}
	free(line);
	fclose(f);
	ck_assert_int_gt(read, 0);
	ck_assert_int_eq(found, 1);
}

static void
connect_by(int family, const char *file)
{
	struct sockaddr_in6	 six = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in	 four = { .sin_family = AF_INET };
	struct sockaddr		*a = family == AF_INET ?
				    (struct sockaddr *)&four :
				    (struct sockaddr *)&six;
	socklen_t		 len = family == AF_INET ? sizeof(four) :
				    sizeof(six);
	struct in6_addr		 address = six.sin6_addr;
	uint16_t		 to, from;
	int			 lfd, fd;

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	lfd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (lfd == -1 || bind(lfd, a, len) == -1) {
		ck_assert_int_eq(family, AF_INET6);	/* there is none */
		close(lfd);
		return;
	}
	ck_assert_int_eq(listen(lfd, 1), 0);
	ck_assert_int_eq(getsockname(lfd, a, &len), 0);
	to = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	ck_assert_int_ne(fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0),
	    -1);
	ck_assert_int_eq(connect(fd, a, len), 0);
	ck_assert_int_eq(getsockname(fd, a, &len), 0);
	from = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
	if (family == AF_INET)
		inet_pton(AF_INET6, "::ffff:127.0.0.1", &address);
	look_for(file, &address, from, to);
	close(fd);
	close(lfd);
}

START_TEST(test_kernel)
{
	connect_by(AF_INET, "/proc/net/tcp");
	if (access("/proc/net/tcp6", R_OK) == 0)
		connect_by(AF_INET6, "/proc/net/tcp6");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("nettable");
	TCase	*t = tcase_create("nettable");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_rows, 0,
	    (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(t, test_cut);
	tcase_add_test(t, test_kernel);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

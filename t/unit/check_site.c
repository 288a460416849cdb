/* master/hub/admit/site.c: the files of a site on their way to the worker. */
#include <sys/socket.h>

#include <check.h>
#include <openssl/crypto.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/hub/admit/keymem.h"
#include "master/hub/admit/site.h"

static const char *const	 some[SITE_FILES] = {
	[SITE_CONF] = "configuration", [SITE_TOKENS] = "",
	[SITE_SECRET] = "needle-secret", [SITE_CERTIFICATE] = NULL,
	[SITE_KEY] = "needle-key", [SITE_BEARER] = "",
	[SITE_SIGNERS] = "signers", [SITE_AUTHORITIES] = NULL,
	[SITE_ENGINE] = "needle-engine"
};

static void
put(struct site_files *f, size_t which, const char *text, size_t len)
{
	f->file[which].text = sodium_malloc(len + 1);
	ck_assert_ptr_nonnull(f->file[which].text);
	memcpy(f->file[which].text, text, len);
	f->file[which].len = len;
}

static void
put_some(struct site_files *f)
{
	size_t	 i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < SITE_FILES; i++)
		if (some[i] != NULL)
			put(f, i, some[i], strlen(some[i]));
}

START_TEST(test_packed)
{
	struct site_files	 f, got;
	size_t			 i;
	int			 fd;

	put_some(&f);
	fd = site_pack(&f);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(site_unpack(&got, fd), 0);
	for (i = 0; i < SITE_FILES; i++) {
		ck_assert_int_eq(got.file[i].text == NULL, some[i] == NULL);
		if (some[i] != NULL)
			ck_assert_str_eq(got.file[i].text, some[i]);
		ck_assert_uint_eq(got.file[i].len, f.file[i].len);
	}
	site_files_fini(&got);
	/* Nothing is left there. */
	ck_assert_int_eq(site_unpack(&got, fd), -1);
	fd_close(&fd);
	site_files_fini(&f);
}
END_TEST

/* OpenSSL keeps a key of each connection there until that ends. */
START_TEST(test_keymem)
{
	size_t	 i;

	ck_assert_int_eq(keymem_reserve(20000), 0);
	for (i = 0; i < 20000; i++)
		ck_assert_ptr_nonnull(OPENSSL_secure_malloc(32));
}
END_TEST

/* The largest that are read from files. */
START_TEST(test_large)
{
	static char		 text[1024 * 1024];
	struct site_files	 f = { 0 }, got;
	size_t			 i;
	int			 fd;

	randombytes_buf(text, sizeof(text));
	for (i = 0; i < SITE_FILES; i++)
		put(&f, i, text, i == SITE_SECRET || i == SITE_KEY ||
		    i == SITE_BEARER || i == SITE_ENGINE ? 65536 :
		    sizeof(text));
	fd = site_pack(&f);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(site_unpack(&got, fd), 0);
	for (i = 0; i < SITE_FILES; i++) {
		ck_assert_uint_eq(got.file[i].len, f.file[i].len);
		ck_assert_mem_eq(got.file[i].text, f.file[i].text,
		    f.file[i].len);
	}
	fd_close(&fd);
	site_files_fini(&got);
	site_files_fini(&f);
}
END_TEST

/* The memory of a file can be swapped: no secret is in there. */
START_TEST(test_no_secret_in_a_file)
{
	struct site_files	 f;
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}			 u;
	char			 text[256], head[256];
	struct iovec		 iov = { head, sizeof(head) };
	struct msghdr		 m = { .msg_iov = &iov, .msg_iovlen = 1,
				    .msg_control = &u,
				    .msg_controllen = sizeof(u) };
	ssize_t			 n;
	int			 fd, file = -1;

	put_some(&f);
	fd = site_pack(&f);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_gt(recvmsg(fd, &m, 0), 0);
	ck_assert_uint_eq(fd_take_rights(&m, &file, 1), 1);
	n = pread(file, text, sizeof(text) - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_str_eq(text, "configurationsigners");
	fd_close(&file);
	fd_close(&fd);
	site_files_fini(&f);
}
END_TEST

static int
read_with(struct site_files *f, char *option, const struct hubconf *began)
{
	const struct site_cmdline	 how = { .option = &option,
					    .noption = 1, .began = began };
	struct conf_error		 e = { "" };

	return site_read(f, &how, &e);
}

/* A reload that changes what needs a restart is told from others. */
START_TEST(test_kept)
{
	char			 name[] = "HubName=one";
	char			 other[] = "HubName=two";
	struct site_files	 f;
	struct hubconf		 began;
	struct conf_error	 e = { "" };

	ck_assert_int_eq(read_with(&f, name, NULL), 0);
	ck_assert_int_eq(site_take_conf(&began, &f, &e), 0);
	ck_assert(!f.is_kept);
	site_files_fini(&f);
	ck_assert_int_eq(read_with(&f, name, &began), 0);
	ck_assert(!f.is_kept);
	site_files_fini(&f);
	ck_assert_int_eq(read_with(&f, other, &began), 0);
	ck_assert(f.is_kept);
	ck_assert_ptr_nonnull(strstr(f.file[SITE_CONF].text, "one"));
	ck_assert_ptr_null(strstr(f.file[SITE_CONF].text, "two"));
	site_files_fini(&f);
	hubconf_fini(&began);
}
END_TEST

/* Messages that are not as the first one says. */
START_TEST(test_unlike)
{
	static const struct {
		const char	*secret, *key;
	}			 rows[] = {
		{ NULL, NULL }, { "needle-secret", NULL },
		{ "needle-secre", "needle-key" },
		{ "needle-secret-", "needle-key" },
		{ "needle-key", "needle-secret" }
	};
	struct site_files	 f, got;
	char			 head[256];
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}			 u;
	struct iovec		 iov = { head, sizeof(head) };
	struct msghdr		 m = { .msg_iov = &iov, .msg_iovlen = 1,
				    .msg_control = &u,
				    .msg_controllen = sizeof(u) };
	ssize_t			 n;
	int			 fd, pair[2];

	put_some(&f);
	fd = site_pack(&f);
	ck_assert_int_ne(fd, -1);
	n = recvmsg(fd, &m, 0);
	ck_assert_int_gt(n, 0);
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	iov.iov_len = (size_t)n - (_i == 0 ? 1 : 0);
	ck_assert_int_gt(sendmsg(pair[1], &m, 0), 0);
	if (rows[_i].secret != NULL)
		ck_assert_int_gt(send(pair[1], rows[_i].secret,
		    strlen(rows[_i].secret), 0), 0);
	if (rows[_i].key != NULL)
		ck_assert_int_gt(send(pair[1], rows[_i].key,
		    strlen(rows[_i].key), 0), 0);
	fd_close(&pair[1]);
	ck_assert_int_eq(site_unpack(&got, pair[0]), -1);
	ck_assert_ptr_null(got.file[SITE_CONF].text);
	fd_close(&pair[0]);
	fd_close(&fd);
	site_files_fini(&f);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("site");
	TCase	*t = tcase_create("pack");
	SRunner	*sr;
	int	 failed;

	if (sodium_init() == -1)
		return EXIT_FAILURE;
	tcase_add_test(t, test_packed);
	tcase_add_test(t, test_keymem);
	tcase_add_test(t, test_large);
	tcase_add_test(t, test_no_secret_in_a_file);
	tcase_add_test(t, test_kept);
	tcase_add_loop_test(t, test_unlike, 0, 5);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

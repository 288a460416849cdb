/*
 * The rooms of master/hub/ that have no loop when a call fails: no crash,
 * nothing left, no ticket taken twice, and whatever says that it worked has.
 */
#include <sys/stat.h>

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/hub/admit/replay.h"
#include "master/hub/admit/site.h"
#include "master/hub/admit/subject.h"
#include "t/unit/fault.h"

static char	 folder[64];

static const char *
write_file(const char *name, const char *text)
{
	static char	 path[128];
	int		 fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	ck_assert_int_ne(fd = open(path, O_WRONLY | O_CREAT, 0600), -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	return path;
}

static void
remove_file(const char *name)
{
	char	 path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	ck_assert_int_eq(unlink(path), 0);
}

/* The secret is that of ticket, and token "abc" is that of one. */
static void
ck_site(const struct site *s)
{
	struct identity	 who;
	bool		 is_guess;

	ck_assert_str_eq(s->conf.fleet_url, "https://hub.example");
	ck_assert_uint_eq(s->conf.nrule, 1);
	ck_assert_uint_eq(s->keys->n, 2);
	ck_assert_uint_eq(s->jwt.secret_len, 40);
	ck_assert_ptr_null(site_identify(s, (struct span){ "abc", 3 }, 1000,
	    &who, &is_guess));
	ck_assert_str_eq(who.name, "token:one");
}

/* From files over the memory that a worker is given to what it goes by. */
static bool
sites(void)
{
	char			 rate[] = "RequestRate=7", *option[] = { rate };
	char			 path[128];
	struct site_cmdline	 how = { .path = path, .option = option,
				    .noption = 1 };
	struct site_files	 f, got;
	struct conf_error	 e = { "" };
	struct site		*s = NULL;
	int			 fd = -1, r = -1;

	snprintf(folder, sizeof(folder), "/tmp/fault.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	write_file("secret", "0123456789abcdef0123456789abcdef\n"
	    "fedcba9876543210fedcba9876543210\n");
	write_file("bearer", "0123456789012345678901234567890123456789\n");
	write_file("tokens", "one sha256:ba7816bf8f01cfea414140de5dae2223b003"
	    "61a396177a9cb410ff61f20015ad connect=a\n");
	snprintf(path, sizeof(path), "%s", write_file("conf",
	    "FleetUrl wss://hub.example/\nSecretFile secret\n"
	    "TokensFile tokens\nBearerSecretFile bearer\n"
	    "Match Harness token:*\n\tMayConnect a\n"));
	fault_begin();
	if (site_read(&f, &how, &e) == 0) {
		fd = site_pack(&f);
		site_files_fini(&f);
	}
	if (fd != -1) {
		if ((r = site_unpack(&got, fd)) == 0) {
			s = site_new(&got, &e);
			site_files_fini(&got);
		}
		fd_close(&fd);
	}
	fault_end();
	ck_assert_msg(s == NULL || e.text[0] == '\0', "%s", e.text);
	if (s != NULL)
		ck_site(s);
	site_free(&s);
	remove_file("secret");
	remove_file("bearer");
	remove_file("tokens");
	remove_file("conf");
	ck_assert_int_eq(rmdir(folder), 0);
	if (fault_error() == 0)
		ck_assert_msg(e.text[0] == '\0', "%s", e.text);
	return r == 0 && e.text[0] == '\0';
}

/* One that cannot be remembered is not taken; none is taken twice. */
static bool
nonces(void)
{
	struct replay	 r;
	uint8_t		 nonce[20][TICKET_NONCE_LEN];
	unsigned	 i, n = 0;
	bool		 is_taken;

	replay_init(&r);
	memset(nonce, 0, sizeof(nonce));
	for (i = 0; i < 20; i++) {
		nonce[i][0] = (uint8_t)i;
		fault_begin();
		is_taken = replay_take(&r, nonce[i], 100, 50);
		fault_end();
		ck_assert_int_eq(replay_has(&r, nonce[i]), is_taken);
		ck_assert_int_eq(replay_take(&r, nonce[i], 100, 50),
		    !is_taken);
		n += is_taken;
	}
	replay_fini(&r);
	return n == 20;
}

static bool
subjects(void)
{
	struct subjects	 all;
	struct subject	*s[20], *again;
	char		 name[16];
	unsigned	 i, n = 0;

	subjects_init(&all);
	for (i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "token:%u", i);
		fault_begin();
		s[i] = subject_ref(&all, name);
		fault_end();
		if (s[i] == NULL)
			continue;
		n++;
		ck_assert_str_eq(s[i]->name, name);
		ck_assert_ptr_eq(again = subject_ref(&all, name), s[i]);
		subject_unref(&again);
	}
	for (i = 0; i < 20; i++)
		if (s[i] != NULL)
			subject_unref(&s[i]);
	subjects_fini(&all);
	return n == 20;
}

static const struct scenario	 list[] = {
	SCENARIO(sites),
	SCENARIO(nonces),
	SCENARIO(subjects),
};

int
main(void)
{
	return fault_main("fault_hub", list, sizeof(list) / sizeof(list[0]));
}

#include "t/unit/conf_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct conf		 c;
struct conf_error	 e;
char			 conf_path[] = "/tmp/check_conf.XXXXXX";

const struct row	 rows[CONF_ROWS] = {
#define CONF(keyword, type, member, value, when, help)			\
	{ #keyword, #type, value, WHEN_##when },
#include "proto/conf.def"
#undef CONF
};

const struct row	 uplink_rows[CONF_UPLINK_ROWS] = {
#define UPLINK(keyword, type, member, value, help)			\
	{ #keyword, #type, value, WHEN_START },
#include "proto/uplink.def"
#undef UPLINK
};

void
setup(void)
{
	int	 fd = mkstemp(conf_path);

	ck_assert_int_ne(fd, -1);
	close(fd);
	ck_assert_int_eq(conf_init(&c), 0);
}

void
teardown(void)
{
	unlink(conf_path);
	conf_fini(&c);
}

char *
printed(void)
{
	char	*text;
	size_t	 len;
	FILE	*f = open_memstream(&text, &len);

	conf_print(&c, f);
	fclose(f);
	return text;
}

int
load(const char *text)
{
	FILE	*f = fopen(conf_path, "w");

	fputs(text, f);
	fclose(f);
	memset(&e, 0, sizeof(e));
	return conf_load(&c, conf_path, &e);
}

const char *
good(const char *type)
{
	if (strcmp(type, "SECONDS") == 0 || strcmp(type, "TIMEOUT") == 0)
		return "7ms";
	if (strcmp(type, "SIZE") == 0 || strcmp(type, "ROOM") == 0)
		return "3k";
	if (strcmp(type, "COUNT") == 0 || strcmp(type, "AMOUNT") == 0 ||
	    strcmp(type, "WEIGHT") == 0)
		return "5";
	if (strcmp(type, "CHOICE_level") == 0)
		return "DEBUG";
	if (strcmp(type, "CHOICE_network") == 0)
		return "Managed";
	if (strcmp(type, "CHOICE_overflow") == 0)
		return "Drop-Oldest";
	if (strcmp(type, "CHOICE_paths") == 0)
		return "accept";
	if (strcmp(type, "CHOICE_root") == 0 ||
	    strcmp(type, "CHOICE_cgroup") == 0)
		return "no";
	if (strcmp(type, "CHOICE_facility") == 0)
		return "local7";
	if (strcmp(type, "CHOICE_ready") == 0)
		return "Any";
	if (strcmp(type, "CHOICE_format") == 0)
		return "Json";
	if (strcmp(type, "CHOICE_token") == 0)
		return "Always";
	if (strcmp(type, "CHOICE_transcript") == 0)
		return "All";
	if (strcmp(type, "CHOICE_transport") == 0)
		return "Plain";
	if (strcmp(type, "NICE") == 0)
		return "19";
	if (strcmp(type, "MODE") == 0)
		return "077";
	if (strcmp(type, "RLIMIT") == 0)
		return "3K:unlimited";
	if (strcmp(type, "CHOICE_sandbox") == 0)
		return "Read-Only";
	if (strcmp(type, "CHOICE_stdin") == 0)
		return "frames";
	if (strcmp(type, "CHOICE_yesno") == 0)
		return "yes";
	if (strcmp(type, "NAMES") == 0)
		return "some,names";
	return "/some text";
}

void
ck_fails(const char *text, const char *words)
{
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_msg(load(text) == -1, "taken: %s", text);
	ck_assert_msg(strstr(e.text, words) != NULL, "%s: \"%s\", not \"%s\"",
	    text, e.text, words);
}

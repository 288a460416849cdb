#include "t/unit/said_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

static FILE	*before[2];
static char	*text[2];
static size_t	 size[2];

void
said_begin(void)
{
	free(text[0]);
	free(text[1]);
	before[0] = stdout;
	before[1] = stderr;
	stdout = open_memstream(&text[0], &size[0]);
	stderr = open_memstream(&text[1], &size[1]);
	ck_assert(stdout != NULL && stderr != NULL);
}

void
said_end(void)
{
	ck_assert_int_eq(fclose(stdout), 0);
	ck_assert_int_eq(fclose(stderr), 0);
	stdout = before[0];
	stderr = before[1];
}

void
ck_said(const char *error, const char *output)
{
	said_end();
	ck_assert_str_eq(text[1], error);
	ck_assert_str_eq(text[0], output);
	said_begin();
}

const char *
said_error(void)
{
	return text[1];
}

const char *
said_output(void)
{
	return text[0];
}

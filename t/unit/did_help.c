#include "t/unit/did_help.h"

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char	 all[20000];

void
did(const char *format, ...)
{
	size_t	 n = strlen(all);
	va_list	 ap;

	if (n > 0)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "; ");
	ck_assert_uint_lt(n, sizeof(all));
	va_start(ap, format);
	n += (size_t)vsnprintf(all + n, sizeof(all) - n, format, ap);
	va_end(ap);
	ck_assert_uint_lt(n, sizeof(all));
}

void
ck_did(const char *what)
{
	ck_assert_str_eq(all, what);
	did_forget();
}

bool
did_begins(const char *what)
{
	return strncmp(all, what, strlen(what)) == 0;
}

void
ck_did_begin(const char *what)
{
	ck_assert_msg(did_begins(what), "%s", all);
	did_forget();
}

void
did_forget(void)
{
	all[0] = '\0';
}

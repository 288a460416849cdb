#include "t/unit/fault.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIVE_MAX	65536
#define FDS_MAX		256

extern char	 __executable_start[];

static struct {
	const void	*p;
	const char	*name;
	uintptr_t	 from;		/* as addr2line(1) takes it */
}			 live[LIVE_MAX];
static size_t		 nlive;
static bool		 is_watching;	/* there is a scenario */
static bool		 is_on;
static pid_t		 self;		/* children of it have no faults */
static unsigned		 left;		/* until a call fails; 0: none does */
static unsigned		 run;
static const char	*failed;	/* the call */
static uintptr_t	 failed_from;
static int		 failed_with;
static const char	*asked;		/* by fault_call() */
static unsigned		 asked_left;

/*
 * All that the kernel and libc take are words.  More of them than a function
 * has do no harm, nor does a return value that is wider than it is.
 */
typedef long	 any_fn(long, long, long, long, long, long, long);

static bool
is_failing(const char *name, void *from, int error)
{
	if (asked != NULL && strcmp(name, asked) == 0 && --asked_left == 0) {
		asked = NULL;
		errno = error;
		return true;
	}
	if (!is_on || left == 0 || getpid() != self || --left > 0)
		return false;
	failed = name;
	failed_from = (uintptr_t)from - (uintptr_t)__executable_start - 1;
	failed_with = error;
	if (getenv("FAULT_TRACE") != NULL)
		fprintf(stderr, "run %u: %s, from %#jx\n", run, failed,
		    (uintmax_t)failed_from);
	errno = error;
	return true;
}

static void
came(const void *p, const char *name, void *from)
{
	if (p == NULL || !is_on || !is_watching)
		return;
	if (nlive == LIVE_MAX)
		abort();
	live[nlive].p = p;
	live[nlive].name = name;
	live[nlive++].from = (uintptr_t)from -
	    (uintptr_t)__executable_start - 1;
}

/* The youngest is the likeliest.  An unknown one is of a library. */
static void
went(const void *p)
{
	size_t	 i;

	for (i = nlive; i > 0; i--)
		if (live[i - 1].p == p) {
			live[i - 1] = live[--nlive];
			return;
		}
}

#define WRAP(name)							\
	any_fn	 __real_##name, __wrap_##name;				\
	long								\
	__wrap_##name(long a, long b, long c, long d, long e, long f, long g)
#define CALL(name)	__real_##name(a, b, c, d, e, f, g)
#define FROM		__builtin_return_address(0)

#define FAULT(name, value, error)					\
	WRAP(name)							\
	{								\
		return is_failing(#name, FROM, error) ? value : CALL(name); \
	}
#define RENEW(name)							\
	WRAP(name)							\
	{								\
		long	 p;						\
									\
		if (is_failing(#name, FROM, ENOMEM))			\
			return 0;					\
		if ((p = CALL(name)) != 0)				\
			went((const void *)a);				\
		came((const void *)p, #name, FROM);			\
		return p;						\
	}
#define NEW(name)							\
	WRAP(name)							\
	{								\
		long	 p;						\
									\
		if (is_failing(#name, FROM, ENOMEM))			\
			return 0;					\
		p = CALL(name);						\
		came((const void *)p, #name, FROM);			\
		return p;						\
	}
#define FREE(name)							\
	WRAP(name)							\
	{								\
		went((const void *)a);					\
		return CALL(name);					\
	}
#include "t/unit/fault.def"
#undef FAULT
#undef NEW
#undef RENEW
#undef FREE

/*
 * These take more than words.  Fortified code calls the last two; with
 * sanitizers none is.
 */

int	 __real_vasprintf(char **, const char *, va_list);
int	 __wrap_vasprintf(char **, const char *, va_list);
int	 __wrap_asprintf(char **, const char *, ...);
int	 __wrap___vasprintf_chk(char **, int, const char *, va_list);
int	 __wrap___asprintf_chk(char **, int, const char *, ...);

static int
print(void *from, char **out, const char *format, va_list ap)
{
	int	 n;

	if (is_failing("asprintf", from, ENOMEM))
		return -1;
	if ((n = __real_vasprintf(out, format, ap)) != -1)
		came(*out, "asprintf", from);
	return n;
}

int
__wrap_vasprintf(char **out, const char *format, va_list ap)
{
	return print(FROM, out, format, ap);
}

int
__wrap_asprintf(char **out, const char *format, ...)
{
	va_list	 ap;
	int	 n;

	va_start(ap, format);
	n = print(FROM, out, format, ap);
	va_end(ap);
	return n;
}

int
__wrap___vasprintf_chk(char **out, int flag, const char *format, va_list ap)
{
	(void)flag;
	return print(FROM, out, format, ap);
}

int
__wrap___asprintf_chk(char **out, int flag, const char *format, ...)
{
	va_list	 ap;
	int	 n;

	(void)flag;
	va_start(ap, format);
	n = print(FROM, out, format, ap);
	va_end(ap);
	return n;
}

/* What checks in between do is no part of it. */
void	 __real__mark_point(const char *, int);
void	 __wrap__mark_point(const char *, int);

void
__wrap__mark_point(const char *file, int line)
{
	bool		 was_on = is_on;
	const char	*was_asked = asked;

	is_on = false;
	asked = NULL;
	__real__mark_point(file, line);
	asked = was_asked;
	is_on = was_on;
}

void
fault_begin(void)
{
	is_on = true;
}

void
fault_end(void)
{
	is_on = false;
}

int
fault_error(void)
{
	return failed_with;
}

void
fault_call(const char *name, unsigned n)
{
	asked = name;
	asked_left = n;
}

bool
fault_came(void)
{
	return asked == NULL;
}

static unsigned
count_open(void)
{
	unsigned	 n = 0;
	int		 fd;

	for (fd = 0; fd < FDS_MAX; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

static bool
run_with(const struct scenario *sc, unsigned n)
{
	unsigned	 before = count_open();
	bool		 is_well;

	self = getpid();
	run = left = n;
	failed = NULL;
	failed_with = 0;
	is_watching = n > 0;
	is_well = sc->run();
	is_watching = false;
	ck_assert_msg(!is_on, "%s: no fault_end()", sc->name);
	ck_assert_msg(n == 0 || count_open() == before,
	    "%s: %u descriptors became %u after call %u, %s from %#jx",
	    sc->name, before, count_open(), n,
	    failed != NULL ? failed : "none", (uintmax_t)failed_from);
	ck_assert_msg(nlive == 0, "%s: %zu of %s from %#jx left after call %u, "
	    "%s from %#jx", sc->name, nlive, live[0].name,
	    (uintmax_t)live[0].from, n, failed != NULL ? failed : "none",
	    (uintmax_t)failed_from);
	return is_well;
}

static const struct scenario	*scenarios;

START_TEST(test_scenario)
{
	const struct scenario	*sc = &scenarios[_i];
	unsigned		 n = 1;
	bool			 is_well;

	/* What is made once and kept is made here. */
	ck_assert_msg(run_with(sc, 0), "%s fails without a fault", sc->name);
	do {
		is_well = run_with(sc, n++);
	} while (failed != NULL);
	ck_assert_msg(is_well, "%s fails after faults", sc->name);
}
END_TEST

int
fault_main(const char *suite, const struct scenario *list, size_t n)
{
	Suite	*s = suite_create(suite);
	TCase	*tc = tcase_create("faults");
	SRunner	*r;
	int	 nfailed;

	if (sodium_init() == -1)
		return EXIT_FAILURE;
	scenarios = list;
	/* Some start programs, once for each call that can fail. */
	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, test_scenario, 0, (int)n);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	nfailed = srunner_ntests_failed(r);
	srunner_free(r);
	return nfailed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

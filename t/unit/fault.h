/*
 * Faults on demand: the n-th call of a function that can fail does.  The
 * functions are rows of fault.def, by which the linker is told to lead our own
 * calls here; those inside libraries stay as they are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What the code under test does between the two may fail. */
void	 fault_begin(void);
void	 fault_end(void);

/*
 * A scenario tells whether all went well, which it must without a fault; what
 * it says then it has to look at itself.
 */
struct scenario {
	const char	*name;
	bool		(*run)(void);
};
#define SCENARIO(name)	{ #name, name }

/*
 * A test program: run each with its first, second ... call failing, until it
 * comes to its end without one.  After each run there are as many descriptors
 * and as little memory as before.  With FAULT_TRACE in the environment each run
 * says which call failed, and from where (addr2line(1)).  Return what main()
 * does.
 */
int	 fault_main(const char *suite, const struct scenario *list, size_t n);

/* The error of the call that failed in this run, or 0. */
int	 fault_error(void);

/* In any test: from now on the n-th call of that function fails, once. */
void	 fault_call(const char *name, unsigned n);

/* Whether it has. */
bool	 fault_came(void);

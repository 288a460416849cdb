#include "t/unit/scratch_help.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

void
scratch_make(char out[SCRATCH_SIZE], const char *name)
{
	const char	*tmp = getenv("TMPDIR");

	snprintf(out, SCRATCH_SIZE, "%.40s/%.15s.XXXXXX",
	    tmp != NULL ? tmp : "/tmp", name);
	ck_assert_ptr_nonnull(mkdtemp(out));
}

/*
 * Output of a shell that tells its state: what is taken of it can be given to a
 * command, and has no name twice.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proc/envp.h"
#include "worker/proc/snapshot_text.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_use(const char *state, char *const *left)
{
	static char	 sh[] = "/bin/sh", flags[] = "-lc", script[] = "true";
	static char	 a[] = "A=1";
	char		*argv[] = { sh, flags, script, NULL };
	char		*own[] = { a, NULL }, **made;
	size_t		 i, name;

	CHECK((made = snapshot_argv(SNAPSHOT_BASH, argv, state)) != NULL);
	CHECK(strcmp(made[1], "-pc") == 0 && made[3] == NULL);
	envp_free(&made);
	CHECK((made = snapshot_envp(own, left, own, state)) != NULL);
	CHECK(strcmp(made[0], "A=1") == 0);
	for (i = 1; made[i] != NULL; i++) {
		name = strcspn(made[i], "=");
		CHECK(made[i][name] == '=' && name > 0);
		CHECK(strncmp(made[i], "A=", 2) != 0);
	}
	envp_free(&made);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char	*copy, *state, **left;
	bool	 is_complete;

	if (size > 65536)
		return 0;
	CHECK((copy = malloc(size + (size == 0))) != NULL);
	if (size > 0)
		memcpy(copy, data, size);
	is_complete = snapshot_is_complete(copy, size, 0);
	if (snapshot_parse(copy, size, &state, &left) == 0) {
		CHECK(is_complete && strlen(state) <= LIMIT_SNAPSHOT);
		check_use(state, left);
	}
	free(state);
	envp_free(&left);
	free(copy);
	return 0;
}

/* A line of the file of hosts: its words come from the line, in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/servers.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_word(const char *line, size_t size, const char *word)
{
	if (word == NULL)
		return;
	MUST(word > line && word < line + size);
	MUST(word[0] != '\0' && strpbrk(word, " \t\r\n") == NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct host_line	 out;
	char			 why[SERVERS_WHY] = "";
	/* A byte before it: no word begins there. */
	char			*line = calloc(1, size + 2);

	MUST(line != NULL);
	memcpy(line + 1, data, size);
	switch (servers_parse(line + 1, &out, why)) {
	case 1:
		MUST(out.name < out.url);
		MUST(strpbrk(out.name, ":/#") != out.name);
		check_word(line, size + 1, out.name);
		check_word(line, size + 1, out.url);
		check_word(line, size + 1, out.token);
		check_word(line, size + 1, out.token_file);
		check_word(line, size + 1, out.ca_file);
		check_word(line, size + 1, out.cwd);
		check_word(line, size + 1, out.sandbox);
		check_word(line, size + 1, out.env[0]);
		MUST(out.token == NULL || out.token_file == NULL);
		break;
	case -1:
		MUST(why[0] != '\0');
		break;
	}
	free(line);
	return 0;
}

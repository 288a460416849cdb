/* Any bytes as a configuration file: settings, or one line that says why. */
#include <sys/mman.h>
#include <sys/stat.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What was printed is a file that sets the same. */
static void
check_print(const struct conf *c, const char *path, int fd)
{
	struct conf_error	 e;
	struct conf		 again;
	char			*a = NULL, *b = NULL;
	size_t			 alen, blen;
	FILE			*out;

	MUST((out = open_memstream(&a, &alen)) != NULL);
	conf_print(c, out);
	MUST(fclose(out) == 0);
	MUST(ftruncate(fd, 0) == 0);
	MUST(pwrite(fd, a, alen, 0) == (ssize_t)alen);
	MUST(conf_init(&again) == 0);
	MUST(conf_load(&again, path, &e) == 0);
	MUST((out = open_memstream(&b, &blen)) != NULL);
	conf_print(&again, out);
	MUST(fclose(out) == 0);
	MUST(alen == blen && memcmp(a, b, alen) == 0);
	conf_fini(&again);
	free(a);
	free(b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static int		 fd = -1;
	struct conf_error	 e;
	struct conf		 c;
	char			 path[64];

	if (len > 3000)			/* printed lines must fit as well */
		return 0;
	if (fd == -1) {
		MUST((fd = memfd_create("conf", MFD_CLOEXEC)) != -1);
		MUST(fchmod(fd, 0600) == 0);
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	MUST(ftruncate(fd, 0) == 0);
	MUST(pwrite(fd, data, len, 0) == (ssize_t)len);
	MUST(conf_init(&c) == 0);
	memset(&e, 'x', sizeof(e));
	if (conf_load(&c, path, &e) == 0)
		check_print(&c, path, fd);
	else
		MUST(memchr(e.text, '\0', sizeof(e.text)) != NULL &&
		    e.text[0] != '\0');
	conf_fini(&c);
	return 0;
}

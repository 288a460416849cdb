/*
 * Stands in for libFuzzer in "make check": gives a fuzz target every file of
 * the folders named, once.  What was ever found stays found, without clang.
 */
#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int	LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
give_file(int dir, const char *name)
{
	struct stat	 st;
	uint8_t		*data;
	int		 fd;

	if ((fd = openat(dir, name, O_RDONLY | O_CLOEXEC)) == -1 ||
	    fstat(fd, &st) == -1)
		err(1, "%s", name);
	/* Exactly as long as the file: a sanitizer sees one byte too many. */
	if ((data = malloc((size_t)st.st_size)) == NULL && st.st_size > 0)
		err(1, "%s", name);
	if (read(fd, data, (size_t)st.st_size) != st.st_size)
		err(1, "%s", name);
	printf("%s, %lld bytes\n", name, (long long)st.st_size);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
	free(data);
	close(fd);
}

static void
give_folder(const char *path)
{
	struct dirent	*e;
	DIR		*d;

	if ((d = opendir(path)) == NULL)
		err(1, "%s", path);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.')
			give_file(dirfd(d), e->d_name);
	}
	closedir(d);
}

int
main(int argc, char **argv)
{
	int	i;

	LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
	for (i = 1; i < argc; i++)
		give_folder(argv[i]);
	return 0;
}

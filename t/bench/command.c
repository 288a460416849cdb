/*
 * What runs under the server that is measured:
 *
 * command blocks BYTES		write them in blocks of 64 KiB
 * command burst BYTES		the same after 150 ms
 * command lines N		write N lines of 40 bytes, one write each
 * command sink BYTES		read so many and exit
 *
 * Ends by itself after a minute, should a server forget it.
 */
#include <err.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK	65536

/* Not compressible, not text, the same every time. */
static void
fill(unsigned char *p, size_t len)
{
	uint32_t	x = 2463534242u;

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		p[i] = (unsigned char)x;
	}
}

static void
put(const void *p, size_t len)
{
	const char	*q = p;
	ssize_t		 n;

	for (; len > 0; q += n, len -= (size_t)n)
		if ((n = write(STDOUT_FILENO, q, len)) == -1)
			err(1, "write");
}

static void
blocks(size_t left)
{
	static unsigned char	block[BLOCK];
	size_t			n;

	fill(block, sizeof(block));
	for (; left > 0; left -= n) {
		n = left < sizeof(block) ? left : sizeof(block);
		put(block, n);
	}
}

static void
burst(size_t left)
{
	usleep(150000);
	blocks(left);
}

static void
lines(size_t left)
{
	for (; left > 0; left--)
		put("0123456789abcdefghijklmnopqrstuvwxyzABC\n", 40);
}

static void
sink(size_t left)
{
	static char	block[4 * BLOCK];
	ssize_t		n;

	for (; left > 0; left -= (size_t)n)
		if ((n = read(STDIN_FILENO, block,
		    left < sizeof(block) ? left : sizeof(block))) <= 0)
			err(1, "read");
}

int
main(int argc, char **argv)
{
	static const struct {
		const char	*name;
		void		(*fn)(size_t);
	} jobs[] = {
		{ "blocks", blocks }, { "burst", burst },
		{ "lines", lines }, { "sink", sink },
	};

	if (argc != 3)
		errx(2, "usage: command blocks|burst|lines|sink NUMBER");
	alarm(60);
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		if (strcmp(argv[1], jobs[i].name) == 0) {
			jobs[i].fn(strtoull(argv[2], NULL, 10));
			return 0;
		}
	}
	errx(2, "%s: unknown", argv[1]);
}

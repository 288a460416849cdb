/*
 * What an interrupted copy left, for --continue: content that is known, by its
 * digest, to be the beginning of the source.
 */
#include <sys/file.h>

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define DIGEST		(2 * crypto_hash_sha256_BYTES)	/* as text */
#define CHUNK		(256 * 1024)
#define DIGEST_MS	600000
#define NS		1000000000LL
#define NAME_BYTES	8

/* Hash the first len bytes of a file.  0, or -1: they cannot be read. */
static int
digest_here(int fd, uint64_t len, char out[DIGEST + 1])
{
	crypto_hash_sha256_state	 state;
	unsigned char			 sum[crypto_hash_sha256_BYTES];
	unsigned char			*chunk;
	uint64_t			 off = 0;
	ssize_t				 n = 1;

	if ((chunk = malloc(CHUNK)) == NULL)
		return -1;
	crypto_hash_sha256_init(&state);
	while (off < len && n > 0) {
		n = pread(fd, chunk, len - off < CHUNK ? (size_t)(len - off) :
		    CHUNK, (off_t)off);
		if (n > 0) {
			crypto_hash_sha256_update(&state, chunk, (size_t)n);
			off += (uint64_t)n;
		}
	}
	free(chunk);
	crypto_hash_sha256_final(&state, sum);
	sodium_bin2hex(out, DIGEST + 1, sum, sizeof(sum));
	return off == len ? 0 : -1;
}

/* Name a file in the folder of path by what it is a part of. */
static int
part_name(struct cp *c, const char *path, const char *source,
    char out[PATH_MAX])
{
	unsigned char	 sum[crypto_hash_sha256_BYTES];
	char		 both[2 * PATH_MAX + 128], folder[PATH_MAX];
	char		 hex[2 * NAME_BYTES + 1], name[64];

	snprintf(both, sizeof(both), "%s\n%s", path, source);
	crypto_hash_sha256(sum, (const unsigned char *)both, strlen(both));
	sodium_bin2hex(hex, sizeof(hex), sum, NAME_BYTES);
	snprintf(name, sizeof(name), ".execsrv-%s.part", hex);
	cp_folder_of(path, folder);
	return folder[0] == '\0' ? snprintf(out, PATH_MAX, "%s", name) < 0 :
	    cp_join(c, out, folder, name);
}

bool
cp_is_same(const struct cp *c, const struct stat *here,
    const struct cp_there *there)
{
	return c->o->go_on && c->has_attributes && there->has_mode &&
	    (uint64_t)here->st_size == there->size &&
	    here->st_mtim.tv_sec * NS + here->st_mtim.tv_nsec ==
	    there->mtime_ns;
}

/* --- here --- */

/* Whether it is ours alone, and still of that name after it was locked. */
static bool
part_is_ours(int fd, const char *name)
{
	struct stat	 st, named;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == geteuid() && st.st_nlink == 1 &&
	    (st.st_mode & 077) == 0 && lstat(name, &named) == 0 &&
	    named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

/* Return how much of the file here is the beginning of that there. */
static uint64_t
same_as_there(struct cp *c, int fd, const char *there, uint64_t size)
{
	char		 digest[DIGEST + 1], len[32];
	struct stat	 st;
	struct cp_said	*s;
	uint64_t	 n = 0;

	if (fstat(fd, &st) == -1 || st.st_size == 0 ||
	    (uint64_t)st.st_size > size || (s = malloc(sizeof(*s))) == NULL)
		return 0;
	snprintf(len, sizeof(len), "%llu", (unsigned long long)st.st_size);
	if (digest_here(fd, (uint64_t)st.st_size, digest) == 0 &&
	    cp_there_run(c, s, DIGEST_MS, "head -c \"$2\" <\"$1\" | sha256sum",
	    there, len, "") == 0 && strncmp(s->text, digest, DIGEST) == 0)
		n = (uint64_t)st.st_size;
	free(s);
	return n;
}

int
cp_part_here(struct cp *c, const char *there, const char *here, uint64_t size,
    char name[PATH_MAX], uint64_t *offset_out)
{
	int	 fd;

	*offset_out = 0;
	if (part_name(c, here, there, name) == -1 || (fd = open(name, O_RDWR |
	    O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600)) == -1)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == -1 || !part_is_ours(fd, name)) {
		fd_close(&fd);
		return -1;
	}
	*offset_out = same_as_there(c, fd, there, size);
	if (ftruncate(fd, (off_t)*offset_out) == -1 ||
	    lseek(fd, (off_t)*offset_out, SEEK_SET) == -1)
		fd_close(&fd);
	return fd;
}

/* --- there --- */

int
cp_part_there(struct cp *c, int fd, const char *there, char name[PATH_MAX],
    struct cp_part *p)
{
	char		 source[256], digest[DIGEST + 1], *end;
	struct stat	 st;
	struct cp_said	*s;
	int		 r = -1;

	memset(p, 0, sizeof(*p));
	/* The lock is for two of us who send the same file. */
	if (!c->can_update || fstat(fd, &st) == -1 || !S_ISREG(st.st_mode) ||
	    flock(fd, LOCK_EX | LOCK_NB) == -1)
		return -1;
	snprintf(source, sizeof(source), "%lld %lld %lld %lld.%ld",
	    (long long)st.st_dev, (long long)st.st_ino,
	    (long long)st.st_size, (long long)st.st_ctim.tv_sec,
	    st.st_ctim.tv_nsec);
	if ((s = malloc(sizeof(*s))) == NULL)
		return -1;
	/*
	 * Its last blocks may have been written in any order.  One that is
	 * somebody else's, or no file, must not be written to.
	 */
	if (part_name(c, there, source, name) == 0 && (r = cp_there_run(c, s,
	    DIGEST_MS, "[ -e \"$1\" ] || [ -L \"$1\" ] || exit 0; "
	    "[ -f \"$1\" ] && [ ! -L \"$1\" ] && [ -O \"$1\" ] || exit 1; "
	    "n=$(wc -c <\"$1\"); [ \"$n\" -gt \"$2\" ] || exit 0; "
	    "echo \"$n\"; head -c $((n - $2)) <\"$1\" | sha256sum", name,
	    WINDOW_TEXT, "")) == 0 && s->len > 0) {
		p->size = strtoull(s->text, &end, 10);
		if (p->size > WINDOW && p->size <= (uint64_t)st.st_size &&
		    *end == '\n' && digest_here(fd, p->size - WINDOW,
		    digest) == 0 && strncmp(end + 1, digest, DIGEST) == 0)
			p->offset = p->size - WINDOW;
	}
	free(s);
	if (r == 0 && lseek(fd, (off_t)p->offset, SEEK_SET) == -1)
		r = -1;
	return r == 0 ? 0 : -1;
}

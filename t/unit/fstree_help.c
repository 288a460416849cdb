#include "t/unit/fstree_help.h"
#include "t/unit/left_out.h"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#define NOBODY	65534

char	 base[PATH_MAX / 4];

/* Of tree_memory_begin(), or empty. */
static char	 memory[64];

void
tree_memory_begin(void)
{
	strcpy(memory, "/dev/shm/fstree.XXXXXX");
	if (mkdtemp(memory) == NULL)
		memory[0] = '\0';
	else
		ck_assert_int_eq(chmod(memory, 0755), 0);
}

/* Also what a test has left that failed. */
void
tree_memory_end(void)
{
	char	 command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", memory);
	if (memory[0] != '\0')
		ck_assert_int_eq(system(command), 0);
	memory[0] = '\0';
}

static const char *
tree_place(void)
{
	const char	*tmp = getenv("TMPDIR");

	if (memory[0] != '\0')
		return memory;
	return tmp != NULL ? tmp : "/tmp";
}

void
tree_setup(void)
{
	snprintf(base, sizeof(base), "%s/fstree.XXXXXX", tree_place());
	ck_assert_ptr_nonnull(mkdtemp(base));
	ck_assert_int_eq(chmod(base, 0777), 0);
	umask(022);
}

void
tree_teardown(void)
{
	sh("chmod -R u+rwX . && find . -mindepth 1 -delete");
	ck_assert_int_eq(rmdir(base), 0);
}

static char *
command(const char *format, va_list ap)
{
	char	*text, *all;

	ck_assert_int_ne(vasprintf(&text, format, ap), -1);
	ck_assert_int_ne(asprintf(&all, "set -e; cd '%s'; %s", base, text),
	    -1);
	free(text);
	return all;
}

void
sh(const char *format, ...)
{
	va_list	 ap;
	char	*line;

	va_start(ap, format);
	line = command(format, ap);
	va_end(ap);
	ck_assert_msg(system(line) == 0, "failed: %s", line);
	free(line);
}

char *
sh_out(const char *format, ...)
{
	va_list	 ap;
	char	*line, *text;
	FILE	*f;
	size_t	 n;

	va_start(ap, format);
	line = command(format, ap);
	va_end(ap);
	ck_assert_ptr_nonnull(text = calloc(1, 65536));
	ck_assert_ptr_nonnull(f = popen(line, "r"));
	n = fread(text, 1, 65535, f);
	text[n] = '\0';
	ck_assert_msg(pclose(f) == 0, "failed: %s", line);
	free(line);
	return text;
}

static void
set_path(char to[PATH_MAX], const char *path)
{
	/* lint: base is a quarter of it, and so are the tests' names. */
	if (path[0] == '/')
		ck_assert_int_lt(snprintf(to, PATH_MAX, "%s", path), PATH_MAX);
	else
		ck_assert_int_lt(snprintf(to, PATH_MAX, "%s/%s", base, path),
		    PATH_MAX);
}

void
op_init(struct fsop *op, enum fsop_kind kind, const char *path,
    const char *to)
{
	memset(op, 0, sizeof(*op));
	op->kind = kind;
	op->mode = kind == FSOP_MKDIR ? 0777 : 0666;
	op->recursive = true;
	op->force = true;
	op->max_depth = 64;
	op->max_dirs = 10000;
	op->max_entries = 50000;
	op->fd = -1;
	set_path(op->path, path);
	if (to != NULL)
		set_path(op->to, to);
}

static int
outcome(const struct fsop_result *r)
{
	if (r->why != FSWHY_NONE)
		return 1000 + (int)r->why;
	return r->error;
}

int
op_run(const struct fsop *op, bool nonblock)
{
	struct fsop_how		 how = { .nonblock = nonblock,
		.max_out = 1024 * 1024, .cancel_fd = -1 };
	struct fsop_result	 r;
	int			 rv;

	fsop_result_init(&r);
	fsop_run(op, &how, &r);
	rv = outcome(&r);
	fsop_result_fini(&r);
	return rv;
}

int
do_remove(const char *path)
{
	struct fsop	 op;

	op_init(&op, FSOP_REMOVE, path, NULL);
	return op_run(&op, false);
}

int
do_copy(const char *from, const char *to)
{
	struct fsop	 op;

	op_init(&op, FSOP_COPY, from, to);
	return op_run(&op, false);
}

/* --- walking --- */

static void
print_record(FILE *f, const struct fsop_record *rec, const char *name,
    const char *text)
{
	size_t	 skip = strlen(base) + 1;

	if (rec->name_len < skip || memcmp(name, base, skip - 1) != 0)
		skip = 0;
	fputc(rec->type == FSOP_REC_DIR ? 'd' : rec->type == FSOP_REC_FILE ?
	    'f' : rec->type == FSOP_REC_ERROR ? '!' : '?', f);
	fprintf(f, " %.*s", (int)(rec->name_len - skip), name + skip);
	if (text != NULL)
		fprintf(f, ": %.*s", (int)rec->text_len, text);
	fputc('\n', f);
}

int
op_run_unwaited(const struct fsop *op)
{
	struct fsop_how		 how = { .nonblock = false };
	struct fsop_result	 r;
	int			 fds[2], rv;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	close(fds[1]);
	how.cancel_fd = fds[0];
	fsop_result_init(&r);
	fsop_run(op, &how, &r);
	rv = outcome(&r);
	fsop_result_fini(&r);
	close(fds[0]);
	return rv;
}

char *
op_walk(const struct fsop *op, bool nonblock)
{
	struct fsop_how		 how = { .nonblock = nonblock,
		.max_out = 1024 * 1024, .cancel_fd = -1 };
	struct fsop_record	 rec;
	struct fsop_result	 r;
	const char		*name, *text;
	size_t			 size, off = 0;
	char			*all = NULL;
	FILE			*f;

	fsop_result_init(&r);
	fsop_run(op, &how, &r);
	ck_assert_ptr_nonnull(f = open_memstream(&all, &size));
	while (fsop_next_record(&r.payload, &off, &rec, &name, &text))
		print_record(f, &rec, name, text);
	ck_assert_uint_eq(off, r.payload.len);
	if (r.truncated)
		fprintf(f, "truncated\n");
	if (outcome(&r) != 0)
		fprintf(f, "error %d\n", outcome(&r));
	ck_assert_int_eq(fclose(f), 0);
	fsop_result_fini(&r);
	return all;
}

/* --- other processes --- */

static int
elsewhere(int (*fn)(void), bool drop)
{
	int	 line, status, fds[2];
	pid_t	 pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		line = __LINE__;
		if (!drop || geteuid() != 0 || (setgroups(0, NULL) == 0 &&
		    setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
		    setresuid(NOBODY, NOBODY, NOBODY) == 0))
			line = fn();
		if (write(fds[1], &line, sizeof(line)) != sizeof(line))
			_exit(1);
		_exit(0);
	}
	close(fds[1]);
	ck_assert_int_eq(read(fds[0], &line, sizeof(line)), sizeof(line));
	close(fds[0]);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	return line;
}

int
as_user(int (*fn)(void))
{
	return elsewhere(fn, true);
}

int
as_self(int (*fn)(void))
{
	return elsewhere(fn, false);
}

static int
write_to(const char *path, const char *text)
{
	int	 fd, n = (int)strlen(text);

	if ((fd = open(path, O_WRONLY | O_CLOEXEC)) == -1)
		return -1;
	if (write(fd, text, strlen(text)) != n)
		n = -1;
	close(fd);
	return n == -1 ? -1 : 0;
}

int
own_mounts(void)
{
	char	 uid[32], gid[32];

	snprintf(uid, sizeof(uid), "0 %u 1", geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", getegid());
	if (unshare(CLONE_NEWNS) == -1 &&
	    (unshare(CLONE_NEWUSER | CLONE_NEWNS) == -1 ||
	    write_to("/proc/self/setgroups", "deny") == -1 ||
	    write_to("/proc/self/uid_map", uid) == -1 ||
	    write_to("/proc/self/gid_map", gid) == -1))
		return -1;
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
}

int
again_and_again(void (*fn)(void), int *fd_out)
{
	struct pollfd	 p;
	int		 fds[2];
	pid_t		 pid;

	ck_assert_int_eq(pipe2(fds, O_CLOEXEC), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		close(fds[1]);
		p.fd = fds[0];
		p.events = POLLIN;
		while (poll(&p, 1, 0) == 0)
			fn();
		_exit(0);
	}
	close(fds[0]);
	*fd_out = fds[1];
	return pid;
}

void
enough(int pid, int fd)
{
	int	 status;

	close(fd);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

void
with_own_mounts(int (*fn)(void))
{
	int	 rv = as_self(fn);

	if (rv == -1)
		left_out("no mount namespaces");
	else
		ck_assert_int_eq(rv, 0);
}

char	 inside[2048], outside[2048];

void
set_swapped(const char *one, const char *other)
{
	snprintf(inside, sizeof(inside), "%s/%s", base, one);
	snprintf(outside, sizeof(outside), "%s/%s", base, other);
}

void
swap(void)
{
	(void)!renameat2(AT_FDCWD, inside, AT_FDCWD, outside,
	    RENAME_EXCHANGE);
}

int
make_and_enter(int dir, const char *name)
{
	int	 next;

	ck_assert_int_ne(dir, -1);
	ck_assert_int_eq(mkdirat(dir, name, 0777), 0);
	next = openat(dir, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(dir);
	return next;
}

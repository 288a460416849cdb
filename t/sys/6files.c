/*
 * A probe of the sandbox (6probe.h): the file system.  Keys: ws, a writable
 * folder with file and dir; out, a folder that is not, with file, dir/file and
 * secret; git, a read-only folder in the writable one, with config; deny, a
 * file that cannot be read; self, this program, readable.
 *
 * 6files swap COUNT A B exchanges two names that often.
 */
#include "t/sys/6probe.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include <linux/fs.h>

#include <fcntl.h>
#include <sched.h>

#define DATA	"escaped\n"

/* Whether something can be written to a path. */
static enum verdict
write_to(const char *path, int flags)
{
	int	 fd;

	if ((fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	if (write(fd, DATA, strlen(DATA)) == -1)
		return tell(REFUSED, "write: %s", strerror(errno));
	return tell(ESCAPED, "%s was written", path);
}

static enum verdict
read_of(const char *path)
{
	char	 text[64];
	ssize_t	 n;
	int	 fd;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	if ((n = read(fd, text, sizeof(text))) <= 0)
		return tell(REFUSED, "nothing in it");
	return tell(ESCAPED, "%s was read", path);
}

/* What was made in preparation has to be there, or the attack is none. */
static void
need(long rv, const char *what)
{
	if (rv != -1)
		return;
	printf("%s: %s", what, strerror(errno));
	fflush(stdout);
	_exit(SKIPPED);
}

/* Another attack, in the same place, may have made one before. */
static void
make_link(const char *to, const char *name)
{
	need(unlink(name) == -1 && errno != ENOENT ? -1 : 0, "unlink");
	need(symlink(to, name), "symlink");
}

/* --- plain changes outside --- */

static enum verdict
a_write(void)
{
	return write_to(in("out", "file"), 0);
}

static enum verdict
a_append(void)
{
	return write_to(in("out", "file"), O_APPEND);
}

static enum verdict
a_open_truncate(void)
{
	return must_fail(open(in("out", "file"), O_RDONLY | O_TRUNC));
}

static enum verdict
a_truncate(void)
{
	return must_fail(truncate(in("out", "file"), 1));
}

static enum verdict
a_create(void)
{
	return write_to(in("out", "new"), O_CREAT);
}

static enum verdict
a_unlink(void)
{
	return must_fail(unlink(in("out", "file")));
}

static enum verdict
a_mkdir(void)
{
	return must_fail(mkdir(in("out", "newdir"), 0755));
}

static enum verdict
a_rmdir(void)
{
	return must_fail(syscall(SYS_unlinkat, AT_FDCWD, in("out", "dir"),
	    AT_REMOVEDIR));
}

static enum verdict
a_symlink(void)
{
	return must_fail(symlink("/", in("out", "newlink")));
}

static enum verdict
a_mkfifo(void)
{
	return must_fail(mkfifo(in("out", "fifo"), 0644));
}

static enum verdict
a_bind_socket(void)
{
	struct sockaddr_un	 a = { .sun_family = AF_UNIX };
	int			 s;

	snprintf(a.sun_path, sizeof(a.sun_path), "%.90s", in("out", "sock"));
	need(s = socket(AF_UNIX, SOCK_STREAM, 0), "socket");
	return must_fail(bind(s, (struct sockaddr *)&a, sizeof(a)));
}

static enum verdict
a_tmpfile(void)
{
	char	 path[64];
	int	 fd;

	if ((fd = open(key("out"), O_TMPFILE | O_WRONLY, 0644)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return must_fail(linkat(AT_FDCWD, path, AT_FDCWD, in("out", "tmp"),
	    AT_SYMLINK_FOLLOW));
}

/* --- what belongs to a file besides its content --- */

static enum verdict
a_chmod(void)
{
	return must_fail(chmod(in("out", "file"), 0600));
}

static enum verdict
a_fchmod(void)
{
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	return must_fail(fchmod(fd, 0600));
}

static enum verdict
a_fchmodat2(void)
{
	int	 fd;

	need(fd = open(in("out", "file"), O_PATH), "open");
	return must_fail(syscall(452 /* fchmodat2 */, fd, "", 0600,
	    AT_EMPTY_PATH));
}

static enum verdict
a_chown(void)
{
	return must_fail(chown(in("out", "file"), geteuid(), getegid()));
}

static enum verdict
a_utimes(void)
{
	return must_fail(utimensat(AT_FDCWD, in("out", "file"), NULL, 0));
}

static enum verdict
a_setxattr(void)
{
	return must_fail(setxattr(in("out", "file"), "user.x", "1", 1, 0));
}

static enum verdict
a_chattr(void)
{
	int	 fd, flags = FS_NODUMP_FL;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	return must_fail(ioctl(fd, FS_IOC_SETFLAGS, &flags));
}

/* By a call of Linux 6.17, whose struct file_attr older headers lack. */
static enum verdict
a_file_setattr(void)
{
	struct { uint64_t xflags; uint32_t rest[4]; }	 a;

	memset(&a, 0, sizeof(a));
	a.xflags = FS_XFLAG_NODUMP;
	return must_fail(syscall(469, AT_FDCWD, in("out", "file"), &a,
	    sizeof(a), 0));
}

/* --- from one tree to the other --- */

static enum verdict
a_rename_out(void)
{
	return must_fail(rename(in("ws", "file"), in("out", "moved")));
}

static enum verdict
a_rename_over(void)
{
	return must_fail(rename(in("ws", "file"), in("out", "file")));
}

static enum verdict
a_rename_in(void)
{
	return must_fail(rename(in("out", "file"), in("ws", "stolen")));
}

static enum verdict
a_exchange(void)
{
	return must_fail(renameat2(AT_FDCWD, in("ws", "file"), AT_FDCWD,
	    in("out", "file"), RENAME_EXCHANGE));
}

static enum verdict
a_whiteout(void)
{
	return must_fail(renameat2(AT_FDCWD, in("out", "file"), AT_FDCWD,
	    in("out", "gone"), 4 /* RENAME_WHITEOUT */));
}

static enum verdict
a_link_in(void)
{
	if (link(in("out", "file"), in("ws", "hard")) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return write_to(in("ws", "hard"), 0);
}

static enum verdict
a_link_out(void)
{
	return must_fail(link(in("ws", "file"), in("out", "hard")));
}

static enum verdict
a_link_fd(void)
{
	char	 path[64];
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, AT_FDCWD, in("ws", "hardfd"),
	    AT_SYMLINK_FOLLOW) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return write_to(in("ws", "hardfd"), 0);
}

/* --- by another way to the same file --- */

static enum verdict
a_by_symlink(void)
{
	make_link(in("out", "file"), in("ws", "to-file"));
	return write_to(in("ws", "to-file"), 0);
}

static enum verdict
a_by_dangling(void)
{
	make_link(in("out", "dangling"), in("ws", "to-none"));
	return write_to(in("ws", "to-none"), O_CREAT);
}

static enum verdict
a_by_folder_link(void)
{
	make_link(key("out"), in("ws", "to-dir"));
	return write_to(in("ws", "to-dir/new"), O_CREAT);
}

static enum verdict
a_by_root_link(void)
{
	char	 path[8400];

	make_link("/", in("ws", "to-root"));
	snprintf(path, sizeof(path), "%s/to-root%s", key("ws"),
	    in("out", "file"));
	return write_to(path, 0);
}

static enum verdict
a_dotdot(void)
{
	return write_to(in("ws", "../out/file"), 0);
}

static enum verdict
a_dotdot_at(void)
{
	int	 dir, fd;

	need(dir = open(in("ws", "dir"), O_RDONLY | O_DIRECTORY), "open");
	if ((fd = openat(dir, "../../out/file", O_WRONLY)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return tell(ESCAPED, "it was opened");
}

/* A folder that is moved up while somebody is deep in it. */
static enum verdict
a_dotdot_moved(void)
{
	int	 dir, fd;

	need(mkdir(in("ws", "a"), 0755), "mkdir");
	need(mkdir(in("ws", "a/b"), 0755), "mkdir");
	need(dir = open(in("ws", "a/b"), O_RDONLY | O_DIRECTORY), "open");
	need(rename(in("ws", "a/b"), in("ws", "b")), "rename");
	if ((fd = openat(dir, "../../out/file", O_WRONLY)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return tell(ESCAPED, "it was opened");
}

static enum verdict
by_proc(const char *what)
{
	char	 path[4200];

	snprintf(path, sizeof(path), "/proc/%s%s", what, in("out", "file"));
	return write_to(path, 0);
}

static enum verdict
a_self_root(void)
{
	return by_proc("self/root");
}

static enum verdict
a_thread_root(void)
{
	return by_proc("thread-self/root");
}

static enum verdict
a_init_root(void)
{
	return by_proc("1/root");
}

static enum verdict
a_parent_root(void)
{
	char	 what[32];

	snprintf(what, sizeof(what), "%ld/root", (long)getppid());
	return by_proc(what);
}

static enum verdict
a_init_cwd(void)
{
	return by_proc("1/cwd");
}

static enum verdict
a_reopen(void)
{
	char	 path[64];
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return write_to(path, 0);
}

static enum verdict
a_reopen_path(void)
{
	char	 path[64];
	int	 fd;

	need(fd = open(in("out", "file"), O_PATH), "open");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return write_to(path, O_TRUNC);
}

static enum verdict
a_reopen_map(void)
{
	char	 path[200];
	void	*p;
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	p = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	need(p == MAP_FAILED ? -1 : 0, "mmap");
	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx",
	    (unsigned long)p, (unsigned long)p + 4096);
	return write_to(path, 0);
}

static enum verdict
a_map_shared(void)
{
	void	*p;
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	p = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return must_fail(p == MAP_FAILED ? -1 : 0);
}

static enum verdict
a_map_later(void)
{
	void	*p;
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	p = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	need(p == MAP_FAILED ? -1 : 0, "mmap");
	return must_fail(mprotect(p, 1, PROT_READ | PROT_WRITE));
}

static enum verdict
a_self_mem(void)
{
	static char	 copy[64];
	void		*p;
	int		 fd, mem;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	p = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	need(p == MAP_FAILED ? -1 : 0, "mmap");
	if ((mem = open("/proc/self/mem", O_RDWR)) == -1)
		return tell(REFUSED, "mem: %s", strerror(errno));
	if (pwrite(mem, DATA, 1, (off_t)(size_t)p) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	need(pread(fd, copy, 1, 0), "read");
	return tell(copy[0] == DATA[0] ? ESCAPED : REFUSED, "a private copy");
}

static enum verdict
a_handle(void)
{
	struct {
		struct file_handle	 h;
		char			 room[128];
	}	 u;
	int	 mount, dir;

	u.h.handle_bytes = sizeof(u.room);
	need(name_to_handle_at(AT_FDCWD, in("out", "file"), &u.h, &mount, 0),
	    "name_to_handle_at");
	need(dir = open(key("ws"), O_RDONLY | O_DIRECTORY), "open");
	return must_fail(open_by_handle_at(dir, &u.h, O_WRONLY));
}

static enum verdict
a_ftruncate(void)
{
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	return must_fail(ftruncate(fd, 0));
}

static enum verdict
a_fallocate(void)
{
	int	 fd;

	need(fd = open(in("out", "file"), O_RDONLY), "open");
	return must_fail(fallocate(fd, 0, 0, 4096));
}

static enum verdict
a_clone_file(void)
{
	int	 from, to;

	need(from = open(in("ws", "file"), O_RDONLY), "open");
	need(to = open(in("out", "file"), O_RDONLY), "open");
	return must_fail(ioctl(to, FICLONE, from));
}

static enum verdict
a_exec_memfd(void)
{
	char	 out[4200];
	char	*argv[4] = { (char[]){ "m" }, out, (char[]){ "write" }, NULL };
	char	*envp[2] = { (char[]){ "ASAN_OPTIONS=detect_leaks=0" }, NULL };
	struct stat st;
	int	 from, fd;

	snprintf(out, sizeof(out), "out=%s", key("out"));
	need(from = open(key("self"), O_RDONLY), "open");
	need(fd = memfd_create("probe", 0), "memfd");
	need(fstat(from, &st), "stat");
	need(sendfile(fd, from, NULL, (size_t)st.st_size), "copy");
	fexecve(fd, argv, envp);
	return tell(SKIPPED, "%s", strerror(errno));
}

/* --- devices --- */

static enum verdict
a_mknod_disk(void)
{
	return must_fail(mknod(in("ws", "disk"), S_IFBLK | 0666,
	    makedev(7, 0)));
}

static enum verdict
a_mknod_mem(void)
{
	return must_fail(mknod(in("ws", "mem"), S_IFCHR | 0666,
	    makedev(1, 1)));
}

/* One that was there before (key node): a device that is in no /dev. */
static enum verdict
a_node(void)
{
	return must_fail(open(key("node"), O_RDONLY));
}

/* One whose bits are those of its owner, root. */
static enum verdict
a_setuid(void)
{
	struct stat	 st;
	int		 status;
	pid_t		 pid;

	need(stat(key("setuid"), &st), "stat");
	need(pid = fork(), "fork");
	if (pid == 0) {
		/* -u: exit status 0 when it is root. */
		execl(key("setuid"), "sh", "-p", "-c",
		    "test \"$(id -u)\" != \"$0\"", key("uid"), NULL);
		_exit(126);
	}
	if (waitpid(pid, &status, 0) == -1 || !WIFEXITED(status))
		return tell(SKIPPED, "no status");
	return tell(WEXITSTATUS(status) == 0 ? ESCAPED : REFUSED,
	    "status %d", WEXITSTATUS(status));
}

/* --- what is protected inside --- */

static enum verdict
a_git_write(void)
{
	return write_to(in("git", "config"), O_TRUNC);
}

static enum verdict
a_git_create(void)
{
	return write_to(in("git", "hooks/pre-commit"), O_CREAT);
}

static enum verdict
a_git_unlink(void)
{
	return must_fail(unlink(in("git", "config")));
}

static enum verdict
a_git_chmod(void)
{
	return must_fail(chmod(in("git", "config"), 0600));
}

static enum verdict
a_git_rename(void)
{
	return must_fail(rename(key("git"), in("ws", "git-old")));
}

static enum verdict
a_git_rename_over(void)
{
	need(mkdir(in("ws", "git-new"), 0755), "mkdir");
	return must_fail(rename(in("ws", "git-new"), key("git")));
}

static enum verdict
a_git_exchange(void)
{
	return must_fail(renameat2(AT_FDCWD, in("ws", "dir"), AT_FDCWD,
	    key("git"), RENAME_EXCHANGE));
}

static enum verdict
a_git_rmdir(void)
{
	return must_fail(rmdir(key("git")));
}

static enum verdict
a_git_link(void)
{
	if (link(in("git", "config"), in("ws", "config")) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return write_to(in("ws", "config"), O_TRUNC);
}

static enum verdict
a_git_move_out(void)
{
	return must_fail(rename(in("git", "config"), in("ws", "config2")));
}

static enum verdict
a_git_umount(void)
{
	return must_fail(umount2(key("git"), MNT_DETACH));
}

static enum verdict
a_git_by_parent(void)
{
	need(chdir(key("git")), "chdir");
	return write_to("../.git/config", 0);
}

/* The folder that it is in, moved away as a whole. */
static enum verdict
a_root_rename(void)
{
	char	 other[4200];

	snprintf(other, sizeof(other), "%s-away", key("ws"));
	return must_fail(rename(key("ws"), other));
}

/* A folder between what is writable and what is protected in it (key mid). */
static enum verdict
a_mid_rename(void)
{
	return must_fail(rename(key("mid"), in("ws", "mid-away")));
}

static enum verdict
a_mid_exchange(void)
{
	return must_fail(renameat2(AT_FDCWD, in("ws", "dir"), AT_FDCWD,
	    key("mid"), RENAME_EXCHANGE));
}

/* --- what cannot be seen --- */

static enum verdict
a_deny_read(void)
{
	return read_of(key("deny"));
}

static enum verdict
a_deny_by_root(void)
{
	char	 path[4200];

	snprintf(path, sizeof(path), "/proc/self/root%s", key("deny"));
	return read_of(path);
}

static enum verdict
a_deny_by_link(void)
{
	unlink(in("ws", "to-deny"));
	make_link(key("deny"), in("ws", "to-deny"));
	return read_of(in("ws", "to-deny"));
}

static enum verdict
a_deny_path(void)
{
	char	 path[64];
	int	 fd;

	if ((fd = open(key("deny"), O_PATH)) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return read_of(path);
}

static enum verdict
a_deny_link(void)
{
	if (link(key("deny"), in("ws", "denied")) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return read_of(in("ws", "denied"));
}

static enum verdict
a_deny_rename(void)
{
	if (rename(key("deny"), in("ws", "renamed")) == -1)
		return tell(REFUSED, "%s", strerror(errno));
	return read_of(in("ws", "renamed"));
}

static enum verdict
a_deny_umount(void)
{
	return must_fail(umount2(key("deny"), MNT_DETACH));
}

static enum verdict
a_deny_truncate(void)
{
	return must_fail(truncate(key("deny"), 0));
}

static enum verdict
a_deny_write(void)
{
	return write_to(key("deny"), 0);
}

static enum verdict
a_deny_unlink(void)
{
	return must_fail(unlink(key("deny")));
}

static enum verdict
a_deny_exec(void)
{
	execl(key("deny"), "x", NULL);
	return tell(errno == ENOEXEC ? ESCAPED : REFUSED, "%s",
	    strerror(errno));
}

#define A(name)	{ #name, a_##name }

static const struct attack attacks[] = {
	A(write), A(append), A(open_truncate), A(truncate), A(create),
	A(mkdir), A(rmdir), A(symlink), A(mkfifo), A(bind_socket), A(tmpfile),
	A(chmod), A(fchmod), A(fchmodat2), A(chown), A(utimes), A(setxattr),
	A(chattr), A(file_setattr), A(rename_out),
	A(rename_over), A(rename_in), A(exchange),
	A(whiteout), A(link_in), A(link_out), A(link_fd), A(by_symlink),
	A(by_dangling), A(by_folder_link), A(by_root_link), A(dotdot),
	A(dotdot_at), A(dotdot_moved), A(self_root), A(thread_root),
	A(init_root), A(parent_root), A(init_cwd), A(reopen), A(reopen_path),
	A(reopen_map), A(map_shared), A(map_later), A(self_mem), A(handle),
	A(ftruncate), A(fallocate), A(clone_file), A(exec_memfd),
	A(mknod_disk), A(mknod_mem), A(node), A(setuid),
	A(git_write), A(git_create), A(git_unlink), A(git_chmod),
	A(git_rename), A(git_rename_over), A(git_exchange), A(git_rmdir),
	A(git_link), A(git_move_out), A(git_umount), A(git_by_parent),
	A(root_rename), A(mid_rename), A(mid_exchange),
	A(deny_read), A(deny_by_root), A(deny_by_link), A(deny_path),
	A(deny_link), A(deny_rename), A(deny_umount), A(deny_truncate),
	A(deny_write), A(deny_unlink), A(deny_exec), A(unlink),
	{ NULL, NULL }
};

static int
swap(long count, const char *a, const char *b)
{
	for (; count > 0; count--)
		if (renameat2(AT_FDCWD, a, AT_FDCWD, b,
		    RENAME_EXCHANGE) == -1) {
			perror("renameat2");
			return 1;
		}
	return 0;
}

int
main(int argc, char **argv)
{
	if (argc == 5 && strcmp(argv[1], "swap") == 0)
		return swap(strtol(argv[2], NULL, 10), argv[3], argv[4]);
	return probe_main(argc, argv, attacks);
}

#include "master/execsrvctl/check.h"

#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/json/json_out.h"
#include "common/process/program.h"
#include "master/execsrvctl/control.h"

#define SERVER		"execsrvd"
#define OUTPUT_MAX	(64 * 1024)	/* of its output */

static void
run_server(const char *path, const char *file, int output)
{
	if (dup2(output, STDOUT_FILENO) != -1 &&
	    dup2(output, STDERR_FILENO) != -1)
		execl(path, SERVER, "-t", file != NULL ? "-f" : (char *)NULL,
		    file, (char *)NULL);
	dprintf(output, "%s: %s\n", path, strerror(errno));
	_exit(126);
}

/* Read all of its output; drop what is too much. */
static void
check_read_output(int fd, struct buf *b)
{
	char	 part[4096];
	ssize_t	 n;

	while ((n = read(fd, part, sizeof(part))) != 0) {
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			break;
		(void)!buf_put(b, part, (size_t)n);
	}
}

static int
print_json(bool is_right, const char *output, size_t len)
{
	struct json_out	 o;
	struct buf	 b;
	size_t		 n;
	int		 r;

	buf_init(&b, 8 * OUTPUT_MAX);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair_bool(&o, "right", is_right);
	json_out_key(&o, "words");
	json_out_open(&o, '[');
	for (; len > 0; output += n, len -= n) {
		const char	*end = memchr(output, '\n', len);

		n = end != NULL ? (size_t)(end - output) : len;
		json_out_text(&o, output, n);
		n += end != NULL;
	}
	json_out_close(&o, ']');
	json_out_close(&o, '}');
	if ((r = json_out_fini(&o)) == 0) {
		fwrite(buf_data(&b), 1, b.len, stdout);
		putchar('\n');
	}
	buf_fini(&b);
	return r;
}

/* Run it and return its status, or -1 with errno. */
static int
ask_server(const char *path, const char *file, struct buf *output)
{
	int	 pipe_fds[2], status;
	pid_t	 pid;

	if (pipe2(pipe_fds, O_CLOEXEC) == -1)
		return -1;
	if ((pid = fork()) == 0)
		run_server(path, file, pipe_fds[1]);
	fd_close(&pipe_fds[1]);
	if (pid != -1)
		check_read_output(pipe_fds[0], output);
	fd_close(&pipe_fds[0]);
	if (pid == -1)
		return -1;
	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

int
config_check(const char *file, bool is_json)
{
	struct buf	 output;
	bool		 is_right, is_wrong;
	char		 path[PATH_MAX];
	int		 status, r = 0;

	buf_init(&output, OUTPUT_MAX);
	program_find_server(path, sizeof(path));
	if (access(path, X_OK) == -1 ||
	    (status = ask_server(path, file, &output)) == -1) {
		fprintf(stderr, "execsrvctl: %s: %s\n", path,
		    strerror(errno));
		buf_fini(&output);
		return EXIT_OTHER;
	}
	is_right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
	is_wrong = WIFEXITED(status) && WEXITSTATUS(status) == EXIT_CONFIG;
	if (is_json)
		r = print_json(is_right, (const char *)buf_data(&output),
		    output.len);
	else if (output.len > 0)
		fwrite(buf_data(&output), 1, output.len, stderr);
	if (is_right && !is_json)
		puts("the configuration is valid");
	if (r == -1)
		perror("execsrvctl");
	buf_fini(&output);
	if (r == -1 || !(is_right || is_wrong))
		return EXIT_OTHER;
	return is_right ? EXIT_OK : EXIT_CONFIG;
}

int
config_show(const char *dir, bool is_json)
{
	struct control_error	 e;
	struct table		*t;
	struct table_look	 look = { .no_header = true };
	int			 status;

	status = control_ask_simply(dir, "settings", &t, &e);
	control_complain(&e);
	if (status == EXIT_OK && is_json)
		status = table_print_json(t, false, stdout) == -1 ?
		    EXIT_OTHER : EXIT_OK;
	else if (status == EXIT_OK)
		table_print(t, &look, stdout);
	table_free(&t);
	return status;
}

/*
 * usage: 750-embed
 *
 * A program that has servers of its own, by orders on standard input, a line
 * each; each is answered with lines, the last of which is "ok" or "error WHY".
 *	local [SETTING]		connect to a private server; it is used from
 *				then on, and gets the next number
 *	use N			use that connection
 *	run COMMAND		run it in a shell there, show what it said, and
 *				"status N"
 *	start COMMAND		start it, and go on
 *	close			close that connection
 *	listen URL, registry URL, environment ID, credential TEXT, config TEXT
 *	file PATH, control PATH, patience MS	for serve; \n is a line feed
 *	serve			start a server; shows its addresses and state
 *	open N			connect to its Nth address
 *	until TEXT		wait until its registration begins so
 *	renew TEXT		another credential
 *	await			wait until it ends
 *	stop MS			stop it; shows "status N"
 *	shut FD			close a descriptor
 */
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"

#define MAX	8
#define WAIT_MS	60000

static struct execsrv		*connections[MAX], *x;
static unsigned			 last;
static struct execsrv_server	*server;
static struct execsrv_serve	 conf;
static const char		*listen_urls[MAX + 1];

/* --- processes --- */

struct run {
	bool	 is_done;
	int	 status;
};

static void
on_answer(void *arg, enum execsrv_request what, const struct execsrv_error *e)
{
	struct run	*r = arg;

	if (what == EXECSRV_START && e != NULL) {
		printf("%s\n", e->text);
		r->status = -1;
		r->is_done = true;
	}
}

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)arg;
	(void)stream;
	fwrite(data, 1, len, stdout);
}

static void
on_exited(void *arg, int status, bool sandbox_denied)
{
	(void)sandbox_denied;
	((struct run *)arg)->status = status;
}

static void
on_closed(void *arg)
{
	((struct run *)arg)->is_done = true;
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = on_answer, .on_output = on_output,
	.on_exited = on_exited, .on_closed = on_closed
};

static const char *
start(const char *command, struct run *r)
{
	const char *const	 argv[] = { "sh", "-c", command, NULL };
	const char *const	 env[] = { NULL };
	struct execsrv_start	 s = { .argv = argv, .env = env, .cwd = "/",
				    .inherit = true };

	if (x == NULL)
		return "no connection";
	return execsrv_process_start(x, &s, &hooks, r) != NULL ? NULL :
	    strerror(errno);
}

static const char *
do_run(const char *command)
{
	struct run	 r = { .status = -1 };
	const char	*why = start(command, &r);

	/* A loop may look at the status alone. */
	while (why == NULL && !r.is_done &&
	    execsrv_status(x) != EXECSRV_FAILED)
		execsrv_wait(x, EXECSRV_FOREVER);
	if (why == NULL && execsrv_status(x) == EXECSRV_FAILED)
		why = execsrv_why(x)->text;
	if (why == NULL)
		printf("status %d\n", r.status);
	return why;
}

/* The answer to the start is enough. */
static const char *
do_start(const char *command)
{
	static struct run	 forgotten;
	struct execsrv_error	 e;
	const char		*why = start(command, &forgotten);

	if (why == NULL)
		free(execsrv_process_list_wait(x, WAIT_MS, &e));
	return why;
}

/* --- connections --- */

static struct execsrv_error	 e;

static const char *
take(struct execsrv *new)
{
	if ((x = new) == NULL)
		return e.text;
	connections[last++ % MAX] = x;
	return NULL;
}

static const char *
do_local(const char *setting)
{
	const char *const	 settings[] = { setting, NULL };
	struct execsrv_local	 l = { .settings = settings };

	return take(execsrv_connect_local(setting[0] != '\0' ? &l : NULL,
	    NULL, &e));
}

static const char *
do_use(const char *text)
{
	x = connections[atoi(text) % MAX];
	return NULL;
}

static const char *
do_close(const char *text)
{
	unsigned	 i;

	(void)text;
	for (i = 0; i < MAX; i++)
		if (connections[i] == x)
			connections[i] = NULL;
	execsrv_close(&x);
	return NULL;
}

/* --- servers --- */

static void
on_log(void *arg, enum execsrv_log_level level, const char *text)
{
	(void)arg;
	printf("log %d %s\n", level, text);
}

static const char *
set(const char **member, const char *text)
{
	char	*copy = strdup(text), *p;

	if (copy == NULL)
		err(1, NULL);
	while ((p = strstr(copy, "\\n")) != NULL) {
		*p = '\n';
		memmove(p + 1, p + 2, strlen(p + 2) + 1);
	}
	*member = copy;
	return NULL;
}

static const char *
do_listen(const char *text)
{
	size_t	 n = 0;

	while (listen_urls[n] != NULL)
		n++;
	conf.listen = listen_urls;
	return n < MAX ? set(&listen_urls[n], text) : "too many";
}

static const char *
do_patience(const char *text)
{
	conf.start_ms = atoi(text);
	return NULL;
}

static const char *
do_registry(const char *text)
{
	return set(&conf.registry, text);
}

static const char *
do_environment(const char *text)
{
	return set(&conf.environment, text);
}

static const char *
do_credential(const char *text)
{
	return set(&conf.credential, text);
}

static const char *
do_config(const char *text)
{
	return set(&conf.config, text);
}

static const char *
do_file(const char *text)
{
	return set(&conf.config_file, text);
}

static const char *
do_control(const char *text)
{
	return set(&conf.control, text);
}

static const char *
do_serve(const char *text)
{
	const char	*state;
	size_t		 i;

	(void)text;
	conf.on_log = on_log;
	if ((server = execsrv_serve(&conf, &e)) == NULL)
		return e.text;
	for (i = 0; execsrv_server_url(server, i) != NULL; i++)
		printf("%s\n", execsrv_server_url(server, i));
	if ((state = execsrv_server_registration(server)) != NULL)
		printf("registration %s\n", state);
	printf("ready %d\n", execsrv_server_is_ready(server));
	return NULL;
}

static const char *
do_open(const char *text)
{
	const char	*url = execsrv_server_url(server,
			    (size_t)atoi(text));

	return url == NULL ? "no such address" :
	    take(execsrv_open(url, NULL, &e));
}

static const char *
do_until(const char *text)
{
	const char	*state;

	while ((state = execsrv_server_registration(server)) == NULL ||
	    strncmp(state, text, strlen(text)) != 0)
		if (execsrv_server_wait(server, EXECSRV_FOREVER) == -1)
			return execsrv_server_why(server)->text;
	return NULL;
}

static const char *
do_renew(const char *text)
{
	return execsrv_server_credential(server, text, 0) == 0 ? NULL :
	    strerror(errno);
}

static const char *
do_await(const char *text)
{
	(void)text;
	while (execsrv_server_wait(server, EXECSRV_FOREVER) == 0)
		continue;
	return execsrv_server_why(server)->text;
}

static const char *
do_stop(const char *text)
{
	printf("status %d\n", execsrv_server_stop(&server, atoi(text)));
	return NULL;
}

static const char *
do_shut(const char *text)
{
	return close(atoi(text)) == 0 ? NULL : strerror(errno);
}

static const struct {
	const char	*name;
	const char	*(*fn)(const char *);
} orders[] = {
	{ "await", do_await }, { "close", do_close }, { "config", do_config },
	{ "control", do_control }, { "credential", do_credential },
	{ "environment", do_environment }, { "file", do_file },
	{ "listen", do_listen }, { "local", do_local }, { "open", do_open },
	{ "patience", do_patience }, { "registry", do_registry },
	{ "renew", do_renew }, { "run", do_run }, { "serve", do_serve },
	{ "shut", do_shut }, { "start", do_start }, { "stop", do_stop },
	{ "until", do_until }, { "use", do_use }
};

#define ORDERS	(sizeof(orders) / sizeof(orders[0]))

static const char *
obey(char *line)
{
	char	*rest = line + strcspn(line, " \n");
	size_t	 i;

	line[strcspn(line, "\n")] = '\0';
	if (*rest != '\0')
		*rest++ = '\0';
	for (i = 0; i < ORDERS; i++)
		if (strcmp(orders[i].name, line) == 0)
			return orders[i].fn(rest);
	return "no such order";
}

int
main(void)
{
	static char	 line[65536];
	const char	*why;
	unsigned	 i;

	/* A terminal's Ctrl-C is not for our servers, and here not for us. */
	signal(SIGINT, SIG_IGN);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if ((why = obey(line)) == NULL)
			puts("ok");
		else
			printf("error %s\n", why);
		fflush(stdout);
	}
	for (i = 0; i < MAX; i++)
		execsrv_close(&connections[i]);
	(void)execsrv_server_stop(&server, WAIT_MS);
	return 0;
}

#include "common/client/dialing.h"

#include <errno.h>
#include <stdlib.h>

#include <sodium.h>

#include "common/client/text.h"
#include "common/process/envlist.h"

/* 0, or -1 with errno. */
static int
start_reach(struct opening *o, struct transport *t)
{
	const char	*argv[] = { execsrv_reach_program(&o->reach), NULL };
	char		**env;
	int		 r, error;

	if ((env = envlist_network()) == NULL)
		return -1;
	r = transport_spawn(t, argv, env, false);
	error = errno;
	free(env);
	errno = error;
	return r;
}

int
dialing_start(struct opening *o, struct transport *t)
{
	return execsrv_reach_is_set(&o->reach) ? start_reach(o, t) :
	    transport_connect(t, &o->address);
}

/* 0, or -1 with errno. */
static int
ask_reach(struct opening *o, struct transport *t)
{
	struct buf	 b;
	int		 r = -1, error;

	buf_init(&b, EXECSRV_REACH_ASK_MAX);
	if (buf_reserve(&b, EXECSRV_REACH_ASK_MAX) != NULL &&
	    execsrv_reach_put_ask(&o->reach, o->token, o->connect_ms,
	    transport_silence(t), &b) == 0)
		r = transport_hello(t, buf_data(&b), b.len);
	error = errno;
	if (b.base != NULL)
		sodium_memzero(b.base, b.cap);
	buf_fini(&b);
	errno = error;
	return r;
}

int
dialing_greet(struct opening *o, struct transport *t)
{
	if (execsrv_reach_is_set(&o->reach))
		return ask_reach(o, t);
	if (!transport_has_child(t))
		return transport_upgrade(t, &o->address, o->token);
	transport_up(t);
	return 0;
}

int
dialing_read_hello(struct transport *t, char *text, size_t len, char *why,
    size_t size, bool *is_permanent_out)
{
	struct json	 j;
	int		 r = -1;

	json_init(&j);
	if (json_parse(&j, text, len) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT) {
		if (execsrv_is_true(&j, 0, "ready"))
			r = 1;
		else if (execsrv_reach_read_error(&j, why, size,
		    is_permanent_out))
			r = 0;
	}
	json_fini(&j);
	if (r == 1)
		transport_up(t);
	return r;
}

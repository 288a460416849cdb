#include "master/execsrvctl/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/fd.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "common/json/params.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/plan/plan.h"
#include "master/execsrvctl/control.h"

struct explain {
	const char		*file;
	bool			 is_json;
	struct plan_context	 ctx;
	struct buf		 text;	/* of the file, in brackets */
	struct json		 j;
	struct param_path	 cwd;	/* of the request */
	struct plan		 plan;
};

enum { OPT_CWD = 256, OPT_JSON, OPT_NATIVE, OPT_TMPDIR };

static const struct option	 options[] = {
	{ "cwd", required_argument, NULL, OPT_CWD },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "native-paths", no_argument, NULL, OPT_NATIVE },
	{ "tmpdir", required_argument, NULL, OPT_TMPDIR },
	{ NULL, 0, NULL, 0 }
};

static int
sandbox_complain(const struct explain *x, const char *why)
{
	char	 text[PATH_MAX + 512];

	snprintf(text, sizeof(text), "%.4000s: %.500s", x->file, why);
	execsrv_printable(text);
	fprintf(stderr, "execsrvctl: %s\n", text);
	return -1;
}

/* --- what it is about --- */

static int
sandbox_read_all(struct buf *b, int fd)
{
	void	*room;
	ssize_t	 n;

	for (;;) {
		if ((room = buf_reserve(b, LIMIT_READ_CHUNK)) == NULL)
			return -1;
		if ((n = read(fd, room, LIMIT_READ_CHUNK)) <= 0)
			return (int)n;
		buf_commit(b, (size_t)n);
	}
}

static int
sandbox_read_file(struct explain *x)
{
	bool	 is_stdin = strcmp(x->file, "-") == 0;
	int	 fd = STDIN_FILENO, r;

	if (!is_stdin &&
	    (fd = open(x->file, O_RDONLY | O_CLOEXEC | O_NOCTTY)) == -1)
		return sandbox_complain(x, strerror(errno));
	/* As the element of a list: token 0 means no object to
	   params_decode(). */
	r = buf_put(&x->text, "[", 1);
	if (r == 0)
		r = sandbox_read_all(&x->text, fd);
	if (r == 0)
		r = buf_put(&x->text, "]", 1);
	if (r == -1)
		sandbox_complain(x, strerror(errno));
	if (!is_stdin)
		fd_close(&fd);
	return r;
}

static int
sandbox_parse(struct explain *x)
{
	char	*text = (char *)buf_data(&x->text);

	if (!utf8_is_valid(text, x->text.len) ||
	    json_parse(&x->j, text, x->text.len) == -1 || x->j.ntoks < 2 ||
	    json_after_elem(&x->j, 1) != x->j.ntoks ||
	    json_tok(&x->j, 1)->type != JSON_OBJECT)
		return sandbox_complain(x, "no JSON object");
	return 0;
}

/* Find the sandbox object: the file itself, or in a request; 0: none. */
static uint32_t
find_sandbox(struct explain *x)
{
	uint32_t	 params, sandbox, cwd;

	if ((params = json_find(&x->j, 1, "params")) == 0)
		params = 1;
	if ((sandbox = json_find(&x->j, params, "sandbox")) == 0)
		return params == 1 && json_find(&x->j, 1, "method") == 0;
	if (x->ctx.cwd == NULL &&
	    (cwd = json_find(&x->j, params, "cwd")) != 0 &&
	    param_path(&x->j, cwd, x->ctx.native_paths, &x->cwd) == 0)
		x->ctx.cwd = x->cwd.path;
	return json_tok(&x->j, sandbox)->type == JSON_NULL ? 0 : sandbox;
}

/* --- what it means --- */

static void
write_json(const struct plan *p, struct json_out *o)
{
	size_t	 i;

	json_out_open(o, '{');
	json_out_pair_bool(o, "reads_all", p->reads_all);
	json_out_pair_bool(o, "writes_all", p->writes_all);
	json_out_pair_bool(o, "network", !p->net_off);
	json_out_key(o, "glob_depth");
	if (p->glob_depth > 0)
		json_out_u64(o, p->glob_depth);
	else
		json_out_null(o);
	json_out_key(o, "rules");
	json_out_open(o, '[');
	for (i = 0; i < p->n; i++) {
		json_out_open(o, '{');
		json_out_pair(o, "rule", plan_word(p->rules[i].kind));
		json_out_pair(o, "path", p->rules[i].path);
		json_out_pair_bool(o, "if_exists", plan_rule_may_miss(p, i));
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
	json_out_close(o, '}');
}

static int
sandbox_print(const struct explain *x, bool has_sandbox)
{
	struct json_out	 o;
	struct buf	 b;
	int		 r;

	buf_init(&b, SIZE_MAX);
	if (!x->is_json) {
		r = has_sandbox ? plan_print(&x->plan, &b) :
		    buf_put(&b, "no sandbox\n", 11);
	} else {
		json_out_init(&o, &b);
		if (has_sandbox)
			write_json(&x->plan, &o);
		else
			json_out_null(&o);
		r = json_out_fini(&o);
		if (r == 0)
			r = buf_put(&b, "\n", 1);
	}
	if (r == -1)
		sandbox_complain(x, strerror(errno));
	else if (fwrite(buf_data(&b), 1, b.len, stdout) != b.len ||
	    fflush(stdout) != 0)
		r = sandbox_complain(x, "output");
	buf_fini(&b);
	return r;
}

static int
sandbox_explain(struct explain *x)
{
	char		 why[512];
	uint32_t	 tok;
	int		 r = -1;

	buf_init(&x->text, LIMIT_MESSAGE);
	json_init(&x->j);
	if (sandbox_read_file(x) == -1 || sandbox_parse(x) == -1)
		goto out;
	if ((tok = find_sandbox(x)) != 0 && plan_make(&x->plan, &x->j, tok,
	    &x->ctx, why, sizeof(why)) == -1)
		sandbox_complain(x, why);
	else
		r = sandbox_print(x, tok != 0);
 out:
	plan_free(&x->plan);
	json_fini(&x->j);
	buf_fini(&x->text);
	return r == 0 ? EXIT_OK : EXIT_OTHER;
}

int
sandbox_command(int argc, char **argv, bool is_json)
{
	struct explain	 x = { .is_json = is_json };
	int		 opt;

	argc--;
	argv++;
	optind = 0;			/* glibc: start again */
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (opt) {
		case OPT_CWD:
			x.ctx.cwd = optarg;
			break;
		case OPT_JSON:
			x.is_json = true;
			break;
		case OPT_NATIVE:
			x.ctx.native_paths = true;
			break;
		case OPT_TMPDIR:
			x.ctx.tmpdir = optarg;
			break;
		default:
			return EXIT_USAGE;
		}
	if (optind + 1 != argc)
		return EXIT_USAGE;
	x.file = argv[optind];
	return sandbox_explain(&x);
}

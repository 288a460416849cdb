/* Files and commands in a sandbox, and what a policy costs. */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "t/bench/fscall.h"
#include "t/bench/usage.h"

#define SECONDS		0.5
#define US		1e6
#define FIRSTS		5	/* sessions of which the first call is timed */
#define WARM_UP		4
#define HOLDERS		8

#define SPECIAL(kind, more, access) \
	"{\"path\":{\"type\":\"special\",\"value\":{\"kind\":\"" kind "\"" \
	more "}},\"access\":\"" access "\""
#define PROTECTED(name) \
	SPECIAL("project_roots", ",\"subpath\":\"" name "\"", "read") \
	",\"missing_path_behavior\":\"skip\"}"

/* Reads are confined: the system's own files and the folder. */
static const char	confined[] =
    SPECIAL("minimal", "", "read") "},"
    SPECIAL("project_roots", "", "write") "}";

/* What the stock client sends as workspace-write. */
static const char	workspace_write[] =
    SPECIAL("root", "", "read") "},"
    SPECIAL("project_roots", "", "write") "},"
    SPECIAL("slash_tmp", "", "write") "},"
    SPECIAL("tmpdir", "", "write") "},"
    PROTECTED(".git") "," PROTECTED(".agents") "," PROTECTED(".codex") ","
    PROTECTED(".aws");

struct policy {
	char	text[8192];
};

/* The "sandbox" of these entries, with the folder as its only root. */
static void
policy_init(struct policy *p, const struct bench *b, const char *entries)
{
	int	n;

	n = snprintf(p->text, sizeof(p->text), "{\"permissions\":{"
	    "\"type\":\"managed\",\"network\":\"restricted\",\"file_system\":"
	    "{\"type\":\"restricted\",\"entries\":[%s]}},"
	    "\"cwd\":\"file://%s\",\"workspaceRoots\":[\"file://%s\"],"
	    "\"windowsSandboxLevel\":\"disabled\"}", entries, b->folder,
	    b->folder);
	if (n < 0 || (size_t)n >= sizeof(p->text))
		errx(1, "%s: too long", b->folder);
}

/* Each time in a new session: whatever is kept for a policy is made. */
static void
measure_first(const struct bench *b, const struct fscall *f)
{
	struct samples	 s;
	struct client	*c;

	samples_init(&s, SECONDS);
	for (int i = 0; i < FIRSTS; i++) {
		c = client_open(b, 0);
		samples_add(&s, fscall_once(c, f));
		client_close(&c);
	}
	report(VALUE_sbfirst, samples_at(&s, 0.5) * US);
}

/* The time to the answer of the second of two. */
static double
behind_once(struct client *c, const struct fscall *f)
{
	struct msg	m;
	double		begin, end = 0;
	long		call = fscall_send(c, f), behind;

	begin = now();
	behind = client_call(c, "environment/status", "{}");
	for (int left = 2; left > 0; left--) {
		do
			client_next(c, &m);
		while (m.id != behind && m.id != call);
		if (m.id == behind)
			end = now();
	}
	return end - begin;
}

static void
measure_behind(const struct bench *b, int flags, const struct fscall *f,
    enum value value)
{
	struct client	*c = client_open(b, flags);
	struct samples	 s;

	for (int i = 0; i < WARM_UP; i++)
		behind_once(c, f);
	samples_init(&s, SECONDS);
	while (samples_more(&s))
		samples_add(&s, behind_once(c, f));
	report(value, samples_at(&s, 0.5) * US);
	client_close(&c);
}

void
bench_sbread(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct policy	 p;
	struct fscall	 f;
	struct fscost	 cost;

	client_reserve(c, base64_len(MIB) + 64 * KIB);
	policy_init(&p, b, confined);
	fscall_init(&f, b, "fs/getMetadata", "small", p.text, 0);
	measure_first(b, &f);
	report(VALUE_sbmeta, fscall_measure(b, c, &f, 1, SECONDS).p50 * US);
	fscall_fini(&f);
	fscall_init(&f, b, "fs/readFile", "small", p.text, 0);
	f.least = base64_len(4 * KIB);
	report(VALUE_sbread, fscall_measure(b, c, &f, 1, SECONDS).p50 * US);
	measure_behind(b, 0, &f, VALUE_sbbehind);
	measure_behind(b, CLIENT_QUICKACK, &f, VALUE_sbbehind_ack);
	fscall_fini(&f);
	fscall_init(&f, b, "fs/readFile", "large", p.text, 0);
	f.least = base64_len(MIB);
	cost = fscall_measure(b, c, &f, 1, SECONDS);
	report(VALUE_sbread1m, fscost_rate(&cost));
	fscall_fini(&f);
	client_close(&c);
}

static void
measure_write(const struct bench *b, const char *entries, enum value value)
{
	struct client	*c = client_open(b, 0);
	struct policy	 p;
	struct fscall	 f;

	policy_init(&p, b, entries);
	fscall_init(&f, b, "fs/writeFile", "written", p.text, 4 * KIB);
	report(value, fscall_measure(b, c, &f, 1, SECONDS).p50 * US);
	fscall_fini(&f);
	client_close(&c);
}

void
bench_sbwrite(const struct bench *b)
{
	measure_write(b, confined, VALUE_sbwrite);
	measure_write(b, workspace_write, VALUE_sbwritews);
}

/* Run /bin/true to its end; the times to the answer and to `closed`. */
static double
start_once(const struct bench *b, struct client *c, const struct policy *p,
    int number, double *answer_out)
{
	struct msg	m;
	double		begin = now(), end = 0;

	client_call(c, "process/start", "{\"processId\":\"p%d\","
	    "\"argv\":[\"/bin/true\"],\"cwd\":\"file://%s\",\"env\":{},"
	    "\"tty\":false,\"pipeStdin\":false,\"arg0\":null,\"sandbox\":%s}",
	    number, b->folder, p->text);
	for (int left = 3; left > 0; ) {
		client_next(c, &m);
		if (m.kind == MSG_OUTPUT)
			errx(1, "/bin/true: %.*s", (int)m.len, m.text);
		if (m.kind == MSG_EXITED &&
		    msg_number(&m, "\"exitCode\":") != 0)
			errx(1, "/bin/true failed");
		if (m.kind == MSG_CLOSED)
			end = now();
		if (m.kind == MSG_REPLY)
			*answer_out = now() - begin;
		left -= m.kind == MSG_REPLY || m.kind == MSG_EXITED ||
		    m.kind == MSG_CLOSED;
	}
	return end - begin;
}

/* answered: until the answer to the start; value: until `closed`. */
static void
measure_start(const struct bench *b, int flags, const struct policy *p,
    enum value value, enum value answered)
{
	struct client	*c = client_open(b, flags);
	struct samples	 s, answers;
	double		 answer;
	int		 number = 0;

	while (number < WARM_UP)
		start_once(b, c, p, number++, &answer);
	samples_init(&s, SECONDS);
	samples_init(&answers, SECONDS);
	while (samples_more(&s)) {
		samples_add(&s, start_once(b, c, p, number++, &answer));
		samples_add(&answers, answer);
	}
	report(value, samples_at(&s, 0.5) * US);
	report(answered, samples_at(&answers, 0.5) * US);
	client_close(&c);
}

void
bench_sbstart(const struct bench *b)
{
	struct policy	 p;
	struct samples	 s;
	struct client	*c;
	double		 answer;

	policy_init(&p, b, workspace_write);
	samples_init(&s, SECONDS);
	for (int i = 0; i < FIRSTS; i++) {
		c = client_open(b, 0);
		samples_add(&s, start_once(b, c, &p, 0, &answer));
		client_close(&c);
	}
	report(VALUE_sbstart_first, samples_at(&s, 0.5) * US);
	measure_start(b, 0, &p, VALUE_sbstart, VALUE_sbstart_answer);
	measure_start(b, CLIENT_QUICKACK, &p, VALUE_sbstart_ack,
	    VALUE_sbstart_ack_answer);
}

/* A command with a managed network, in turn with one that has no network. */
void
bench_sbnetwork(const struct bench *b)
{
	static const char	 more[] = ",\"enforceManagedNetwork\":true,"
	    "\"networkProxy\":{\"proxy\":{\"enabled\":true,"
	    "\"enableSocks5\":true,\"enableSocks5Udp\":true,"
	    "\"allowUpstreamProxy\":true,\"allowLocalBinding\":false,"
	    "\"dangerouslyAllowAllUnixSockets\":false,\"mode\":\"full\","
	    "\"domains\":{\"**.a.test\":\"allow\"}}}";
	struct client	*c = client_open(b, 0);
	struct policy	 p, managed;
	struct samples	 s, without;
	double		 answer, p50;
	int		 number = 0;

	policy_init(&p, b, workspace_write);
	managed = p;
	if (strlen(p.text) + sizeof(more) > sizeof(p.text))
		errx(1, "%s: too long", b->folder);
	strcat(managed.text, more);
	while (number < WARM_UP)
		start_once(b, c, &managed, number++, &answer);
	samples_init(&s, SECONDS);
	samples_init(&without, SECONDS);
	while (samples_more(&s)) {
		samples_add(&s, start_once(b, c, &managed, number++, &answer));
		samples_add(&without, start_once(b, c, &p, number++,
		    &answer));
	}
	p50 = samples_at(&s, 0.5);
	report(VALUE_sbnet, p50 * US);
	report(VALUE_sbnet_added, (p50 - samples_at(&without, 0.5)) * US);
	client_close(&c);
}

/*
 * By how much the server grows per session when each uses a policy for the
 * first time, for files and for a command.
 */
void
bench_holder(const struct bench *b)
{
	struct client	*c[HOLDERS];
	struct policy	 p;
	struct fscall	 plain, f;
	double		 before;
	double		 answer;

	policy_init(&p, b, confined);
	fscall_init(&plain, b, "fs/readFile", "small", NULL, 0);
	fscall_init(&f, b, "fs/readFile", "small", p.text, 0);
	for (int i = 0; i < HOLDERS; i++) {
		c[i] = client_open(b, 0);
		fscall_once(c[i], &plain);
	}
	nap(0.5);
	before = usage_pss(b->pid);
	for (int i = 0; i < HOLDERS; i++) {
		fscall_once(c[i], &f);
		start_once(b, c[i], &p, 0, &answer);
	}
	nap(0.5);
	report(VALUE_holder, (usage_pss(b->pid) - before) / HOLDERS);
	for (int i = 0; i < HOLDERS; i++)
		client_close(&c[i]);
	fscall_fini(&plain);
	fscall_fini(&f);
}

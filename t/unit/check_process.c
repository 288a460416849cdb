/*
 * worker/rpc/rpc_process.c: what each request about a process answers.  The
 * processes are ours.
 */
#include <errno.h>
#include <signal.h>

#include "t/unit/rpc_stand_in.h"
#include "worker/proc/proc.h"
#include "worker/rpc/procread.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/rpc/start.h"

static struct env	 env;
static struct procs	 procs;
static struct proc	 proc, internal;
static bool		 is_starting, has_room, has_id, is_running;
static enum procin_result result;
static int		 error;
static struct rpc_req	*parked;

/* --- in the place of processes --- */

struct proc *
procs_find(const struct procs *ps, const char *id, size_t len)
{
	ck_assert_ptr_eq(ps, &procs);
	return len == 1 && id[0] == 'p' ? &proc : NULL;
}

bool
start_waits(const struct rpc *of, const char *id, size_t len)
{
	ck_assert(of == &rpc && len == 1 && id[0] != 'p');
	return is_starting;
}

bool
start_cancel(struct rpc *of, const char *id, size_t len)
{
	ck_assert(of == &rpc && len == 1 && id[0] != 'p');
	tell("cancel");
	return is_starting;
}

void
proc_read(struct proc *p, struct rpc_req *req, const struct proc_read *r)
{
	ck_assert_ptr_eq(p, &proc);
	tell("read after %llu max %d %llu wait %llu%s",
	    (unsigned long long)r->after_seq, r->has_max,
	    (unsigned long long)(r->has_max ? r->max_bytes : 0),
	    (unsigned long long)r->wait_ms, r->holds ? " holds" : "");
	rpc_ok(req);
}

bool
procin_has_room(const struct procin *in, size_t len)
{
	ck_assert_ptr_eq(in, &proc.procin);
	tell("room for %zu?", len);
	return has_room;
}

void
proc_on_input(struct proc *p)
{
	ck_assert_ptr_eq(p, &proc);
	tell("input");
}

enum procin_result
procin_write(struct procin *in, const void *data, size_t len,
    struct rpc_req *req)
{
	ck_assert_ptr_eq(in, &proc.procin);
	tell("write %.*s%s", (int)len, (const char *)data,
	    req != NULL ? " kept" : "");
	parked = req;
	errno = error;
	return result;
}

bool
procin_has_id(const struct procin *in, const char *id, size_t len)
{
	ck_assert(in == &proc.procin && len == 1 && id[0] == 'w');
	return has_id;
}

int
procin_remember(struct procin *in, const char *id, size_t len)
{
	ck_assert(in == &proc.procin && len == 1 && id[0] == 'w');
	tell("remember");
	return 0;
}

void
procin_end(struct procin *in)
{
	ck_assert_ptr_eq(in, &proc.procin);
	tell("end of input");
}

void
proc_signal(struct proc *p, int sig)
{
	ck_assert_ptr_eq(p, &proc);
	tell("signal %d", sig);
}

bool
proc_terminate(struct proc *p, uint64_t grace)
{
	ck_assert_ptr_eq(p, &proc);
	tell("terminate %llu", (unsigned long long)grace);
	return is_running;
}

int
proc_resize(struct proc *p, uint16_t rows, uint16_t cols)
{
	ck_assert_ptr_eq(p, &proc);
	tell("size %ux%u", rows, cols);
	errno = error;
	return error != 0 ? -1 : 0;
}

void
proc_put_state(const struct proc *p, struct json_out *o)
{
	json_out_pair_bool(o, "exited", p->state != PROC_RUNNING);
}

/* --- the tests --- */

static void
setup(void)
{
	rpc_begin_all(&env);
	memset(&procs, 0, sizeof(procs));
	memset(&proc, 0, sizeof(proc));
	memset(&internal, 0, sizeof(internal));
	TAILQ_INIT(&procs.all);
	TAILQ_INIT(&proc.procin.parked);
	rpc.procs = &procs;
	proc.id = (char *)(uintptr_t)"p";
	proc.id_len = 1;
	proc.has_input = true;
	is_starting = has_id = is_running = false;
	has_room = true;
	result = PROCIN_ACCEPTED;
	error = 0;
}

static void
teardown(void)
{
	rpc_end_all();
}

#define STATUS(id, word)	#id " {\"status\":\"" word "\"}; "
#define WRITE(json)		ASK(process_write, rpc_process_write, 1, json)
#define HI			"{\"processId\":\"p\",\"chunk\":\"aGk=\"}"
#define HI_ID	"{\"processId\":\"p\",\"chunk\":\"aGk=\",\"writeId\":\"w\"}"

START_TEST(test_read)
{
	ASK(process_read, rpc_process_read, 1, "{\"processId\":\"x\"}");
	DID("1 UNKNOWN_PROCESS: (its row); ");
	ASK(process_read, rpc_process_read, 1, "{\"processId\":\"p\"}");
	DID("read after 0 max 0 0 wait 0; 1 {}; ");
	ASK(process_read, rpc_process_read, 1, "{\"processId\":\"p\","
	    "\"afterSeq\":7,\"maxBytes\":8,\"waitMs\":9}");
	DID("read after 7 max 1 8 wait 9; 1 {}; ");
}
END_TEST

START_TEST(test_write)
{
	WRITE(HI);
	DID("room for 2?; input; write hi; " STATUS(1, "accepted"));
	ck_assert_uint_eq(procs.bytes_in, 2);
	WRITE(HI_ID);
	DID("room for 2?; input; write hi; " STATUS(1, "accepted")
	    "remember; ");
	/* The same again is not written again. */
	has_id = true;
	WRITE(HI_ID);
	DID(STATUS(1, "accepted"));
	ck_assert_uint_eq(procs.bytes_in, 4);
	WRITE("{\"processId\":\"p\",\"chunk\":\"aGk=\",\"writeId\":\"\"}");
	DID("1 PARAMS: writeId must not be empty; ");
	WRITE("{\"processId\":\"x\",\"chunk\":\"aGk=\"}");
	DID(STATUS(1, "unknownProcess"));
	is_starting = true;
	WRITE("{\"processId\":\"x\",\"chunk\":\"aGk=\"}");
	DID(STATUS(1, "starting"));
	proc.has_input = false;
	WRITE(HI);
	DID(STATUS(1, "stdinClosed"));
	proc.has_input = proc.procin.closing = true;
	WRITE(HI);
	DID(STATUS(1, "stdinClosed"));
}
END_TEST

/* Without room it is kept; what was not accepted may be tried again. */
START_TEST(test_parked)
{
	struct parked	 pk;

	has_room = false;
	WRITE(HI_ID);
	DID("room for 2?; input; write hi kept; " STATUS(1, "accepted")
	    "remember; ");
	result = PROCIN_PARKED;
	WRITE(HI_ID);
	DID("room for 2?; input; write hi kept; remember; ");
	memset(&pk, 0, sizeof(pk));
	pk.req = parked;
	TAILQ_INSERT_TAIL(&proc.procin.parked, &pk, entry);
	rpc_cancel_all();
	ck_assert_ptr_null(pk.req);
	result = PROCIN_FULL;
	WRITE(HI_ID);
	DID("room for 2?; input; write hi kept; 1 TOO_MANY: too much input is "
	    "waiting for processes that do not read it; ");
	result = PROCIN_ERROR;
	error = EIO;
	WRITE(HI_ID);
	DID("room for 2?; input; write hi kept; "
	    "1 FAILED: Input/output error; ");
	may_keep = false;
	WRITE(HI_ID);
	DID("room for 2?; 1 TOO_MANY: too many wait; ");
	has_room = true;
	WRITE(HI_ID);
	DID("room for 2?; input; write hi; 1 FAILED: Input/output error; ");
}
END_TEST

#define CLOSE(id)							\
	ASK(process, rpc_process_closestdin, 1, "{\"processId\":\"" id "\"}")

START_TEST(test_close)
{
	CLOSE("x");
	DID(STATUS(1, "unknownProcess"));
	CLOSE("p");
	DID("input; end of input; " STATUS(1, "accepted"));
	proc.procin.closing = true;
	CLOSE("p");
	DID(STATUS(1, "stdinClosed"));
	/* A terminal has an end of input again and again. */
	proc.tty = true;
	CLOSE("p");
	DID("input; end of input; " STATUS(1, "accepted"));
	proc.has_input = false;
	CLOSE("p");
	DID(STATUS(1, "stdinClosed"));
}
END_TEST

#define SIGNAL(id, name)						\
	ASK(process_signal, rpc_process_signal, 1, "{\"processId\":\"" id \
	    "\",\"signal\":\"" name "\"}")

START_TEST(test_signal)
{
	SIGNAL("p", "interrupt");
	SIGNAL("p", "SIGTERM");
	DID("signal 2; 1 {}; signal 15; 1 {}; ");
	SIGNAL("x", "SIGTERM");
	DID("1 {}; ");
	SIGNAL("p", "sigterm");
	SIGNAL("p", "");
	SIGNAL("p", "SIGTERM\\u0000");
	SIGNAL("p", "SIGTERMSIGTERM16");
	DID("1 PARAMS: unknown signal; 1 PARAMS: unknown signal; "
	    "1 PARAMS: unknown signal; 1 PARAMS: unknown signal; ");
}
END_TEST

#define TERMINATE(json)	ASK(process_terminate, rpc_process_terminate, 1, json)

START_TEST(test_terminate)
{
	TERMINATE("{\"processId\":\"p\"}");
	DID("terminate 0; 1 {\"running\":false}; ");
	is_running = true;
	TERMINATE("{\"processId\":\"p\",\"graceMs\":70}");
	DID("terminate 70; 1 {\"running\":true}; ");
	TERMINATE("{\"processId\":\"x\"}");
	DID("cancel; 1 {\"running\":false}; ");
	is_starting = true;
	TERMINATE("{\"processId\":\"x\"}");
	DID("cancel; 1 {\"running\":true}; ");
}
END_TEST

#define RESIZE(id)							\
	ASK(process_resize, rpc_process_resize, 1, "{\"processId\":\"" id \
	    "\",\"rows\":3,\"cols\":4}")

START_TEST(test_resize)
{
	RESIZE("x");
	DID("1 UNKNOWN_PROCESS: (its row); ");
	RESIZE("p");
	DID("size 3x4; 1 {}; ");
	error = ENOTTY;
	RESIZE("p");
	DID("size 3x4; 1 MALFORMED: the process has no terminal; ");
	error = EIO;
	RESIZE("p");
	DID("size 3x4; 1 FAILED: Input/output error; ");
}
END_TEST

START_TEST(test_list)
{
	ASK(none, rpc_process_list, 1, "{}");
	DID("1 {\"processes\":[]}; ");
	TAILQ_INSERT_TAIL(&procs.all, &internal, entry);
	TAILQ_INSERT_TAIL(&procs.all, &proc, entry);
	internal.is_internal = true;
	proc.pid = 44;
	proc.tty = true;
	proc.retain.next_seq = 9;
	ASK(none, rpc_process_list, 1, "{}");
	DID("1 {\"processes\":[{\"processId\":\"p\",\"pid\":44,\"tty\":true,"
	    "\"exited\":false,\"nextSeq\":9}]}; ");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("process");
	TCase	*t = tcase_create("process");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_read);
	tcase_add_test(t, test_write);
	tcase_add_test(t, test_parked);
	tcase_add_test(t, test_close);
	tcase_add_test(t, test_signal);
	tcase_add_test(t, test_terminate);
	tcase_add_test(t, test_resize);
	tcase_add_test(t, test_list);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

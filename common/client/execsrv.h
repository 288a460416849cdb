/*
 * libexecsrv: a client of an exec server.  One struct execsrv is one
 * connection and its session.  libexecsrv(3) explains it; each call has a
 * manual page of its own, made of these comments and man/libexecsrv.calls.
 *
 * lint-ok: long, as programs include one header.
 *
 * Hooks are called only from execsrv_dispatch(), execsrv_wait() and the calls
 * with a timeout_ms.  A hook may call anything but these, execsrv_close(), and
 * what says so.  Texts are NUL-terminated UTF-8.  Structs that the caller fills
 * stay the caller's and are not used after the call; unused members must be 0,
 * as designated initializers make them.
 */
#ifndef EXECSRV_H
#define EXECSRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Only what is declared here is exported. */
#pragma GCC visibility push(default)

struct execsrv;
struct execsrv_process;

/* --- versions --- */

/* Room for members of later versions; 0 in structs that the caller fills. */
#define EXECSRV_ROOM(n)	void *reserved[n]

#define EXECSRV_VERSION_MAJOR	0
#define EXECSRV_VERSION_MINOR	1
#define EXECSRV_VERSION_PATCH	0
#define EXECSRV_VERSION		"0.1.0"

/* Return EXECSRV_VERSION of the library that is used. */
const char	*execsrv_version(void);

/* --- errors --- */

/* What kind of failure it is; more may come. */
enum execsrv_reason {
	EXECSRV_WHY_NONE,	/* nothing failed */
	EXECSRV_WHY_ARGUMENT,	/* what the caller passed cannot be used */
	EXECSRV_WHY_SYSTEM,	/* a call of this system: os_error */
	EXECSRV_WHY_CONNECT,	/* no connection: os_error */
	EXECSRV_WHY_REFUSED,	/* the server or registry refuses the client */
	EXECSRV_WHY_TIMEOUT,	/* no answer in time */
	EXECSRV_WHY_LOST,	/* the connection was lost; a request may have
				   been carried out */
	EXECSRV_WHY_PROTOCOL,	/* the server broke the protocol */
	EXECSRV_WHY_SERVER,	/* its answer: code, perhaps os_error */
	EXECSRV_WHY_ENDED,	/* the server ended the session, or exited */
	EXECSRV_WHY_GAP,	/* output that the server did not retain */
	EXECSRV_WHY_TOO_MUCH,	/* more waits than there is room for */
	EXECSRV_WHY_CANCELLED	/* by the caller */
};

struct execsrv_error {
	int64_t			 code;		/* of JSON-RPC; else 0 */
	enum execsrv_reason	 reason;
	int			 os_error;	/* an errno, also of the server;
						   0: unknown */
	char			 text[512];	/* one printable line, whoever
						   wrote it */
	EXECSRV_ROOM(4);
};

/* Return a word for it: "timeout".  Never NULL. */
const char	*execsrv_reason_name(enum execsrv_reason reason);

/*
 * Make a text one printable line, in place: control characters, characters that
 * change the direction of writing, and bytes that are not UTF-8 become '?'.
 * Return the number of characters left.
 */
size_t		 execsrv_printable(char *text);

/* --- URLs --- */

/* Where a server listens if no URL is given. */
#define EXECSRV_DEFAULT_URL	"ws://127.0.0.1:0"

enum execsrv_url_kind {
	EXECSRV_WS = 1,		/* ws://IP:PORT, ws://[IP]:PORT, and a path */
	EXECSRV_UNIX,		/* unix:PATH */
	EXECSRV_STDIO		/* stdio or stdio:// */
};

enum execsrv_url_error {
	EXECSRV_URL_OK,
	EXECSRV_URL_SCHEME,	/* none of the above */
	EXECSRV_URL_HOST,	/* not a numeric IP, nor localhost */
	EXECSRV_URL_PORT,	/* none, or not a number up to 65535 */
	EXECSRV_URL_PATH,	/* none, or invalid characters */
	EXECSRV_URL_LONG,
	/* Of execsrv_url_parse_listen() only: */
	EXECSRV_URL_NAME,	/* localhost, which may be several addresses */
	EXECSRV_URL_TAIL,	/* a path or query behind the port */
	EXECSRV_URL_RELATIVE	/* the path of a socket */
};

struct execsrv_url {
	enum execsrv_url_kind	 kind;
	char			 host[64];	/* without brackets */
	uint16_t		 port;		/* 0: any that is free */
	char			 path[512];	/* with query; of the socket */
	bool			 is_local;	/* on this machine */
	EXECSRV_ROOM(4);
};

/*
 * Parse a URL to connect to (not wss:// or remote:), or to listen on, as
 * execsrvd and execsrv_serve() do; NULL is the default one.  Return
 * EXECSRV_URL_OK, or an error for execsrv_url_strerror(), and then *u is all 0.
 */
enum execsrv_url_error execsrv_url_parse(const char *text,
		    struct execsrv_url *u);
enum execsrv_url_error execsrv_url_parse_listen(const char *text,
		    struct execsrv_url *u);
const char	*execsrv_url_strerror(enum execsrv_url_error error);

/* --- opening --- */

#define EXECSRV_FOREVER	(-1)		/* for members and arguments in ms */

struct execsrv_options {
	const char	*client_name;	/* NULL: "libexecsrv" */
	const char	*bearer_token;	/* NULL: none */
	int		 connect_ms;	/* to connect and upgrade; 0: 10 s */
	int		 initialize_ms;	/* to open the session; 0: 10 s */
	int		 recover_ms;	/* how long to try to reconnect;
					   0: 25 s, below 0: never */
	int		 silence_ms;	/* without a byte it is lost; 0: 35 s */
	const char	*resume_session; /* an id; NULL: a new session */
	bool		 no_wait;	/* return at once: EXECSRV_OPENING */
	const char	*ca_file;	/* wss://, remote: trusted CAs (PEM);
					   NULL: those of the system */
	const char	*reach_program;	/* its path; NULL: where it is found */
	int		 open_ms;	/* how long to try for the first
					   connection; 0: once */
	bool		 take;		/* resume_session from its client */
	bool		 operate;	/* for session/operate alone */
	EXECSRV_ROOM(8);
};

/*
 * Connect to ws://HOST:PORT, wss://HOST[:PORT], unix:PATH or
 * remote:ENVIRONMENT@https://REGISTRY, and open a session.  o may be NULL.
 * Free with execsrv_close(); NULL with the reason in e.
 */
struct execsrv	*execsrv_open(const char *url, const struct execsrv_options *o,
		    struct execsrv_error *e);

/*
 * Start a command, found in PATH, that serves this connection on its standard
 * input and output.  argv is ended by NULL, and not empty.  As execsrv_open().
 */
struct execsrv	*execsrv_spawn_local(const char *const *argv,
		    const struct execsrv_options *o, struct execsrv_error *e);

struct execsrv_local {
	/* The program execsrvd; NULL: see execsrv_connect_local(). */
	const char		*program;
	/*
	 * "Keyword=value" of execsrvd.conf(5), ended by NULL, or NULL; users of
	 * the machine can see them.  It reads no file of settings.
	 */
	const char *const	*settings;
	EXECSRV_ROOM(4);
};

/*
 * Start a server for this connection alone, which ends with it.  l may be NULL.
 * As execsrv_open().
 */
struct execsrv	*execsrv_connect_local(const struct execsrv_local *l,
		    const struct execsrv_options *o, struct execsrv_error *e);

/*
 * Ask the server to end the session, and wait for it, timeout_ms at the most;
 * hooks are called meanwhile.  execsrv_close() should follow.  0, or -1 with
 * the reason in e.
 */
int		 execsrv_close_session(struct execsrv *x, int timeout_ms,
		    struct execsrv_error *e);

/*
 * Send a close frame, close the connection, free all that belongs to it and
 * clear the pointer.  Unanswered requests get no hook.  Waits 0.5 s at the most
 * for output to leave, never for an answer.  *xp may be NULL.
 */
void		 execsrv_close(struct execsrv **xp);

/*
 * Carry messages between in and out, a line each, and a server, until the end
 * of in, over as many connections as it takes.  Blocks.  0, or -1 with the
 * reason in e.
 */
int		 execsrv_carry(const char *url,
		    const struct execsrv_options *o, int in, int out,
		    struct execsrv_error *e)
		    __attribute__((warn_unused_result));

/* --- the state of a connection --- */

enum execsrv_status {
	EXECSRV_CONNECTED,
	EXECSRV_RECOVERING,	/* there is no connection at the moment */
	EXECSRV_FAILED,		/* for good: execsrv_why() */
	EXECSRV_OPENING,	/* with no_wait: there is no session yet */
	EXECSRV_ENDING		/* the server ends the session */
};

enum execsrv_status execsrv_status(const struct execsrv *x);

/*
 * Call fn whenever the status has become another one from now on, before hooks
 * that say the same of requests and processes.  why: of EXECSRV_RECOVERING and
 * EXECSRV_FAILED; else NULL.  NULL: no more.
 */
typedef void execsrv_status_fn(void *arg, enum execsrv_status status,
	    const struct execsrv_error *why);

void		 execsrv_on_status(struct execsrv *x, execsrv_status_fn *fn,
		    void *arg);

/* Why it failed; an empty text when it has not.  x's. */
const struct execsrv_error *execsrv_why(const struct execsrv *x);

/* --- servers of one's own --- */

struct execsrv_server;

enum execsrv_log_level {
	EXECSRV_LOG_ERROR = 1,
	EXECSRV_LOG_WARNING,
	EXECSRV_LOG_INFO,
	EXECSRV_LOG_DEBUG
};

/* A line of its log, printable.  It must not stop the server. */
typedef void execsrv_log_fn(void *arg, enum execsrv_log_level level,
	    const char *text);

struct execsrv_serve {
	const char		*program;	/* as of execsrv_local */
	const char *const	*listen;	/* URLs, ended by NULL, or
						   NULL */
	const char		*registry;	/* or NULL */
	const char		*environment;
	const char		*name;
	const char		*credential;	/* or NULL */
	int64_t			 credential_expires;
	const char		*config_file;	/* or NULL */
	const char		*config;	/* or NULL */
	const char		*control;	/* or NULL */
	enum execsrv_log_level	 log_level;	/* 0: as configured */
	execsrv_log_fn		*on_log;	/* NULL: not shown */
	void			*arg;
	int			 start_ms;	/* 0: 10 s; below 0: do not
						   wait */
	EXECSRV_ROOM(4);
};

/*
 * Run a server.  Free with execsrv_server_stop(); NULL with the reason in e,
 * with the last line of its log, if it did not start or was not ready in time.
 */
struct execsrv_server *execsrv_serve(const struct execsrv_serve *conf,
		    struct execsrv_error *e);

/* Return address n that it listens on, from 0; NULL after the last.  s's, known
   when it is ready. */
const char	*execsrv_server_url(const struct execsrv_server *s, size_t n);

/* Whether it is ready now; with a registry, while it is registered. */
bool		 execsrv_server_is_ready(const struct execsrv_server *s);

/*
 * Return the state of its registration, for people: "connected", "waiting: no
 * answer from the registry".  s's; valid until the next call that handles
 * events.  If the configuration has more environments, of the last one.  NULL:
 * there is none.
 */
const char	*execsrv_server_registration(const struct execsrv_server *s);

/*
 * As execsrv_fd(), execsrv_dispatch() and execsrv_wait(), for its log and its
 * state.  After its end: -1, and execsrv_server_why() tells the reason.
 */
int		 execsrv_server_fd(const struct execsrv_server *s);
int		 execsrv_server_dispatch(struct execsrv_server *s);
int		 execsrv_server_wait(struct execsrv_server *s, int timeout_ms);
const struct execsrv_error *execsrv_server_why(const struct execsrv_server *s);

/*
 * Use another credential from now on, for the environment of conf, which must
 * have had one.  0, or -1 with errno EINVAL (not a credential, or conf had
 * none), EFBIG (nearly 16 KiB), EAGAIN (the last ones are not read yet),
 * ENOMEM, EPIPE.
 */
int		 execsrv_server_credential(struct execsrv_server *s,
		    const char *credential, int64_t expires);

/*
 * Send SIGTERM, wait for timeout_ms at the most, kill it, free it and clear the
 * pointer; on_log is called meanwhile.  Return its exit status, 128 + N after
 * signal N, -1 if unknown.  *sp may be NULL.
 */
int		 execsrv_server_stop(struct execsrv_server **sp,
		    int timeout_ms);

/* --- the loop --- */

/*
 * Return a descriptor for poll(2), epoll(7), also with EPOLLET, select(2) or
 * libevent: when it is readable, call execsrv_dispatch().  It belongs to x and
 * stays the same; use it for nothing else.  -1 with errno EMFILE, ENFILE or
 * ENOMEM; it may be tried again.
 */
int		 execsrv_fd(struct execsrv *x);

/*
 * Read, write and call hooks; never blocks.  0, or -1: it failed, and the
 * descriptor stays readable: do not poll it any more.
 */
int		 execsrv_dispatch(struct execsrv *x);

/*
 * Wait for an event, timeout_ms (EXECSRV_FOREVER) at the most, and handle it.
 * 0, also after the timeout or a signal, or -1: it failed.
 */
int		 execsrv_wait(struct execsrv *x, int timeout_ms);

/*
 * Make execsrv_wait() return, or the descriptor readable.  The only call that
 * may come from any thread, and from a signal handler, until execsrv_close().
 */
void		 execsrv_wakeup(struct execsrv *x);

/*
 * Back-pressure: while held, nothing is read from the server; hooks may still
 * get what was read already.
 */
void		 execsrv_hold(struct execsrv *x, bool hold);

/* --- what the server told about itself --- */

/* Whether the server has a capability. */
bool		 execsrv_can(const struct execsrv *x, const char *name);

/*
 * Return the session's id, with which another client of the same user may
 * resume it after this one has gone; x's.  NULL: it is too long.
 */
const char	*execsrv_session(const struct execsrv *x);

/* Whether the server is on this machine. */
bool		 execsrv_is_local(const struct execsrv *x);

/* Output that was not kept while detached, see DetachedSpool. */
struct execsrv_overflow {
	uint64_t	 held_back_ms;	/* processes had to wait */
	uint64_t	 dropped;	/* bytes of their output */
	EXECSRV_ROOM(4);
};

/*
 * Return what the server told of that at the last resume; zeros if nothing was
 * lost, or the server does not tell.
 */
struct execsrv_overflow execsrv_overflow(const struct execsrv *x);

/* Return the folder that the server was started in, or NULL. */
const char	*execsrv_cwd(const struct execsrv *x);

/* --- requests and their answers --- */

/* Of requests without a result: success is NULL. */
typedef void execsrv_done_fn(void *arg, const struct execsrv_error *e);

/*
 * Return the number of the request that was sent last; cancel a request by its
 * number.  0, or -1 with errno ENOENT: it was answered, or there is none.
 */
uint64_t	 execsrv_last_request(const struct execsrv *x);
int		 execsrv_cancel(struct execsrv *x, uint64_t request);

struct execsrv_bytes {
	const void	*data;		/* in results never NULL, and followed
					   by a NUL beyond len */
	size_t		 len;
};

enum execsrv_sandbox {
	EXECSRV_READ_ONLY = 1,
	EXECSRV_WORKSPACE_WRITE		/* cwd and temporary folders; both
					   without network */
};

/*
 * Return a usual sandbox as JSON, with cwd as the only workspace; for free(3).
 * NULL with errno EINVAL (not absolute), ENAMETOOLONG, ENOMEM.
 */
char		*execsrv_sandbox_json(enum execsrv_sandbox sandbox,
		    const char *cwd);

/* --- the environment --- */

struct execsrv_environment {
	const char		*shell_name;	/* "bash" */
	const char		*shell;		/* its path */
	const char		*version;	/* others or NULL, all below */
	const char		*provider;
	const char		*cwd;		/* where the server started */
	const char		*home;
	const char		*os;		/* "linux" */
	const char		*temporary;
	const char *const	*path_folders;	/* to be put before PATH */
	const char *const	*temporaries;	/* lists end with NULL, and
						   may be NULL if empty */
	EXECSRV_ROOM(4);
};

typedef void execsrv_environment_fn(void *arg,
	    const struct execsrv_environment *r, const struct execsrv_error *e);

/* environment/info */
int		 execsrv_environment_info(struct execsrv *x,
		    execsrv_environment_fn *fn, void *arg);
struct execsrv_environment *execsrv_environment_info_wait(struct execsrv *x,
		    int timeout_ms, struct execsrv_error *e);

struct execsrv_condition {
	const char	*status;	/* "ready" */
	EXECSRV_ROOM(4);
};

typedef void execsrv_condition_fn(void *arg,
	    const struct execsrv_condition *r, const struct execsrv_error *e);

/* environment/status */
int		 execsrv_environment_status(struct execsrv *x,
		    execsrv_condition_fn *fn, void *arg);
struct execsrv_condition *execsrv_environment_status_wait(struct execsrv *x,
		    int timeout_ms, struct execsrv_error *e);

struct execsrv_config_read {
	const char		*cwd;		/* needed */
	const char *const	*config;	/* "a.b", ended by NULL */
	const char *const	*requirements;	/* likewise */
	EXECSRV_ROOM(4);
};

struct execsrv_config {
	const char	*home;
	const char	*codex_home;
	const char	*hostname;
	const char	*config;		/* JSON */
	const char	*requirements;		/* JSON */
	EXECSRV_ROOM(4);
};

typedef void execsrv_config_fn(void *arg, const struct execsrv_config *r,
	    const struct execsrv_error *e);

/* environmentConfig/read; capability environmentConfigRead */
int		 execsrv_environment_config(struct execsrv *x,
		    const struct execsrv_config_read *in,
		    execsrv_config_fn *fn, void *arg);
struct execsrv_config *execsrv_environment_config_wait(struct execsrv *x,
		    const struct execsrv_config_read *in, int timeout_ms,
		    struct execsrv_error *e);

/* --- files --- */

/* What to look at. */
struct execsrv_fs_path {
	const char	*path;		/* needed */
	const char	*sandbox;
	bool		 no_follow;	/* a link on the way is an error */
	EXECSRV_ROOM(4);
};

struct execsrv_path {
	const char	*path;
	EXECSRV_ROOM(4);
};

typedef void execsrv_path_fn(void *arg, const struct execsrv_path *r,
	    const struct execsrv_error *e);

/* fs/canonicalize: all links resolved. */
int		 execsrv_fs_canonicalize(struct execsrv *x,
		    const struct execsrv_fs_path *in, execsrv_path_fn *fn,
		    void *arg);
struct execsrv_path *execsrv_fs_canonicalize_wait(struct execsrv *x,
		    const struct execsrv_fs_path *in, int timeout_ms,
		    struct execsrv_error *e);

/* Neither file nor directory: a device, a fifo, a socket. */
struct execsrv_metadata {
	bool		 is_directory, is_file;	/* what a link leads to */
	bool		 is_link;		/* the path itself */
	uint64_t	 size;			/* bytes */
	int64_t		 created_ms;		/* since 1970; 0: unknown */
	int64_t		 modified_ms;
	EXECSRV_ROOM(4);
};

typedef void execsrv_metadata_fn(void *arg, const struct execsrv_metadata *r,
	    const struct execsrv_error *e);

/* fs/getMetadata */
int		 execsrv_fs_metadata(struct execsrv *x,
		    const struct execsrv_fs_path *in, execsrv_metadata_fn *fn,
		    void *arg);
struct execsrv_metadata *execsrv_fs_metadata_wait(struct execsrv *x,
		    const struct execsrv_fs_path *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_look {
	const char	*path;		/* needed */
	const char	*sandbox;
	bool		 no_follow;	/* a link on the way is an error */
	EXECSRV_ROOM(4);
};

struct execsrv_attributes {
	bool		 is_directory, is_file;	/* what a link leads to */
	bool		 is_link;		/* the path itself */
	uint64_t	 size;			/* bytes */
	uint64_t	 mode;			/* to 07777 */
	int64_t		 accessed_ns;		/* since 1970 */
	int64_t		 modified_ns;
	const char	*target;		/* of the link; NULL: not a
						   link, or not UTF-8 */
	EXECSRV_ROOM(4);
};

typedef void execsrv_attributes_fn(void *arg,
	    const struct execsrv_attributes *r, const struct execsrv_error *e);

/*
 * fs/getMetadata with more, with the capability execsrvFsAttributes, as the
 * three that follow.  A link that leads nowhere is no error.
 */
int		 execsrv_fs_attributes(struct execsrv *x,
		    const struct execsrv_fs_look *in,
		    execsrv_attributes_fn *fn, void *arg);
struct execsrv_attributes *execsrv_fs_attributes_wait(struct execsrv *x,
		    const struct execsrv_fs_look *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_set {
	const char	*path;		/* needed */
	uint64_t	 mode;		/* to 07777; 0, here and below:
					   unchanged.  The type of st_mode is
					   ignored: S_IFREG is mode 0 */
	uint64_t	 accessed_ns;	/* since 1970 */
	uint64_t	 modified_ns;
	const char	*sandbox;
	bool		 no_follow;
	EXECSRV_ROOM(4);
};

/* fs/setAttributes */
int		 execsrv_fs_set_attributes(struct execsrv *x,
		    const struct execsrv_fs_set *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_set_attributes_wait(struct execsrv *x,
		    const struct execsrv_fs_set *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_link {
	const char	*path;		/* of the link; needed */
	const char	*target;	/* as it is stored; needed */
	const char	*sandbox;
	EXECSRV_ROOM(4);
};

/* fs/createSymlink: the name must not exist. */
int		 execsrv_fs_create_link(struct execsrv *x,
		    const struct execsrv_fs_link *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_create_link_wait(struct execsrv *x,
		    const struct execsrv_fs_link *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_rename {
	const char	*from, *to;	/* needed */
	const char	*sandbox;
	EXECSRV_ROOM(4);
};

/* fs/rename: atomic, replaces what is there. */
int		 execsrv_fs_rename(struct execsrv *x,
		    const struct execsrv_fs_rename *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_rename_wait(struct execsrv *x,
		    const struct execsrv_fs_rename *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_entry {
	const char	*name;
	bool		 is_directory, is_file;	/* what a link leads to */
	EXECSRV_ROOM(2);
};

struct execsrv_directory {
	const struct execsrv_entry	*entries;	/* in no order */
	size_t				 nentries;
	EXECSRV_ROOM(4);
};

typedef void execsrv_directory_fn(void *arg, const struct execsrv_directory *r,
	    const struct execsrv_error *e);

/* fs/readDirectory: at most 50000 names. */
int		 execsrv_fs_directory(struct execsrv *x,
		    const struct execsrv_fs_path *in, execsrv_directory_fn *fn,
		    void *arg);
struct execsrv_directory *execsrv_fs_directory_wait(struct execsrv *x,
		    const struct execsrv_fs_path *in, int timeout_ms,
		    struct execsrv_error *e);

/* The same with links that lead nowhere; capability execsrvFsAttributes. */
int		 execsrv_fs_list(struct execsrv *x,
		    const struct execsrv_fs_look *in, execsrv_directory_fn *fn,
		    void *arg);
struct execsrv_directory *execsrv_fs_list_wait(struct execsrv *x,
		    const struct execsrv_fs_look *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_walk {
	const char	*path;			/* needed */
	uint64_t	 max_depth;		/* 0: its own entries; to 64 */
	uint64_t	 max_directories;	/* 1 to 10000 */
	uint64_t	 max_entries;		/* 1 to 50000 */
	bool		 follow_links;		/* to directories */
	bool		 prune_hidden;		/* do not enter .directories */
	const char	*sandbox;
	EXECSRV_ROOM(4);
};

struct execsrv_walked {
	const char	*path;
	const char	*kind;		/* "file" or "directory" */
	EXECSRV_ROOM(2);
};

struct execsrv_unwalked {
	const char	*path;
	const char	*message;
	EXECSRV_ROOM(2);
};

struct execsrv_tree {
	const struct execsrv_walked	*entries;	/* breadth first */
	size_t				 nentries;
	const struct execsrv_unwalked	*errors;
	size_t				 nerrors;
	bool				 is_truncated;	/* by a limit */
	EXECSRV_ROOM(4);
};

typedef void execsrv_tree_fn(void *arg, const struct execsrv_tree *r,
	    const struct execsrv_error *e);

/* fs/walk */
int		 execsrv_fs_walk(struct execsrv *x,
		    const struct execsrv_fs_walk *in, execsrv_tree_fn *fn,
		    void *arg);
struct execsrv_tree *execsrv_fs_walk_wait(struct execsrv *x,
		    const struct execsrv_fs_walk *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_content {
	struct execsrv_bytes	 bytes;
	EXECSRV_ROOM(4);
};

typedef void execsrv_content_fn(void *arg, const struct execsrv_content *r,
	    const struct execsrv_error *e);

/* fs/readFile: one of at most some 48 MiB; execsrv_file_read() takes any. */
int		 execsrv_fs_read_file(struct execsrv *x,
		    const struct execsrv_fs_path *in, execsrv_content_fn *fn,
		    void *arg);
struct execsrv_content *execsrv_fs_read_file_wait(struct execsrv *x,
		    const struct execsrv_fs_path *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_write {
	const char		*path;		/* needed */
	struct execsrv_bytes	 bytes;
	const char		*sandbox;
	bool			 no_follow;
	/*
	 * Of a new file, less the umask there; 0: 0666, S_IFREG: 0 as in
	 * execsrv_fs_set.  Here and in the structs below, with the capability
	 * execsrvFsAttributes.
	 */
	uint64_t		 mode;
	EXECSRV_ROOM(4);
};

/* fs/writeFile: create or replace; execsrv_file_write() takes any size. */
int		 execsrv_fs_write_file(struct execsrv *x,
		    const struct execsrv_fs_write *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_write_file_wait(struct execsrv *x,
		    const struct execsrv_fs_write *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_create {
	const char	*path;		/* needed */
	bool		 only_last;	/* parents must exist, it must not */
	const char	*sandbox;
	bool		 no_follow;
	uint64_t	 mode;		/* of what is new; 0: 0777 */
	EXECSRV_ROOM(4);
};

/* fs/createDirectory */
int		 execsrv_fs_create_directory(struct execsrv *x,
		    const struct execsrv_fs_create *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_create_directory_wait(struct execsrv *x,
		    const struct execsrv_fs_create *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_remove {
	const char	*path;		/* needed */
	bool		 recursive;	/* a directory with all that is in it */
	bool		 must_exist;
	const char	*sandbox;
	bool		 no_follow;	/* not with recursive */
	EXECSRV_ROOM(4);
};

/* fs/remove: links are removed, never followed. */
int		 execsrv_fs_remove(struct execsrv *x,
		    const struct execsrv_fs_remove *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_remove_wait(struct execsrv *x,
		    const struct execsrv_fs_remove *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_copy {
	const char	*from, *to;	/* needed */
	bool		 recursive;	/* needed for directories */
	const char	*sandbox;
	EXECSRV_ROOM(4);
};

/* fs/copy: on the server's side. */
int		 execsrv_fs_copy(struct execsrv *x,
		    const struct execsrv_fs_copy *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_copy_wait(struct execsrv *x,
		    const struct execsrv_fs_copy *in, int timeout_ms,
		    struct execsrv_error *e);

/* --- open files --- */

/*
 * Handles end with their connection: after a recovery they are unknown (code
 * -32004).
 */
struct execsrv_fs_open {
	const char	*handle;	/* the caller's choice, to 32 bytes,
					   not beginning with "."; needed */
	const char	*path;		/* of a regular file; needed */
	const char	*mode;		/* NULL: "read"; "replace": to write,
					   created or emptied; "update": to
					   write into what is there, which
					   needs execsrvFsUpdate */
	const char	*sandbox;
	uint64_t	 permissions;	/* mode of a new file; 0: 0666 */
	EXECSRV_ROOM(4);
};

struct execsrv_fs_handle {
	const char	*handle;	/* needed */
	EXECSRV_ROOM(4);
};

/* fs/open: at most 128 on a connection. */
int		 execsrv_fs_open(struct execsrv *x,
		    const struct execsrv_fs_open *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_open_wait(struct execsrv *x,
		    const struct execsrv_fs_open *in, int timeout_ms,
		    struct execsrv_error *e);

/* fs/close */
int		 execsrv_fs_close(struct execsrv *x,
		    const struct execsrv_fs_handle *in, execsrv_done_fn *fn,
		    void *arg);
int		 execsrv_fs_close_wait(struct execsrv *x,
		    const struct execsrv_fs_handle *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_read_block {
	const char	*handle;	/* needed */
	uint64_t	 offset;
	uint64_t	 len;		/* 1 to 1 MiB */
	EXECSRV_ROOM(4);
};

struct execsrv_block {
	struct execsrv_bytes	 bytes;
	bool			 is_end;	/* fewer than asked for */
	EXECSRV_ROOM(4);
};

typedef void execsrv_block_fn(void *arg, const struct execsrv_block *r,
	    const struct execsrv_error *e);

/* fs/readBlock */
int		 execsrv_fs_read_block(struct execsrv *x,
		    const struct execsrv_fs_read_block *in,
		    execsrv_block_fn *fn, void *arg);
struct execsrv_block *execsrv_fs_read_block_wait(struct execsrv *x,
		    const struct execsrv_fs_read_block *in, int timeout_ms,
		    struct execsrv_error *e);

struct execsrv_fs_write_block {
	const char		*handle;	/* needed */
	uint64_t		 offset;	/* gaps read as zeros */
	struct execsrv_bytes	 bytes;		/* 1 to 1 MiB */
	EXECSRV_ROOM(4);
};

/* fs/writeBlock */
int		 execsrv_fs_write_block(struct execsrv *x,
		    const struct execsrv_fs_write_block *in,
		    execsrv_done_fn *fn, void *arg);
int		 execsrv_fs_write_block_wait(struct execsrv *x,
		    const struct execsrv_fs_write_block *in, int timeout_ms,
		    struct execsrv_error *e);

/* --- whole files, piece by piece --- */

struct execsrv_transfer;

/* NULL instead of a struct of hooks, here and below, is one without any. */
struct execsrv_transfer_hooks {
	/* Of a file that is read: the next bytes. */
	void	(*on_data)(void *arg, const void *data, size_t len);
	/*
	 * Of a file that is written: put up to size bytes into room and return
	 * their number; 0: the end or, after execsrv_transfer_pause(), none
	 * now; -1: give up.  Needed for writing (EINVAL).
	 */
	ssize_t	(*on_room)(void *arg, void *room, size_t size);
	/*
	 * Always the last: the bytes that were read or written, and NULL or why
	 * not all of them; another one can go on after these.  Of what was put
	 * into room at most the last 1 MiB is not among them.  Free the
	 * transfer here or later.
	 */
	void	(*on_done)(void *arg, uint64_t bytes,
		    const struct execsrv_error *e);
	EXECSRV_ROOM(4);
};

struct execsrv_file {
	const char	*path;		/* of a regular file; needed */
	const char	*sandbox;
	uint64_t	 offset;	/* where to begin; in a file that is
					   written what is there stays, which
					   needs execsrvFsUpdate */
	uint64_t	 len;		/* bytes to read; 0: to its end */
	uint64_t	 mode;		/* of a new file; 0: 0666 */
	EXECSRV_ROOM(4);
};

/*
 * Read a file, or create or replace one, with a few blocks in flight at a time.
 * Freed by the caller, or with x; NULL with errno as requests.  The loss of the
 * connection ends it; what was written by then stays.
 */
struct execsrv_transfer *execsrv_file_read(struct execsrv *x,
		    const struct execsrv_file *f,
		    const struct execsrv_transfer_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));
struct execsrv_transfer *execsrv_file_write(struct execsrv *x,
		    const struct execsrv_file *f,
		    const struct execsrv_transfer_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));

/* Stop requesting blocks, or go on; blocks in flight may still come. */
void		 execsrv_transfer_pause(struct execsrv_transfer *t,
		    bool is_paused);

/*
 * Free it: no more hooks.  Not inside on_data and on_room.  *tp may be NULL.
 */
void		 execsrv_transfer_free(struct execsrv_transfer **tp);

/* --- paths that are missing --- */

struct execsrv_watch;

struct execsrv_watch_hooks {
	/* Whether it is watched; if not, check the paths again. */
	void	(*on_answer)(void *arg, bool is_watched,
		    const struct execsrv_error *e);
	/* A path may exist now, or the connection was lost.  The watch is
	   over. */
	void	(*on_changed)(void *arg);
	EXECSRV_ROOM(4);
};

/*
 * fs/watchMissing: tell when one of the missing paths (ended by NULL) may
 * exist; present may be NULL.  Needs the capability fsWatchMissing.  Freed by
 * the caller, or with x; NULL with errno as requests.
 */
struct execsrv_watch *execsrv_watch_missing(struct execsrv *x,
		    const char *const *missing, const char *present,
		    const struct execsrv_watch_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));

/* Free it: no more hooks.  *wp may be NULL. */
void		 execsrv_watch_free(struct execsrv_watch **wp);

/* --- HTTP from there --- */

struct execsrv_http;

struct execsrv_header {
	const char	*name, *value;
	/* In requests, with the capability httpHeaderEnvVars: a variable of the
	   server, whose value is appended. */
	const char	*variable;
	EXECSRV_ROOM(2);
};

struct execsrv_http_request {
	const char			*method;	/* needed */
	const char			*url;		/* needed */
	const struct execsrv_header	*headers;
	size_t				 nheaders;
	struct execsrv_bytes		 body;
	uint64_t			 timeout_ms;	/* all of it; 0: none */
	const char			*redirects;	/* "follow", "stop";
							   NULL: follow */
	EXECSRV_ROOM(4);
};

struct execsrv_http_head {
	uint64_t			 status;	/* 404 is no error */
	const struct execsrv_header	*headers;
	size_t				 nheaders;
	EXECSRV_ROOM(4);
};

struct execsrv_http_hooks {
	void	(*on_head)(void *arg, const struct execsrv_http_head *h);
	void	(*on_body)(void *arg, const void *data, size_t len);
	/* Always the last: NULL, or why it is not complete.  Free the request
	   here or later. */
	void	(*on_done)(void *arg, const struct execsrv_error *e);
	EXECSRV_ROOM(4);
};

/*
 * http/request: the server sends the request and passes on the body as it
 * comes. Freed by the caller, or with x; NULL with errno as requests.  The loss
 * of the connection ends it.
 */
struct execsrv_http *execsrv_http_request(struct execsrv *x,
		    const struct execsrv_http_request *in,
		    const struct execsrv_http_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));

/*
 * Free it: no more hooks, though the server goes on.  Allowed inside its hooks.
 * *hp may be NULL.
 */
void		 execsrv_http_free(struct execsrv_http **hp);

/* --- any method --- */

/*
 * Send a request of any method.  params: a JSON object or array of len bytes,
 * or NULL.  fn (may be NULL) is called once, with the result as JSON, or with
 * NULL and an error.  0, or -1 with errno EINVAL, EFBIG, EPIPE.
 */
typedef void execsrv_json_fn(void *arg, const char *result, size_t len,
	    const struct execsrv_error *e);

int		 execsrv_call_json(struct execsrv *x, const char *method,
		    const char *params, size_t len, execsrv_json_fn *fn,
		    void *arg) __attribute__((warn_unused_result));

/*
 * Notifications that this library does not know.  params: JSON, or NULL and 0;
 * valid during the call.
 */
typedef void execsrv_note_fn(void *arg, const char *method,
	    const char *params, size_t len);

void		 execsrv_on_note(struct execsrv *x, execsrv_note_fn *fn,
		    void *arg);

/*
 * Call fn with every message that is sent or has come, which may have secrets
 * of the environment in it, but never bearer_token.  It must not use x, and may
 * be called from any call.  NULL: no more.
 */
typedef void execsrv_trace_fn(void *arg, bool is_sent, const char *text,
	    size_t len);

void		 execsrv_on_trace(struct execsrv *x, execsrv_trace_fn *fn,
		    void *arg);

/* --- the session --- */

struct execsrv_retain {
	uint64_t	 ttl_ms;	/* 0: the server's default */
	EXECSRV_ROOM(4);
};

typedef void execsrv_retain_fn(void *arg, const struct execsrv_retain *r,
	    const struct execsrv_error *e);

/*
 * session/retain: how long the session waits for a client after this one has
 * gone; the answer tells what was granted.  Needs the capability
 * execsrvSessionRetain.
 */
int		 execsrv_session_retain(struct execsrv *x,
		    const struct execsrv_retain *in, execsrv_retain_fn *fn,
		    void *arg);
struct execsrv_retain *execsrv_session_retain_wait(struct execsrv *x,
		    const struct execsrv_retain *in, int timeout_ms,
		    struct execsrv_error *e);

/* --- processes --- */

struct execsrv_process_info {
	const char	*id;
	int64_t		 pid;
	bool		 tty;
	bool		 is_exited, is_closed;
	int64_t		 exit_code;	/* -1: it runs, or unknown */
	uint64_t	 next_seq;	/* number of its next event */
	EXECSRV_ROOM(4);
};

struct execsrv_process_list {
	const struct execsrv_process_info	*processes;
	size_t					 nprocesses;
	EXECSRV_ROOM(4);
};

typedef void execsrv_process_list_fn(void *arg,
	    const struct execsrv_process_list *r,
	    const struct execsrv_error *e);

/* process/list: those of the session; capability execsrvProcessList. */
int		 execsrv_process_list(struct execsrv *x,
		    execsrv_process_list_fn *fn, void *arg);
struct execsrv_process_list *execsrv_process_list_wait(struct execsrv *x,
		    int timeout_ms, struct execsrv_error *e);

struct execsrv_process_read {
	const char	*id;		/* execsrv_process_id(); needed */
	uint64_t	 after_seq;	/* events with a higher number */
	uint64_t	 max_bytes;	/* 0: no limit */
	uint64_t	 wait_ms;	/* for an event */
	EXECSRV_ROOM(4);
};

struct execsrv_chunk {
	uint64_t		 seq;
	const char		*stream;	/* "stdout", "stderr", "pty" */
	struct execsrv_bytes	 bytes;
	EXECSRV_ROOM(2);
};

struct execsrv_retained {
	const struct execsrv_chunk	*chunks;
	size_t				 nchunks;
	uint64_t			 next_seq;
	bool				 is_exited, is_closed;
	bool				 is_sandbox_denied;
	int64_t				 exit_code;	/* -1: none */
	const char			*failure;	/* or NULL */
	EXECSRV_ROOM(4);
};

typedef void execsrv_retained_fn(void *arg, const struct execsrv_retained *r,
	    const struct execsrv_error *e);

/* process/read: output that the server retains; hooks get it anyway. */
int		 execsrv_process_read(struct execsrv *x,
		    const struct execsrv_process_read *in,
		    execsrv_retained_fn *fn, void *arg);
struct execsrv_retained *execsrv_process_read_wait(struct execsrv *x,
		    const struct execsrv_process_read *in, int timeout_ms,
		    struct execsrv_error *e);

enum execsrv_stream { EXECSRV_STDOUT, EXECSRV_STDERR, EXECSRV_PTY };

/* Requests about a process, for the hook on_answer. */
enum execsrv_request {
	EXECSRV_START,
	EXECSRV_WRITE,
	EXECSRV_CLOSE_STDIN,
	EXECSRV_SIGNAL,
	EXECSRV_TERMINATE,
	EXECSRV_RESIZE
};

/*
 * Hooks of a process, each may be NULL.  Output, exit and close are delivered
 * in the order of their numbers; on_closed is the last.  They may precede the
 * answer to EXECSRV_START.
 */
struct execsrv_hooks {
	/* An answer; e is NULL after success.  Input that the process does not
	   take is an error with code 0. */
	void	(*on_answer)(void *arg, enum execsrv_request what,
		    const struct execsrv_error *e);
	void	(*on_output)(void *arg, enum execsrv_stream stream,
		    const void *data, size_t len);
	/* 128 + N after signal N; sandbox_denied: it failed, probably because
	   of its sandbox. */
	void	(*on_exited)(void *arg, int exit_code, bool sandbox_denied);
	void	(*on_closed)(void *arg);
	/* The last, instead of on_closed: the connection failed, or output was
	   lost that the server did not retain. */
	void	(*on_lost)(void *arg, const struct execsrv_error *e);
	EXECSRV_ROOM(4);
};

/* Variables of the server for a process, applied in this order. */
struct execsrv_env_policy {
	const char		*inherit;	/* "all", "core" or "none" */
	bool			 keep_secrets;	/* *KEY*, *SECRET*, *TOKEN* */
	const char *const	*exclude;	/* patterns of names to leave
						   out; lists are ended by NULL,
						   NULL if empty */
	const char *const	*set;		/* NAME=VALUE to add */
	const char *const	*include_only;	/* patterns of names to keep */
	EXECSRV_ROOM(4);
};

struct execsrv_start {
	const char *const	*argv;		/* ended by NULL; needed */
	const char *const	*env;		/* NAME=VALUE, ended by NULL;
						   overrides all others */
	bool			 inherit;	/* all of the server's */
	/* Which of them; ignored with inherit.  NULL: none. */
	const struct execsrv_env_policy	*env_policy;
	const char		*cwd;		/* absolute; needed */
	const char		*arg0;		/* argv[0] of the command */
	bool			 tty;
	bool			 pipe_stdin;
	uint16_t		 rows, cols;	/* 0: the server's choice */
	enum execsrv_sandbox	 preset;	/* with cwd; 0: none, or: */
	const char		*sandbox;	/* JSON */
	/*
	 * A managed network: domains that the process may reach, by a proxy, as
	 * patterns, ended by NULL; with a sandbox nothing else.  NULL: none.
	 * For servers with networkProxyLaunch; others would ignore it.
	 */
	const char *const	*allow_domains;
	EXECSRV_ROOM(4);
};

/*
 * Start a process; on_answer tells whether it runs.  NULL with errno:
 * EILSEQ (text that is not UTF-8), EINVAL (argv is empty, cwd is not absolute,
 * a variable without name), EOPNOTSUPP (allow_domains, which the server does
 * not know), EFBIG, ENOMEM, EPIPE (the connection failed).
 */
struct execsrv_process *execsrv_process_start(struct execsrv *x,
		    const struct execsrv_start *s,
		    const struct execsrv_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));

/*
 * Attach to a process of a resumed session by its id; on_answer tells, as for
 * EXECSRV_START, whether it exists.  Hooks get all of its output that the
 * server retains, and its end.  NULL with errno: EINVAL (not an id), ENOMEM,
 * EPIPE.
 */
struct execsrv_process *execsrv_process_attach(struct execsrv *x,
		    const char *id, const struct execsrv_hooks *hooks,
		    void *arg) __attribute__((warn_unused_result));

/*
 * Free it: no more hooks; the process itself runs on until its session ends.
 * Allowed inside hooks, its own included.
 */
void		 execsrv_process_free(struct execsrv_process **pp);

/*
 * Requests.  0: sent, on_answer follows; -1: the connection failed.  Input is
 * sent in chunks of up to 64 KiB, each with an answer.
 */
int		 execsrv_process_write(struct execsrv_process *p,
		    const void *data, size_t len);
int		 execsrv_process_close_stdin(struct execsrv_process *p);
int		 execsrv_process_signal(struct execsrv_process *p,
		    const char *name);
/*
 * By SIGKILL at once; with the capability execsrvTerminateGrace and grace_ms
 * not 0, by SIGTERM first, and SIGKILL after grace_ms.
 */
int		 execsrv_process_terminate(struct execsrv_process *p,
		    unsigned grace_ms);
int		 execsrv_process_resize(struct execsrv_process *p,
		    uint16_t rows, uint16_t cols);

/* Return its id in the session; p's. */
const char	*execsrv_process_id(const struct execsrv_process *p);

/*
 * Return how many bytes to write next, 64 KiB at most: enough to keep the line
 * and the command busy, no more, as later requests wait behind them.  0: none,
 * until execsrv_dispatch() or execsrv_wait() has read something.  Whatever it
 * is, execsrv_process_write() sends all that it is given.
 */
size_t		 execsrv_process_room(const struct execsrv_process *p);

/* Return the number of unanswered requests of a kind. */
unsigned	 execsrv_process_awaits(const struct execsrv_process *p,
		    enum execsrv_request what);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif

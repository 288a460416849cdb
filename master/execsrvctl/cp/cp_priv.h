/* "execsrvctl cp": what its files share. */
#pragma once

#include <sys/stat.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/client/execsrv.h"

#define ASK_MS		60000	/* for an answer, across a recovery */
#define DEPTH_MAX	64	/* of folders */
#define TRIES		5	/* of a file, after lost connections */
#define SMALL		(1024 * 1024)	/* bytes: a file in one message */
#define MODE		0777	/* that are copied: not set-ID bits */
#define SHOW_MS		200	/* between two lines of progress */
/* How far the server may be behind with what is sent: libexecsrv(3). */
#define WINDOW		1048576
#define WINDOW_TEXT	"1048576"

struct cp_shown {
	bool		 is_tree;	/* all files on one line */
	uint64_t	 begin, last;	/* ms */
	uint64_t	 bytes, total;	/* of a tree; total: or 0 */
	size_t		 files;
};

struct cp {
	const struct cp_options	*o;
	struct execsrv		*x;
	int			 status;
	bool			 is_shown;
	struct cp_shown		 shown;
	bool			 is_unread;	/* SIGPIPE, by and by */
	bool			 has_attributes; /* the server's methods */
	bool			 can_update;	/* write, not replace */
	struct cp_sent		*sent;		/* or NULL: none are */
	mode_t			 mask;
	unsigned		 depth;
	/* The folder that is being made, not to be copied into itself; or 0. */
	dev_t			 made_dev;
	ino_t			 made_ino;
};

/*
 * Report that a file is not copied; others may be.  After what came of those
 * under way, or at once.
 */
void	 cp_complain(struct cp *c, const char *path, const char *fmt, ...)
	    PRINTF(3, 4);
void	 cp_complain_now(struct cp *c, const char *path, const char *why);

/* As stat(2) for a path that was named, as lstat(2) inside a folder. */
int	 cp_stat(const struct cp *c, const char *path, struct stat *st);

/* Write FOLDER/NAME.  0, or -1, having said that it is too long. */
int	 cp_join(struct cp *c, char out[PATH_MAX], const char *folder,
	    const char *name);

/*
 * Remember the folder here that is copied to; whether a folder to be copied is
 * that one, which is reported.
 */
void	 cp_made(struct cp *c, const char *path);
bool	 cp_is_made(struct cp *c, const char *path);

/* Write the folder of a path, with its last slash, or "". */
void	 cp_folder_of(const char *path, char out[PATH_MAX]);

/* --- cp_file.c: content --- */

struct cp_there;

struct cp_copy {
	const char	*here, *there;
	int		 fd;		/* the file here, at that offset */
	uint64_t	 offset;	/* all before it is there already */
	uint64_t	 total;		/* bytes of all, or 0 */
	mode_t		 mode;		/* of a new file there, or 0 */
	const struct cp_there	*was;	/* what is read there */
};

/*
 * Copy between fd and the file there; after a lost connection go on, or begin
 * again if the source has changed.  0, or -1: why, with a code if the server
 * says so.  bytes_out: how long it is; or NULL.
 */
int	 cp_transfer(struct cp *c, const struct cp_copy *f,
	    uint64_t *bytes_out, struct execsrv_error *why);

/*
 * Make a file PATH.XXXXXX here, which a signal removes until it is finished.
 * Its descriptor, or -1 with errno.
 */
int	 cp_unfinished_here(const char *path, char name[PATH_MAX]);
void	 cp_finished_here(void);
bool	 cp_is_unfinished_here(void);

/* Whether a signal shall leave time to remove a name there. */
void	 cp_unfinished_there(bool is_one);

/* Catch signals from now on; end by the one that came, if any. */
void	 cp_catch(void);
void	 cp_heed(void);

/* --- cp_show.c: progress: begin; a part of a file; all of it; end --- */

void	 cp_show_begin(struct cp *c);
void	 cp_show(struct cp *c, const char *name, uint64_t bytes,
	    uint64_t total);
void	 cp_shown(struct cp *c, const char *name, uint64_t bytes,
	    uint64_t total);
void	 cp_show_end(struct cp *c);

/* --- cp_part.c: what an interrupted copy left --- */

struct cp_part {
	uint64_t	 offset;	/* known to be the same as the source */
	uint64_t	 size;
};

/* A descriptor of the part here, or of a new one; or -1: none can be had. */
int	 cp_part_here(struct cp *c, const char *there, const char *here,
	    uint64_t size, char name[PATH_MAX], uint64_t *offset_out);

/* Find the part of fd there, and go to its offset.  -1: none can be kept. */
int	 cp_part_there(struct cp *c, int fd, const char *there,
	    char name[PATH_MAX], struct cp_part *p);

/* --- cp_there.c: the other side --- */

struct cp_said {
	char	 text[PATH_MAX + 64];
	size_t	 len;
	bool	 is_over;
	int	 status;		/* -1: it did not run */
};

/* Run a script with up to three arguments.  Its status, or -1. */
int	 cp_there_run(struct cp *c, struct cp_said *s, unsigned ms,
	    const char *script, const char *a, const char *b, const char *d);

struct cp_there {
	bool		 is_folder, is_file, is_link;
	bool		 has_mode;	/* mode and times are known */
	uint64_t	 size;
	mode_t		 mode;
	int64_t		 atime_ns, mtime_ns;
	char		 target[PATH_MAX];	/* of a link; or empty */
	const char	*content;	/* of size bytes, came ahead; or NULL */
};

/* Here and below: 0, or -1 with the reason in e. */
int	 cp_look(struct cp *c, const char *path, struct cp_there *t,
	    struct execsrv_error *e);

/* Take what the server's methods tell; t is empty. */
void	 cp_there_take(struct cp_there *t, const struct execsrv_attributes *a);

/* --- cp_ahead.c: the same and small contents, asked for in advance --- */

struct cp_ahead;

/*
 * For the entries of a folder, to be copied to one here; all must stay.  NULL
 * with errno.
 */
struct cp_ahead *cp_ahead_new(struct cp *c, const char *there,
	    const char *here, const struct execsrv_directory *d);
void	 cp_ahead_free(struct cp_ahead **ap);

/*
 * As cp_look() for entry i, in their order, and perhaps with its content, which
 * stays until the next call.
 */
int	 cp_ahead_look(struct cp_ahead *a, size_t i, const char *path,
	    struct cp_there *t, struct execsrv_error *e);

/* is_new_out: it did not exist. */
int	 cp_make_folder(struct cp *c, const char *path, mode_t mode,
	    bool *is_new_out, struct execsrv_error *e);

/* An unused name in the same folder. */
int	 cp_name_beside(struct cp *c, const char *path, char out[PATH_MAX],
	    struct execsrv_error *e);

/* Make a symbolic link, replacing anything but a folder. */
int	 cp_make_link(struct cp *c, const char *path, const char *target,
	    struct execsrv_error *e);

/* Of a file, with its type: never 0. */
mode_t	 cp_mode_of(const struct stat *st);

/* Set mode and, if st is given, times. */
int	 cp_set(struct cp *c, const char *path, mode_t mode,
	    const struct stat *st, struct execsrv_error *e);

/* The same by a method of the server's. */
void	 cp_set_of(struct execsrv_fs_set *in, const char *path, mode_t mode,
	    const struct stat *st);

/* An empty file that nobody else may open; replace one atomically. */
int	 cp_make_private(struct cp *c, const char *path,
	    struct execsrv_error *e);
int	 cp_rename(struct cp *c, const char *from, const char *to,
	    struct execsrv_error *e);
void	 cp_remove(struct cp *c, const char *path);

/* With --continue: whether size and time, both known exactly, are the same. */
bool	 cp_is_same(const struct cp *c, const struct stat *here,
	    const struct cp_there *there);

/* --- cp_sent.c: small files, several of which are under way --- */

/* Needs execsrvFsAttributes.  NULL with errno. */
struct cp_sent *cp_sent_new(struct cp *c);
void	 cp_sent_free(struct cp_sent **ap);

/* Send a regular file, which had up to SMALL bytes. */
void	 cp_send(struct cp_sent *a, const char *here, const char *there,
	    const struct stat *st);

/* Wait until none are under way, and report what came of them. */
void	 cp_sent_wait(struct cp_sent *a);

/* --- cp_down.c, cp_up.c --- */

void	 cp_download(struct cp *c, const char *there, const char *here);
void	 cp_upload(struct cp *c, const char *here, const char *there);

/* A file of any size, when none are under way. */
void	 cp_upload_alone(struct cp *c, const char *here, const char *there,
	    const struct stat *st);

void	 cp_download_out(struct cp *c, const char *there);
void	 cp_upload_in(struct cp *c, const char *there);

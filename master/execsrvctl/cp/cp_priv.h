/* "execsrvctl cp": what its files share. */
#pragma once

#include <sys/stat.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/cp/cp.h"

#define ASK_MS		60000	/* for an answer, across a recovery */
#define DEPTH_MAX	64	/* of folders */
#define TRIES		5	/* of a file, after lost connections */
#define SMALL		(1024 * 1024)	/* bytes: a file in one message */
#define MODE		0777	/* that are copied: not set-ID bits */

struct cp {
	const struct cp_options	*o;
	struct execsrv		*x;
	int			 status;
	bool			 is_shown;	/* progress */
	bool			 has_attributes; /* the server's methods */
	mode_t			 mask;		/* umask(2) */
	unsigned		 depth;
	/* The folder that is being made, which must not be copied into
	   itself, or 0. */
	dev_t			 made_dev;
	ino_t			 made_ino;
};

/* Report that a file is not copied; others may be. */
void	 cp_complain(struct cp *c, const char *path, const char *fmt, ...)
	    PRINTF(3, 4);

/* As stat(2) for a path that was named, as lstat(2) inside a folder. */
int	 cp_stat(const struct cp *c, const char *path, struct stat *st);

/* Write FOLDER/NAME. 0, or -1, having said that it is too long. */
int	 cp_join(struct cp *c, char out[PATH_MAX], const char *folder,
	    const char *name);

/*
 * Remember the folder on this machine that is copied to; whether a folder that
 * is to be copied is that one, which is reported.
 */
void	 cp_made(struct cp *c, const char *path);
bool	 cp_is_made(struct cp *c, const char *path);

/* Write the folder of a path, with its last slash, or "". */
void	 cp_folder_of(const char *path, char out[PATH_MAX]);

/* --- cp_file.c: content --- */

/*
 * Copy between fd, the file here, and the file there, where a new file gets
 * that mode, or 0.  0, or -1 with why, whose code is not 0 if the server says
 * so.
 */
int	 cp_transfer(struct cp *c, const char *here, int fd, const char *there,
	    uint64_t total, mode_t mode, struct execsrv_error *why);

/*
 * Set the file that a signal handler removes here; whether there is a name
 * there that is to be removed before the end.  NULL: none.
 */
void	 cp_unfinished_here(const char *path);
void	 cp_unfinished_there(bool is_one);

/* Catch signals from now on; end by the one that came, if any. */
void	 cp_catch(void);
void	 cp_heed(void);

/* --- cp_there.c: the other side --- */

struct cp_there {
	bool		 is_folder, is_file, is_link;
	bool		 has_mode;	/* mode and times are known */
	uint64_t	 size;
	mode_t		 mode;
	int64_t		 atime_ns, mtime_ns;
	char		 target[PATH_MAX];	/* of a link; or empty */
};

/* Look at a path there.  0, or -1 with the reason in e. */
int	 cp_look(struct cp *c, const char *path, struct cp_there *t,
	    struct execsrv_error *e);

/* Make a folder, unless it exists; is_new_out: it did not. */
int	 cp_make_folder(struct cp *c, const char *path, mode_t mode,
	    bool *is_new_out, struct execsrv_error *e);

/* Find an unused name in the same folder.  0, or -1 with why. */
int	 cp_name_beside(struct cp *c, const char *path, char out[PATH_MAX],
	    struct execsrv_error *e);

/* Make a symbolic link, replacing anything but a folder. */
int	 cp_make_link(struct cp *c, const char *path, const char *target,
	    struct execsrv_error *e);

/* Set mode and, if st is given, times. */
int	 cp_set(struct cp *c, const char *path, mode_t mode,
	    const struct stat *st, struct execsrv_error *e);

/* Make an empty file that nobody else may open; replace a file atomically. */
int	 cp_make_private(struct cp *c, const char *path,
	    struct execsrv_error *e);
int	 cp_rename(struct cp *c, const char *from, const char *to,
	    struct execsrv_error *e);
void	 cp_remove(struct cp *c, const char *path);

/* --- cp_down.c, cp_up.c --- */

void	 cp_download(struct cp *c, const char *there, const char *here);
void	 cp_upload(struct cp *c, const char *here, const char *there);

/*
 * The file "sessions" in the run directory: a record for each session and
 * uplink, by which the next master finds the processes of one that was killed,
 * at whatever moment.
 *
 * Numbers are in the byte order of the machine.  Versions of the program that
 * differ read each other's files: fields are only added, in place of reserved
 * bytes or at the end, and records are as long as the head says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDS_FILE	"sessions"
#define RECORDS_GROUPS	4		/* control groups of a master */

enum record_kind {
	RECORD_FREE,
	RECORD_SESSION,			/* with a worker */
	RECORD_TOMBSTONE,		/* without one */
	RECORD_LOST,			/* its worker died */
	RECORD_UPLINK			/* no session, but a process */
};

#define RECORD_OPENED		1u	/* the client has the id */
#define RECORD_ATTACHED		2u
#define RECORD_TRANSCRIPTS	4u	/* are wanted */
#define RECORD_ALONE		8u	/* OrphanTtl 0: looks for no master */

/*
 * Texts end with a NUL.  Of an uplink only: kind, number, pid, uid (of the
 * process), started, born, and id: of its settings.
 */
struct record {
	uint64_t	 seq;		/* the higher one counts; 0: none */
	uint64_t	 sum;		/* of all that follows, and of seq */
	uint32_t	 kind;
	uint32_t	 flags;
	uint32_t	 number;	/* for people */
	uint32_t	 child;		/* id of struct child */
	int32_t		 pid;		/* 0: not known */
	uint32_t	 uid, client_uid;
	uint32_t	 uplink;
	uint64_t	 started;	/* not later, ptree_now() */
	uint64_t	 marks;		/* of its commands: ptree_new_marks() */
	uint64_t	 born;		/* ms, monotonic */
	uint64_t	 until;		/* likewise; 0: not set */
	uint64_t	 detached_ttl, grace;	/* ms */
	uint64_t	 max_held;	/* bytes */
	uint64_t	 used[5];	/* by former workers: Ipc__Used */
	uint32_t	 max_running;
	uint32_t	 transcripts;
	uint32_t	 group_v2, group_v1;
	char		 id[40];
	char		 identity[80];
	char		 peer[80];
	char		 transcript[160];
	uint64_t	 limits[RECORDS_GROUPS - 1];	/* of group_v2 */
	uint64_t	 retain;	/* ms, of a tombstone; 0: not set */
	uint8_t		 reserved[8];
};

/* What holds for all of them. */
struct records_head {
	char		 magic[8];
	uint32_t	 version;
	uint32_t	 head_size, record_size;	/* bytes */
	uint32_t	 deaths;	/* of masters, so far */
	uint64_t	 sum;		/* of all but the end */
	uint64_t	 instance;	/* random */
	uint8_t		 boot[16];	/* random_boot_id, see proc(5) */
	char		 program[24];	/* version of who wrote it */
	char		 group[RECORDS_GROUPS][64];
	uint8_t		 reserved[64];
	/* Each written by one store, at any time; at the end of any head. */
	uint32_t	 next_number;	/* of sessions, the last one */
	uint32_t	 has_marks;	/* their sandboxes mark their sockets */
};

#define RECORDS_WHY	96		/* bytes of a reason */

struct records_events {
	/* What is in it is valid, but may be out of date. */
	void	(*on_record)(void *arg, const struct record *r);

	/* One that cannot be used. */
	void	(*on_damaged)(void *arg, size_t position, const char *why);
};

/* Pure.  0; or -1: it is another file, or from before the last boot. */
int	 records_parse(const void *data, size_t size, const uint8_t boot[16],
	    struct records_head *head_out, const struct records_events *events,
	    void *arg, char why[RECORDS_WHY]) MUST_CHECK;

/* The last master's.  1: there was one; 0: none; -1: it cannot be used. */
int	 records_read(const char *dir, struct records_head *head_out,
	    const struct records_events *events, void *arg,
	    char why[RECORDS_WHY]) MUST_CHECK;

struct records;

/* A new file: set groups in its head, then publish it.  NULL, -1 with errno. */
struct records	*records_new(const char *dir);
struct records_head	*records_head(struct records *t);

int	 records_publish(struct records *t) MUST_CHECK;

/* Close it, and unlink it unless it is for the next master. */
void	 records_free(struct records **tp, bool is_kept);

/*
 * Write to *slot, chosen if it is -1; r->seq and r->sum are set.  0; or -1 with
 * errno, and the session is without a record: ENOSPC.
 */
int	 records_put(struct records *t, int *slot, struct record *r);

/* Free *slot, and set it to -1. */
void	 records_drop(struct records *t, int *slot);

/*
 * The channel between a hub's master and worker: packets of a word, and with
 * some a descriptor or a text.
 */
#pragma once

#include <stddef.h>

#define HUBLINK_TEXT_MAX	4096

enum hublink_word {
	HUBLINK_READY,		/* worker: it serves */
	HUBLINK_RELOAD,		/* worker: read the configuration again */
	HUBLINK_COUNTS,		/* worker: executors and harnesses, numbers */
	HUBLINK_SITE,		/* master: the files, in a descriptor */
	HUBLINK_FAILED,		/* master: why that was not possible */
	HUBLINK_AUDIT,		/* master: the audit log, opened again */
	HUBLINK_STOP,		/* master: end */
	HUBLINK_WORDS
};

struct hublink_message {
	enum hublink_word	 word;
	int			 fd;		/* the receiver's, or -1 */
	char			 text[HUBLINK_TEXT_MAX];
};

/* fd: stays the caller's; -1: none.  0, or -1 with errno. */
int	 hublink_send(int sock, enum hublink_word word, const char *text,
	    int fd) MUST_CHECK;

/* 1; 0: nothing now; -1 with errno, or 0 at the end. */
int	 hublink_recv(int sock, struct hublink_message *m) MUST_CHECK;

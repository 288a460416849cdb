/* The processes of a client: notifications, lost connections. */
#pragma once

#include "common/client/client.h"

/* Whether it was about a process. */
bool	 execsrv_process_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/*
 * For events that are missing: ms until one is overdue, or -1; begin anew,
 * after a while without reading; lose the connection if one is overdue.
 */
int	 execsrv_process_wait_ms(const struct execsrv *x);
void	 execsrv_process_restart_wait(struct execsrv *x);
void	 execsrv_process_check(struct execsrv *x);

/*
 * Ask for the output that was missed, and end processes whose start was never
 * answered; is_behind: some of the answers are still due.
 */
void	 execsrv_process_catch_up(struct execsrv *x);
bool	 execsrv_process_is_behind(const struct execsrv *x);

/* The client failed: call on_lost of each process that has not ended. */
void	 execsrv_process_lose_all(struct execsrv *x);

/* What was freed inside a hook; all. */
void	 execsrv_process_free_deferred(struct execsrv *x);
void	 execsrv_process_free_all(struct execsrv *x);

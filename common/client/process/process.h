/* Processes, for those above: what the connection means to them. */
#ifndef COMMON_CLIENT_PROCESS_PROCESS_H
#define COMMON_CLIENT_PROCESS_PROCESS_H

#include "common/client/client.h"

/* A notification; whether it was one of a process. */
bool	 execsrv_process_note(struct execsrv *x, const struct json *j,
	    const char *method, uint32_t params);

/* ms until a process has waited too long for a missing event, or -1. */
int	 execsrv_process_wait_ms(const struct execsrv *x);

/* Nothing was read for a while: waiting starts anew. */
void	 execsrv_process_restart_wait(struct execsrv *x);

/* Lose the connection when one has waited too long. */
void	 execsrv_process_check(struct execsrv *x);

/*
 * Ask what each process said meanwhile, and end those whose start was never
 * answered; is_behind: some of that is not answered yet.
 */
void	 execsrv_process_catch_up(struct execsrv *x);
bool	 execsrv_process_is_behind(const struct execsrv *x);

/* The client failed: each that has not ended is lost. */
void	 execsrv_process_lose_all(struct execsrv *x);

/* Free those that were freed inside a hook; free all. */
void	 execsrv_process_bury(struct execsrv *x);
void	 execsrv_process_free_all(struct execsrv *x);

#endif

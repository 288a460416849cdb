/*
 * The messages of proto/ipc.def as numbers, with what is legal.  A packet is
 * one byte (the number) and the protobuf message; at most one descriptor
 * comes along (SCM_RIGHTS).
 */
#ifndef COMMON_IPC_IPC_H
#define COMMON_IPC_IPC_H

#include <sys/types.h>

#include <protobuf-c/protobuf-c.h>

#include <stdbool.h>

#include "proto/ipc.pb-c.h"

enum ipc_role {
	IPC_ROLE_MASTER,
	IPC_ROLE_TEMPLATE,
	IPC_ROLE_WORKER,
	IPC_ROLE_OPERATOR,
	IPC_ROLE_HTTP,
	IPC_ROLE_UPLINK
};

enum ipc_kind {
#define IPC(name, type, from, to, fd)	IPC_##name,
#include "proto/ipc.def"
#undef IPC
	IPC_KINDS
};

struct ipc_row {
	const char				*name;
	const ProtobufCMessageDescriptor	*type;
	enum ipc_role				 from;
	enum ipc_role				 to;
	bool					 has_fd;
};

extern const struct ipc_row	ipc_rows[IPC_KINDS];

/* One message received. */
struct ipc_msg {
	enum ipc_kind		 kind;
	ProtobufCMessage	*body;
	int			 fd;		/* or -1: also if it was lost */
};

/*
 * Packets may hold credentials: what they were built in or read to is wiped.
 */

/*
 * Send a message of a kind, with a descriptor (kept by the caller) or -1.
 * 0, or -1 with errno (EAGAIN: would block; EPIPE: nobody there; EMSGSIZE).
 */
int	 ipc_send(int sock, enum ipc_kind kind, const void *body, int fd)
	    __attribute__((warn_unused_result));

/*
 * Receive one message that from may send to to.  1: m is filled in, end it
 * with ipc_msg_fini().  0: the peer is gone.  -1 with errno; EAGAIN: nothing
 * there; EPROTO: not such a message (a malformed, foreign or oversized one,
 * or a descriptor too few or too many).  A descriptor that we have no number
 * for (EMFILE) is lost: the message comes without it.
 */
int	 ipc_recv(int sock, enum ipc_role from, enum ipc_role to,
	    struct ipc_msg *m) __attribute__((warn_unused_result));

/* The same, waiting for one: never EAGAIN. */
int	 ipc_wait(int sock, enum ipc_role from, enum ipc_role to,
	    struct ipc_msg *m) __attribute__((warn_unused_result));

/* Free the body; close the descriptor unless taken (set to -1). */
void	 ipc_msg_fini(struct ipc_msg *m);

/* Pack a message for ipc_send_packed(): malloc'd, NULL with errno. */
void	*ipc_pack(enum ipc_kind kind, const void *body, size_t *len_out);

/* Send what ipc_pack() made.  As ipc_send(). */
int	 ipc_send_packed(int sock, const void *packet, size_t len, int fd)
	    __attribute__((warn_unused_result));

#endif

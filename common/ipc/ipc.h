/* proto/ipc.def: a byte, protobuf, up to one descriptor.  Buffers are wiped. */
#pragma once

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
	IPC_ROLE_UPLINK,
	IPC_ROLE_PROXY,
	IPC_ROLE_NAMES,
	IPC_ROLE_MONITOR
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

struct ipc_msg {
	enum ipc_kind		 kind;
	ProtobufCMessage	*body;
	int			 fd;		/* or -1, also if it was lost */
};

/* fd (or -1) stays the caller's.  -1: EAGAIN, EPIPE (closed), EMSGSIZE. */
int	 ipc_send(int sock, enum ipc_kind kind, const void *body, int fd)
	    MUST_CHECK;

/*
 * 1: end m with ipc_msg_fini(); 0: the peer closed; -1 with errno: EAGAIN
 * (none), EPROTO (malformed, too long, not from from to to, wrong number of
 * descriptors). Unknown kinds of a master, perhaps a later version, are
 * skipped.  Without a free descriptor (EMFILE) the message comes without its
 * own.
 */
int	 ipc_recv(int sock, enum ipc_role from, enum ipc_role to,
	    struct ipc_msg *m) MUST_CHECK;

/* The same, blocking. */
int	 ipc_wait(int sock, enum ipc_role from, enum ipc_role to,
	    struct ipc_msg *m) MUST_CHECK;

/* Free the body; close the descriptor unless it is -1 (taken). */
void	 ipc_msg_fini(struct ipc_msg *m);

/* malloc'd; NULL with errno. */
void	*ipc_pack(enum ipc_kind kind, const void *body, size_t *len_out);

/* As ipc_send(). */
int	 ipc_send_packed(int sock, const void *packet, size_t len, int fd)
	    MUST_CHECK;

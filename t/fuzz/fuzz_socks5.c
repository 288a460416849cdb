/* SOCKS5: what is incomplete becomes one verdict, the same byte by byte. */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>

#include "worker/proxy/helper/socks5.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_greeting(const uint8_t *data, size_t size)
{
	enum socks5_result	 r = SOCKS5_MORE, now;
	size_t			 n, used, first = 0;

	for (n = 0; n <= size && n < 300; n++) {
		now = socks5_greeting(data, n, &used);
		MUST(r == SOCKS5_MORE || now == r);
		if (now == SOCKS5_OK || now == SOCKS5_REFUSED) {
			MUST(used <= n && (first == 0 || first == used));
			first = used;
		}
		r = now;
	}
}

static void
check_request(const uint8_t *data, size_t size)
{
	enum socks5_result	 r = SOCKS5_MORE, now;
	struct nethost		 h, again;
	uint16_t		 port;
	size_t			 n, used;

	for (n = 0; n <= size && n < 300; n++) {
		now = socks5_request(data, n, &h, &port, &used);
		MUST(r == SOCKS5_MORE || now == r);
		r = now;
		if (now != SOCKS5_OK)
			continue;
		MUST(used <= n && port != 0 && h.text[0] != '\0');
		MUST(strpbrk(h.text, " %@/\\[]\r\n") == NULL);
		MUST(nethost_set(&again, h.text, strlen(h.text)) == 0);
		MUST(strcmp(again.text, h.text) == 0);
		MUST(again.addr.family == h.addr.family);
		MUST(memcmp(again.addr.byte, h.addr.byte, 16) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct netaddr	 a = { .family = AF_INET };
	uint8_t		 out[SOCKS5_REPLY_MAX], *copy;

	MUST((copy = malloc(size + 1)) != NULL);
	memcpy(copy, data, size);
	check_greeting(copy, size);
	check_request(copy, size);
	MUST(socks5_reply(0, &a, 1, out) == 10);
	a.family = AF_INET6;
	MUST(socks5_reply(0, &a, 1, out) == SOCKS5_REPLY_MAX);
	free(copy);
	return 0;
}

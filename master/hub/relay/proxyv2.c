#include "master/hub/relay/proxyv2.h"

#include <arpa/inet.h>
#include <string.h>

#define HEAD		16	/* bytes before the addresses */
#define IPV4_LEN	12	/* bytes of two addresses and ports */
#define IPV6_LEN	36

static const uint8_t signature[12] = "\r\n\r\n\0\r\nQUIT\n";

enum { VERSION_LOCAL = 0x20, VERSION_PROXY = 0x21 };
enum { TCP4 = 0x11, TCP6 = 0x21 };

long
proxyv2_read(const void *data, size_t len, char address_out[INET6_ADDRSTRLEN])
{
	const uint8_t	*at = data;
	size_t		 n;
	int		 family = 0;

	address_out[0] = '\0';
	n = len < sizeof(signature) ? len : sizeof(signature);
	if (memcmp(at, signature, n) != 0)
		return -1;
	if (len < HEAD)
		return 0;
	n = (size_t)at[14] << 8 | at[15];
	if ((at[12] != VERSION_LOCAL && at[12] != VERSION_PROXY) ||
	    HEAD + n > PROXYV2_MAX)
		return -1;
	if (len < HEAD + n)
		return 0;
	if (at[12] == VERSION_PROXY && at[13] == TCP4)
		family = AF_INET;
	else if (at[12] == VERSION_PROXY && at[13] == TCP6)
		family = AF_INET6;
	if ((family == AF_INET && n < IPV4_LEN) ||
	    (family == AF_INET6 && n < IPV6_LEN))
		return -1;
	if (family != 0 && inet_ntop(family, at + HEAD, address_out,
	    INET6_ADDRSTRLEN) == NULL)
		return -1;
	return (long)(HEAD + n);
}

/* Ports, and the address that it came to, are nobody's business. */
size_t
proxyv2_write(const char *address, uint8_t out[PROXYV2_WRITTEN])
{
	size_t	 n = 0;

	memset(out, 0, PROXYV2_WRITTEN);
	memcpy(out, signature, sizeof(signature));
	out[12] = VERSION_PROXY;
	if (inet_pton(AF_INET, address, out + HEAD) == 1) {
		out[13] = TCP4;
		n = IPV4_LEN;
	} else if (inet_pton(AF_INET6, address, out + HEAD) == 1) {
		out[13] = TCP6;
		n = IPV6_LEN;
	} else {
		out[12] = VERSION_LOCAL;
	}
	out[15] = (uint8_t)n;
	return HEAD + n;
}

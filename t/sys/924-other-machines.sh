#!/bin/sh
# On an address of other machines nobody is served without a token.
#
# In a network namespace of its own, where the loopback interface has further
# addresses: to the server they are as any others.
if [ "$1" != inside ]; then
	if [ "$(id -u)" = 0 ]; then set -- -n; else set -- -rn; fi
	if ! unshare "$@" true 2>/dev/null; then
		echo "no network namespaces here"
		exit 77
	fi
	exec unshare "$@" sh "$0" inside
fi
command -v ip >/dev/null || { echo "no ip(8)"; exit 77; }
ip link set lo up
for address in 192.0.2.1/32 192.0.2.2/32 192.0.2.3/32; do
	ip address add "$address" dev lo || { echo "no addresses"; exit 77; }
done
for address in 2001:db8:1::1/128 2001:db8:1::2/128 2001:db8:2::1/128 \
    fe80::7/64; do
	ip -6 address add "$address" dev lo nodad ||
		{ echo "no IPv6 addresses"; exit 77; }
done
exec python3 "${0%.sh}.py"

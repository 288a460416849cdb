#!/bin/sh
# An MCP server on standard input and output, a message per line.  Its one tool
# tells what it was given, what is in $MCP_WORD, where it runs and as what.
# Without a program but sed: it runs where the exec server is.

# answer RESULT: in one line, however many it has.
answer() {
	printf '{"jsonrpc":"2.0","id":%s,"result":%s}' "$id" "$1" | tr '\n' ' '
	echo
}

echo "mcp.sh begins" >&2
echo $$ >mcp.pid
while IFS= read -r line; do
	id=$(printf '%s\n' "$line" | sed -n 's/.*"id":\([0-9]*\)[,}].*/\1/p')
	case $line in
	*'"method":"initialize"'*)
		version=$(printf '%s\n' "$line" |
		    sed -n 's/.*"protocolVersion":"\([^"]*\)".*/\1/p')
		answer '{"protocolVersion":"'"$version"'","capabilities":
		    {"tools":{}},"serverInfo":
		    {"name":"kettle","version":"1"}}' ;;
	*'"method":"tools/list"'*)
		answer '{"tools":[{"name":"brew","inputSchema":
		    {"type":"object","properties":
		    {"kind":{"type":"string"}}}}]}' ;;
	*'"method":"tools/call"'*)
		kind=$(printf '%s\n' "$line" |
		    sed -n 's/.*"kind":"\([^"]*\)".*/\1/p')
		answer '{"content":[{"type":"text","text":"'"$kind,$MCP_WORD,$PWD"'"}]}' ;;
	*'"method":"notifications/'*) ;;
	*)	answer '{}' ;;
	esac
done
echo "mcp.sh ends" >&2

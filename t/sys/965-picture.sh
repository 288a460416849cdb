#!/bin/sh
# README's picture is that of a session, as it is made again here of the
# transcript of a terminal.
. "${0%/*}/lib.sh"
need python3
grep -qF '](contrib/session.svg)' README.md || fail "README does not show it"
python3 contrib/build/cast2svg --make "$BUILD" >"$DIR/made.svg" 2>"$DIR/err" ||
    fail "no picture: $(cat "$DIR/err")"
python3 - contrib/session.svg "$DIR/made.svg" <<'END' || fail "another picture"
import sys
import xml.etree.ElementTree as tree
typed = []
for path in sys.argv[1:]:
    lines = ["".join(t.itertext()) for t in tree.parse(path).getroot()]
    typed.append([line for line in lines if line.startswith("$ ")])
assert typed[0] == typed[1] and len(typed[0]) >= 5, typed
with open(sys.argv[1], encoding="utf-8") as f:
    text = f.read()
assert ">built<" in text and ">Linux<" in text and "detached" in text, text
END

# What terminals are told to do: bold, back to the left, rub out, break a line.
cat >"$DIR/x.cast" <<'.'
{"version":2,"width":10,"height":5,"timestamp":1}
[0.1,"o","abc\rX\u001b[1mY\u001b[mc\u001b[K\r\n"]
[0.2,"r","10x5"]
[0.3,"o","<0123456789&\b!\u001b[31m\r\n\r\n"]
[0.4,"m","exit 0"]
.
python3 contrib/build/cast2svg "$DIR/x.cast" >"$DIR/x.svg" || fail "no picture"
same "lines" "$(grep -o '<text.*' "$DIR/x.svg" | sed 's/<text[^>]*>//; s/<.text>//')" \
    'X<tspan font-weight="bold">Y</tspan>c
&lt;012345678
9!'

#!/bin/sh
# 007: what run-tests says of tests side by side: counts, who left something
# behind, that those which ask for it run alone, and that none ignores signals.
set -eu
cd "$SRCDIR"
dir=$TMPDIR
build=$dir/build

put() {
	cat >"$dir/$1"
}
put 101-good.sh <<END
#!/bin/sh
touch "$dir/one"
until [ -e "$dir/two" ]; do sleep 0.01; done
END
put 102-beside.sh <<END
#!/bin/sh
touch "$dir/two"
until [ -e "$dir/one" ]; do sleep 0.01; done
sleep 0.3
touch "$dir/all"
END
put 103-alone.sh <<END
#!/bin/sh
# alone: it wants all others to be done
[ -e "$dir/all" ] || exit 1
echo "  1.2   left out: no hammer"
echo "left out: no nails"
echo "left out: no hammer"
END
put 104-skipped.sh <<END
#!/bin/sh
echo "for a reason"
exit 77
END
put 105-failed.sh <<END
#!/bin/sh
echo "the reason"
exit 3
END
put 106-leaves.sh <<END
#!/bin/sh
setsid sleep 1000 >/dev/null 2>&1 &
END
# Deeper than what is removed by calling oneself for each folder.
put 107-deep.sh <<END
#!/usr/bin/env python3
import os
open("$dir/where", "w").write(os.environ["TMPDIR"])
os.chdir(os.environ["TMPDIR"])
for _ in range(2500):
    os.mkdir("d" * 250)
    os.chdir("d" * 250)
END
# Whatever the one who starts all of them ignores: nohup(1), a shell's "&".
put 108-signals.sh <<END
#!/bin/sh
for signal in HUP INT QUIT; do
	status=0
	sh -c 'ulimit -c 0; kill -\$1 \$\$' sh \$signal || status=\$?
	[ "\$status" -gt 128 ] || exit 1
done
END
# An orphan that ended is nobody's zombie while its test runs.
put 109-orphan.sh <<END
#!/bin/sh
(sleep 0 & echo \$! >"$dir/orphan")
while [ -e "/proc/\$(cat "$dir/orphan")" ]; do sleep 0.01; done
END
set --
for test in 103-alone 101-good 102-beside 104-skipped 105-failed 106-leaves \
    107-deep 108-signals 109-orphan; do
	set -- "$@" "sys:$dir/$test.sh"
done
status=0
trap '' HUP INT QUIT
python3 contrib/build/run-tests --build "$build" --jobs 2 "$@" >"$dir/out" ||
    status=$?
cat "$dir/out"
says() {
	grep -q "$1" "$dir/out" || { echo "not said: $1"; exit 1; }
}
[ "$status" -eq 1 ]
for test in 101-good 102-beside 103-alone 107-deep 108-signals 109-orphan; do
	says "^pass  sys/$test "
done
says '^pass  sys/103-alone  ([0-9.]* s; left out: no hammer; no nails)$'
says '^skip  sys/104-skipped  (for a reason)'
says '^fail  sys/105-failed  (status 3)'
says '^    the reason'
[ ! -e "$(cat "$dir/where")" ] || { echo "its folder is still there"; exit 1; }
says '^fail  sys/106-leaves  (left behind: sleep '
[ "$(tail -n 3 "$dir/out")" = "1 skipped
1 left something out
6 passed, 2 failed" ]

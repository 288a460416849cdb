#!/bin/sh
# 009: "bootstrap run" installs what configure looks for; of the library for unit
# tests only "bootstrap check" did, and had to build everything a second time.
set -eu
cd "$SRCDIR"
packages=$(sed -n '/^PACKAGES="/,/"$/{s/^PACKAGES=//;s/"//g;p;}' \
    contrib/bootstrap | tr '\n' ' ')
wanted=$(sed -n 's/^EXEC_PKG(\[[A-Z_]*\], \[[^]]*\], \[\([^]]*\)\].*/\1/p' \
    configure.ac)
[ "$(echo "$wanted" | wc -l)" -eq "$(grep -c '^EXEC_PKG(' configure.ac)" ]
for package in $wanted; do
	case " $packages " in
	*" $package "*) ;;
	*)
		echo "$package is not there after: bootstrap run"
		exit 1 ;;
	esac
done

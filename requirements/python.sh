#!/bin/sh
# Prints the path of a Python of this version: python.sh 3.13
for python in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python; do
    if [ "$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" = "$1" ]; then
        echo "$python"
        exit
    fi
done
exit 1

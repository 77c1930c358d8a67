# Runs a command that has to end with a code: ends.sh CODE COMMAND...
code=$1
shift
"$@" > /dev/null
is=$?
[ $is -eq $code ] || { echo "ended with $is, not with $code" >&2; exit 1; }

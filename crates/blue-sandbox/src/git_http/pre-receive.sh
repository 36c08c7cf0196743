#!/bin/sh
# The forge has made up its mind before git runs; only whether history is rewritten needs the new
# objects, which are seen from here alone.
refuse() {
    printf '\nerror:\nerror: %s\nerror:\n' "$1" >&2
    exit 1
}
[ -z "$SANDBOX_REFUSAL" ] || refuse "$SANDBOX_REFUSAL"
while read -r old new ref; do
    case "$SANDBOX_FORWARD_ONLY" in
    *" $ref "*)
        git merge-base --is-ancestor "$old" "$new" ||
            refuse "branch ${ref#refs/heads/} is protected from force push"
        ;;
    esac
done

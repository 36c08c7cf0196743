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
    case "$old" in
    *[!0]*) ;;
    *) continue ;;
    esac
    files=$(printf '%s' "$SANDBOX_GUARDED" | while read -r guarded expression; do
        [ "$guarded" = "$ref" ] || continue
        git -c core.quotePath=false diff --name-only "$old" "$new" | grep -iE -m 1 -e "$expression"
    done)
    [ -z "$files" ] ||
        refuse "branch ${ref#refs/heads/} is protected from changing file $files"
done

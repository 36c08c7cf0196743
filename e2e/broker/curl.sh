#!/usr/bin/env bash
# The whole of a sign-in with curl alone: curl.sh BROKER FORGE LOGIN PASSWORD OWN FOREIGN [KEPT]
#
# With a file KEPT it stops before it signs out, and leaves client id and access token there.
# Register, authorize by way of the forge's own pages, exchange, use, refresh, revoke; and at each
# step what must be refused. The forge's pages are walked with a cookie jar.
set -euo pipefail

broker=$1 forge=${2%/} login=$3 password=$4 own=$5 foreign=$6
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

curl=(curl -sS --max-time 30 --noproxy '*' -b "$dir/jar" -c "$dir/jar")
die() {
  echo "$*" >&2
  if [ -e "$dir/body" ]; then head -c 3000 "$dir/body" >&2; fi
  exit 1
}
# Ask for something; status, body and headers are in files then
ask() { "${curl[@]}" -D "$dir/headers" -o "$dir/body" -w '%{http_code}' "$@" >"$dir/status"; }
status() { cat "$dir/status"; }
wants() { # STATUS WHAT
  if [ "$(status)" != "$1" ]; then die "$2: status $(status), not $1"; fi
}
header() { sed -n "s/^$1: //Ip" "$dir/headers" | tr -d '\r' | tail -1; }
text() { sed 's/&amp;/\&/g; s/&#34;/"/g; s/&#43;/+/g; s/&quot;/"/g; s/&#x27;/'"'"'/g'; }
# Value of a hidden field of the page, or of the name of a JSON member
hidden() { tr '>' '\n' <"$dir/body" | sed -n "/<input.*name=\"$1\"/s/.*value=\"\\([^\"]*\\)\".*/\\1/p" | text | sed -n 1p; }
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$dir/body" | sed -n 1p; }
# Where a page leads: by redirect, or by itself after a moment
onward() {
  local to
  to=$(header location)
  if [ -z "$to" ]; then to=$(sed -n 's/.*http-equiv="refresh" content="0;url=\([^"]*\)".*/\1/p' "$dir/body" | text); fi
  case $to in /*) to=$1$to ;; esac
  echo "$to"
}
query() { sed -n "s/.*[?&]$1=\([^&]*\).*/\1/p" <<<"$2"; }

verifier=$(head -c 48 /dev/urandom | base64 | tr '+/' '-_' | tr -d '=\n')
challenge=$(printf %s "$verifier" | sha256sum | cut -d' ' -f1 | tr -d '\n' | sed 's/../\\x&/g' | xargs -0 printf | base64 | tr '+/' '-_' | tr -d '=\n')
back=http://127.0.0.1:9/callback # nothing listens there: the script reads the address of the redirect

# 0. Discovery, from a refusal
ask "$broker/mcp"
wants 401 'without a token'
document=$(header www-authenticate | sed -n 's/.*resource_metadata="\([^"]*\)".*/\1/p')
ask "$document"
wants 200 'the document that the challenge names'
[ "$(member resource)" = "$broker/mcp" ] || die 'the resource is another'
ask "$broker/.well-known/oauth-authorization-server"
wants 200 'metadata'
register=$(member registration_endpoint) authorize=$(member authorization_endpoint)
token=$(member token_endpoint) revoke=$(member revocation_endpoint)

# 1. Register
ask -H 'content-type: application/json' "$register" \
  -d "{\"client_name\":\"curl\",\"redirect_uris\":[\"$back\"],\"grant_types\":[\"authorization_code\",\"refresh_token\"],\"response_types\":[\"code\"],\"token_endpoint_auth_method\":\"none\"}"
wants 201 'register'
client=$(member client_id)
[ -n "$client" ] || die 'no client id'

# 2. Authorize
go() { ask -G "$authorize" --data-urlencode "client_id=$client" --data-urlencode "redirect_uri=${uri:-$back}" -d response_type=code -d state=s1 "$@"; }
go -d code_challenge_method=S256
[ "$(query error "$(onward "$broker")")" = invalid_request ] || die 'without PKCE'
[ "$(query state "$(onward "$broker")")" = s1 ] || die 'the state is lost'
go -d "code_challenge=$challenge" -d code_challenge_method=plain
[ "$(query error "$(onward "$broker")")" = invalid_request ] || die 'PKCE that is not S256'
uri=https://evil.example/cb go -d "code_challenge=$challenge" -d code_challenge_method=S256
wants 400 'a redirect URI of somebody else'
[ -z "$(header location)" ] || die 'a redirect to somebody else'

go -d "code_challenge=$challenge" -d code_challenge_method=S256 --data-urlencode "resource=$broker/mcp"
ask "$(onward "$broker")"
wants 200 'the page that asks'
grep -q 'curl' "$dir/body" || die 'it does not say who asks'
ask "$broker/oauth/consent" --data-urlencode "tx=$(hidden tx)" --data-urlencode "token=$(hidden token)" -d answer=approve
wants 303 'the answer'
ask "$(onward "$broker")"
wants 200 'on to the forge'
ask "$(onward "$forge")"
case $(onward "$forge") in "$forge"/user/login*) ;; *) die 'the forge asks nobody to sign in' ;; esac
ask "$(onward "$forge")"
wants 200 'the sign-in of the forge'
fields=()
for name in _csrf redirect_to; do
  value=$(hidden "$name")
  if [ -n "$value" ]; then fields+=(--data-urlencode "$name=$value"); fi
done
ask "$forge/user/login" ${fields[@]+"${fields[@]}"} --data-urlencode "user_name=$login" --data-urlencode "password=$password"
wants 303 'signing in'
ask "$(onward "$forge")"
# The forge does not ask a user again for a grant it has.
if [ "$(status)" != 303 ]; then
  wants 200 'the grant page of the forge'
  fields=()
  for name in _csrf client_id state scope nonce redirect_uri; do
    fields+=(--data-urlencode "$name=$(hidden "$name")")
  done
  ask "$forge/login/oauth/grant" "${fields[@]}" -d granted=true
  wants 303 'granting'
fi
ask "$(onward "$forge")"
wants 303 'back at the broker'
ask "$(onward "$broker")"
wants 200 'the end of the sign-in'
called=$(onward "$broker")
case $called in "$back"?*) ;; *) die "the client is called at $called" ;; esac
[ "$(query state "$called")" = s1 ] || die 'the state is lost'
code=$(query code "$called")
[ -n "$code" ] || die "no code in $called"

# 3. Exchange; a wrong verifier gets nothing
exchange() { ask "$token" -d grant_type=authorization_code -d "client_id=$client" -d "code=$code" --data-urlencode "redirect_uri=$back" "$@"; }
exchange
wants 400 'no verifier'
exchange -d "code_verifier=${verifier%?}"
wants 400 'a wrong verifier'
exchange -d "code_verifier=$verifier"
wants 200 'the exchange'
access=$(member access_token) refresh=$(member refresh_token)
[ -n "$access" ] && [ -n "$refresh" ] || die 'tokens are missing'

# What it opens
tool() { # ACCESS REPOSITORY
  ask "$broker/mcp" -H "authorization: Bearer $1" -H 'content-type: application/json' \
    -H 'accept: application/json, text/event-stream' -H 'mcp-protocol-version: 2025-11-25' \
    -d "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"repo_status\",\"arguments\":{\"owner\":\"${2%/*}\",\"name\":\"${2#*/}\"}}}"
}
tool "$access" "$own"
wants 200 'a tool'
grep -q "home-of-$login" "$dir/body" || die "$own is not shown"
tool "$access" "$foreign"
grep -q 'not_found' "$dir/body" || die "$foreign is shown"

# 4. Refresh
ask "$token" -d grant_type=refresh_token -d "client_id=$client" -d "refresh_token=$refresh"
wants 200 'refresh'
newer=$(member access_token) newer_refresh=$(member refresh_token)
[ "$newer" != "$access" ] && [ "$newer_refresh" != "$refresh" ] || die 'the tokens are the same'
tool "$newer" "$own"
wants 200 'a tool with the new token'

if [ -n "${7:-}" ]; then
  printf '%s\n' "$client" "$newer" >"$7"
  exit
fi

# 5. Revoke
ask "$revoke" -d "client_id=$client" -d "token=$newer_refresh" -d token_type_hint=refresh_token
wants 200 'revoke'
for old in "$newer" "$access"; do
  tool "$old" "$own"
  wants 401 'a revoked token'
done
ask "$token" -d grant_type=refresh_token -d "client_id=$client" -d "refresh_token=$newer_refresh"
wants 400 'refreshing after the end'
[ "$(member error)" = invalid_grant ] || die 'another error'
# The code is used up, long before its time.
exchange -d "code_verifier=$verifier"
wants 400 'the code again'

#!/bin/sh
# Starts rankloop in a container: takes secrets from files, and the compiled code that came with the image.
set -eu

# A secret in a file, such as RANKLOOP_ADMIN_KEY_FILE=/run/secrets/admin_key, becomes the variable without _FILE.
if [ -n "${RANKLOOP_ADMIN_KEY_FILE:-}" ]; then
    RANKLOOP_ADMIN_KEY="$(cat "$RANKLOOP_ADMIN_KEY_FILE")"
    export RANKLOOP_ADMIN_KEY
fi
if [ -n "${PGPASSWORD_FILE:-}" ]; then # which PostgreSQL's library reads where the address has no password
    PGPASSWORD="$(cat "$PGPASSWORD_FILE")"
    export PGPASSWORD
fi

# The cache must be writable; the root filesystem may not be. So the code is copied to where it is.
if [ -d /opt/rankloop-cache ] && mkdir -p "$RANKLOOP_CACHE_DIR" 2> /dev/null && [ -w "$RANKLOOP_CACHE_DIR" ]; then
    cp -Rpn /opt/rankloop-cache/. "$RANKLOOP_CACHE_DIR/"
fi

exec "$@"

#!/usr/bin/env bash
# make_secrets.sh [FOLDER]: makes the passwords that compose.yaml mounts, once: secrets/ beside this
# file, readable by whoever runs it alone. What is there already stays.
set -euo pipefail
umask 077
folder=${1:-$(dirname "$0")/secrets}
mkdir -p "$folder"

# Letters and digits alone, so that no file has to quote them.
password() {
  local bytes
  bytes=$(head -c 4096 /dev/urandom | tr -dc 'A-Za-z0-9')
  printf '%s\n' "${bytes:0:40}"
}

for name in db_password queue_password; do
  [ -e "$folder/$name" ] || password > "$folder/$name"
done
if [ ! -e "$folder/nats_users.conf" ]; then
  printf 'authorization {\n  users = [ { user: attune, password: "%s" } ]\n}\n' \
    "$(cat "$folder/queue_password")" > "$folder/nats_users.conf"
fi
echo "The passwords are in $folder."

#!/bin/sh
# Prints the networks that have a folder at the top of the tree, by the rows of
# src/settings/networks.def. The lint scripts read these folders.
#
#   tools/lint/network_folders.sh [SEPARATOR]    SEPARATOR: a blank by default
set -eu
cd "$(dirname "$0")/../.."
folders=
for folder in $(sed -nE 's/^ACP_(MODULE_)?NETWORK\(([a-z0-9_]+),.*/\2/p' \
  src/settings/networks.def); do
  test ! -d "$folder" || folders=${folders:+$folders${1- }}$folder
done
echo "$folders"

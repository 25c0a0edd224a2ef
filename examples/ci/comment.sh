#!/usr/bin/env bash
# Posts tracedrop-report/comparison.md on pull request NUMBER of GITHUB_REPOSITORY, or replaces the comment of the run before, which
# starts with the same marker. Needs `gh` and GH_TOKEN.
set -euo pipefail
marker='<!-- tracedrop -->'
report=tracedrop-report/comparison.md
# GitHub takes 65,536 characters.
limit=60000
body=$(mktemp)
trap 'rm -f "$body"' EXIT
[ -s "$report" ] || { echo "comment: there is no comparison to post" >&2; exit 1; }
{
  echo "$marker"
  # Without half a character at the end, about which iconv complains.
  head -c "$limit" "$report" | iconv -c -f UTF-8 -t UTF-8 || true
  [ "$(wc -c < "$report")" -le "$limit" ] || printf '\n\nThe rest is in the artifact of this run.\n'
} > "$body"
comments="repos/$GITHUB_REPOSITORY/issues/$NUMBER/comments"
before=$(gh api "$comments" --paginate --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | tail -n 1)
if [ -n "$before" ]; then
  gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$before" --field "body=@$body"
else
  gh api --silent "$comments" --field "body=@$body"
fi

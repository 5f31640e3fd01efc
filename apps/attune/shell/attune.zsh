#compdef attune
# Completion of attune's command line for zsh: verbs and options, and files after an option.
local word text
local -a found
while IFS=$'\t' read -r word text; do
  found+=("${word//:/\\:}:$text")
done < <("${words[1]}" --complete "${(@)words[2,CURRENT]}" 2>/dev/null)
if (( ${#found} )); then
  _describe attune found
else
  _files
fi

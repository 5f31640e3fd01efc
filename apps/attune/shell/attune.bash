# Completion of attune's command line for bash: verbs and options, and files after an option.
_attune() {
  local word
  local -a words=()
  # Readline splits --db=x, and whatever has a colon.
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    if ((${#words[@]})) && [[ $word == [=:]* || ${words[-1]} == *[=:] ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  COMPREPLY=()
  while IFS=$'\t' read -r word _; do
    COMPREPLY+=("$word")
  done < <("${COMP_WORDS[0]}" --complete "${words[@]}" 2>/dev/null)
}
complete -o default -F _attune attune

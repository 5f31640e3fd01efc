# Completion of attune's command line for fish: verbs and options, and files after an option.
function __attune_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] --complete $words[2..-1] 2>/dev/null
end
complete -c attune -a '(__attune_complete)'

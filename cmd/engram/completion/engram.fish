# Completion of engram for fish. The words go to engram as they were typed, quotes and
# backslashes included; fish quotes what comes back.
function __engram_complete
    set -l words (commandline -opc) (commandline -ct)
    set -l typed (string escape -- $words[2..-2]) $words[-1]
    for line in ($words[1] __typed $typed 2>/dev/null)
        string match -q -r '^:[0-9]+$' -- $line; or echo $line
    end
end
complete -c engram -f -a '(__engram_complete)'

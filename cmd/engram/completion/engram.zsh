#compdef engram
compdef _engram engram
# Completion of engram for zsh. The words go to engram as they were typed, quotes and
# backslashes included; compadd quotes what comes back.
_engram() {
    local out directive line
    local -a found shown
    out=$(${~words[1]} __typed "${(@)words[2,CURRENT-1]}" "${words[CURRENT][1,-1-${#SUFFIX}]}" 2>/dev/null) || return
    directive=${out##*:}
    for line in "${(@f)${out%:*}}"; do
        [[ -z $line ]] && continue
        found+=("${line%%$'\t'*}")
        if [[ $line == *$'\t'* ]]; then
            shown+=("${line%%$'\t'*}  -- ${line#*$'\t'}")
        else
            shown+=("$line")
        fi
    done
    if ((${#found} == 0)); then
        ((directive & 4)) || _files
    elif ((directive & 2)); then
        compadd -l -S '' -d shown -a found
    else
        compadd -l -d shown -a found
    fi
}
# Sourced instead of found as a file in $fpath, there is nothing to complete yet.
if [[ ${funcstack[1]} == _engram ]]; then
    _engram "$@"
fi

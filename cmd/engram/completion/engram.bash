# Completion of engram for bash. The words go to engram as they were typed, quotes and
# backslashes included; readline quotes what comes back, as it does with file names.
_engram() {
    local cur prev words cword out directive line odd=
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null; then
        _get_comp_words_by_ref -n "=:" cur prev words cword
    else
        words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    fi
    out=$(ENGRAM_WORDBREAKS=$COMP_WORDBREAKS "${words[0]/#\~/$HOME}" __typed "${words[@]:1:cword}" 2>/dev/null) || return
    directive=${out##*:}
    while IFS= read -r line; do
        line=${line%%$'\t'*}
        [[ -z $line ]] && continue
        [[ $line == *[!A-Za-z0-9_./:=@%+,-]* ]] && odd=1
        COMPREPLY+=("$line")
    done <<<"${out%:*}"
    [[ -n $odd ]] && compopt -o filenames
    ((directive & 2)) && compopt -o nospace
    ((directive & 4)) && compopt +o default
}
complete -o default -F _engram engram

# Completes the words of acp_top in bash: its options, the file of --from, and the
# numbers of acpruns that run.
_acp_top() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  case $before in
    --from)
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      return
      ;;
    --interval) return ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen \
      -W "--once --json --interval --from --version --help" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen \
      -W "$(pgrep -x -u "$(id -u)" 'acprun|macprun' 2>/dev/null)" -- "$word")
  fi
}
complete -o filenames -F _acp_top acp_top

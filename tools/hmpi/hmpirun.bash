# Completes the words of hmpirun in bash: its options first, and then the command.
_hmpirun() {
  local word=${COMP_WORDS[COMP_CWORD]} before='' has_command=no each
  # Bash takes --mpi=openmpi for three words.
  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $each in
      -* | =) ;;
      *) [ "$before" = = ] || has_command=yes ;;
    esac
    before=$each
  done
  COMPREPLY=()
  if [ $has_command = yes ]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  elif [ "$word" = = ] || [ "$before" = = ]; then
    mapfile -t COMPREPLY < <(compgen -W "openmpi mpich" -- "${word#=}")
  elif [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen \
      -W "--mpi=openmpi --mpi=mpich -v --verbose --version --help" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$word")
  fi
}
complete -o filenames -F _hmpirun hmpirun

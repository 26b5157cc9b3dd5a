_demo() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=
  case ${COMP_WORDS[1]} in
    send) words='--text --file --nul --count --receive --foundation --tls --ca --cert --key --insecure --alpn --tls-name --starttls --events --timeout --resolve --unix --transport --json --progress --color --verbose --help' ;;
    receive) words='--text --file --hex --output --foundation --tls --ca --cert --key --insecure --alpn --tls-name --starttls --events --timeout --resolve --unix --transport --json --progress --color --verbose --help' ;;
    connect) words='--tls --ca --cert --key --insecure --alpn --tls-name --starttls --events --timeout --resolve --unix --transport --json --color --verbose --help' ;;
    cfread) words='--corefoundation --context-trace --mask --clear-in-callback --null-callback --set-client --poll --block --stop-now --unschedule --open-twice --tls --ca --cert --key --insecure --alpn --tls-name --events --timeout --resolve --unix --transport --json --progress --color --verbose --help' ;;
    echod) words='--host --unix --threads --closure --once --events --timeout --tls-cert --tls-key --tls-ca --json --color --verbose --help' ;;
    chat) words='--name --history --reconnect --events --timeout --resolve --unix --transport --tls --ca --cert --key --insecure --alpn --tls-name --json --color --verbose --help' ;;
    chatd) words='--host --unix --queue-limit --events --timeout --tls-cert --tls-key --tls-ca --json --color --verbose --help' ;;
    http10) words='--out --http1.0-raw --tls --ca --cert --key --insecure --alpn --tls-name --events --timeout --resolve --unix --transport --json --color --verbose --help' ;;
    help) words='--man --completion --help' ;;
    *) words='send receive connect cfread echod chat chatd http10 help --transport --color --version --help' ;;
  esac
  case $before in
    --transport) words='direct bufferevent' ;;
    --color) words='always never auto' ;;
    --progress) words='always never auto' ;;
    --set-client) words='before after twice' ;;
    --completion) words='bash fish' ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _demo demo Demo

package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// keeperScript waits until its input ends, which is when Close or the end of
// our process closes the pipe. It then ends the server, if it is still there,
// and removes the directory. The first line of postmaster.pid is the server's.
const keeperScript = `
trap '' INT TERM HUP QUIT
cat >/dev/null
if [ -f "$1/data/postmaster.pid" ]; then
  pid=$(head -n 1 "$1/data/postmaster.pid")
  if [ "$pid" -gt 1 ] 2>/dev/null; then
    kill -CONT "$pid" 2>/dev/null
    kill -QUIT "$pid" 2>/dev/null
    n=0
    while kill -0 "$pid" 2>/dev/null && [ $n -lt 200 ]; do sleep 0.05; n=$((n+1)); done
    kill -KILL "$pid" 2>/dev/null
  fi
fi
rm -rf "$1"
`

// keeper starts the process that cleans up behind us. It is in a session of
// its own, so that what ends us does not end it.
func (s *Server) keeper() error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", keeperScript, "keeper", s.dir)
	cmd.Stdin, cmd.Dir = r, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		w.Close()
		return err
	}
	s.keep, s.kept = w, cmd
	return nil
}
